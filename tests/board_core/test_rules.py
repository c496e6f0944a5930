"""What calls do to a card beyond the table's word: owners, times, history, links, keys, freshness."""

from __future__ import annotations

import json

import pytest

from flask_pi_taskbar.board import rules
from flask_pi_taskbar.board.card import parse, serialize
from flask_pi_taskbar.board.model import MAX_FILE_BYTES, MAX_NOTES, Actor, Card, Damaged, Kept, Note, NoteKind
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import read_request
from flask_pi_taskbar.board.world import Board
from tests.board_core.boards import ME, NOW, OTHER, SEAT, Table, ago, card, session


def code(answer: dict[str, object]) -> object:
    assert answer["ok"] is False, answer
    return answer["code"]


class TestAdding:
    def test_an_added_card_is_in_todo_with_its_first_note(self) -> None:
        table = Table()
        answer = table.do(ME, "add", title=" One  card ", paths=["src"], priority="high", note="Why we want it")
        one = table.cards[1]
        assert (answer["rev"], answer["unchanged"], answer["replayed"]) == (1, False, False)
        assert (one.id, one.title, one.status, one.priority, one.paths) == (1, "One card", "todo", "high", ("src",))
        assert one.created_by == ME.who
        assert [(note.kind, note.text, note.by) for note in one.notes] == [("add", "Why we want it", ME.who)]
        assert one.owner is None

    def test_without_a_note_the_history_is_empty(self) -> None:
        table = Table()
        table.do(ME, "add", title="One")
        assert table.cards[1].notes == ()

    def test_numbers_only_grow_also_after_a_drop(self) -> None:
        table = Table()
        for title in "abc":
            table.do(ME, "add", title=title)
        table.do(ME, "drop", card=3)
        table.do(ME, "add", title="d")
        assert sorted(table.cards) == [1, 2, 4]
        assert Board([], dropped=[card(7)]).next_id() == 8
        assert Board([Damaged(id=9, name="9.json", why="empty")]).next_id() == 10

    def test_the_page_s_words_are_marked_as_the_page_s(self) -> None:
        table = Table()
        table.do(SEAT, "add", title="One", note="From the page")
        table.do(ME, "note", card=1, text="From a session")
        assert [note.via for note in table.cards[1].notes] == ["page", None]


class TestKeys:
    def test_the_same_add_again_gives_the_first_card_even_after_it_was_edited(self) -> None:
        table = Table()
        first = table.do(ME, "add", title="One", key="k1")
        table.do(ME, "edit", card=1, title="Better")
        again = table.do(ME, "add", title="One", key="k1")
        assert (again["replayed"], again["unchanged"], len(table.cards)) == (True, False, 1)
        assert again["card"]["id"] == first["card"]["id"]

    @pytest.mark.parametrize(("actor", "title"), [(ME, "Two"), (OTHER, "One")])
    def test_other_fields_or_another_actor_may_not_use_the_key(self, actor: Actor, title: str) -> None:
        table = Table()
        table.do(ME, "add", title="One", key="k1")
        answer = table.do(actor, "add", title=title, key="k1")
        assert code(answer) == Code.KEY_REUSED
        assert answer["card"]["id"] == 1

    def test_a_key_survives_the_file(self) -> None:
        table = Table()
        table.do(ME, "add", title="One", key="k1")
        table.cards[1] = parse(serialize(table.cards[1]), 1)  # type: ignore[assignment]
        assert table.do(ME, "add", title="One", key="k1")["replayed"] is True


