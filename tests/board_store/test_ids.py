"""Numbers: never given twice, whatever was dropped, lost or left there by others. Section 7 of the rules."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from flask_pi_taskbar.board.faults import WatchedDisk
from flask_pi_taskbar.board.model import MAX_ID
from flask_pi_taskbar.board.refusal import Code
from tests.board_store.boards import ANN, NOW, Board, number_of


def test_numbers_begin_at_one_and_go_on(board: Board) -> None:
    assert [board.add() for _ in range(3)] == [1, 2, 3]
    assert (board.path / "seq").read_text() == "3\n"


def test_a_dropped_number_is_not_given_again(board: Board) -> None:
    for _ in range(5):
        board.add()
    board.ann("drop", 5)
    assert board.add() == 6


def test_dropping_every_card_does_not_start_over(board: Board) -> None:
    for _ in range(3):
        board.add()
    for number in (1, 2, 3):
        board.ann("drop", number)
    assert board.ids() == []
    assert board.add() == 4


@pytest.mark.parametrize("content", [None, b"", b"\0\0\0", b"many", b"-7", b"999999999999999999999", b"2\n"])
def test_a_lost_or_spoilt_seq_gives_no_number_twice(content: bytes | None, board: Board) -> None:
    for _ in range(5):
        board.add()
    board.ann("drop", 5)
    seq = board.path / "seq"
    if content is None:
        seq.unlink()
    else:
        seq.write_bytes(content)
    assert board.add() == 6


def test_seq_alone_remembers_what_was_removed_by_hand(board: Board) -> None:
    for _ in range(5):
        board.add()
    for number in (3, 4, 5):
        board.file(f"{number}.json").unlink()
    assert board.add() == 6


def test_a_damaged_file_set_aside_keeps_its_number(board: Board) -> None:
    board.add()
    board.by_hand("7.json", b"{")
    board.store.set_aside("7.json", ANN, now=NOW)
    (board.path / "seq").unlink()
    assert board.add() == 8


@pytest.mark.parametrize("name", ["07.json", "7 (1).json", "7.JSON", "7 copy.json", "7.sync-conflict-1.json"])
def test_a_foreign_spelling_claims_no_number_and_frees_none(name: str, board: Board) -> None:
    board.add()
    board.by_hand(name, board.file("1.json").read_bytes())
    assert board.refused(ANN, "claim", 7).code is Code.NO_SUCH_CARD
    assert board.add() == 8


@pytest.mark.parametrize("name", ["7.json~", ".7.json.swp", "notes.txt", "x7.json", "9999999999.json"])
def test_other_files_push_no_number(name: str, board: Board) -> None:
    board.add()
    board.by_hand(name, b"{}")
    assert board.add() == 2


def test_the_last_number_is_the_last(board: Board) -> None:
    board.add()
    (board.path / "seq").write_text(str(MAX_ID - 1))
    assert board.add() == MAX_ID
    refusal = board.refused(ANN, "add", title="One more")
    assert refusal.code is Code.STORE_UNWRITABLE
    assert len(board.ids()) == 2


def test_a_writer_that_takes_no_lock_loses_nothing(board: Board, tmp_path: Path) -> None:
    """It creates files under the very names that we are about to use; each of ours gets the next free one."""
    board.add()
    theirs = {}

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "link" and len(theirs) < 3 and str(arguments[1]).startswith(str(board.path / "cards")):
            path = Path(str(arguments[1]))
            path.write_text("theirs")
            theirs[path] = "theirs"
        return call()  # type: ignore[operator]

    slow = Board(tmp_path, disk=WatchedDisk(watch))
    assert slow.add("Ours") == 5
    assert {path: path.read_text() for path in theirs} == theirs
    assert board.card(5).title == "Ours"


def test_a_board_copied_elsewhere_goes_on_counting(board: Board, tmp_path: Path) -> None:
    board.add()
    shutil.copytree(board.path, tmp_path / "copy" / "board")
    assert number_of(Board(tmp_path / "copy").ann("add", title="There")) == 2
    assert board.ids() == [1]
