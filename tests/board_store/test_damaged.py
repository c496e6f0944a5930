"""Files that are not cards: shown with a reason, never touched, and never in anybody's way. Section 8 of the rules."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from flask_pi_taskbar.board.explain import explain
from flask_pi_taskbar.board.faults import WatchedDisk
from flask_pi_taskbar.board.listing import take_list
from flask_pi_taskbar.board.model import MAX_FILE_BYTES, Damaged
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import read_request
from flask_pi_taskbar.board.rules import decide
from tests.board_store.boards import ANN, BOB, NOW, Board, everything


def socket_at(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        here = os.open(".", os.O_RDONLY)
        os.chdir(path.parent)  # the path may be too long for a socket's address
        try:
            listener.bind(path.name)
        finally:
            os.chdir(here)
            os.close(here)


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "empty": (lambda path: path.touch(), "empty"),
    "NULs": (lambda path: path.write_bytes(b"\0" * 4096), "NUL"),
    "not JSON": (lambda path: path.write_text('{"v":1,"id":7'), "JSON"),
    "not an object": (lambda path: path.write_text("[1]"), "object"),
    "no title": (lambda path: path.write_text('{"v":1,"id":7,"status":"todo"}'), "title"),
    "another number": (lambda path: path.write_text('{"v":1,"id":9,"title":"x","status":"todo"}'), "#9"),
    "too large": (lambda path: path.write_bytes(b" " * (MAX_FILE_BYTES + 1)), "512"),
    "a link": (lambda path: path.symlink_to("1.json"), "link"),
    "a link to nothing": (lambda path: path.symlink_to("/nowhere"), "link"),
    "a pipe": (lambda path: os.mkfifo(path), "regular"),
    "a folder": (lambda path: path.mkdir(), "regular"),
    "a socket": (socket_at, "regular"),
    "a device": (lambda path: path.symlink_to("/dev/zero"), "link"),
}


def damaged(board: Board) -> dict[str, Damaged]:
    return {entry.name: entry for entry in board.store.read_all(NOW).damaged()}


@pytest.mark.parametrize("action", ["claim", "note", "list", "why"])
def test_a_refusal_says_what_can_be_done_about_the_file(action: str, board: Board) -> None:
    board.add()
    board.by_hand("7.json", b"")
    world = board.store.live(NOW)
    request = read_request(action, {"card": 7} | ({"text": "x"} if action == "note" else {}))
    answer: Callable[..., object] = take_list if action == "list" else explain if action == "why" else decide
    with pytest.raises(Refusal) as caught:
        answer(request, ANN, world, NOW)
    said = "7.json cannot be read as a card: it is empty. Repair it, or move it away"
    assert (caught.value.code, caught.value.message.startswith(said)) == (Code.DAMAGED, True)
    assert "page" not in caught.value.message


@pytest.mark.parametrize("kind", sorted(BROKEN))
def test_it_is_shown_with_the_reason_and_nothing_else_changes(kind: str, board: Board) -> None:
    make, word = BROKEN[kind]
    board.add("Waits", note="words")
    make(board.file("7.json"))
    before = everything(board.path / "cards")
    entry = damaged(board)["7.json"]
    assert entry.id == 7
    assert word in entry.why
    assert entry.mtime is not None
    assert board.ids() == [1]
    for action, fields in (("claim", {}), ("note", {"text": "x"}), ("drop", {}), ("edit", {"title": "x"})):
        assert board.refused(ANN, action, 7, **fields).code is Code.DAMAGED
    assert everything(board.path / "cards") == before
    assert board.add() == 8


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EIO])
def test_a_file_that_cannot_be_read_is_damaged_and_the_rest_is_shown(number: int, board: Board, tmp_path: Path) -> None:
    board.add()
    board.by_hand("7.json", b"{}")

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "open" and str(arguments[0]).endswith("/7.json"):
            raise OSError(number, os.strerror(number))
        return call()  # type: ignore[operator]

    hindered = Board(tmp_path, disk=WatchedDisk(watch))
    assert "read" in damaged(hindered)["7.json"].why
    assert hindered.ids() == [1]
    assert hindered.code(ANN, "claim", 7) is Code.DAMAGED


def test_a_card_that_waits_for_a_damaged_one_waits(board: Board) -> None:
    board.add()
    board.add(dependsOn=[1])
    board.by_hand("1.json", b"\0" * 100)
    refusal = board.refused(ANN, "claim", 2)
    assert refusal.code is Code.WAITING
    assert refusal.details["waitsOn"] == [{"id": 1, "status": "unreadable", "owner": None}]


def test_one_bad_file_of_a_thousand_costs_one_line(board: Board) -> None:
    board.add()
    whole = board.file("1.json").read_text()
    for number in range(2, 1001):
        board.by_hand(f"{number}.json", whole.replace('"id": 1', f'"id": {number}').encode())
    board.by_hand("500.json", b"oops")
    assert len(board.ids()) == 999
    assert list(damaged(board)) == ["500.json"]
    assert damaged(board)["500.json"].head == "oops"


def test_a_copy_is_damaged_and_the_card_is_shown(board: Board) -> None:
    board.add("The card")
    board.by_hand("1 (1).json", board.file("1.json").read_bytes())
    assert board.ids() == [1]
    entry = damaged(board)["1 (1).json"]
    assert (entry.id, "copy" in entry.why) == (None, True)


def test_other_files_are_counted_and_named(board: Board) -> None:
    board.add()
    for name in (".1.json.swp", "notes.txt", "1.json~"):
        board.by_hand(name, b"x")
    assert sorted(board.store.read_all(NOW).others) == [".1.json.swp", "1.json~", "notes.txt"]
    assert board.ids() == [1]
    assert damaged(board) == {}


def test_a_newer_card_is_read_only(board: Board) -> None:
    board.add()
    data = board.file("1.json").read_bytes().replace(b'"v": 1', b'"v": 2')
    board.file("1.json").write_bytes(data)
    assert board.code(ANN, "claim", 1) is Code.NEWER
    assert board.file("1.json").read_bytes() == data
    assert board.card(1).newer


def test_a_hand_edit_is_seen_and_its_unknown_fields_stay(board: Board) -> None:
    board.add("Before")
    board.store.read_all(NOW)
    text = board.file("1.json").read_text()
    board.file("1.json").write_text(text.replace('"title": "Before"', '"title": "By hand", "sprint": 7'))
    assert board.card(1).title == "By hand"
    assert [card.title for card in board.store.read_all(NOW).cards()] == ["By hand"]
    board.ann("claim", 1)
    assert '"sprint": 7' in board.file("1.json").read_text()


def test_what_was_repaired_on_reading_is_kept_by_the_next_write_only(board: Board) -> None:
    board.add()
    text = board.file("1.json").read_text().replace('"normal"', '"urgent!"')
    board.file("1.json").write_text(text)
    assert board.card(1).repaired == ("priority",)
    assert board.file("1.json").read_text() == text
    board.ann("claim", 1)
    assert "urgent!" in board.file("1.json").read_text()
    assert board.card(1).repaired == ()


def test_a_file_in_the_middle_of_being_written_is_read_again(board: Board, tmp_path: Path) -> None:
    board.add("Whole")
    whole = board.file("1.json").read_bytes()
    os.utime(board.file("1.json"), (1, 1))
    opened = []

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "open" and str(arguments[0]).endswith("/1.json"):
            opened.append(1)
            board.file("1.json").write_bytes(whole if len(opened) == 3 else whole[: len(whole) // 2])
        return call()  # type: ignore[operator]

    slow = Board(tmp_path, disk=WatchedDisk(watch))
    assert slow.card(1).title == "Whole"
    assert slow.clock.slept == [0.02, 0.02]


def test_a_file_that_never_gets_whole_is_damaged_after_three_more_looks(board: Board, tmp_path: Path) -> None:
    board.add()

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "open" and str(arguments[0]).endswith("/1.json"):
            board.file("1.json").write_bytes(b"{" + os.urandom(3).hex().encode())
        return call()  # type: ignore[operator]

    slow = Board(tmp_path, disk=WatchedDisk(watch))
    assert "1.json" in damaged(slow)
    assert slow.clock.slept == [0.02] * 3


def test_a_file_that_rests_is_called_damaged_at_once(board: Board) -> None:
    board.add()
    os.utime(board.by_hand("7.json", b"{"), (1, 1))
    assert "7.json" in damaged(board)
    assert board.clock.slept == []


def test_a_file_that_vanishes_between_listing_and_opening_is_not_there(board: Board, tmp_path: Path) -> None:
    board.add()
    board.add()

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "open" and str(arguments[0]).endswith("/2.json"):
            board.file("2.json").unlink(missing_ok=True)
        return call()  # type: ignore[operator]

    assert Board(tmp_path, disk=WatchedDisk(watch)).ids() == [1]


@pytest.mark.parametrize("kind", ["NULs", "a link", "a pipe", "a folder"])
def test_the_lead_sets_a_damaged_file_aside(kind: str, board: Board) -> None:
    board.add()
    BROKEN[kind][0](board.file("7.json"))
    before = os.lstat(board.file("7.json")).st_ino
    answer = board.store.set_aside("7.json", ANN, now=NOW)
    moved = Path(str(answer["to"]))
    assert moved.name == "7.20261130T200000.json"
    assert os.lstat(moved).st_ino == before
    assert damaged(board) == {}
    board.by_hand("7.json", b"{")
    assert Path(str(board.store.set_aside("7.json", ANN, now=NOW)["to"])).name == "7.20261130T200000-2.json"


def test_only_a_damaged_file_can_be_set_aside(board: Board) -> None:
    board.add()
    board.by_hand("notes.txt", b"x")
    for name in ("1.json", "notes.txt", "99.json", "../seq", ""):
        refused = pytest.raises(Exception, match="not among the damaged files")
        with refused as caught:
            board.store.set_aside(name, BOB, now=NOW)
        assert getattr(caught.value, "code", None) is Code.NO_SUCH_CARD
    assert board.ids() == [1]
