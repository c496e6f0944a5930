"""What a write answers, what it refuses, and what it leaves: sections 5 to 9 of the rules, through the store."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from pathlib import Path

import pytest

from flask_pi_taskbar.board import journal
from flask_pi_taskbar.board.card import parse, serialize
from flask_pi_taskbar.board.faults import Counted, FailAt, WatchedDisk
from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.lock import WAIT_SECONDS
from flask_pi_taskbar.board.model import MAX_COPY_BYTES, MAX_FILE_BYTES, Card
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.store import Store
from tests.board_store.boards import ANN, BOB, NOW, Board, FakeClock, everything, later, number_of


def test_an_answer_is_plain_json(board: Board) -> None:
    board.add()
    board.add(dependsOn=[1])
    board.ann("claim", 1)
    answer = board.ann("move", 1, status="done")
    assert json.loads(json.dumps(answer)) == answer
    assert (answer["ok"], answer["action"], answer["rev"], answer["unchanged"]) == (True, "move", 3, False)
    assert answer["unblocked"] == [2]
    refusal = board.refused(BOB, "claim", 1).as_dict()
    assert json.loads(json.dumps(refusal)) == refusal
    assert (refusal["ok"], refusal["code"], refusal["retry"]) == (False, "finished", False)


def test_a_refusal_carries_the_card_as_it_was_under_the_lock(board: Board) -> None:
    board.add()
    stale = Store(board.path)
    stale.read_all(NOW)
    board.ann("claim", 1)
    with pytest.raises(Refusal) as caught:
        stale.apply("claim", {"card": 1}, BOB, now=NOW)
    assert caught.value.card == board.card(1)
    assert caught.value.code is Code.HELD


def test_a_card_moved_from_a_stale_state_is_refused_and_others_are_not(board: Board) -> None:
    """Moved from stale state, other's move undone -> an old `rev` of the same card is `stale`; other cards go on."""
    board.add()
    board.add()
    board.ann("claim", 1)
    board.ann("note", 1, text="on the way")
    with pytest.raises(Refusal) as caught:
        board.store.apply("move", {"card": 1, "status": "done"}, ANN, now=NOW, if_rev=2)
    assert caught.value.code is Code.STALE
    assert caught.value.card == board.card(1)
    board.store.apply("claim", {"card": 2}, ANN, now=NOW, if_rev=1)
    board.store.apply("move", {"card": 1, "status": "done"}, ANN, now=NOW, if_rev=3)


def test_an_edit_is_refused_only_if_what_it_changes_has_changed(board: Board) -> None:
    """Silent overwrite of task edits -> edit a title that changed since the dialog opened: `stale`."""
    board.add("Before", paths=["a"])
    base = {"title": "Before", "paths": ["a"]}
    board.bob("note", 1, text="an agent's note spoils nothing")
    board.store.apply("edit", {"card": 1, "title": "Mine"}, ANN, now=NOW, base=base)
    with pytest.raises(Refusal) as caught:
        board.store.apply("edit", {"card": 1, "title": "Theirs"}, BOB, now=NOW, base=base)
    assert caught.value.code is Code.STALE
    board.store.apply("edit", {"card": 1, "paths": ["b"]}, BOB, now=NOW, base=base)
    assert board.card(1).title == "Mine"


def test_an_add_with_a_key_happens_once(board: Board) -> None:
    """Same key returns an error, not the original -> the second add returns the card; other fields `key_reused`."""
    first = board.ann("add", title="Once", key="k:1")
    board.ann("edit", 1, title="Edited since")
    again = Board(board.path.parent).ann("add", title="Once", key="k:1")
    assert (number_of(first), first["replayed"], number_of(again), again["replayed"]) == (1, False, 1, True)
    assert board.code(ANN, "add", title="Other", key="k:1") is Code.KEY_REUSED
    assert board.code(BOB, "add", title="Once", key="k:1") is Code.KEY_REUSED
    assert board.ids() == [1]
    assert number_of(board.store.apply("add", {"title": "Once"}, ANN, now=NOW, key="k:2")) == 2


