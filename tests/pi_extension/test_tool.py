"""What an agent does on the board through the tool, in the real Pi of both lines."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tests.board_cli.place import Place
from tests.pi_extension.conftest import Start
from tests.pi_extension.session import Pi, calling, tool_end, words
from tests.support import hermetic
from tests.support.waiting import until

if TYPE_CHECKING:
    from examples.model_server import ModelServer

pytestmark = pytest.mark.pi


def cards(place: Place) -> dict[int, dict[str, Any]]:
    return {card["id"]: card for card in place.run("board", "list", "--all", "--json").data["cards"]}


def test_a_feature_goes_from_published_to_done(start: Start, place: Place, model: ModelServer) -> None:
    pi = start()
    steps: list[tuple[dict[str, object], str]] = [
        (
            {"action": "add", "title": "Webhook accepts orders", "paths": ["src/billing"], "note": "Asked."},
            "add: #1 todo",
        ),
        ({"action": "add", "title": "Retry", "dependsOn": [1], "priority": "high"}, "[waits #1]"),
        ({"action": "claim", "card": "#1"}, "claim: #1 doing agent-"),
        ({"action": "plan", "card": 1, "path": "docs/plan.md"}, "plan: #1"),
        ({"action": "note", "card": "1", "text": "It answers 202."}, "note: #1"),
        ({"action": "list", "card": 1}, "It answers 202."),
        ({"action": "move", "card": 1, "status": "done"}, "ready now: #2"),
        ({"action": "next"}, "next: #2 doing"),
    ]
    for arguments, said in steps:
        end = pi.tool(**arguments)
        assert (end["isError"], end["result"]["details"]["ok"]) == (False, True), end
        assert said in words(end)
        assert model.requests[-1].ask.results[-1] == words(end)
    first, second = cards(place)[1], cards(place)[2]
    assert (first["status"], first["plan"], first["owner"]["id"]) == ("done", "docs/plan.md", pi.id)
    assert [(note["kind"], note["by"]["id"]) for note in first["notes"]][-2:] == [("note", pi.id), ("move", pi.id)]
    assert (second["status"], second["owner"]["id"]) == ("doing", pi.id)


def test_a_refused_call_is_an_error_result_that_carries_the_card(
    start: Start, place: Place, model: ModelServer
) -> None:
    place.do("add", title="Taken")
    place.do("claim", "bob", card=1)
    end = start().tool(action="claim", card=1)
    assert end["isError"] is True
    details = end["result"]["details"]
    assert (details["code"], details["card"]["owner"]["label"]) == ("held", "bob")
    assert words(end).startswith("refused (held): #1 is held by bob")
    assert "#1 doing bob" in model.requests[-1].ask.results[-1]


@pytest.mark.parametrize(
    ("guess", "told"),
    [
        ({"action": "finish", "card": 1}, 'Use move with status "done".'),
        ({"action": "claim", "id": 1}, "Did you mean card?"),
        ({"action": "edit", "card": 1, "paths": "src"}, "paths must be a list"),
        ({"action": "move", "card": 1, "status": "finished"}, "status must be one of todo, doing, blocked, done."),
        ({"card": 1}, "Name an action"),
        ({"action": "claim", "card": 1, "priority": None}, "claim: #1 doing"),
    ],
    ids=str,
)
def test_the_board_itself_answers_a_wrong_guess(
    start: Start, place: Place, guess: dict[str, object], told: str
) -> None:
    place.do("add", title="T")
    assert told in words(start().tool(**guess))


def test_of_two_who_claim_at_once_one_gets_the_card(start: Start, place: Place) -> None:
    last = 8
    for number in range(1, last + 2):
        place.do("add", title=f"Card {number}")
    pi = start()
    pi.tool(action="list")
    racer = Racer(place, [{"action": "claim", "card": number} for number in range(last, 0, -1)])
    mine = {number: not pi.tool(action="claim", card=number)["isError"] for number in range(1, last + 1)}
    theirs = {answer["card"]["id"]: answer["ok"] for answer in racer.answers()}
    assert all(mine[number] != theirs[number] for number in mine), (mine, theirs)
    for number, card in cards(place).items():
        if number <= last:
            assert (card["owner"]["id"] == pi.id) is mine[number]


def test_no_note_is_lost_while_another_process_writes(start: Start, place: Place) -> None:
    place.do("add", title="Busy")
    pi = start()
    racer = Racer(place, [{"action": "note", "card": 1, "text": f"theirs {number}"} for number in range(100)])
    for number in range(5):
        assert pi.tool(action="note", card=1, text=f"mine {number}")["isError"] is False
    assert len(racer.answers()) == 100
    notes = [note["text"] for note in place.run("board", "list", "1", "--json").card["notes"]]
    assert len(notes) == 105
    assert [note for note in notes if note.startswith("mine")] == [f"mine {number}" for number in range(5)]


class Racer:
    """Another process that calls the board as fast as it is answered."""

    def __init__(self, place: Place, requests: list[dict[str, object]]) -> None:
        self._process = place.start("board", "tool", "--as", "racer")
        self._said: list[str] = []
        self._thread = threading.Thread(target=self._run, args=(self._process, requests))
        self._thread.start()

    def _run(self, process: subprocess.Popen[str], requests: list[dict[str, object]]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        for request in requests:
            process.stdin.write(json.dumps(request) + "\n")
            process.stdin.flush()
            self._said.append(process.stdout.readline())

    def answers(self) -> list[dict[str, Any]]:
        self._thread.join()
        self._process.communicate(timeout=20)
        return [json.loads(line) for line in self._said]


def test_waiting_ends_when_the_card_is_done_and_holds_up_nobody_else(start: Start, place: Place) -> None:
    place.do("add", title="T")
    place.do("claim", "bob", card=1)
    pi, begun = start(), 0
    pi.send(type="prompt", message=calling(action="wait", card=1))
    pi.until(lambda record: record["type"] == "tool_execution_update", "the wait has begun", begun)
    place.do("move", "bob", card=1, status="done")
    pi.until(lambda record: record["type"] == "agent_end", "the run ends")
    end = tool_end(pi.records)
    assert (end["isError"], end["result"]["details"]["card"]["status"]) == (False, "done")


def waiting(start: Start, place: Place) -> Pi:
    """A session in the middle of a wait."""
    place.do("add", title="T")
    pi = start(WAIT_MARK=place.root.parent.name)
    pi.send(type="prompt", message=calling(action="wait", card=1))
    pi.until(lambda record: record["type"] == "tool_execution_update", "the wait has begun")
    until(lambda: marked(place), "its process runs")
    return pi


def marked(place: Place) -> list[list[str]]:
    """What runs besides Pi itself."""
    found = hermetic.marked(place.root.parent.name, "WAIT_MARK")
    return [one.cmdline() for one in found if "tool" in one.cmdline()]


def test_a_wait_can_be_aborted_and_leaves_no_process(start: Start, place: Place) -> None:
    pi = waiting(start, place)
    assert pi.command("abort")["success"]
    end = tool_end(pi.records)
    assert end["isError"] is True
    assert "The call was aborted." in words(end)
    until(lambda: not marked(place), "only Pi is left")
    assert pi.tool(action="list")["isError"] is False


@pytest.mark.parametrize("ends", [Pi.kill, Pi.close])
def test_a_wait_ends_with_pi_however_that_ends(start: Start, place: Place, ends: Callable[[Pi], None]) -> None:
    ends(waiting(start, place))
    until(lambda: not marked(place), "nothing is left")
