"""What needs a decision: one row for each card that somebody should look at, the most pressing first (spec 13).

The page's Team tab and the terminal's round show this queue. A card has one row, of its strongest kind; its weaker
kinds are named beside it. Rows hold moments, not ages, so that time alone changes a row only when a card changes its
kind; the moment of the next such change is `due`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from flask_pi_taskbar.board.links import Graph, arrow, open_dependencies
from flask_pi_taskbar.board.model import Card, Damaged, Lane, NoteKind
from flask_pi_taskbar.board.order import PRIORITY_RANK
from flask_pi_taskbar.board.reason import NO_PLAN, NOTHING_RECORDED, clamped, reason_given, waits_text
from flask_pi_taskbar.board.stamps import Stamp, after, cutoff
from flask_pi_taskbar.board.world import World

IDLE_MINUTES: Final = 30
UNSTARTED_AFTER: Final = timedelta(minutes=30)
UNPLANNED_AFTER: Final = timedelta(minutes=5)
"""Nobody can have recorded a plan in the first minutes of a claim."""


class Kind(StrEnum):
    """Why a card is in the queue, strongest first."""

    DAMAGED = "damaged"
    CYCLE = "cycle"
    BLOCKED = "blocked"
    WAITING = "waiting"
    IDLE = "idle"
    UNSTARTED = "unstarted"
    UNPLANNED = "unplanned"
    UNASSIGNED = "unassigned"
    """In todo, nobody's, and ready."""


_EDGE: Final = {
    Kind.DAMAGED: "danger",
    Kind.CYCLE: "danger",
    Kind.BLOCKED: "danger",
    Kind.WAITING: "dim",
    Kind.IDLE: "warn",
    Kind.UNSTARTED: "warn",
    Kind.UNPLANNED: "dim",
    Kind.UNASSIGNED: "dashed",
}
_RANK: Final = {kind: max(0, place - 1) for place, kind in enumerate(Kind)}  # damaged and cycle share rank 0
_SHIFTS: Final = frozenset({NoteKind.CLAIM, NoteKind.RELEASE, NoteKind.RECLAIM, NoteKind.ASSIGN, NoteKind.MOVE})


class Decision(Struct, frozen=True, gc=False):
    """One row of the queue."""

    kind: Kind
    card: int | None
    reason: str
    edge: str
    action: str | None
    """`reclaim`, `claim`, `open`, or None where the rules would refuse whatever could be offered."""
    since: Stamp | None
    frees: int
    """How many unfinished cards wait for it, also through others."""
    also: tuple[Kind, ...] = ()
    cards: tuple[int, ...] = ()
    """All cards of a ring."""
    name: str | None = None
    """The file, for a damaged one."""


class Queue(Struct, frozen=True):
    """The rows, the waiting cards whose work is in progress (folded into one line), and when time changes either."""

    rows: tuple[Decision, ...]
    in_progress: tuple[int, ...]
    due: datetime | None


class Limits(Struct, frozen=True):
    """The stamps at or before which a silence is too long."""

    idle: Stamp
    unstarted: Stamp
    unplanned: Stamp


def limits(now: datetime, idle_minutes: int = IDLE_MINUTES) -> Limits:
    """The limits at a moment."""
    idle = cutoff(now, timedelta(minutes=idle_minutes))
    return Limits(idle, cutoff(now, UNSTARTED_AFTER), cutoff(now, UNPLANNED_AFTER))


def is_idle(card: Card, at: Limits) -> bool:
    """Whether a card in doing has had no sign of its holder for too long. A stamp from the future counts as now."""
    return card.lane is Lane.DOING and card.held_at <= at.idle


def take_queue(world: World, links: Graph, now: datetime, idle_minutes: int = IDLE_MINUTES) -> Queue:
    """The queue of a board at a moment. `links` is the graph of all its cards."""
    at = limits(now, idle_minutes)
    rows: list[tuple[tuple[int, int, int, str, int], Decision]] = []
    in_progress: list[int] = []
    for card in world.cards():
        if card.status is Lane.DONE or card.id in links.caught:
            continue
        waits_on = open_dependencies(card, world)
        kinds = _kinds(card, bool(waits_on), at)
        if not kinds:
            continue
        kind = kinds[0]
        if kind is Kind.WAITING and all(_in_progress(other, world, at) for other in waits_on):
            in_progress.append(card.id)
            continue
        since = _since(card, kind)
        freed = links.frees.get(card.id, 0)
        row = Decision(
            kind=kind,
            card=card.id,
            reason=_reason(card, kind, waits_on, world),
            edge=_EDGE[kind],
            action=_action(card, kind),
            since=since,
            frees=freed,
            also=kinds[1:],
        )
        rows.append(((_RANK[kind], PRIORITY_RANK[card.priority], -freed, since, card.id), row))
    rows += [((0, -1, 0, entry.mtime or "", entry.id or 0), _damaged(entry)) for entry in world.damaged()]
    rows += [((0, 0, 0, "", ring[0]), _ring(ring, knot)) for ring, knot in zip(links.rings, links.knots, strict=True)]
    rows.sort(key=lambda pair: pair[0])
    return Queue(tuple(row for _, row in rows), tuple(sorted(in_progress)), _due(world, at, idle_minutes))


