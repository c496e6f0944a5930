"""What a card waits for, and what waits for it.

A link is stored once, in the waiting card; everything else about the graph is computed here. Rules, lists, round and
page all ask `open_dependencies`, so that none of them can disagree about what is ready. Nothing here trusts the graph
on disk: a cycle that a hand made neither hangs nor hides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from msgspec import Struct

from flask_pi_taskbar.board.model import Card, Lane
from flask_pi_taskbar.board.world import World

_NONE: Final[tuple[int, ...]] = ()


def open_dependencies(card: Card, world: World) -> tuple[int, ...]:
    """The ids in `dependsOn` whose card is not done; a missing or damaged one is not done."""
    if not card.depends_on:
        return _NONE
    return tuple(card_id for card_id in card.depends_on if not _is_done(card_id, world))


def waits(card: Card, world: World) -> bool:
    """Whether a card waits for anything."""
    return bool(card.depends_on) and not all(_is_done(card_id, world) for card_id in card.depends_on)


def _is_done(card_id: int, world: World) -> bool:
    entry = world.get(card_id)
    return isinstance(entry, Card) and entry.status is Lane.DONE


def unblocked_by(card_id: int, world: World) -> list[int]:
    """The unfinished cards that named this one and wait for nothing any more, in a world where it is done."""
    return sorted(
        card.id
        for card in world.dependents(card_id)
        if card.status is not Lane.DONE and card.id != card_id and not waits(card, world)
    )


def find_cycle(card_id: int, new_links: Iterable[int], world: World) -> tuple[int, ...] | None:
    """The ring that these links would close, as `(4, 2, 9, 4)`, or None.

    It walks along `dependsOn` from each new link and reads only what it reaches.
    """
    came_from: dict[int, int] = {}
    for start in new_links:
        if start == card_id:
            return (card_id, card_id)
        if start in came_from:
            continue
        came_from[start] = card_id
        reached = [start]
        while reached:
            here = reached.pop()
            entry = world.get(here)
            for linked in entry.depends_on if isinstance(entry, Card) else ():
                if linked == card_id:
                    return (*_way_to(here, came_from, card_id), card_id)
                if linked not in came_from:
                    came_from[linked] = here
                    reached.append(linked)
    return None


def _way_to(last: int, came_from: Mapping[int, int], first: int) -> Sequence[int]:
    way = [last]
    while way[-1] != first:
        way.append(came_from[way[-1]])
    return way[::-1]


class Graph(Struct, frozen=True):
    """The links between unfinished cards, looked at once."""

    frees: Mapping[int, int]
    """How many unfinished cards wait for this one, directly or through others, outside rings; absent means none."""
    rings: Sequence[tuple[int, ...]]
    """Each knot of cards that wait for each other, as a ring through its lowest id: `(2, 9, 2)`."""
    knots: Sequence[tuple[int, ...]]
    """All cards of each knot, sorted."""
    caught: AbstractSet[int]
    """Every card of every knot."""


def graph(cards: Iterable[Card]) -> Graph:
    """The graph of the unfinished cards among `cards` (all of them, for the counts to be true)."""
    unfinished = [card for card in cards if card.status is not Lane.DONE]
    linked = [card for card in unfinished if card.depends_on]
    if not linked:
        return Graph({}, (), (), frozenset())
    alive = {card.id for card in unfinished}
    links = {card.id: [other for other in card.depends_on if other in alive] for card in linked}
    waiters: dict[int, list[int]] = {}
    for card_id, others in links.items():
        for other in others:
            waiters.setdefault(other, []).append(card_id)
    bits = {card_id: 1 << place for place, card_id in enumerate(set(waiters).union(links))}
    below: dict[int, int] = {}  # what is freed, as a set of bits: thousands of cards cost a few machine words each
    frees: dict[int, int] = {}
    rings: list[tuple[int, ...]] = []
    knots: list[tuple[int, ...]] = []
    caught: set[int] = set()
    for knot in _knots(waiters):
        card_id = knot[0]
        if len(knot) > 1 or card_id in waiters.get(card_id, ()):  # nothing frees a ring, so it frees nothing
            caught.update(knot)
            knots.append(tuple(sorted(knot)))
            rings.append(_shortest_ring(min(knot), links, set(knot)))
            continue
        reached = 0
        for waiter in waiters.get(card_id, ()):
            if waiter not in caught:
                reached |= bits[waiter] | below.get(waiter, 0)
        if reached:
            below[card_id] = reached
            frees[card_id] = reached.bit_count()
    return Graph(frees, tuple(rings), tuple(knots), caught)


def _knots(successors: Mapping[int, Sequence[int]]) -> Iterator[list[int]]:
    """The strongly connected components, each after all that it leads to (Tarjan's algorithm without recursion)."""
    order: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for root in successors:
        if root in order:
            continue
        order[root] = low[root] = len(order)
        stack.append(root)
        on_stack.add(root)
        path = [(root, iter(successors[root]))]
        while path:
            here, rest = path[-1]
            deeper = next(rest, None)
            if deeper is None:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[here])
                if low[here] == order[here]:
                    cut = _place_from_the_end(stack, here)
                    knot = stack[cut:]
                    del stack[cut:]
                    on_stack.difference_update(knot)
                    yield knot
            elif deeper not in order:
                order[deeper] = low[deeper] = len(order)
                stack.append(deeper)
                on_stack.add(deeper)
                path.append((deeper, iter(successors.get(deeper, ()))))
            elif deeper in on_stack:
                low[here] = min(low[here], order[deeper])


def _shortest_ring(start: int, links: Mapping[int, Sequence[int]], knot: set[int]) -> tuple[int, ...]:
    came_from = {start: start}
    reached = [start]
    for here in reached:
        for linked in links.get(here, ()):
            if linked == start:
                way = [here]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return (*reversed(way), start)
            if linked in knot and linked not in came_from:
                came_from[linked] = here
                reached.append(linked)
    return (start, start)


def arrow(ring: Iterable[int]) -> str:
    """A ring in words: `#4 → #2 → #9 → #4`."""
    return " → ".join(f"#{card_id}" for card_id in ring)


def _place_from_the_end(stack: Sequence[int], wanted: int) -> int:
    place = len(stack) - 1
    while stack[place] != wanted:
        place -= 1
    return place
