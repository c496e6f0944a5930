"""`/board` in the real Pi: the first session serves the page, others look on, and it goes with the session."""

from __future__ import annotations

import http.client
import json
import re
from typing import Any
from urllib.parse import urlsplit

import psutil
import pytest

from flask_pi_taskbar.board.serving.finding import Dead, Serving, find
from tests.board_cli.place import Place
from tests.pi_extension.conftest import Start
from tests.pi_extension.session import Pi
from tests.support.waiting import until

pytestmark = pytest.mark.pi


def typed(pi: Pi, command: str) -> str:
    (notice,) = pi.typed(command)
    assert notice["notifyType"] == "info", notice
    return str(notice["message"])


def addresses(text: str) -> list[str]:
    return re.findall(r"http://\S+", text)


def ask(address: str, path: str, method: str = "GET", body: object = None) -> tuple[int, Any]:
    """Ask the page at an address that carries its key."""
    parts = urlsplit(address)
    key = parts.fragment.partition("&")[0].removeprefix("k=")
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 0, timeout=10)
    try:
        headers = {"X-Board-Key": key, "Content-Type": "application/json"}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()


def test_the_first_session_serves_and_the_second_looks_on(start: Start, place: Place) -> None:
    place.do("add", title="T")
    first, second = start(), start()
    lead, viewer = addresses(typed(first, "/board"))
    assert ask(lead, "/api/cards/1/claim", "POST", {})[0] == 200
    assert ask(viewer, "/api/cards/1/release", "POST", {})[0] == 403
    assert (first.chip() or "").endswith(f":{urlsplit(lead).port}")

    said = typed(second, "/board team")
    assert "you look on, read-only" in said
    looked = addresses(said)[-1]
    assert "view=team" in looked
    assert ask(looked, "/api/board")[1]["can"] == {"write": False}
    team = {mate["id"]: mate for mate in ask(looked, "/api/board")[1]["team"]}
    assert team[first.id]["serves"]
    assert not team[second.id]["serves"]

    assert addresses(typed(first, "/board"))[1].partition("&")[0] == lead.partition("&")[0], "its own address again"
    (refused,) = second.typed("/board stop")
    assert (refused["notifyType"], "Another session's page" in refused["message"]) == ("error", True)
    assert "page at http://127.0.0.1:" in typed(second, "/board status")
    assert lead.partition("#")[2] not in typed(first, "/board status")
    assert "Stopped the page" in typed(first, "/board stop")
    assert find(place.store) is None


def test_a_page_goes_with_its_session_and_is_taken_over_when_it_was_killed(start: Start, place: Place) -> None:
    place.do("add", title="T")
    first = start()
    typed(first, "/board")
    found = find(place.store)
    assert isinstance(found, Serving)
    psutil.Process(found.note.pid).kill()
    until(lambda: isinstance(find(place.store), Dead), "the page is dead")
    port = f":{found.note.port}"
    first.until(
        lambda record: record.get("method") == "setStatus" and port not in str(record.get("statusText")),
        "the status line names no dead page",
        next(n for n, record in enumerate(first.records) if port in str(record.get("statusText"))),
    )
    second = start()
    said = typed(second, "/board")
    assert f"process {found.note.pid}" in said
    assert "it is taken over" in said
    second.kill()
    until(lambda: find(place.store) is None, "the page has ended with its session")
