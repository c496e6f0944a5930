"""The graph of links is counted right, whatever a hand wrote into it (spec 5, "Dependency check")."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from flask_pi_taskbar.board.links import arrow, find_cycle, graph, open_dependencies, unblocked_by, waits
from flask_pi_taskbar.board.model import Card, Damaged
from flask_pi_taskbar.board.world import Board
from tests.board_core.boards import OTHER, card, tries

STATUSES = st.sampled_from(["todo", "doing", "blocked", "done"])


@st.composite
def boards(draw: st.DrawFn) -> list[Card]:
    count = draw(st.integers(1, 9))
    links = st.lists(st.integers(1, count + 2), max_size=3, unique=True).map(tuple)
    return [
        card(n, status := draw(STATUSES), owner=OTHER if status == "doing" else None, depends_on=draw(links))
        for n in range(1, count + 1)
    ]


def waiters_of(card_id: int, cards: list[Card]) -> set[int]:
    """By brute force: the unfinished cards that wait for this one, also through others."""
    alive = {one.id: one for one in cards if one.status != "done"}
    found: set[int] = set()
    while more := {
        one.id for one in alive.values() if one.id not in found and set(one.depends_on) & ({card_id} | found)
    }:
        found |= more
    return found


@tries(300)
@given(boards())
def test_what_a_card_frees_and_what_goes_in_rings_is_what_brute_force_finds(cards: list[Card]) -> None:
    links = graph(cards)
    alive = [one for one in cards if one.status != "done"]
    caught = {one.id for one in alive if one.id in waiters_of(one.id, cards)}
    assert links.caught == caught
    assert {member for knot in links.knots for member in knot} == caught
    for ring, knot in zip(links.rings, links.knots, strict=True):
        assert ring[0] == ring[-1] == min(knot)
        by_id = {one.id: one for one in alive}
        assert all(after in by_id[before].depends_on for before, after in pairwise(ring))
        assert len(set(ring)) == len(ring) - 1
    beyond = {one.id for one in alive if any(one.id in waiters_of(ringed, cards) for ringed in caught)} | caught
    for one in alive:
        expected = set() if one.id in caught else waiters_of(one.id, cards)
        direct = {other for other in expected if other not in caught}
        if not expected & beyond:
            assert links.frees.get(one.id, 0) == len(direct)
    assert all(one.id not in links.frees for one in cards if one.status == "done")


@tries(100)
@given(boards(), st.data())
def test_a_link_is_refused_exactly_when_it_would_close_a_ring(cards: list[Card], data: st.DataObject) -> None:
    world = Board(cards)
    start, target = (data.draw(st.integers(1, len(cards))) for _ in range(2))
    seen: set[int] = set()
    reach = [target]
    while reach:
        here = reach.pop()
        entry = world.get(here)
        if here not in seen and isinstance(entry, Card):
            seen.add(here)
            reach += entry.depends_on
    ring = find_cycle(start, [target], world)
    assert (ring is not None) == (start in seen)
    if ring is not None:
        assert ring[:2] == (start, target)
        assert ring[-1] == start


def test_one_question_decides_what_waits() -> None:
    damaged = Damaged(id=3, name="3.json", why="empty")
    world = Board([card(1, "done"), card(2, "doing", owner=OTHER), damaged])
    waiting = card(5, depends_on=(1, 2, 3, 4))
    assert open_dependencies(waiting, world) == (2, 3, 4)
    assert waits(waiting, world)
    assert not waits(card(5, depends_on=(1,)), world)
    assert open_dependencies(card(5), world) == ()


def test_unblocked_are_those_that_waited_for_nothing_else() -> None:
    world = Board(
        [
            card(1, "done"),
            card(2),
            card(3, depends_on=(1,)),
            card(4, depends_on=(1, 2)),
            card(5, "done", depends_on=(1,)),
        ]
    )
    assert unblocked_by(1, world) == [3]


def test_a_chain_and_a_knot_of_thousands_are_counted_without_recursion() -> None:
    chain = [card(n, depends_on=(n - 1,) if n > 1 else ()) for n in range(1, 5001)]
    links = graph(chain)
    assert links.frees[1] == 4999
    assert find_cycle(1, [5000], Board(chain)) == (1, *range(5000, 0, -1))
    knot = [card(n, depends_on=(n - 1 or 5000,)) for n in range(1, 5001)]
    assert len(graph(knot).caught) == 5000
    assert graph(knot).rings[0][:3] == (1, 5000, 4999)


def test_a_ring_reads_as_arrows() -> None:
    assert arrow((4, 2, 9, 4)) == "#4 → #2 → #9 → #4"
