"""What accepted calls make of a card: one function for each effect of the rules' table.

`rules.decide` calls them after the table has accepted. Each returns a new card with its `rev`, times and history
moved on; none asks whether it may. The times follow spec 11: `touchedAt` moves with every write, `heldTouchedAt` only
with a write by the holder, so that somebody else's "still alive?" hides no idle card.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, Literal, NamedTuple

import msgspec

from flask_pi_taskbar.board.model import (
    MAX_NOTES,
    Actor,
    ActorKind,
    Card,
    Kept,
    Lane,
    Note,
    NoteKind,
    Session,
    Who,
    evolve,
)
from flask_pi_taskbar.board.request import Request
from flask_pi_taskbar.board.stamps import Stamp, later, restamp, stamp

DROPPED: Final = "x-dropped"
"""The field that a dropped card's copy carries: who dropped it, and when."""


def added(request: Request, actor: Actor, card_id: int, now: datetime, unknown: Mapping[str, object]) -> Card:
    """A new card in todo, with its first note if one was given."""
    at = stamp(now)
    card = Card(
        id=card_id,
        title=request.title or "",
        status=Lane.TODO,
        paths=request.paths or (),
        depends_on=request.depends_on or (),
        created_at=at,
        created_by=actor.who,
        touched_at=at,
        key=request.key,
        kept=Kept(unknown) if unknown else msgspec.UNSET,
    )
    if request.priority is not None:
        card = evolve(card, priority=request.priority)
    return card if request.text is None else evolve(card, notes=(entry(card, actor, NoteKind.ADD, request.text, at),))


def taken(card: Card, actor: Actor, now: datetime) -> Card:
    """Claimed: doing, and the caller's."""
    said = "claimed" if card.lane is Lane.TODO else "claimed while parked"
    changed = evolve(card, status=Lane.DOING, owner=actor.who, claimed_at=stamp(now))
    return moved_on(changed, actor, now, NoteKind.CLAIM, said)


def freed(card: Card, actor: Actor, now: datetime, kind: NoteKind) -> Card:
    """Back in todo and nobody's, by its holder (release) or by anyone (reclaim)."""
    holder = card.owner.label if card.owner is not None else "nobody"
    said = f"reclaimed from {holder} by {actor.label}" if kind is NoteKind.RECLAIM else "released"
    changed = evolve(card, status=Lane.TODO, owner=None, claimed_at=None, held_touched_at=None)
    return moved_on(changed, actor, now, kind, said)


def unparked(card: Card, actor: Actor, now: datetime, kind: NoteKind) -> Card:
    """A parked card back in todo; nobody held it."""
    changed = evolve(card, status=Lane.TODO, claimed_at=None, held_touched_at=None)
    return moved_on(changed, actor, now, kind, f"unparked by {actor.label}")


def shifted(card: Card, actor: Actor, now: datetime, lane: Lane) -> Card:
    """In another lane, with the same holder. Work that an assignment began counts as claimed from here on."""
    said = f"{card.lane} → {lane}"
    changed = evolve(card, status=lane)
    if lane is Lane.DOING and card.claimed_at is None:
        changed = evolve(changed, claimed_at=stamp(now))
    return moved_on(changed, actor, now, NoteKind.MOVE, said)


def finished(card: Card, actor: Actor, now: datetime) -> Card:
    """Done; who finished it stays its owner."""
    changed = evolve(card, status=Lane.DONE, finished_at=stamp(now))
    return moved_on(changed, actor, now, NoteKind.MOVE, f"{card.lane} → done")


def assigned(card: Card, actor: Actor, now: datetime, to: Session) -> Card:
    """Recorded as a teammate's, in the lane where it is. Nobody is told; the history says so."""
    owner = Who(id=to.id, label=to.label)
    said = f"assigned by {actor.label} to {to.label}; no handoff was sent"
    changed = moved_on(evolve(card, owner=owner, claimed_at=None), actor, now, NoteKind.ASSIGN, said)
    return evolve(changed, held_touched_at=stamp(now))


def planned(card: Card, actor: Actor, now: datetime, path: str) -> Card:
    """With the plan that it executes."""
    return moved_on(evolve(card, plan=path), actor, now, NoteKind.PLAN, f"plan: {path}")


def differences(card: Card, request: Request) -> dict[str, object]:
    """What an edit would change, by the names of the file; a field that was not given is not among it."""
    given: dict[str, tuple[object, object]] = {
        "title": (request.title, card.title),
        "paths": (request.paths, card.paths),
        "priority": (request.priority, card.priority),
        "dependsOn": (request.depends_on, card.depends_on),
    }
    return {name: new for name, (new, old) in given.items() if new is not None and new != old}


