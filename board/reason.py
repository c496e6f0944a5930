"""The one line under a card's title: why it is where it is (spec 13, "Reason line").

The first row that applies speaks. Page, tool and decision queue show the same line. Nothing in it depends on the time
of day, so that a card's row changes only when a card changes.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from msgspec import Struct

from flask_pi_taskbar.board.links import open_dependencies
from flask_pi_taskbar.board.model import SPOKEN, Card, Lane, Note
from flask_pi_taskbar.board.world import World

MAX_SHOWN: Final = 160
NOTHING_RECORDED: Final = "blocked, with nothing recorded"
NO_PLAN: Final = "no plan recorded"


class Tone(StrEnum):
    """How loudly the line speaks."""

    DIM = "dim"
    DANGER = "danger"
    SUCCESS = "success"
    MUTED = "muted"
    PLAIN = "plain"


class Reason(Struct, frozen=True, gc=False):
    """The line, whole; `clamped` makes it fit a row."""

    text: str
    tone: Tone


_EMPTY: Final = Reason("", Tone.PLAIN)
_PLANNED: Final = Reason("planned", Tone.MUTED)
_NO_PLAN: Final = Reason(NO_PLAN, Tone.DIM)
_BLOCKED: Final = Reason(NOTHING_RECORDED, Tone.DANGER)


def reason(card: Card, world: World) -> Reason:
    """Why this card is where it is."""
    return reason_given(card, open_dependencies(card, world), world)


def reason_given(card: Card, waits_on: tuple[int, ...], world: World) -> Reason:
    """The same, for a caller that knows already what the card waits for."""
    if card.status is Lane.DONE:
        return Reason(f"✓ done by {card.owner.label}" if card.owner is not None else "✓ done", Tone.SUCCESS)
    lane = card.lane
    if waits_on:
        return Reason(waits_text(waits_on, world), Tone.DIM)
    if lane is Lane.BLOCKED:
        said = last_said(card)  # the newest since it was blocked, else the newest of all
        return Reason(said.text, Tone.DANGER) if said is not None else _BLOCKED
    if card.plan is not None:
        return _PLANNED
    if lane is Lane.DOING:
        return _NO_PLAN
    said = last_said(card)
    return Reason(said.text, Tone.PLAIN) if said is not None else _EMPTY


def waits_text(waits_on: tuple[int, ...], world: World) -> str:
    """`waits on #1 (doing, agent-3)`; of several, the first two and how many more."""
    if len(waits_on) == 1:
        return f"waits on {_named(waits_on[0], world, alone=True)}"
    first, second = (_named(card_id, world, alone=False) for card_id in waits_on[:2])
    if len(waits_on) == 2:
        return f"waits on {first} and {second}"
    return f"waits on {first}, {second} and {len(waits_on) - 2} more"


def _named(card_id: int, world: World, *, alone: bool) -> str:
    entry = world.get(card_id)
    if entry is None:
        return f"#{card_id} (missing)"
    if not isinstance(entry, Card):
        return f"#{card_id} (unreadable)"
    if not alone:
        return f"#{card_id}"
    return (
        f"#{card_id} ({entry.lane}, {entry.owner.label})" if entry.owner is not None else f"#{card_id} ({entry.lane})"
    )


def last_said(card: Card) -> Note | None:
    """The newest words of a person or agent."""
    for note in reversed(card.notes):
        if note.kind in SPOKEN:
            return note
    return None


def clamped(text: str, limit: int = MAX_SHOWN) -> str:
    """A text on one line of at most `limit` code points, with an ellipsis where it was cut."""
    if len(text) > limit * 4:  # enough to know what the line begins with
        text = text[: limit * 4]
    line = " ".join(text.split()) if "\n" in text or "\t" in text else text
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