class TestHolding:
    def test_a_claim_takes_the_card_and_a_second_one_changes_nothing(self) -> None:
        table = Table(card(4))
        assert table.do(ME, "claim", card="#4")["unchanged"] is False
        mine = table.cards[4]
        assert (mine.status, mine.owner, mine.claimed_at, mine.held_touched_at) == ("doing", ME.who, ago(), ago())
        again = table.do(ME, "claim", card=4)
        assert (again["unchanged"], again["rev"]) == (True, 2)

    def test_the_loser_of_a_claim_hears_the_winner_s_name(self) -> None:
        table = Table(card(4))
        table.do(ME, "claim", card=4)
        answer = table.do(OTHER, "claim", card=4)
        assert code(answer) == Code.HELD
        assert ME.label in str(answer["message"])
        assert answer["card"]["owner"]["id"] == ME.id

    def test_holders_are_compared_by_id_alone(self) -> None:
        table = Table(card(4, "doing", owner=ME))
        assert code(table.do(Actor("s-twin", ME.label), "release", card=4)) == Code.NOT_HOLDER
        assert table.do(Actor(ME.id, "renamed"), "release", card=4)["ok"]

    def test_a_released_card_is_nobody_s_with_its_notes(self) -> None:
        table = Table(card(4, "doing", owner=ME, said="half done"))
        table.do(ME, "release", card=4)
        back = table.cards[4]
        assert (back.status, back.owner, back.claimed_at, back.held_touched_at) == ("todo", None, None, None)
        assert back.notes[0].text == "half done"

    def test_a_reclaimed_card_says_from_whom_and_by_whom(self) -> None:
        table = Table(card(4, "blocked", owner=OTHER, said="stuck"))
        table.do(ME, "reclaim", card=4)
        assert (table.cards[4].status, table.cards[4].owner) == ("todo", None)
        assert [note.text for note in table.cards[4].notes] == ["stuck", "reclaimed from agent-2 by agent-1"]

    def test_a_finished_card_keeps_who_finished_it_and_says_what_it_frees(self) -> None:
        table = Table(
            card(4, "doing", owner=ME),
            card(5, depends_on=(4,)),
            card(6, depends_on=(4, 5)),
            card(7, "done", depends_on=(4,)),
            card(8, "blocked", owner=OTHER, depends_on=(4,)),
        )
        answer = table.do(ME, "move", card=4, status="done")
        assert answer["unblocked"] == [5, 8]
        assert (table.cards[4].owner, table.cards[4].finished_at) == (ME.who, ago())

    def test_an_assignment_says_that_nobody_was_told(self) -> None:
        table = Table(card(4), sessions=(session(OTHER),))
        table.do(SEAT, "assign", card=4, label=OTHER.label)
        given = table.cards[4]
        assert (given.status, given.owner, given.held_touched_at) == ("todo", OTHER.who, ago())
        assert given.notes[-1].kind is NoteKind.ASSIGN
        assert "assigned by team-lead" in given.notes[-1].text
        assert "no handoff was sent" in given.notes[-1].text
        assert table.do(OTHER, "claim", card=4)["card"]["status"] == "doing"

    def test_a_label_means_the_live_session_and_an_id_settles_a_tie(self) -> None:
        dead, live = Actor("s-old", "agent-9"), Actor("s-new", "agent-9")
        quiet = session(dead, live=False)
        assert (
            Table(card(4), sessions=(quiet, session(live))).do(ME, "assign", card=4, label="agent-9")["card"]["owner"][
                "id"
            ]
            == live.id
        )
        assert Table(card(4), sessions=(quiet,)).do(ME, "assign", card=4, label="agent-9")["ok"]
        tied = Table(card(4), sessions=(session(dead), session(live)))
        answer = tied.do(ME, "assign", card=4, label="agent-9")
        assert answer["details"] == {"ids": [dead.id, live.id]}
        assert tied.do(ME, "assign", card=4, label=live.id)["card"]["owner"]["id"] == live.id


class TestTimes:
    def test_only_the_holder_s_writes_move_the_sign_of_life(self) -> None:
        table = Table(card(4, "doing", owner=ME))
        table.do(OTHER, "note", card=4, text="Are you there?")
        assert (table.cards[4].touched_at, table.cards[4].held_touched_at) == (ago(), ago(hours=1))
        table.later(minutes=1)
        table.do(ME, "note", card=4, text="Yes")
        assert table.cards[4].held_touched_at == table.cards[4].touched_at == ago(minutes=-1)

    def test_a_clock_that_goes_back_takes_no_time_back(self) -> None:
        table = Table(card(4, touched_at=ago(minutes=-3)))
        table.do(ME, "note", card=4, text="x")
        assert table.cards[4].touched_at == ago(minutes=-3)

    def test_a_stamp_from_a_wrong_clock_is_replaced(self) -> None:
        table = Table(card(4, touched_at=ago(days=-30)))
        table.do(ME, "note", card=4, text="x")
        assert table.cards[4].touched_at == ago()