def rewritten(card: Card, actor: Actor, now: datetime, changes: Mapping[str, object]) -> Card:
    """With what it says corrected."""
    fields = {"depends_on" if name == "dependsOn" else name: value for name, value in changes.items()}
    return moved_on(evolve(card, **fields), actor, now, NoteKind.EDIT, f"edited {', '.join(changes)}")


def reopened(card: Card, actor: Actor, card_id: int, now: datetime) -> Card:
    """A finished card as a new one in todo: what it says, what it waited for, and its notes as they were written.

    Of a full history the oldest note gives way to the one that says where the card comes from.
    """
    at = stamp(now)
    again = Card(
        id=card_id,
        title=card.title,
        status=Lane.TODO,
        priority=card.priority,
        paths=card.paths,
        depends_on=card.depends_on,
        created_at=at,
        created_by=actor.who,
        touched_at=at,
        notes=card.notes[-(MAX_NOTES - 1) :],
    )
    said = f"reopened from #{card.id} by {actor.label}"
    return evolve(again, notes=(*again.notes, entry(again, actor, NoteKind.ADD, said, at)))


def reopened_as(card: Card, actor: Actor, card_id: int, now: datetime) -> Card:
    """The finished card, with a note of the card that was made of it, where its history has room for one."""
    return moved_on(card, actor, now, NoteKind.EDIT, f"reopened as #{card_id}")


def removed(card: Card, actor: Actor, now: datetime) -> Card:
    """The copy that stays in `dropped/`: the card as it was, and who dropped it when."""
    mark = {"by": {"id": actor.id, "label": actor.label}, "at": stamp(now)}
    return evolve(card, kept=_kept_with(card, {**card.unknown, DROPPED: mark}))


class Mark(NamedTuple):
    """Who dropped a card (the id), and when."""

    by: str
    at: Stamp


def dropped_mark(card: Card) -> Mark | None:
    """The mark of a dropped card's copy, if it carries a usable one."""
    mark = card.unknown.get(DROPPED)
    if not isinstance(mark, dict):
        return None
    by, at = mark.get("by"), restamp(mark.get("at"))
    name = by.get("id") if isinstance(by, dict) else None
    return Mark(name, at) if isinstance(name, str) and at is not None else None


def restored(card: Card, actor: Actor, now: datetime) -> Card:
    """A dropped card as it was, back under its number."""
    unknown = {name: value for name, value in card.unknown.items() if name != DROPPED}
    changed = evolve(card, kept=_kept_with(card, unknown))
    return moved_on(changed, actor, now, NoteKind.UNDO, f"brought back by {actor.label}")


def noted(card: Card, actor: Actor, now: datetime, kind: NoteKind, said: str) -> Card:
    """With one more note. The caller has seen to it that there is room."""
    return moved_on(card, actor, now, kind, said)


def moved_on(card: Card, actor: Actor, now: datetime, kind: NoteKind, said: str) -> Card:
    """`card`, whose new fields stand already, with rev, times and (where there is room) history moved on."""
    at = stamp(now)
    changes: dict[str, object] = {"rev": card.rev + 1, "touched_at": later(card.touched_at, now)}
    if card.owner is not None and card.owner.id == actor.id:
        changes["held_touched_at"] = at if card.held_touched_at is None else later(card.held_touched_at, now)
    if len(card.notes) < MAX_NOTES:
        changes["notes"] = (*card.notes, entry(card, actor, kind, said, at))
    return evolve(card, **changes)


def without_history(card: Card) -> Card:
    """The card without its newest entry, for a file in which only that entry has no room."""
    return evolve(card, notes=card.notes[:-1])


def entry(card: Card, actor: Actor, kind: NoteKind, said: str, at: str) -> Note:
    """The next entry of a card's history."""
    number = max(len(card.notes), card.notes[-1].n if card.notes else 0) + 1
    via: Literal["page"] | None = "page" if actor.kind is ActorKind.SEAT else None
    return Note(n=number, at=at, by=actor.who, kind=kind, text=said, via=via)


def _kept_with(card: Card, unknown: Mapping[str, object]) -> Kept | msgspec.UnsetType:
    was = {} if isinstance(card.kept, msgspec.UnsetType) else card.kept.was
    return Kept(unknown, was) if unknown or was else msgspec.UNSET
