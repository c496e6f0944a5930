"""What is done stays done: `reopen` makes a new card of it, `prune_done` drops what was finished long ago."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from flask_pi_taskbar.board.card import serialize
from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.model import MAX_NOTES, Card, Lane, Note, NoteKind, evolve
from flask_pi_taskbar.board.pruning import prune_done
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.store import Store
from tests.board_store.boards import ANN, BOB, NOW, Board, later


@pytest.fixture
def done(board: Board) -> int:
    """Card 1, with a life behind it."""
    number = board.add("Billing", paths=["src/billing"], priority="high", note="Asked for by accounting.")
    board.ann("claim", number)
    board.ann("move", number, status="done")
    return number


def card(board: Board, number: int) -> Card:
    found = board.store.read(number)
    assert found is not None
    assert isinstance(found[0], Card)
    return found[0]


def finished(board: Board, *, days: float = 0, **fields: object) -> int:
    """A card that was finished so long before NOW."""
    when = NOW - timedelta(days=days)
    number = board.add("Old", **fields)
    for action, more in (("claim", {}), ("move", {"status": "done"})):
        board.store.apply(action, {"card": number, **more}, ANN, now=when)
    return number


class TestReopening:
    def test_the_new_card_says_what_the_old_one_said_and_each_names_the_other(self, board: Board, done: int) -> None:
        before = card(board, done)
        answer = board.bob("reopen", done)
        again, old = card(board, 2), card(board, done)
        assert (answer["card"]["id"], answer["reopened"]) == (2, done)  # type: ignore[index]
        assert (again.title, again.paths, again.priority) == (before.title, before.paths, before.priority)
        assert (again.lane, again.owner, again.rev, again.created_by.label) == (Lane.TODO, None, 1, "bob")
        assert again.notes[: len(before.notes)] == before.notes
        assert (again.notes[-1].text, again.notes[-1].by.label) == ("reopened from #1 by bob", "bob")
        assert (old.lane, old.finished_at, old.owner) == (Lane.DONE, before.finished_at, before.owner)
        assert old.notes[:-1] == before.notes
        assert old.notes[-1].text == "reopened as #2"

    def test_what_waited_for_the_old_one_goes_on(self, board: Board, done: int) -> None:
        waiting = board.add("Refunds", dependsOn=[done])
        board.bob("reopen", done)
        assert board.bob("claim", waiting)["ok"]

    def test_the_new_card_is_claimed_and_finished_as_any_other(self, board: Board, done: int) -> None:
        board.bob("reopen", done)
        board.bob("claim", 2)
        assert board.bob("move", 2, status="done")["card"]["status"] == "done"  # type: ignore[index]

    def test_everybody_who_reads_sees_both_at_once(self, board: Board, done: int) -> None:
        other = Store(board.path)
        assert len(list(other.glance(NOW).cards())) == 1
        board.bob("reopen", done)
        for store in (board.store, other, Store(board.path)):
            seen = {one.id: one for one in store.glance(NOW).cards()}
            assert seen[1].notes[-1].text == "reopened as #2"
            assert seen[2].lane is Lane.TODO

    @pytest.mark.parametrize("action", ["claim", "release", "reclaim", "assign", "plan"])
    def test_whatever_is_refused_of_a_finished_card_names_it(self, board: Board, done: int, action: str) -> None:
        fields = {"assign": {"label": "ann"}, "plan": {"path": "p.md"}}.get(action, {})
        with pytest.raises(Refusal) as refused:
            board.bob(action, done, **fields)
        assert refused.value.code is Code.FINISHED
        assert {"action": "reopen", "card": done} in refused.value.next

    def test_of_a_full_history_the_oldest_note_gives_way_in_the_new_card_only(self, board: Board, done: int) -> None:
        whole = card(board, done)
        notes = tuple(
            Note(n=n, at=whole.touched_at, by=ANN.who, kind=NoteKind.NOTE, text=f"note {n}")
            for n in range(1, MAX_NOTES + 1)
        )
        Path(board.store.layout.card(done)).write_bytes(serialize(evolve(whole, notes=notes)))
        board.bob("reopen", done)
        again = card(board, 2)
        assert len(again.notes) == MAX_NOTES
        assert (again.notes[0].text, again.notes[-1].text) == ("note 2", "reopened from #1 by bob")
        assert card(board, done).notes == notes

    def test_a_crash_between_the_two_leaves_the_new_card_alone(self, board: Board, done: int) -> None:
        before = Path(board.store.layout.card(done)).read_bytes()
        with pytest.raises(Ended):
            Store(board.path, disk=EndsAtRename(board.store.layout.card(done))).apply(
                "reopen", {"card": done}, BOB, now=NOW
            )
        assert Path(board.store.layout.card(done)).read_bytes() == before
        after = Store(board.path)
        assert {one.id for one in after.read_all(NOW).cards()} <= {1, 2}
        assert after.apply("note", {"card": done, "text": "on"}, ANN, now=NOW)["ok"]


class Ended(BaseException):
    """As the end of a process: nothing is put in order."""


class EndsAtRename(Disk):
    """Ends before a file gets its new content, and does nothing after that."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._ended = False

    def rename(self, old: str, new: str) -> None:
        if new == self._path:
            self._ended = True
            raise Ended
        super().rename(old, new)

    def unlink(self, path: str) -> None:
        if self._ended:
            raise Ended
        super().unlink(path)


