"""`board open`, `stop`, `revoke` and `prune`, as people and programs call them."""

from __future__ import annotations

import http.client
import json
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest
from msgspec import structs

from flask_pi_taskbar.board.live.frames import BYE_IDLE
from flask_pi_taskbar.board.serving.finding import Dead, Serving, find
from flask_pi_taskbar.page.alone import AlonePage
from tests.board_cli.place import Place
from tests.support.waiting import until

DAY = 24 * 3600


@pytest.fixture
def page(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place whose pages end with the test."""
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    yield place
    found = find(place.store)
    if isinstance(found, Serving):
        served = psutil.Process(found.note.pid)
        served.terminate()
        until(lambda: not isinstance(find(place.store), Serving), "the page has ended")


def opened(place: Place, *words: str, who: str = "ann") -> dict[str, Any]:
    said = place.call("board", "open", "--background", "--json", *words, who=who)
    assert said.code == 0, said
    data = said.data["page"] | {"team": said.data["team"], "takenOver": said.data["takenOver"]}
    assert isinstance(data, dict)
    return data


def ask(url: str, path: str, method: str = "GET", body: object = None) -> int:
    """What a page answers to somebody with the key of this address."""
    parts = urlsplit(url)
    key = parse_qs(parts.fragment)["k"][0]
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=10)
    try:
        headers = {"X-Board-Key": key, "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


class TestOpening:
    def test_the_first_serves_and_every_other_session_looks_on(self, page: Place) -> None:
        mine, theirs = opened(page), opened(page, who="bob")
        assert (mine["kind"], mine["lead"], theirs["kind"], theirs["lead"]) == ("served", True, "attached", False)
        assert mine["port"] == theirs["port"]
        assert ask(mine["url"], "/api/cards", "POST", {"title": "T"}) == 201
        assert ask(theirs["url"], "/api/board") == 200
        assert ask(theirs["url"], "/api/cards", "POST", {"title": "T"}) == 403
        assert (theirs["team"]["label"], theirs["team"]["joined"]) == ("bob", True)

    def test_who_started_it_gets_its_own_address_again(self, page: Place) -> None:
        mine = opened(page)
        again = opened(page)
        assert (again["kind"], again["url"]) == ("own", mine["url"])

    def test_an_address_carries_the_view_and_who_reads(self, page: Place) -> None:
        url = urlsplit(opened(page, "--team")["url"])
        assert url.query == "view=team"
        assert parse_qs(url.fragment)["me"] == ["as:ann"]

    def test_people_are_told_the_addresses_and_that_one_of_them_is_theirs_alone(self, page: Place) -> None:
        said = page.call("board", "open", "--background")
        assert said.out.splitlines()[1:2] == ["This link can change cards: keep it to yourself."]
        assert "To look on: http://127.0.0.1:" in said.out
        assert "You are on the team as ann." in said.out
        assert "process" in page.call("board", "open", who="bob").out

    def test_a_page_that_died_is_taken_over_and_named(self, page: Place) -> None:
        first = opened(page)
        psutil.Process(first["pid"]).kill()
        until(lambda: isinstance(find(page.store), Dead), "the page is dead")
        assert "is dead" in page.call("board", "status").out
        second = opened(page)
        assert str(first["pid"]) in second["takenOver"]
        assert (second["kind"], second["port"]) == ("served", first["port"])

    def test_a_port_that_is_taken_is_refused_with_the_setting_to_change(self, page: Place) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            (page.root / "pyproject.toml").write_text(f"[tool.pi-taskbar]\nboard_port = {port}\n")
            said = page.call("board", "open", "--background")
        assert said.code == 5
        assert f"port {port} is in use" in said.err
        assert "board_port" in said.err

    def test_the_settings_are_checked_before_anything_is_served(self, page: Place) -> None:
        (page.root / "pyproject.toml").write_text("[tool.pi-taskbar]\nboard_port = 80\n")
        said = page.call("board", "open", "--background")
        assert said.code == 2
        assert "board_port" in said.err

    def test_in_the_foreground_it_lasts_until_ctrl_c_and_goes_in_order(self, page: Place) -> None:
        process = page.start("board", "--json", "--as", "ann")
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        assert ask(said["page"]["url"], "/api/board") == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert (process.returncode, out, err) == (0, "", "")
        assert find(page.store) is None

    def test_in_the_foreground_it_says_when_it_stops_by_itself(
        self, page: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nobody_comes(served: AlonePage) -> str:
            served.close()
            return BYE_IDLE

        monkeypatch.setattr(AlonePage, "serve", nobody_comes)
        said = page.call("board", "open")
        assert said.code == 0
        assert "Nobody looked at the page any more, so it stopped" in said.err

    def test_foreground_and_background_exclude_each_other(self, page: Place) -> None:
        said = page.call("board", "open", "--background", "--foreground")
        assert (said.code, "exclude each other" in said.err) == (2, True)
        assert find(page.store) is None


class TestAfterwards:
    def test_status_names_the_page_and_never_its_leads_key(self, page: Place) -> None:
        assert "no page is served" in page.call("board", "status").out
        url = opened(page)["url"]
        key = parse_qs(urlsplit(url).fragment)["k"][0]
        for who in ("ann", "bob"):
            said, data = page.call("board", "status", who=who), page.json("board", "status", who=who)
            assert "0 tabs watching" in said.out
            assert (data.data["page"]["state"], data.data["page"]["watching"]) == ("served", 0)
            assert key not in said.out + data.out

    @pytest.mark.parametrize("action", ["stop", "revoke"])
    def test_only_who_serves_can_end_it_or_its_links(self, page: Place, action: str) -> None:
        nobody = page.json("board", action)
        assert (nobody.code, nobody.data["code"]) == (3, "not_held")
        mine = opened(page)
        said = page.json("board", action, who="bob")
        assert (said.code, said.data["code"]) == (3, "not_holder")
        assert str(mine["pid"]) in said.data["message"]
        assert ask(mine["url"], "/api/board") == 200

    @pytest.mark.parametrize("action", ["stop", "revoke"])
    def test_the_page_of_an_app_is_the_apps(self, page: Place, monkeypatch: pytest.MonkeyPatch, action: str) -> None:
        opened(page)
        found = find(page.store)
        assert isinstance(found, Serving)
        of_app = Serving(structs.replace(found.note, url="http://127.0.0.1:5000/board#k=x", epoch="another"))
        with monkeypatch.context() as patched:
            patched.setattr("flask_pi_taskbar.commands.page.find", lambda _: of_app)
            said = page.json("board", action)
        assert (said.code, said.data["code"]) == (3, "not_holder")
        assert "http://127.0.0.1:5000/board is an app's: it ends with the app's server" in said.data["message"]

    def test_who_serves_stops_it(self, page: Place) -> None:
        opened(page)
        assert "Stopped the page at http://127.0.0.1:" in page.call("board", "stop").out
        assert find(page.store) is None

    def test_revoking_leaves_one_good_link_and_every_viewers(self, page: Place) -> None:
        mine = opened(page)
        fresh = page.json("board", "revoke").data["url"]
        assert ask(mine["url"], "/api/board") == 401
        assert ask(fresh, "/api/cards", "POST", {"title": "T"}) == 201
        assert ask(mine["viewer"], "/api/board") == 200
        assert opened(page)["url"] == fresh


class TestPruning:
    @pytest.fixture
    def old(self, place: Place) -> Place:
        for title, age in (("Long ago", 20 * DAY), ("Yesterday", DAY)):
            number = place.do("add", title=title, ago=age)["card"]["id"]
            place.do("claim", card=number, ago=age)
            place.do("move", card=number, status="done", ago=age)
        return place

    def test_a_preview_says_what_would_go(self, old: Place) -> None:
        said = old.call("board", "prune", "--dry-run")
        assert said.out == "1 card finished 14 or more days ago would be dropped:\n  #1 Long ago\n"
        assert len(old.json("board", "list", "--all").data["cards"]) == 2

    def test_programs_are_never_asked(self, old: Place) -> None:
        data = old.json("board", "prune", "--days", "0").data
        assert ([card["id"] for card in data["cards"]], data["dryRun"], data["kept"]) == ([1, 2], False, [])
        assert old.call("board", "undo", "1").code == 0

    def test_nothing_to_drop_is_no_failure(self, old: Place) -> None:
        said = old.call("board", "prune", "--days", "365")
        assert (said.code, said.out) == (0, "No card was finished 365 or more days ago.\n")

    @pytest.mark.parametrize(("answer", "left"), [("n\n", 2), ("y\n", 1)])
    def test_on_a_terminal_it_shows_them_and_asks(self, old: Place, answer: str, left: int) -> None:
        with old.terminal("board", "prune", "--as", "ann") as terminal:
            assert "#1 Long ago" in terminal.until("Drop them?")
            terminal.press(answer)
            terminal.rest()
            assert terminal.process.returncode == 0
        assert len(list(Path(old.store.layout.cards).iterdir())) == left

    @pytest.mark.parametrize("quiet", ["--yes", "--json"])
    def test_also_on_a_terminal_it_asks_nobody_who_wants_no_question(self, old: Place, quiet: str) -> None:
        with old.terminal("board", "prune", quiet, "--as", "ann") as terminal:
            assert "Drop them?" not in terminal.rest()
        assert len(list(Path(old.store.layout.cards).iterdir())) == 1