def test_a_ring_made_in_two_edits_is_refused_with_its_path(board: Board) -> None:
    """A ring made in two edits is accepted -> `cycle` with path #2 → #1 → #2; same for length 3 and 50."""
    for _ in range(50):
        board.add()
    for number in range(1, 50):
        board.ann("edit", number, dependsOn=[number + 1])
    for length in (2, 3, 50):
        refusal = board.refused(ANN, "edit", length, dependsOn=[1])
        assert refusal.code is Code.CYCLE
        assert refusal.details["path"] == [length, *range(1, length + 1)]


def test_a_ring_on_disk_neither_hangs_nor_blocks_and_can_be_repaired(board: Board) -> None:
    """Cycle on disk wedges the scheduler -> no hang, `edit dependsOn: []` repairs it."""
    for _ in range(3):
        board.add()
    for number in (1, 2):
        text = board.file(f"{number}.json").read_text()
        board.file(f"{number}.json").write_text(text.replace('"dependsOn": []', f'"dependsOn": [{3 - number}]'))
    assert board.code(ANN, "claim", 1) is Code.WAITING
    board.ann("edit", 3, dependsOn=[1])
    assert board.code(ANN, "next") is Code.NOTHING_TO_DO
    board.ann("edit", 2, dependsOn=[])
    assert number_of(board.ann("next")) == 2


def test_a_link_edited_in_by_hand_keeps_its_card(board: Board) -> None:
    """What decides a drop is read under the lock, whatever this process remembers."""
    board.add()
    board.add()
    board.store.read_all(NOW)
    text = board.file("2.json").read_text()
    with open(board.file("2.json"), "w") as file:
        file.write(text.replace('"dependsOn": []', '"dependsOn": [1]'))
    assert board.code(ANN, "drop", 1) is Code.WAITED_ON
    assert board.ids() == [1, 2]


def test_what_a_program_without_a_lock_writes_in_this_moment_is_not_overwritten(board: Board, tmp_path: Path) -> None:
    board.add("Before")
    theirs = board.file("1.json").read_bytes().replace(b"Before", b"Theirs")
    opened = []

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "open" and str(arguments[0]).endswith("/cards/1.json"):
            opened.append(1)
            if len(opened) == 2:  # read once to decide, and once more before it is replaced
                board.file("1.json").write_bytes(theirs)
        return call()  # type: ignore[operator]

    assert Board(tmp_path, disk=WatchedDisk(watch)).code(ANN, "claim", 1) is Code.BUSY
    assert board.file("1.json").read_bytes() == theirs
    assert board.card(1).title == "Theirs"


def test_where_every_card_counts_they_are_read_before_the_lock_is_taken(board: Board, tmp_path: Path) -> None:
    for _ in range(30):
        board.add()
    watcher = Counted()
    Board(tmp_path, disk=WatchedDisk(watcher)).ann("drop", 7)
    locked = [name for name, _ in watcher.steps].index("flock")
    reads = [at for at, (name, args) in enumerate(watcher.steps) if name == "open" and "/cards/" in str(args[0])]
    assert sum(1 for at in reads if at < locked) == 30
    assert sum(1 for at in reads if at > locked) == 1


def test_next_is_one_atomic_pull_of_the_best_and_dry_run_takes_nothing(board: Board) -> None:
    """ "Ready" list shows blocked work -> a waiting card never appears in `next`."""
    board.add("Low", priority="low")
    board.add("Freeing")
    board.add("Waits", dependsOn=[2], priority="high")
    dry = board.ann("next", dryRun=True)
    assert number_of(dry) == 2
    assert board.card(2).owner is None
    taken = board.ann("next")
    assert number_of(taken) == 2
    assert "frees 1" in str(taken["reason"])
    assert number_of(board.bob("next")) == 1
    assert board.code(BOB, "next") is Code.NOTHING_TO_DO


def test_undo_brings_back_the_last_drop_under_its_number(board: Board) -> None:
    board.add("Kept")
    board.add("Dropped", note="words")
    board.by_hand("2.json", board.file("2.json").read_text().replace("{", '{"sprint": 7,', 1).encode())
    board.ann("drop", 2)
    assert json.loads((board.path / "dropped" / "2.json").read_text())["title"] == "Dropped"
    assert board.code(BOB, "undo") is Code.NOTHING_TO_DO
    assert number_of(board.ann("undo")) == 2
    card = board.card(2)
    assert (card.title, card.rev, card.unknown["sprint"]) == ("Dropped", 2, 7)
    assert [note.kind for note in card.notes] == ["add", "undo"]
    assert not list((board.path / "dropped").iterdir())
    assert board.code(ANN, "undo") is Code.NOTHING_TO_DO