class TestPruning:
    def test_it_drops_what_is_old_enough_and_keeps_a_copy_of_each(self, board: Board) -> None:
        old, edge, young = finished(board, days=20), finished(board, days=14), finished(board, days=13.9)
        open_card = board.add("Open")
        answer = prune_done(board.store, BOB, NOW)
        assert [one["id"] for one in answer["cards"]] == [old, edge]  # type: ignore[attr-defined]
        assert {one.id for one in board.store.read_all(NOW).cards()} == {young, open_card}
        for number in (old, edge):
            assert Path(board.store.layout.dropped_card(number)).exists()
            assert board.store.apply("undo", {"card": number}, BOB, now=later(hours=1))["ok"]

    def test_each_drop_has_its_line_in_the_journal(self, board: Board) -> None:
        numbers = [finished(board, days=20), finished(board, days=30)]
        prune_done(board.store, BOB, NOW)
        lines = [json.loads(line) for line in Path(board.store.layout.journal).read_text().splitlines()]
        assert sorted(line["card"] for line in lines if line["action"] == "drop") == numbers

    def test_a_preview_changes_nothing_and_says_the_same(self, board: Board) -> None:
        finished(board, days=20)
        before = {path: path.read_bytes() for path in board.path.rglob("*") if path.is_file()}
        preview = prune_done(board.store, BOB, NOW, dry_run=True)
        assert {path: path.read_bytes() for path in board.path.rglob("*") if path.is_file()} == before
        answer = prune_done(board.store, BOB, NOW)
        assert preview == {**answer, "dryRun": True}

    def test_no_days_at_all_means_all_that_is_done(self, board: Board) -> None:
        number = finished(board)
        assert [one["id"] for one in prune_done(board.store, BOB, NOW, 0)["cards"]] == [number]  # type: ignore[attr-defined]

    def test_a_card_that_another_names_stays_and_says_why_unless_that_one_goes_too(self, board: Board) -> None:
        needed, base = finished(board, days=20), finished(board, days=30)
        board.add("Open", dependsOn=[needed])
        finished(board, days=20, dependsOn=[base])
        answer = prune_done(board.store, BOB, NOW)
        assert [one["id"] for one in answer["cards"]] == [base, 4]  # type: ignore[attr-defined]
        assert answer["kept"] == [{"id": needed, "title": "Old", "why": "It is named by #3."}]

    def test_a_newer_card_stays_and_says_why(self, board: Board) -> None:
        number = finished(board, days=20)
        path = Path(board.store.layout.card(number))
        path.write_text(path.read_text().replace('"v": 1', '"v": 9'))
        answer = prune_done(board.store, BOB, NOW)
        assert (answer["cards"], [one["why"] for one in answer["kept"]]) == (  # type: ignore[attr-defined]
            [],
            ["It was written by a newer board."],
        )

    @pytest.mark.parametrize("days", [-1, 3651, True, 1.5, "14"])
    def test_days_are_a_whole_number_within_reason(self, board: Board, days: object) -> None:
        with pytest.raises(Refusal) as refused:
            prune_done(board.store, BOB, NOW, days)
        assert refused.value.code is Code.BAD_FIELD
