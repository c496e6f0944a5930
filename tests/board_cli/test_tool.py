"""`board tool`: a session's calls as lines of JSON, with text for the agent, mail, and a place on the team."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from typing import Any

import pytest

from flask_pi_taskbar.board.model import Note, NoteKind, evolve
from flask_pi_taskbar.commands.actor import open_desk
from flask_pi_taskbar.commands.tool import Tool, serve
from tests.board_cli.place import Place
from tests.board_core.boards import ME, ago, card, many
from tests.support.waiting import until


def ask(place: Place, *requests: object, who: str = "ann", mode: str | None = None) -> list[dict[str, Any]]:
    """The answers to some requests of one session, in this process."""
    lines = b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in requests)
    replies = io.BytesIO()
    tool = Tool(open_desk(start=str(place.root), label=who), mode)
    try:
        serve(tool, io.BytesIO(lines), replies)
    finally:
        tool.close()
    return [json.loads(line) for line in replies.getvalue().splitlines()]


def live(place: Place, label: str) -> bool:
    now = datetime.now(UTC)
    return any(one.live for one in place.store.roster.sessions(now) if one.label == label)


def test_one_request_is_one_answer_with_data_and_text(place: Place) -> None:
    said = place.run("board", "tool", "--as", "ann", stdin='{"action": "add", "title": "T", "priority": "high"}')
    assert (said.code, said.err) == (0, "")
    data = said.data
    assert (data["ok"], data["card"]["id"], data["unread"]) == (True, 1, 0)
    assert data["text"] == "add: #1 todo high 0s  T"


def test_a_refusal_carries_its_text_too_and_is_the_exit_code(place: Place) -> None:
    place.do("add", title="T")
    place.do("claim", "bob", card=1)
    said = place.run("board", "tool", "--as", "ann", stdin='{"action": "claim", "card": "#1"}\n')
    assert (said.code, said.data["code"]) == (3, "held")
    assert said.data["text"].startswith("refused (held): #1 is held by bob (doing)")
    assert "could be done now: note #1" in said.data["text"]


def test_a_session_asks_line_by_line_and_is_answered_at_once(place: Place) -> None:
    tool = place.start("board", "tool", "--session", "s-1", "--as", "pi one")
    assert tool.stdin is not None
    assert tool.stdout is not None
    for number in (1, 2, 3):
        tool.stdin.write(json.dumps({"action": "add", "title": f"Card {number}"}) + "\n")
        tool.stdin.flush()
        answer = json.loads(tool.stdout.readline())
        assert answer["card"]["id"] == number
        assert answer["card"]["createdBy"] == {"id": "s-1", "label": "pi one"}
    out, err = tool.communicate(timeout=20)
    assert (tool.returncode, out, err) == (0, "", "")


REQUESTS = [
    ({"action": "list"}, "#1 todo 0s  T"),
    ({"action": "list", "card": 1}, "#1 todo 0s  T\n"),
    ({"action": "list", "round": True}, "0 owners · 1 feature · 1 unassigned · 0 unplanned\n#1"),
    ({"action": "claim", "card": 1}, "claim: #1 doing ann 0s  T"),
    ({"action": "next", "dryRun": True}, "already so: #1 todo 0s  T\nnormal, nothing it waits for"),
    ({"action": "why", "card": "1"}, "#1 can be claimed: normal, nothing it waits for."),
    ({"action": "wait", "card": 1, "until": "claimable"}, "#1 todo 0s  T"),
    ({"action": "drop", "card": 1}, "dropped #1 T; undo brings it back for a day"),
    ({"tool": "team", "action": "round"}, "0 owners · 1 feature"),
    ({"tool": "team", "action": "inbox"}, "no new mail"),
]


@pytest.mark.parametrize(("request_", "text"), REQUESTS, ids=[str(row[0]) for row in REQUESTS])
def test_every_action_has_its_text(place: Place, request_: dict[str, object], text: str) -> None:
    place.do("add", title="T")
    (answer,) = ask(place, request_)
    assert answer["ok"] is True
    assert answer["text"].startswith(text)


BAD = [
    (b"not json", "bad_field"),
    (b"[1]", "bad_field"),
    (b'{"action": "claim"', "bad_field"),
    (b"[" * 100_000, "bad_field"),
    (b'{"action": null}', "unknown_action"),
    (b'{"action": {"a": 1}}', "unknown_action"),
    (b'{"action": "start", "card": 1}', "unknown_action"),
    (b'{"action": "claim", "id": 1}', "bad_field"),
    (b'{"action": "note", "card": 1, "text": "\\ud800"}', "bad_field"),
    (b'{"action": "wait", "card": 1, "seconds": "soon"}', "bad_field"),
    (b'{"tool": "team", "action": "claim", "card": 1}', "unknown_action"),
    (b'{"tool": "team", "action": ["x"]}', "unknown_action"),
    (b'{"action": "note", "card": 1, "text": "' + b"x" * (1 << 20) + b'"}', "bad_field"),
]


@pytest.mark.parametrize(("request_", "code"), BAD, ids=[row[0][:40].decode() for row in BAD])
def test_a_bad_request_is_refused_and_the_next_one_answered(place: Place, request_: bytes, code: str) -> None:
    place.do("add", title="T")
    refused, *_, answered = ask(place, request_, {"action": "list"})
    assert (refused["ok"], refused["code"]) == (False, code)
    assert refused["text"]
    assert answered["ok"] is True


def test_a_guessed_verb_is_told_what_was_meant(place: Place) -> None:
    (answer,) = ask(place, {"action": "finish", "card": 1})
    assert 'Use move with status "done".' in answer["text"]


def test_of_a_large_board_an_agent_gets_a_part_and_is_told_so(place: Place) -> None:
    place.plant(*many(1500))
    (answer,) = ask(place, {"action": "list"})
    assert len(answer["text"]) <= 12_000
    assert len(answer["cards"]) == 100
    assert answer["left"] == answer["total"] - 100
    assert all(one["notes"] == [] for one in answer["cards"])


def test_of_a_long_history_the_last_notes(place: Place) -> None:
    notes = tuple(Note(n=n, at=ago(), by=ME.who, kind=NoteKind.NOTE, text=f"note {n}.") for n in range(1, 31))
    place.plant(evolve(card(1, "doing", owner=ME), notes=notes))
    for answer in ask(place, {"action": "list", "card": 1}, {"action": "claim", "card": 1}):
        assert [note["n"] for note in answer["card"]["notes"]] == list(range(21, 31))
        assert answer["card"]["earlierNotes"] == 20


def test_mail_is_counted_with_every_answer_and_read_when_asked_for(place: Place) -> None:
    place.do("add", title="T")
    place.do("note", "bob", card=1, text="here")
    place.do("handoff", card=1, label="bob", text="Take it.")
    before, refused, mail, after = ask(
        place,
        {"action": "list"},
        {"action": "claim", "card": 9},
        {"tool": "team", "action": "inbox"},
        {"action": "list"},
        who="bob",
    )
    assert [before["unread"], refused["unread"], mail["unread"], after["unread"]] == [1, 1, 0, 0]
    assert mail["mail"][0]["text"] == "Take it."
    assert mail["text"].startswith("mail from ann (handoff about #1)")


class TestMembership:
    def test_a_session_lives_as_long_as_its_process(self, place: Place) -> None:
        tool = place.start("board", "tool", "--session", "s-1", "--as", "pi", "--mode", "rpc")
        assert tool.stdin is not None
        assert tool.stdout is not None
        tool.stdin.write('{"action": "join"}\n')
        tool.stdin.flush()
        joined = json.loads(tool.stdout.readline())
        assert joined["team"] == {"label": "pi", "joined": True, "live": True}
        (row,) = place.store.roster.sessions(datetime.now(UTC))
        assert (row.live, row.listening, row.mode) == (True, True, "rpc")
        tool.kill()
        tool.communicate()
        assert not live(place, "pi")

    def test_reading_joins_nobody_and_the_first_write_does(self, place: Place) -> None:
        place.do("add", title="T")
        listed, claimed = ask(place, {"action": "list"}, {"action": "claim", "card": 1}, who="pi", mode="tui")
        assert "team" not in listed
        assert claimed["team"] == {"label": "pi", "joined": True, "live": True}
        assert not live(place, "pi")

    def test_the_end_of_the_input_is_leaving(self, place: Place) -> None:
        ask(place, {"action": "join"}, who="pi", mode="rpc")
        (row,) = place.store.roster.sessions(datetime.now(UTC))
        assert (row.live, row.listening, row.label) == (False, False, "pi")

    def test_a_taken_label_gets_a_suffix_that_is_kept(self, place: Place) -> None:
        place.do("add", "pi", title="T")
        tool = Tool(open_desk(start=str(place.root), session_id="s-2", label="pi"), "rpc")
        try:
            assert tool.answer(b'{"action": "join"}')[0]["team"] == {"label": "pi-2", "joined": True, "live": True}
            data, _ = tool.answer(b'{"action": "claim", "card": 1}')
            assert data["card"]["owner"] == {"id": "s-2", "label": "pi-2"}
        finally:
            tool.close()

    def test_its_heart_beats(self, place: Place) -> None:
        tool = Tool(open_desk(start=str(place.root), session_id="s-1", label="pi"), "rpc", heartbeat=0.05)
        try:
            tool.answer(b'{"action": "join"}')
            record = place.store.roster.record("s-1")
            assert record is not None
            until(lambda: place.store.roster.record("s-1") != record, "a heartbeat is written")
        finally:
            tool.close()

    def test_without_a_mode_a_call_joins_like_any_other(self, place: Place) -> None:
        (answer,) = ask(place, {"action": "add", "title": "T"}, who="pi")
        assert answer["team"] == {"label": "pi", "joined": True}
        (row,) = place.store.roster.sessions(datetime.now(UTC))
        assert (row.mode, row.live) == ("cli", True)

    def test_a_failed_join_is_a_clause_and_no_failed_call(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        def no(*_: object, **__: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("flask_pi_taskbar.commands.tool.Bus.join", no)
        (answer,) = ask(place, {"action": "add", "title": "T"}, mode="rpc")
        assert (answer["ok"], answer["card"]["id"]) == (True, 1)
        assert answer["team"]["joined"] is False
        assert "No space left" in answer["team"]["why"]


def test_a_wrong_identity_is_one_answer_and_the_end(place: Place) -> None:
    said = place.run("board", "tool", "--as", "a/b", stdin='{"action": "list"}\n')
    assert (said.code, said.data["code"]) == (2, "bad_field")


def test_a_tool_that_is_cut_off_leaves_nothing_behind(place: Place) -> None:
    tool = place.start("board", "tool", "--session", "s-1", "--mode", "rpc")
    assert tool.stdin is not None
    tool.stdin.close()
    tool.stdin = None
    assert tool.wait(20) == 0
    tool.communicate()
    assert not place.agent.exists()
