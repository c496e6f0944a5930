"""A card's face: what the page needs to draw one card, in at most 2 kB whatever the card holds.

`view` makes one for each card and keeps it as the bytes that go into frames. Notes stay out: the page fetches the card
when its dialog opens. A row depends on its card and on the cards that it waits for, never on the time of day.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Struct

from flask_pi_taskbar.board.model import Card, Lane, Priority
from flask_pi_taskbar.board.ranking import takes
from flask_pi_taskbar.board.reason import Tone, clamped, reason_given
from flask_pi_taskbar.board.stamps import Stamp
from flask_pi_taskbar.board.world import World

MAX_ROW_BYTES: Final = 2000
_PATHS: Final = 3
_PATH: Final = 100
_CLAIM: Final = ("Claim", "Note", "Open")
_MOVE: Final = ("Move", "Note", "Open")
_REST: Final = ("Note", "Open")
_LOOK: Final = ("Open",)


class Owner(Struct, frozen=True, gc=False):
    """Who holds the card, or who finished it."""

    id: str
    label: str


class Wait(Struct, frozen=True, gc=False):
    """An unfinished dependency and where it is: a lane, `missing` or `unreadable`."""

    id: int
    status: str


class Row(Struct, frozen=True, rename="camel", gc=False):
    """What a card's face shows. Buttons are those of the seat; a viewer's page draws `Open` alone."""

    id: int
    rev: int
    title: str
    status: Lane
    priority: Priority
    paths: tuple[str, ...]
    path_count: int
    owner: Owner | None
    depends_on: tuple[int, ...]
    waits: tuple[Wait, ...]
    wait_count: int
    reason: str
    tone: Tone
    created_at: Stamp
    touched_at: Stamp
    held_touched_at: Stamp | None
    notes: int
    plan: bool
    buttons: tuple[str, ...]
    mark: str | None
    """`newer` (read-only here) or `repaired` (a field could not be used), else None."""


_ENCODE: Final = msgspec.json.Encoder().encode


def encode_row(card: Card, waits_on: tuple[int, ...], seat_id: str, world: World) -> bytes:
    """The row of a card that waits for these, as JSON."""
    row = make_row(card, waits_on, seat_id, world)
    encoded = _ENCODE(row)
    return encoded if len(encoded) <= MAX_ROW_BYTES else _slimmer(row)


def make_row(card: Card, waits_on: tuple[int, ...], seat_id: str, world: World) -> Row:
    """The row of a card that waits for these, before it is made to fit."""
    why = reason_given(card, waits_on, world)
    owner = card.owner
    return Row(
        card.id,
        card.rev,
        card.title,
        card.lane,
        card.priority,
        _shown(card.paths),
        len(card.paths),
        None if owner is None else Owner(owner.id, owner.label),
        card.depends_on,
        tuple([Wait(card_id, state_of(card_id, world)) for card_id in waits_on]) if waits_on else (),
        len(waits_on),
        clamped(why.text),
        why.tone,
        card.created_at,
        card.touched_at,
        card.held_touched_at,
        len(card.notes),
        card.plan is not None,
        _buttons(card, seat_id, bool(waits_on)),
        "newer" if card.newer else "repaired" if card.repaired else None,
    )


def state_of(card_id: int, world: World) -> str:
    """Where a dependency is, in one word."""
    entry = world.get(card_id)
    if isinstance(entry, Card):
        return entry.lane.value
    return "missing" if entry is None else "unreadable"


def _buttons(card: Card, seat_id: str, waiting: bool) -> tuple[str, ...]:
    """The actions on a card's face, by the rules' table."""
    if card.newer:
        return _LOOK
    if card.status is Lane.DONE:
        return _REST
    return _CLAIM if takes(card, seat_id, waiting) else _MOVE


def _shown(paths: tuple[str, ...]) -> tuple[str, ...]:
    for path in paths:
        if len(path) > _PATH or len(paths) > _PATHS:
            return tuple([_middle(path, _PATH) for path in paths[:_PATHS]])
    return paths


def _slimmer(row: Row) -> bytes:
    """The row with less and less of what the dialog shows anyway, until it fits."""
    for links, path, line in ((20, 60, 120), (8, 30, 60), (3, 12, 24)):
        row = msgspec.structs.replace(
            row,
            paths=tuple(_middle(hint, path) for hint in row.paths),
            depends_on=row.depends_on[:links],
            waits=row.waits[:links],
            reason=clamped(row.reason, line),
        )
        encoded = _ENCODE(row)
        if len(encoded) <= MAX_ROW_BYTES:
            return encoded
    owner = row.owner and Owner(row.owner.id, clamped(row.owner.label, 12))
    return _ENCODE(msgspec.structs.replace(row, paths=(), depends_on=(), waits=(), reason="", owner=owner))


def _middle(text: str, limit: int) -> str:
    """A text with its middle left out: a path tells most at both ends."""
    if len(text) <= limit:
        return text
    tail = (limit - 1) * 2 // 3
    return f"{text[: limit - 1 - tail]}…{text[-tail:]}"
