"""No two surfaces disagree about one card, and no sequence of calls breaks the board."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flask_pi_taskbar.board.card import parse, serialize
from flask_pi_taskbar.board.explain import explain
from flask_pi_taskbar.board.links import graph, waits
from flask_pi_taskbar.board.listing import take_list
from flask_pi_taskbar.board.model import Actor, ActorKind, Card, Damaged
from flask_pi_taskbar.board.ranking import best
from flask_pi_taskbar.board.request import read_request
from flask_pi_taskbar.board.rollup import take_round
from flask_pi_taskbar.board.view import build
from flask_pi_taskbar.board.world import Board
from tests.board_core.boards import ME, NOW, OTHER, SEAT, STRANGER, Table, card, session, tries

OWNERS = st.sampled_from([None, None, SEAT, OTHER])


@st.composite
def boards(draw: st.DrawFn) -> list[Card | Damaged]:
    count = draw(st.integers(1, 7))
    entries: list[Card | Damaged] = []
    for number in range(1, count + 1):
        if draw(st.integers(0, 9)) == 0:
            entries.append(Damaged(id=number, name=f"{number}.json", why="it is empty"))
            continue
        entries.append(
            card(
                number,
                draw(st.sampled_from(["todo", "todo", "doing", "blocked", "done"])),
                owner=draw(OWNERS),
                depends_on=draw(st.lists(st.integers(1, count + 1), max_size=2, unique=True).map(tuple)),
                priority=draw(st.sampled_from(["high", "normal", "low"])),
                v=draw(st.sampled_from([1, 1, 1, 1, 2])),
            )
        )
    return entries


@tries(250)
@given(boards())
def test_claim_list_page_round_why_and_next_agree_about_every_card(entries: list[Card | Damaged]) -> None:
    world = Board(entries)
    rows = json.loads(build(world, SEAT, NOW).snapshot(epoch="e", rev=1, now=NOW, can_write=True, store={}))["rows"]
    for actor in (SEAT, STRANGER):
        listed = take_list(read_request("list", {}), actor, world, NOW).as_dict(actor, world)["cards"]
        claimable = {one["id"] for one in listed if one["claimable"]}
        accepted = set()
        for one in world.cards():
            answer = Table(*entries).do(actor, "claim", card=one.id)
            if answer["ok"] and not answer["unchanged"]:
                accepted.add(one.id)
            why = explain(read_request("why", {"card": one.id}), actor, world, NOW) if not one.newer else None
            assert why is None or why.claimable == (one.id in accepted)
        assert claimable == accepted
        first = best(actor.id, world)
        assert (first.card.id if first else None) in (accepted or {None})
        if actor is SEAT:
            assert {int(number) for number, row in rows.items() if "Claim" in row["buttons"]} == accepted
        else:
            taken = take_round(world, NOW)
            assert taken.claimable == len(accepted)
            unread = sum(1 for one in world.cards() if one.newer and one.owner is None and one.status != "done")
            assert taken.unassigned - taken.waiting - len(accepted) <= unread
        waiting = {one["id"] for one in listed if one["waits"]}
        assert not waiting & claimable, "what waits is never offered"


class Life(RuleBasedStateMachine):
    """Three actors and the seat call whatever they like; what the board promises holds after each call."""

    actors = st.sampled_from([ME, OTHER, STRANGER, SEAT])
    numbers = st.integers(1, 6)

    @initialize()
    def start(self) -> None:
        sessions = (session(ME), session(OTHER), session(STRANGER, live=False))
        self.table = Table(*(card(number) for number in range(1, 4)), sessions=sessions)
        self.table.highest = 3
        self.given = {1, 2, 3}
        self.before: dict[int, Card] = dict(self.table.cards)
        self.answer: dict[str, object] = {"ok": True, "action": "add"}
        self.actor: Actor = ME

    def call(self, actor: Actor, action: str, /, **fields: object) -> None:
        self.before = dict(self.table.cards)
        self.actor = actor
        self.table.later(seconds=61)
        self.answer = self.table.do(actor, action, **fields)
        if action == "add" and self.answer["ok"]:
            number = self.answer["card"]["id"]
            assert number not in self.given, "a number is never given twice"
            self.given.add(number)

    @rule(actor=actors, links=st.lists(numbers, max_size=2))
    def add(self, actor: Actor, links: list[int]) -> None:
        self.call(actor, "add", title="New", dependsOn=links)

    @rule(actor=actors, number=numbers, action=st.sampled_from(["claim", "release", "reclaim", "drop", "offer"]))
    def plain(self, actor: Actor, number: int, action: str) -> None:
        self.call(actor, action, card=number)

    @rule(actor=actors, number=numbers, status=st.sampled_from(["todo", "doing", "blocked", "done"]))
    def move(self, actor: Actor, number: int, status: str) -> None:
        self.call(actor, "move", card=number, status=status)

    @rule(actor=actors, number=numbers, links=st.lists(numbers, max_size=3))
    def link(self, actor: Actor, number: int, links: list[int]) -> None:
        self.call(actor, "edit", card=number, dependsOn=links)

    @rule(actor=actors, number=numbers, label=st.sampled_from(["agent-1", "agent-2", "agent-3", "nobody"]))
    def assign(self, actor: Actor, number: int, label: str) -> None:
        self.call(actor, "assign", card=number, label=label)

    @rule(actor=actors, number=numbers)
    def note(self, actor: Actor, number: int) -> None:
        self.call(actor, "note", card=number, text="x")

    @rule(actor=actors)
    def pull(self, actor: Actor) -> None:
        self.call(actor, "next")

    @rule(actor=actors)
    def undo(self, actor: Actor) -> None:
        self.call(actor, "undo")

    @invariant()
    def the_graph_stays_whole(self) -> None:
        cards = self.table.cards
        assert not graph(cards.values()).caught, "no call closes a ring"
        if self.answer["action"] != "undo":
            lost = {link for one in cards.values() for link in one.depends_on} - set(cards)
            known = {link for one in self.before.values() for link in one.depends_on} - set(self.before)
            assert lost <= known, "no call strands a link"

    @invariant()
    def holders_and_times_make_sense(self) -> None:
        for one in self.table.cards.values():
            assert (one.status == "doing") <= (one.owner is not None)
            assert (one.held_touched_at is None) == (one.owner is None)
            assert (one.status == "done") == (one.finished_at is not None)
            assert one.touched_at >= one.created_at

    @invariant()
    def one_write_is_one_revision_and_everything_else_stays(self) -> None:
        after = self.table.cards
        moved = [number for number, one in after.items() if self.before.get(number) is not one]
        assert len(moved) + len(set(self.before) - set(after)) <= 1
        for number in moved:
            if number in self.before:
                assert after[number].rev == self.before[number].rev + 1
                assert after[number].notes[: len(self.before[number].notes)] == self.before[number].notes
        if not self.answer["ok"]:
            assert not moved
            assert self.answer["message"]

    @invariant()
    def nothing_in_flight_was_started_or_finished_while_it_waited(self) -> None:
        for number, one in self.table.cards.items():
            was = self.before.get(number)
            if was is not None and was.status != one.status and one.status in {"doing", "done"}:
                assert not waits(was, self.table.world)

    @invariant()
    def a_finished_card_stays_finished(self) -> None:
        for number, was in self.before.items():
            if was.status == "done" and number in self.table.cards:
                assert self.table.cards[number].status == "done"
                assert self.table.cards[number].owner == was.owner

    @invariant()
    def every_card_survives_its_file(self) -> None:
        for one in self.table.cards.values():
            assert parse(serialize(one), one.id) == one


TestLife = Life.TestCase
TestLife.settings = settings(tries(60), stateful_step_count=30)


def test_the_seat_is_one_actor_among_others() -> None:
    assert SEAT.kind is ActorKind.SEAT
    table = Table(card(4, "doing", owner=SEAT))
    assert table.do(ME, "release", card=4)["code"] == "not_holder"
    assert table.do(ME, "reclaim", card=4)["ok"]