def _kinds(card: Card, waits: bool, at: Limits) -> tuple[Kind, ...]:
    """Every kind that applies to an unfinished card, strongest first."""
    lane, owned = card.lane, card.owner is not None
    if lane is Lane.BLOCKED:
        return (Kind.BLOCKED if owned or not waits else Kind.WAITING,)
    if lane is Lane.DOING:
        idle = (Kind.IDLE,) if is_idle(card, at) else ()
        unplanned = card.plan is None and (card.claimed_at or card.held_at) <= at.unplanned
        return (*idle, Kind.UNPLANNED) if unplanned else idle
    if not owned:
        return (Kind.WAITING,) if waits else (Kind.UNASSIGNED,)
    return (Kind.UNSTARTED,) if card.held_at <= at.unstarted else ()


def _in_progress(card_id: int, world: World, at: Limits) -> bool:
    entry = world.get(card_id)
    return isinstance(entry, Card) and entry.owner is not None and not is_idle(entry, at)


def _reason(card: Card, kind: Kind, waits_on: tuple[int, ...], world: World) -> str:
    holder = card.owner.label if card.owner is not None else "nobody"
    match kind:
        case Kind.BLOCKED:
            return clamped(reason_given(card, waits_on, world).text) or NOTHING_RECORDED
        case Kind.WAITING:
            return waits_text(waits_on, world)
        case Kind.IDLE:
            return f"no sign of {holder}"
        case Kind.UNSTARTED:
            return f"assigned to {holder}, not started"
        case Kind.UNPLANNED:
            return NO_PLAN
        case _:
            return "nobody holds it"


def _action(card: Card, kind: Kind) -> str | None:
    """What the row offers; only what the rules accept from anybody."""
    if card.newer:
        return "open"
    if kind is Kind.WAITING:
        return None
    return "reclaim" if card.owner is not None else "claim"


def _since(card: Card, kind: Kind) -> Stamp:
    """Since when a card is in the state that its row tells of."""
    if kind is Kind.UNPLANNED:
        return card.claimed_at or card.held_at
    if kind in {Kind.IDLE, Kind.UNSTARTED}:
        return card.held_at
    for note in reversed(card.notes):
        if note.kind in _SHIFTS:
            return note.at
    return card.created_at


def _damaged(entry: Damaged) -> Decision:
    return Decision(
        kind=Kind.DAMAGED,
        card=entry.id,
        reason=clamped(f"{entry.name}: {entry.why}"),
        edge=_EDGE[Kind.DAMAGED],
        action="open",
        since=entry.mtime,
        frees=0,
        name=entry.name,
    )


def _ring(ring: Sequence[int], knot: tuple[int, ...]) -> Decision:
    return Decision(
        kind=Kind.CYCLE,
        card=ring[0],
        reason=clamped(f"waits for itself: {arrow(ring)}"),
        edge=_EDGE[Kind.CYCLE],
        action="open",
        since=None,
        frees=0,
        cards=knot,
    )


def _due(world: World, at: Limits, idle_minutes: int) -> datetime | None:
    """When the next card turns idle, unstarted or unplanned by nothing but time passing."""
    times = [after(stamp, length) for stamp, length in _coming(world, at, timedelta(minutes=idle_minutes))]
    return min(times, default=None)


def _coming(world: World, at: Limits, idle: timedelta) -> Iterator[tuple[Stamp, timedelta]]:
    held: list[Stamp] = []
    assigned: list[Stamp] = []
    claimed: list[Stamp] = []
    for card in world.cards():
        if card.status is Lane.DONE or card.owner is None:
            continue
        if card.status is Lane.DOING:
            if card.held_at > at.idle:
                held.append(card.held_at)
            if card.plan is None and (card.claimed_at or card.held_at) > at.unplanned:
                claimed.append(card.claimed_at or card.held_at)
        elif card.status is Lane.TODO and card.held_at > at.unstarted:
            assigned.append(card.held_at)
    for stamps, length in ((held, idle), (assigned, UNSTARTED_AFTER), (claimed, UNPLANNED_AFTER)):
        if stamps:
            yield min(stamps), length