class TestHistory:
    def test_every_kind_of_change_leaves_its_entry_in_order(self) -> None:
        table = Table(sessions=(session(OTHER),))
        table.do(ME, "add", title="One", note="first")
        table.do(ME, "claim", card=1)
        table.do(ME, "plan", card=1, path="plans/a.md")
        table.do(ME, "move", card=1, status="blocked")
        table.do(ME, "move", card=1, status="doing")
        table.do(ME, "edit", card=1, title="Two")
        table.do(ME, "release", card=1)
        table.do(SEAT, "assign", card=1, label=OTHER.label)
        table.do(ME, "reclaim", card=1)
        kinds = ["add", "claim", "plan", "move", "move", "edit", "release", "assign", "reclaim"]
        assert [note.kind for note in table.cards[1].notes] == kinds
        assert [note.n for note in table.cards[1].notes] == [*range(1, 10)]
        assert table.cards[1].rev == 9

    def test_a_hundred_notes_are_kept_in_order(self) -> None:
        table = Table(card(4))
        for number in range(100):
            table.do((ME, OTHER)[number % 2], "note", card=4, text=f"note {number}")
        assert [note.text for note in table.cards[4].notes] == [f"note {number}" for number in range(100)]
        assert table.cards[4].rev == 101

    def full_of_notes(self) -> Card:
        notes = tuple(Note(n=n, at=ago(), by=ME.who, kind=NoteKind.NOTE, text="x") for n in range(1, MAX_NOTES + 1))
        return card(4, "doing", owner=ME, notes=notes)

    def test_a_card_full_of_notes_takes_no_further_note_but_can_be_finished(self) -> None:
        table = Table(self.full_of_notes())
        assert code(table.do(ME, "note", card=4, text="one more")) == Code.CARD_FULL
        assert table.do(ME, "move", card=4, status="done")["ok"]
        assert len(table.cards[4].notes) == MAX_NOTES, "nothing was dropped to make room"

    def test_a_file_never_grows_beyond_what_is_read_back(self) -> None:
        words = Note(n=1, at=ago(), by=ME.who, kind=NoteKind.NOTE, text="é" * 4000)
        room = MAX_FILE_BYTES - len(serialize(card(4, "doing", owner=ME, notes=(words,) * 63)))
        filler = Kept({"x-filler": "f" * (room - 40)})
        full = card(4, "doing", owner=ME, notes=(words,) * 63, kept=filler)
        assert MAX_FILE_BYTES - 60 < len(serialize(full)) <= MAX_FILE_BYTES
        table = Table(full)
        assert code(table.do(ME, "note", card=4, text="one more")) == Code.CARD_FULL
        assert code(table.do(ME, "edit", card=4, title="Longer " * 17)) == Code.CARD_FULL
        assert table.cards[4] is full
        table.do(ME, "move", card=4, status="done")
        assert isinstance(parse(serialize(table.cards[4]), 4), Card)

    def test_a_write_keeps_what_could_not_be_used(self) -> None:
        odd = parse(b'{"id": 4, "title": "x", "status": "todo", "priority": "urgent", "sprint": 7}', 4)
        assert isinstance(odd, Card)
        table = Table(odd)
        table.do(ME, "claim", card=4)
        stored = json.loads(serialize(table.cards[4]))
        assert (stored["x-was"], stored["sprint"], table.cards[4].repaired) == ({"priority": "urgent"}, 7, ())


