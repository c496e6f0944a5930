"""The round: the whole board in a few numbers and one line for each owner (spec 13, "Round").

`list` with `round`, the Team tab and the terminal show it. It always covers the whole board, whatever a list is
filtered by. Who counts as idle is decided by `decisions`, what waits by `links`; nothing is counted by a second rule
here.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from flask_pi_taskbar.board.decisions import IDLE_MINUTES, is_idle, limits
from flask_pi_taskbar.board.links import waits
from flask_pi_taskbar.board.model import Card, Lane
from flask_pi_taskbar.board.world import World


class Held(Struct, frozen=True):
    """A live card in an owner's line."""

    id: int
    status: Lane


class OwnerLine(Struct, frozen=True):
    """One owner: what is live, and how much is finished. An owner whose last card is done stays listed."""

    id: str
    label: str
    live: int
    finished: int
    cards: tuple[Held, ...]


class Round(Struct, frozen=True, rename="camel"):
    """The counts of spec 13. Their names are the names in JSON."""

    features: int
    owners: int
    unassigned: int
    unplanned: int
    blocked: int
    idle: int
    waiting: int
    done: int
    damaged: int
    claimable: int
    """Cards that a session which holds nothing could claim now."""
    owner_lines: tuple[OwnerLine, ...]
    text: str


def take_round(world: World, now: datetime, idle_minutes: int = IDLE_MINUTES) -> Round:
    """The round of a board at a moment."""
    at = limits(now, idle_minutes)
    features = unassigned = unplanned = blocked = idle = waiting = done = claimable = 0
    owners: dict[str, list[Card]] = {}
    for card in world.cards():
        features += 1
        if card.owner is not None:
            owners.setdefault(card.owner.id, []).append(card)
        if card.status is Lane.DONE:
            done += 1
            continue
        lane = card.lane
        if lane is not Lane.TODO and card.plan is None:
            unplanned += 1
        if lane is Lane.BLOCKED:
            blocked += 1
        elif lane is Lane.DOING and is_idle(card, at):
            idle += 1
        if card.owner is None:
            unassigned += 1
            if waits(card, world):
                waiting += 1
            elif not card.newer:
                claimable += 1
    lines = tuple(
        sorted(map(_line, owners.items()), key=lambda line: (-line.live, -line.finished, line.label, line.id))
    )
    damaged = sum(1 for _ in world.damaged())
    counts = (len(lines), features, unassigned, unplanned, blocked, idle, waiting, done, damaged)
    return Round(
        features=features,
        owners=len(lines),
        unassigned=unassigned,
        unplanned=unplanned,
        blocked=blocked,
        idle=idle,
        waiting=waiting,
        done=done,
        damaged=damaged,
        claimable=claimable,
        owner_lines=lines,
        text=_text(*counts),
    )


def _line(owned: tuple[str, list[Card]]) -> OwnerLine:
    owner_id, cards = owned
    newest = max(cards, key=lambda card: (card.touched_at, card.id))  # the label that it last went by
    live = sorted((card for card in cards if card.status is not Lane.DONE), key=lambda card: card.id)
    return OwnerLine(
        id=owner_id,
        label=newest.owner.label if newest.owner is not None else owner_id,
        live=len(live),
        finished=len(cards) - len(live),
        cards=tuple(Held(card.id, card.lane) for card in live),
    )


def _text(
    owners: int,
    features: int,
    unassigned: int,
    unplanned: int,
    blocked: int,
    idle: int,
    waiting: int,
    done: int,
    damaged: int,
) -> str:
    always = [
        f"{owners} owner{'' if owners == 1 else 's'}",
        f"{features} feature{'' if features == 1 else 's'}",
        f"{unassigned} unassigned",
        f"{unplanned} unplanned",
    ]
    others = {"blocked": blocked, "idle": idle, "waiting": waiting, "done": done, "damaged": damaged}
    return " · ".join(always + [f"{count} {word}" for word, count in others.items() if count])


def owner_text(line: OwnerLine, shown: int = 8) -> str:
    """`agent-3 · 2 live (#4 doing, #7 blocked) · 1 done`."""
    parts = [line.label]
    if line.live:
        parts.append(f"{line.live} live ({_held_text(line.cards, shown)})")
    if line.finished or not line.live:
        parts.append(f"{line.finished} done")
    return " · ".join(parts)


def _held_text(cards: Sequence[Held], shown: int) -> str:
    words = [f"#{card.id} {card.status}" for card in cards[:shown]]
    if len(cards) > shown:
        words.append(f"{len(cards) - shown} more")
    return ", ".join(words)