def test_a_card_that_fills_its_file_can_be_dropped_and_brought_back(board: Board) -> None:
    board.add("Full")
    plain = json.loads(board.file("1.json").read_text())
    room = MAX_FILE_BYTES - board.file("1.json").stat().st_size - 40
    full = serialize(parse_card(json.dumps(plain | {"x-filler": "f" * room}).encode()))
    assert MAX_FILE_BYTES - 60 < len(full) <= MAX_FILE_BYTES
    board.by_hand("1.json", full)
    for _ in range(2):
        board.ann("drop", 1)
        copy = board.path / "dropped" / "1.json"
        assert MAX_FILE_BYTES < copy.stat().st_size <= MAX_COPY_BYTES
        assert number_of(board.ann("undo")) == 1
        assert not copy.exists()
    card = board.card(1)
    assert (card.rev, len(str(card.unknown["x-filler"]))) == (3, room)


def test_a_card_that_undo_could_not_bring_back_is_not_dropped(board: Board) -> None:
    board.add()
    plain = json.loads(board.file("1.json").read_text())
    tight = json.dumps(plain | {"x-numbers": [1] * 130_000}, separators=(",", ":")).encode()
    assert len(tight) < MAX_FILE_BYTES < len(serialize(parse_card(tight)))
    board.by_hand("1.json", tight)
    refusal = board.refused(ANN, "drop", 1)
    assert refusal.code is Code.CARD_FULL
    assert "undo could not bring it back" in refusal.message
    assert board.file("1.json").read_bytes() == tight
    assert not list((board.path / "dropped").iterdir())


def parse_card(data: bytes) -> Card:
    card = parse(data, 1)
    assert isinstance(card, Card)
    return card


def test_undo_is_possible_for_a_day_and_while_the_number_is_free(board: Board) -> None:
    board.add()
    board.ann("drop", 1)
    for moment, allowed in ((later(hours=24, seconds=1), False), (later(hours=24), True)):
        if allowed:
            board.by_hand("1.json", b"{")
            assert board.code(ANN, "undo") is Code.NOTHING_TO_DO
            board.file("1.json").unlink()
            board.store.apply("undo", {}, ANN, now=moment)
        else:
            with pytest.raises(Refusal):
                board.store.apply("undo", {}, ANN, now=moment)
    assert board.ids() == [1]


def test_a_full_card_is_refused_and_loses_nothing(board: Board) -> None:
    board.add()
    with contextlib.suppress(Refusal):
        for number in range(200):
            board.ann("note", 1, text="ä" * 3990 + f"{number}")
    assert board.code(ANN, "note", 1, text="ä" * 3990) is Code.CARD_FULL
    size = board.file("1.json").stat().st_size
    assert MAX_FILE_BYTES - 10_000 < size <= MAX_FILE_BYTES
    assert len(board.card(1).notes) == board.card(1).rev - 1


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("start", {"card": 1}),
        ("claim", {}),
        ("claim", {"card": "04"}),
        ("claim", {"card": 1, "colour": "red"}),
        ("note", {"card": 1, "text": "\ud800"}),
        ("note", {"card": 1, "text": "x" * 4001}),
        ("add", {"title": ""}),
        ("edit", {"card": 1}),
        ("move", {"card": 1, "status": "later"}),
    ],
)
def test_bad_input_changes_nothing_and_does_not_even_take_the_lock(
    action: str, fields: dict[str, object], board: Board
) -> None:
    board.add()
    before = everything(board.path)
    with pytest.raises(Refusal) as caught:
        Store(board.path).apply(action, fields, ANN, now=NOW)
    assert caught.value.code.http == 422
    assert everything(board.path) == before


