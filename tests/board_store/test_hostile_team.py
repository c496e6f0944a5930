"""Sessions, records and letters that are not what they should be cost nobody but themselves."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path

import pytest

from flask_pi_taskbar.board.bus import Bus
from flask_pi_taskbar.board.identity import caller, session
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.stamps import stamp
from flask_pi_taskbar.board.store import Store
from tests.board_store.boards import ANN, BOB, NOW, Board


def texts(board: Board) -> list[object]:
    found = Bus(board.store).inbox(BOB, now=NOW)["mail"]
    assert isinstance(found, list)
    return [letter["text"] for letter in found]


def a_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def a_folder(path: Path) -> None:
    path.mkdir()


def a_letter_with_another_number(path: Path) -> None:
    letter = json.loads(next(path.parent.glob("1.json")).read_text())
    path.write_text(json.dumps(letter | {"n": 99, "text": "not mine"}))


@pytest.mark.parametrize("spoil", [a_link, a_folder, a_letter_with_another_number])
def test_one_bad_letter_does_not_keep_the_others_back(board: Board, spoil: object) -> None:
    card = board.add()
    board.bob("add", title="Bob is on the team")
    assert callable(spoil)
    for number, text in enumerate(("first", "second")):
        board.ann("handoff", card, label="bob", text=text)
        if number == 0:
            inbox = next((board.path / "inbox").iterdir())
            spoil(inbox / "5.json")
    assert texts(board) == ["first", "second"]
    assert texts(board) == []


def test_a_folder_whose_name_is_not_utf_8_is_no_reason_not_to_join(tmp_path: Path) -> None:
    store = Store(tmp_path / "board")
    answer = store.apply("add", {"title": "One"}, ANN, now=NOW, cwd=os.fsdecode(b"/bad\xff"))
    assert answer["team"] == {"label": "ann", "joined": True}
    assert Bus(store).roster(NOW)[0].id == ANN.id


def test_a_heartbeat_from_the_future_is_put_right_by_the_next_write(board: Board) -> None:
    board.add()
    record = next((board.path / "sessions").glob("*.json"))
    said = json.loads(record.read_text())
    record.write_text(json.dumps(said | {"heartbeatAt": stamp(NOW + timedelta(days=9000))}))
    board.add()
    assert json.loads(record.read_text())["heartbeatAt"] == stamp(NOW)


def test_no_session_can_be_a_seat() -> None:
    for make in (lambda: session("seat:0123456789abcdef"), lambda: caller({"PI_TASKBAR_SESSION": "seat:0123"}).actor):
        with pytest.raises(Refusal) as refused:
            make()
        assert refused.value.code is Code.BAD_FIELD


def test_a_letter_of_the_highest_number_leaves_room_for_the_next(board: Board) -> None:
    card = board.add()
    board.bob("add", title="Bob is on the team")
    board.ann("handoff", card, label="bob", text="first")
    inbox = next((board.path / "inbox").iterdir())
    letter = json.loads((inbox / "1.json").read_text())
    (inbox / "2147483647.json").write_text(json.dumps(letter | {"n": 2147483647, "text": "from far away"}))
    board.ann("handoff", card, label="bob", text="second")
    assert texts(board) == ["first", "second", "from far away"]
    board.ann("handoff", card, label="bob", text="third")
    assert texts(board) == ["third"]


@pytest.mark.parametrize("label", ["team-lead", "Team-Lead", "TEAM-LEAD", "team lead", "Team_Lead", "\uff54eam-lead"])
def test_no_session_is_called_like_the_seat_in_any_spelling(board: Board, label: str) -> None:
    for join in (
        lambda actor: board.call(actor, "add", title="x"),
        lambda actor: Bus(board.store).join(actor, mode="cli", cwd="/", now=NOW),
    ):
        with pytest.raises(Refusal) as refused:
            join(session("s-1", label))
        assert refused.value.code is Code.BAD_FIELD