class TestLinks:
    def test_a_dependency_must_exist_and_be_readable_and_all_bad_ones_are_named(self) -> None:
        world = Board([card(1), card(4), Damaged(id=2, name="2.json", why="empty")])
        for action, fields in (("add", {"title": "x"}), ("edit", {"card": 4})):
            with pytest.raises(Refusal) as refused:
                rules.decide(read_request(action, {**fields, "dependsOn": [1, 2, 9]}), ME, world, NOW)
            assert refused.value.code is Code.NO_SUCH_CARD
            assert refused.value.details["cards"] == [2, 9]

    def test_a_card_cannot_wait_for_itself(self) -> None:
        assert code(Table(card(4)).do(ME, "edit", card=4, dependsOn=[4])) == Code.SELF

    @pytest.mark.parametrize("length", [2, 3, 50])
    def test_a_ring_of_any_length_is_refused_with_its_path(self, length: int) -> None:
        table = Table(*(card(n, depends_on=(n - 1,) if n > 1 else ()) for n in range(1, length + 1)))
        answer = table.do(ME, "edit", card=1, dependsOn=[length])
        path = [1, *range(length, 0, -1)]
        assert (code(answer), answer["details"]) == (Code.CYCLE, {"path": path})
        assert " → ".join(f"#{n}" for n in path) in str(answer["message"])

    def test_a_new_card_cannot_close_a_ring_through_a_link_that_waited_for_its_number(self) -> None:
        table = Table(card(1, depends_on=(2,)))
        assert code(table.do(ME, "add", title="x", dependsOn=[1])) == Code.CYCLE

    def test_a_ring_on_disk_blocks_nobody_else_and_can_be_cut(self) -> None:
        table = Table(card(1, depends_on=(2,)), card(2, depends_on=(1,)), card(3))
        assert table.do(ME, "edit", card=3, dependsOn=[1])["ok"]
        assert table.do(ME, "edit", card=2, dependsOn=[])["ok"]
        assert table.do(ME, "claim", card=2)["ok"]

    def test_a_link_that_is_there_already_is_not_asked_about_again(self) -> None:
        table = Table(card(1), card(4, depends_on=(9,)))
        assert table.do(ME, "edit", card=4, dependsOn=[9, 1])["ok"]

    def test_work_in_flight_may_get_a_dependency_and_then_cannot_finish(self) -> None:
        table = Table(card(1), card(4, "doing", owner=ME))
        assert table.do(ME, "edit", card=4, dependsOn=[1])["card"]["status"] == "doing"
        assert code(table.do(ME, "move", card=4, status="done")) == Code.WAITING

    def test_what_is_waited_for_cannot_be_dropped_whatever_the_lane_of_who_waits(self) -> None:
        table = Table(card(4), card(5, "done", owner=ME, depends_on=(4,)), card(6, depends_on=(4,)))
        answer = table.do(OTHER, "drop", card=4)
        assert (code(answer), answer["details"]) == (Code.WAITED_ON, {"waitedOnBy": [5, 6]})

    def test_a_missing_or_damaged_dependency_is_unfinished_and_named(self) -> None:
        world = Board([card(4, depends_on=(7, 8)), Damaged(id=8, name="8.json", why="empty")])
        with pytest.raises(Refusal) as refused:
            rules.decide(read_request("claim", {"card": 4}), ME, world, NOW)
        assert "#7 (missing)" in refused.value.message
        assert "#8 (unreadable)" in refused.value.message


class TestFreshness:
    def test_an_old_rev_is_stale_and_the_answer_carries_the_card(self) -> None:
        table = Table(card(4))
        table.do(OTHER, "note", card=4, text="x")
        answer = table.do(ME, "claim", card=4, ifRev=1)
        assert (code(answer), answer["details"], answer["card"]["rev"]) == (Code.STALE, {"rev": 2, "ifRev": 1}, 2)
        assert table.do(ME, "claim", card=4, ifRev=2)["ok"]

    def test_an_edit_is_stale_only_where_it_would_overwrite(self) -> None:
        table = Table(card(4, title="Old", paths=("a",), depends_on=()))
        base = {"title": "Old", "paths": ["a"], "priority": "normal", "dependsOn": []}
        table.do(OTHER, "note", card=4, text="a note does not spoil a save")
        table.do(OTHER, "edit", card=4, priority="high")
        assert table.do(ME, "edit", card=4, base=base, title="New")["ok"]
        table.do(OTHER, "edit", card=4, title="Theirs")
        answer = table.do(ME, "edit", card=4, base=base | {"title": "New"}, title="Mine")
        assert (code(answer), answer["details"]["fields"]) == (Code.STALE, {"title": "Theirs"})
        assert table.cards[4].title == "Theirs"

    def test_freshness_is_asked_before_the_table(self) -> None:
        table = Table(card(4, "done", owner=OTHER))
        assert code(table.do(ME, "claim", card=4, ifRev=9)) == Code.STALE


class TestUnreadable:
    @pytest.mark.parametrize("action", ["claim", "drop", "note"])
    def test_a_damaged_file_and_a_newer_card_are_never_written(self, action: str) -> None:
        fields = {"card": 4} | ({"text": "x"} if action == "note" else {})
        for entry, expected in (
            (Damaged(id=4, name="4.json", why="it is empty"), Code.DAMAGED),
            (Damaged(id=4, name="4.json", why="newer", newer=True), Code.NEWER),
            (card(4, v=2), Code.NEWER),
        ):
            with pytest.raises(Refusal) as refused:
                rules.decide(read_request(action, fields), ME, Board([entry]), NOW)
            assert refused.value.code is expected
            assert refused.value.as_dict()["card"]

    def test_a_card_that_is_not_there_is_said_so(self) -> None:
        answer = Table(card(5)).do(ME, "claim", card=9)
        assert code(answer) == Code.NO_SUCH_CARD
        assert "card" not in answer
        assert {"action": "claim", "card": 5, "why": "normal, nothing it waits for"} in answer["next"]
