"""The questions around the cards: `wait`, `why`, the facts for doctor and status, and the page's note."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flask_pi_taskbar.board import note
from flask_pi_taskbar.board.bus import Bus
from flask_pi_taskbar.board.explain import explain
from flask_pi_taskbar.board.facts import facts
from flask_pi_taskbar.board.faults import NoFlock, NoLinks
from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.model import Actor
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import Action, read_request
from flask_pi_taskbar.board.waiting import wait
from tests.board_store.boards import ANN, BOB, NOW, Board, FakeClock, everything


class Busy(FakeClock):
    """While somebody sleeps, something happens."""

    def __init__(self, *happenings: Callable[[], object]) -> None:
        super().__init__()
        self._happenings = list(happenings)

    def sleep(self, seconds: float, /) -> None:
        super().sleep(seconds)
        if self._happenings:
            self._happenings.pop(0)()


def waited(
    board: Board, clock: FakeClock, card: int, until: str | None = None, seconds: float | None = 60
) -> dict[str, object]:
    board.store.clock = clock
    fields = {"card": card} | ({} if until is None else {"until": until})
    return wait(board.store, fields, ANN, now=lambda: NOW, seconds=seconds)


def test_wait_ends_when_the_card_is_done(board: Board) -> None:
    board.add()
    happening = Busy(
        lambda: board.bob("claim", 1),
        lambda: board.bob("note", 1, text="x"),
        lambda: board.bob("move", 1, status="done"),
    )
    answer = waited(board, happening, 1)
    assert (answer["ok"], answer["until"], len(happening.slept)) == (True, "done", 3)
    assert answer["card"] == as_json(board.card(1))


@pytest.mark.parametrize(
    ("until", "happening"),
    [
        ("doing", lambda board: board.bob("claim", 2)),
        ("claimable", lambda board: board.finish(1)),
        ("changed", lambda board: board.bob("note", 2, text="x")),
        ("gone", lambda board: board.ann("drop", 2)),
        ("blocked", lambda board: board.ann("move", 2, status="blocked")),
    ],
)
def test_wait_can_wait_for_other_things(until: str, happening: Callable[[Board], object], tmp_path: Path) -> None:
    board = Finishing(tmp_path)
    board.add()
    board.add(dependsOn=[1] if until == "claimable" else [])
    clock = Busy(lambda: None, lambda: happening(board))
    answer = waited(board, clock, 2, until)
    assert answer["until"] == until
    assert len(clock.slept) == 2
    assert ("card" in answer) is (until != "gone")


class Finishing(Board):
    def finish(self, card: int) -> None:
        self.bob("claim", card)
        self.bob("move", card, status="done")


def test_wait_ends_at_once_when_it_is_so_already(board: Board) -> None:
    board.add()
    clock = FakeClock()
    assert waited(board, clock, 1, "todo")["seconds"] == 0
    assert clock.slept == []


def test_wait_tells_when_its_time_is_over(board: Board) -> None:
    board.add()
    clock = FakeClock()
    with pytest.raises(Refusal) as caught:
        waited(board, clock, 1, seconds=2.5)
    assert caught.value.code is Code.WAITING
    assert "still todo" in caught.value.message
    assert clock.now == pytest.approx(2.5)


def test_wait_does_not_wait_for_what_cannot_come(board: Board) -> None:
    board.add()
    board.bob("claim", 1)
    board.bob("move", 1, status="done")
    for card, until, code in (
        (1, "doing", Code.FINISHED),
        (1, "claimable", Code.FINISHED),
        (9, "done", Code.NO_SUCH_CARD),
    ):
        with pytest.raises(Refusal) as caught:
            waited(board, FakeClock(), card, until, None)
        assert caught.value.code is code
    board.add()
    with pytest.raises(Refusal) as caught:
        waited(board, Busy(lambda: board.ann("drop", 2)), 2, "done", None)
    assert caught.value.code is Code.NO_SUCH_CARD


def test_waiting_takes_no_lock_and_writes_nothing(board: Board) -> None:
    board.add()
    before = everything(board.path)
    with board.store.writing(BOB, NOW), pytest.raises(Refusal):
        waited(board, FakeClock(), 1, seconds=1)
    after = everything(board.path)
    assert before["cards/1.json"] == after["cards/1.json"]
    assert before["tmp"] == after["tmp"]


def why(board: Board, card: int, actor: Actor) -> dict[str, object]:
    world = board.store.live(NOW)
    return explain(read_request(Action.WHY, {"card": card}), actor, world, NOW).as_dict(actor, world)


def test_why_names_what_a_card_waits_for_and_what_can_be_done(board: Board) -> None:
    board.add("First")
    board.add("Second", dependsOn=[1])
    board.add("Third", dependsOn=[2])
    board.bob("claim", 1)
    answer = why(board, 2, ANN)
    assert (answer["claimable"], answer["reason"]) == (False, "waits on #1 (doing, bob)")
    assert answer["waitsOn"] == [{"id": 1, "status": "doing", "owner": "bob"}]
    assert (answer["neededBy"], answer["frees"]) == ([3], 1)
    assert {"action": "claim", "card": 2} not in answer["next"]  # type: ignore[operator]
    mine = why(board, 1, BOB)
    assert {"action": "move", "card": 1, "status": "done"} in mine["next"]  # type: ignore[operator]


def test_why_of_nothing_and_of_damage(board: Board) -> None:
    board.add()
    board.by_hand("7.json", b"{")
    for card, code in ((9, Code.NO_SUCH_CARD), (7, Code.DAMAGED)):
        with pytest.raises(Refusal) as caught:
            why(board, card, ANN)
        assert caught.value.code is code


@pytest.mark.parametrize(("disk", "level"), [(Disk(), 0), (NoLinks(), 1), (NoFlock(), 2)])
def test_the_facts_name_the_level_and_everything_odd(disk: Disk, level: int, tmp_path: Path) -> None:
    board = Board(tmp_path, disk=disk)
    board.add()
    board.by_hand("7.json", b"{")
    board.by_hand(
        "8.json", board.file("1.json").read_bytes().replace(b'"id": 1', b'"id": 8').replace(b'"v": 1', b'"v": 2')
    )
    board.by_hand("notes.txt", b"x")
    (board.path / "cards").chmod(0o755)
    (board.path / "seq").chmod(0o644)
    found = facts(Board(tmp_path, disk=disk).store, NOW)
    assert (found["level"], found["readOnly"], found["cards"], found["newer"]) == (level, None, 2, [8])
    assert [entry["name"] for entry in found["damaged"]] == ["7.json"]  # type: ignore[attr-defined]
    assert found["otherFiles"] == ["notes.txt"]
    assert sorted(found["tooOpen"]) == [str(board.path / "cards"), str(board.path / "seq")]  # type: ignore[call-overload]
    assert found["sessions"] == 1
    assert found["holder"] is None
    assert int(str(found["bytes"])) > board.file("1.json").stat().st_size


def test_the_size_of_a_store_is_that_of_all_its_files(board: Board) -> None:
    board.add()
    board.add()
    board.ann("drop", 2)
    board.by_hand("7.json", b"{")
    board.store.set_aside("7.json", ANN, now=NOW)
    board.bob("note", 1, text="here")
    for _ in range(2):
        board.ann("handoff", 1, label="bob")
        assert Bus(board.store).inbox(BOB, now=NOW)["mail"]
    board.ann("handoff", 1, label="bob")
    (board.path / "inbox" / ".DS_Store").touch()
    assert [path.parent.name for path in (board.path / "inbox").rglob("*.json")].count("seen") == 2
    assert board.store.size() == sum(path.stat().st_size for path in board.path.rglob("*") if path.is_file())
    assert board.store.size(board.store.read_all(NOW).snapshot) == board.store.size()


def test_the_facts_say_why_nothing_can_be_written(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    board.add()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    found = facts(Board(board.path.parent).store, NOW)
    assert found["level"] is None
    assert "another user" in str(found["readOnly"])
    assert found["cards"] == 1


def page_note(epoch: str) -> note.PageNote:
    return note.PageNote(
        epoch=epoch, pid=1, host="h", boot="b", start="1", port=4932, url="http://127.0.0.1:4932/#k=x", started_at="x"
    )


def test_the_pages_note_is_replaced_as_a_whole_and_taken_away_only_by_its_own_page(board: Board) -> None:
    board.add()
    disk, layout = board.store.disk, board.store.layout
    assert note.read(disk, layout) is None
    for epoch in ("one", "two"):
        with board.store.writing(ANN, NOW) as hold, board.store.commit(hold) as commit:
            note.write(commit, disk, layout, page_note(epoch))
    assert note.read(disk, layout) == page_note("two")
    assert (board.path / "page.json").stat().st_mode & 0o777 == 0o600
    for epoch, left in (("one", True), ("two", False)):
        with board.store.writing(ANN, NOW) as hold, board.store.commit(hold) as commit:
            note.remove(commit, disk, layout, epoch)
        assert (board.path / "page.json").exists() is left


def test_a_note_that_cannot_be_read_is_named_with_its_path(board: Board) -> None:
    board.add()
    path = board.path / "page.json"
    for make in (lambda: path.write_bytes(b"{"), lambda: path.symlink_to("seq"), lambda: path.mkdir()):
        make()
        found = note.read(board.store.disk, board.store.layout)
        assert isinstance(found, note.Unreadable)
        assert found.path == str(path)
        path.rmdir() if path.is_dir() else path.unlink()