@pytest.mark.parametrize("name", ["ENOSPC", "EROFS", "EACCES", "EIO"])
def test_a_disk_that_cannot_be_written_is_a_refusal_with_the_reason(name: str, board: Board, tmp_path: Path) -> None:
    board.add()
    broken = Board(tmp_path, disk=WatchedDisk(FailAt(0, getattr(errno, name), lasting=True)))
    refusal = broken.refused(ANN, "claim", 1)
    assert (refusal.code, refusal.code.http, refusal.code.exit) == (Code.STORE_UNWRITABLE, 507, 8)
    assert os.strerror(getattr(errno, name)) in refusal.message
    assert refusal.details["errno"] == name
    assert refusal.action == "claim"
    assert board.card(1).rev == 1


def test_fields_are_judged_before_the_disk(tmp_path: Path) -> None:
    broken = Board(tmp_path, disk=WatchedDisk(FailAt(0, errno.EROFS, lasting=True)))
    assert broken.code(ANN, "add", title="") is Code.BAD_FIELD
    assert broken.code(ANN, "claim", 99) is Code.STORE_UNWRITABLE


def test_a_store_of_another_user_is_not_written_to(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    board.add()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    refusal = Board(board.path.parent).refused(ANN, "claim", 1)
    assert refusal.code is Code.STORE_UNWRITABLE
    assert "another user" in refusal.message


def test_busy_is_told_after_five_seconds(board: Board, tmp_path: Path) -> None:
    board.add()
    clock = FakeClock()
    waiting = Board(tmp_path, clock=clock, wait=WAIT_SECONDS)
    with board.store.writing(BOB, NOW):
        refusal = waiting.refused(ANN, "claim", 1)
    assert (refusal.code, refusal.code.http, refusal.code.exit, refusal.retry) == (Code.BUSY, 503, 5, True)
    assert 5.0 <= clock.now < 5.1


def test_every_accepted_write_is_one_line_of_the_journal(board: Board) -> None:
    board.add()
    board.bob("claim", 1)
    board.bob("claim", 1)
    board.refused(ANN, "move", 1, status="done")
    board.bob("move", 1, status="blocked")
    found = [(line.by.label, line.action, line.card, line.rev, line.status) for line in lines(board)]
    assert found == [("ann", "add", 1, 1, "todo"), ("bob", "claim", 1, 2, "doing"), ("bob", "move", 1, 3, "blocked")]


def lines(board: Board) -> list[journal.Line]:
    return list(journal.lines(Disk(), board.store.layout))


def test_a_torn_line_of_the_journal_is_passed_over(board: Board) -> None:
    board.add()
    path = board.path / "journal.jsonl"
    path.write_bytes(path.read_bytes() + b'{"at":"2026')
    board.ann("claim", 1)
    assert [line.action for line in lines(board)] == ["add", "claim"]
    assert b'{"at":"2026\n{' in path.read_bytes()


def test_a_long_journal_loses_its_older_half(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    board.add()
    monkeypatch.setattr(journal, "MOST_BYTES", 2000)
    for number in range(40):
        board.ann("note", 1, text=f"{number}")
    assert (board.path / "journal.jsonl").stat().st_size <= 2400
    found = lines(board)
    assert [line.rev for line in found] == list(range(found[0].rev or 0, 42))


def test_a_journal_that_cannot_be_written_costs_nobodys_work(board: Board) -> None:
    board.add()
    (board.path / "journal.jsonl").unlink()
    (board.path / "journal.jsonl").mkdir()
    board.ann("claim", 1)
    assert board.card(1).rev == 2
    assert Store(board.path).glance(NOW).get(1) == board.card(1)


def test_what_the_dead_left_is_swept_by_the_next_writer(board: Board) -> None:
    board.add()
    for name in ("4711.abc", "now.12", "probe.1.target"):
        (board.path / "tmp" / name).write_text("left")
    (board.path / "ids" / "cards.9.json").mkdir()
    board.ann("claim", 1)
    assert not list((board.path / "tmp").iterdir())
    assert not list((board.path / "ids").iterdir())


def test_a_title_comes_back_as_it_went_in(board: Board) -> None:
    """`<person>` in a title vanishes -> round-trips exactly."""
    title = 'The XML tag <person> & "x" \\ 🧑‍🚀 ﬁ'
    board.add(title)
    assert board.card(1).title == title
    assert json.loads(board.file("1.json").read_text())["title"] == title
