"""kill -9 in the middle of writing: what the page acknowledged is there, and nothing of it is left running."""

from __future__ import annotations

import http.client
import json
import threading
from datetime import UTC, datetime
from urllib.parse import urlsplit

import psutil
import pytest

from flask_pi_taskbar.board.model import Card
from flask_pi_taskbar.board.pruning import prune_done
from flask_pi_taskbar.board.serving.finding import Dead, find
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page.opening import Served, serve_in_background
from tests.board_page.conftest import ANN, OPTIONS, Web, served
from tests.support.waiting import until


def post(page: Served, path: str, body: object) -> dict:
    """One write; raises where no answer came."""
    parts = urlsplit(page.url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=10)
    try:
        headers = {"X-Board-Key": parts.fragment.removeprefix("k="), "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


@pytest.mark.parametrize("after", [3, 17, 40])
def test_what_was_acknowledged_is_there_and_the_next_page_goes_on(store: Store, after: int) -> None:
    page = serve_in_background(store, OPTIONS, ANN, "/")
    assert page is not None
    process = psutil.Process(page.pid)
    family = [process, *process.children(recursive=True)]
    told: dict[int, str] = {}
    enough = threading.Event()

    def write(name: str) -> None:
        for number in range(200):
            title = f"{name} {number}"
            try:
                answer = post(page, "/api/cards", {"title": title})
                told[answer["card"]["id"]] = title
                post(page, f"/api/cards/{answer['card']['id']}/claim", {})
            except (OSError, http.client.HTTPException, ValueError):
                return
            if len(told) >= after:
                enough.set()

    writers = [threading.Thread(target=write, args=(name,)) for name in ("one", "two", "three")]
    for writer in writers:
        writer.start()
    assert enough.wait(60)
    process.kill()
    for writer in writers:
        writer.join()
    until(lambda: not any(one.is_running() and one.status() != psutil.STATUS_ZOMBIE for one in family), "all ended")

    left = find(store)
    assert isinstance(left, Dead)
    found = {card.id: card.title for card in Store(store.layout.root).read_all(datetime.now(UTC)).cards()}
    assert told.items() <= found.items(), "nothing that was acknowledged is lost"
    with served(store) as again:
        web = Web(again)
        assert web.ask("POST", "/api/cards", {"title": "And on"}, key=web.lead).status == 201
        rows = web.ask("GET", "/api/board", key=web.viewer).data["rows"]
        assert {int(number): row["title"] for number, row in rows.items()}.items() >= found.items()


def test_a_prune_that_ends_half_way_has_dropped_whole_cards_and_each_can_come_back(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = datetime.now(UTC)
    for number in range(2, 7):
        store.apply("add", {"title": f"Card {number}"}, ANN, now=now)
    for number in range(1, 7):
        store.apply("claim", {"card": number}, ANN, now=now)
        store.apply("move", {"card": number, "status": "done"}, ANN, now=now)
    real = store.apply
    calls = 0

    class Killed(BaseException):
        pass

    def until_the_third(*arguments: object, **keywords: object) -> dict:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Killed
        return real(*arguments, **keywords)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "apply", until_the_third)
    with pytest.raises(Killed):
        prune_done(store, ANN, now, 0)
    again = Store(store.layout.root)
    assert sorted(card.id for card in again.read_all(now).cards()) == [3, 4, 5, 6]
    for number in (1, 2):
        again.apply("undo", {"card": number}, ANN, now=now)
    assert all(isinstance(again.read(number)[0], Card) for number in range(1, 7))  # type: ignore[index]
