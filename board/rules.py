"""Deciding a call: what the table of rules makes of it, given the board as it is.

The store calls `decide` under its lock, with a world that it read under that lock, and writes what it returns;
nothing here writes, waits or reads a clock. The order of the checks is the same for every action (spec 5): fields
(`read_request` has done them), the store's own checks, the card exists, it is readable, it is as fresh as the caller
thinks, the table. What the table alone cannot know, since it speaks of several cards, is checked last: the links that
an add or edit makes.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from msgspec import Struct

from flask_pi_taskbar.board import effects, wording
from flask_pi_taskbar.board.card import serialize, with_raw_kept
from flask_pi_taskbar.board.links import arrow, find_cycle, open_dependencies, unblocked_by, waits
from flask_pi_taskbar.board.model import MAX_FILE_BYTES, MAX_NOTES, Actor, Card, Damaged, NoteKind, Session, Who
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.ranking import best
from flask_pi_taskbar.board.refusal import Call, Code, Refusal
from flask_pi_taskbar.board.request import READS, Action, Request
from flask_pi_taskbar.board.stamps import EPOCH, Stamp, cutoff, stamp
from flask_pi_taskbar.board.table import Effect, verdict
from flask_pi_taskbar.board.world import World

UNDO_WITHIN: Final = timedelta(hours=24)
FINGERPRINT: Final = "x-key-of"
"""The field that remembers which fields an idempotency key stood for; the card itself may be edited later."""


class Write(Enum):
    """What the store does with a change's card."""

    NOTHING = "nothing"
    CREATE = "create"
    """Exclusively, under `card.id`; if that is taken, under a higher one (`model.evolve(card, id=...)`)."""
    UPDATE = "update"
    DROP = "drop"
    """Write the card into `dropped/`, then unlink it among the cards."""
    RESTORE = "restore"
    """Exclusively under `card.id`, nowhere else; then unlink it in `dropped/`."""


class Mail(Struct, frozen=True):
    """A message for one session's inbox; the store numbers it."""

    to: str
    kind: str
    card: int
    sender: Who
    at: Stamp
    text: str


class Change(Struct, frozen=True, kw_only=True):
    """An accepted call: the card as it becomes, and what is to be written."""

    action: Action
    write: Write
    card: Card
    finishes: bool = False
    replayed: bool = False
    mails: tuple[Mail, ...] = ()
    origin: Card | None = None
    """The finished card that `card` is made of; it is noted there (`origin_noted`) in the same write."""
    extra: Mapping[str, object] = {}
    """Further fields of the answer."""

    def result(self, world: World) -> dict[str, object]:
        """The answer of spec 6.1; `world` is the board after the write and may be read without the lock.

        Only a move to done asks the world for more than the card's own dependencies.
        """
        answer: dict[str, object] = {
            "ok": True,
            "action": self.action.value,
            "card": as_json(self.card),
            "rev": self.card.rev,
            "unchanged": self.write is Write.NOTHING and not self.replayed,
            "waits": list(open_dependencies(self.card, world)),
            "unblocked": unblocked_by(self.card.id, world) if self.finishes else [],
        }
        if self.action is Action.ADD:
            answer["replayed"] = self.replayed
        return answer | dict(self.extra)


def decide(request: Request, actor: Actor, world: World, now: datetime) -> Change:
    """The change that this call makes, or a Refusal. `now` is aware."""
    if request.action in READS:
        raise ValueError(f"{request.action} changes nothing")
    if request.action is Action.ADD:
        return _add(request, actor, world, now)
    if request.action is Action.NEXT:
        return _next(request, actor, world, now)
    if request.action is Action.UNDO:
        return _undo(request, actor, world, now)
    card = _readable(request, world)
    _check_fresh(request, card)
    return _on_card(request, actor, card, world, now)


def legal(action: Action, card: Card, actor_id: str, world: World, target: str = "-") -> bool:
    """Whether the table accepts this call now; the one source of buttons, `claimable` and suggestions."""
    return not card.newer and verdict(action, card, actor_id, waits(card, world), target).accepted


def with_alternatives(refusal: Refusal, actor: Actor, world: World) -> Refusal:
    """The refusal, with the best card that the caller can claim instead among its at most three calls.

    It may read every card, so the store calls it after it has let go of the lock.
    """
    card = refusal.card
    if refusal.code is Code.FINISHED and refusal.action != Action.EDIT and isinstance(card, Card):
        refusal.next = (*refusal.next[:1], {"action": "reopen", "card": card.id})
    if refusal.action in _WANTS_WORK and refusal.code in _OTHER_CARD_HELPS:
        found = best(actor.id, world)
        known = {(call["action"], call.get("card")) for call in refusal.next}
        if found is not None and ("claim", found.card.id) not in known:
            other: Call = {"action": "claim", "card": found.card.id, "why": found.why}
            refusal.next = (*refusal.next[:2], other)
    return refusal


_WANTS_WORK: Final = frozenset({Action.CLAIM, Action.MOVE})
_OTHER_CARD_HELPS: Final = frozenset({Code.HELD, Code.WAITING, Code.FINISHED, Code.NO_SUCH_CARD, Code.NOT_HOLDER})


def _readable(request: Request, world: World) -> Card:
    entry = world.get(request.number)
    if entry is None:
        message = f"There is no #{request.number}; list shows the cards that there are."
        raise Refusal(
            Code.NO_SUCH_CARD,
            message,
            action=request.action,
            details={"card": request.number},
            next=[{"action": "list"}],
        )
    if isinstance(entry, Damaged) or entry.newer:
        raise wording.unreadable(request, entry)
    return entry


def _check_fresh(request: Request, card: Card) -> None:
    """`ifRev`: nothing at all may have changed. `base`: only what the edit is about to change may not."""
    again: list[Call] = [{"action": "list", "card": card.id}]
    if request.if_rev is not None and request.if_rev != card.rev:
        message = f"#{card.id} has changed since you read it (rev {card.rev}, not {request.if_rev}); read it again."
        details: dict[str, object] = {"rev": card.rev, "ifRev": request.if_rev}
        raise Refusal(Code.STALE, message, action=request.action, card=card, details=details, next=again)
    if request.base:
        current = as_json(card)
        changed = [
            name
            for name in effects.differences(card, request)
            if name in request.base and request.base[name] != current[name]
        ]
        if changed:
            message = (
                f"{wording.some(changed)} of #{card.id} changed since the edit began; look at it again, then save."
            )
            details = {"fields": {name: current[name] for name in changed}, "rev": card.rev}
            raise Refusal(Code.STALE, message, action=request.action, card=card, details=details, next=again)


def _on_card(request: Request, actor: Actor, card: Card, world: World, now: datetime) -> Change:
    sessions = _named_sessions(request, actor, world)
    case = wording.Case(request, actor, card, world, sessions)
    outcome = verdict(request.action, card, actor.id, waits(card, world), _target(case))
    if outcome.code is not None:
        raise wording.refused(outcome.code, case)
    if outcome.effect is Effect.KEEP:
        return Change(action=request.action, write=Write.NOTHING, card=card)
    if outcome.effect is Effect.REMOVE:
        gone = _removed(request, actor, card, now)
        return Change(action=request.action, write=Write.DROP, card=gone, extra={"dropped": card.id})
    if outcome.effect is Effect.COPY:
        again = _fitting(case, effects.reopened(card, actor, world.next_id(), now))
        return Change(action=request.action, write=Write.CREATE, card=again, origin=card, extra={"reopened": card.id})
    if outcome.effect is Effect.REWRITE and request.depends_on is not None:
        new = [card_id for card_id in request.depends_on if card_id not in card.depends_on]
        _check_links(case, card.id, new, world)
    changed = _fitting(case, with_raw_kept(_effect(outcome.effect, case, now)))
    return Change(
        action=request.action,
        write=Write.UPDATE,
        card=changed,
        finishes=outcome.effect is Effect.FINISH,
        mails=_mails(case, now),
        extra=_about_mail(case),
    )


def _target(case: wording.Case) -> str:
    """The further thing that the table's lines for this action speak of (`table.TARGETS`)."""
    request, card = case.request, case.card
    match request.action:
        case Action.MOVE:
            return str(request.status)
        case Action.ASSIGN | Action.HANDOFF:
            return ("none", "one")[len(case.sessions)] if len(case.sessions) < 2 else "several"
        case Action.OFFER:
            return "some" if case.sessions else "none"
        case Action.PLAN:
            return "same" if request.path == card.plan else "new"
        case Action.DROP:
            return "named" if any(other.id != card.id for other in case.world.dependents(card.id)) else "free"
        case Action.EDIT:
            changes = effects.differences(card, request)
            if "dependsOn" not in changes:
                return "words" if changes else "same"
            return "unlink" if set(request.depends_on or ()) <= set(card.depends_on) else "link"
        case _:
            return "-"


def _effect(effect: Effect | None, case: wording.Case, now: datetime) -> Card:
    request, actor, card = case.request, case.actor, case.card
    reclaiming = request.action is Action.RECLAIM
    match effect:
        case Effect.TAKE:
            return effects.taken(card, actor, now)
        case Effect.FREE:
            return effects.freed(card, actor, now, NoteKind.RECLAIM if reclaiming else NoteKind.RELEASE)
        case Effect.UNPARK:
            return effects.unparked(card, actor, now, NoteKind.RECLAIM if reclaiming else NoteKind.MOVE)
        case Effect.SHIFT if request.status is not None:
            return effects.shifted(card, actor, now, request.status)
        case Effect.FINISH:
            return effects.finished(card, actor, now)
        case Effect.ASSIGN:
            return effects.assigned(card, actor, now, case.sessions[0])
        case Effect.RECORD if request.path is not None:
            return effects.planned(card, actor, now, request.path)
        case Effect.REWRITE:
            return effects.rewritten(card, actor, now, effects.differences(card, request))
        case Effect.APPEND if request.text is not None:
            return effects.noted(card, actor, now, NoteKind.NOTE, request.text)
        case Effect.SEND:
            said = f"handoff sent to {case.sessions[0].label} by {actor.label}"
            return effects.noted(card, actor, now, NoteKind.ASSIGN, said)
        case Effect.SPREAD:
            count = len(case.sessions)
            said = f"offered to {count} session{'' if count == 1 else 's'} by {actor.label}"
            return effects.noted(card, actor, now, NoteKind.ASSIGN, said)
        case _:
            raise ValueError(f"{effect} makes no card of {request}")


def _fitting(case: wording.Case, card: Card) -> Card:
    """The changed card, if its file stays readable. A history entry gives way; words and edits are refused instead."""
    full = case.action is Action.NOTE and len(case.card.notes) >= MAX_NOTES
    if not full and not too_large(card):
        return card
    if case.action not in {Action.NOTE, Action.EDIT} and len(card.notes) > len(case.card.notes):
        card = effects.without_history(card)
        if not too_large(card):
            return card
    limit = f"{MAX_NOTES} notes" if full else f"{MAX_FILE_BYTES // 1024} KiB"
    message = f"#{card.id} is full ({limit} at most); nothing was dropped to make room. Go on in a new card."
    details: dict[str, object] = {"notes": len(case.card.notes), "limit": MAX_NOTES if full else MAX_FILE_BYTES}
    raise Refusal(Code.CARD_FULL, message, action=case.action, card=case.card, details=details)


def origin_noted(origin: Card, actor: Actor, card_id: int, now: datetime) -> Card | None:
    """The finished card of a `reopen`, with the number that its copy got; None if its file has no room for that."""
    card = with_raw_kept(effects.reopened_as(origin, actor, card_id, now))
    return None if too_large(card) else card


def _removed(request: Request, actor: Actor, card: Card, now: datetime) -> Card:
    """The copy that a drop leaves; refused where undo would find no room for the card that it brings back."""
    copy = with_raw_kept(effects.removed(card, actor, now))
    if too_large(copy) and too_large(_brought_back(copy, actor, now)):
        message = f"#{card.id} is too full to be dropped: undo could not bring it back. Move its file away instead."
        raise Refusal(Code.CARD_FULL, message, action=request.action, card=card, details={"limit": MAX_FILE_BYTES})
    return copy


def _brought_back(copy: Card, actor: Actor, now: datetime) -> Card:
    """The card that undo makes of a dropped one's copy; the history entry gives way."""
    card = effects.restored(copy, actor, now)
    return effects.without_history(card) if too_large(card) and len(card.notes) > len(copy.notes) else card


def too_large(card: Card) -> bool:
    """Whether the card's file would be larger than what is read back; looks closely only where it may be."""
    letters = sum([len(note.text) for note in card.notes])
    if not card.unknown and letters * 6 + len(card.notes) * 1500 + 40_000 < MAX_FILE_BYTES:
        return False
    return len(serialize(card)) > MAX_FILE_BYTES


def _named_sessions(request: Request, actor: Actor, world: World) -> Sequence[Session]:
    """Whom a label names: a session by its id, else the live sessions of that label, else those that went quiet."""
    if request.action is Action.OFFER:
        return [session for session in world.roster() if session.live and session.id != actor.id]
    if request.action not in {Action.ASSIGN, Action.HANDOFF}:
        return ()
    roster = world.roster()
    for session in roster:
        if session.id == request.label:
            return [session]
    called = [session for session in roster if session.label == request.label]
    return [session for session in called if session.live] or called


def _mails(case: wording.Case, now: datetime) -> tuple[Mail, ...]:
    if case.action not in {Action.HANDOFF, Action.OFFER}:
        return ()
    kind = "handoff" if case.action is Action.HANDOFF else "offer"
    said = case.request.text or f"#{case.card.id} {case.card.title}"
    at = stamp(now)
    return tuple(Mail(session.id, kind, case.card.id, case.actor.who, at, said) for session in case.sessions)


def _about_mail(case: wording.Case) -> dict[str, object]:
    if case.action not in {Action.HANDOFF, Action.OFFER}:
        return {}
    deaf = [session.label for session in case.sessions if not session.listening]
    sent: list[object] = [{"id": session.id, "label": session.label} for session in case.sessions]
    answer: dict[str, object] = {"sentTo": sent, "notListening": deaf}
    if deaf:
        answer["notice"] = f"sent, but nobody is watching the inbox of {wording.some(deaf)}"
    return answer


def _check_links(case: wording.Case | None, card_id: int, new: Sequence[int], world: World) -> None:
    """Each new link leads to a readable card, not to itself, and closes no ring."""
    action = Action.EDIT if case is not None else Action.ADD
    card = case.card if case is not None else None
    if card_id in new and case is not None:
        message = f"#{card_id} cannot wait for itself; leave #{card_id} out of dependsOn."
        raise Refusal(Code.SELF, message, action=action, card=card, details={"card": card_id})
    lost = [other for other in new if not isinstance(world.get(other), Card)]
    if lost:
        words, details = wording.waiting_for(lost, world)
        message = f"dependsOn names {wording.some(words)}; leave out what is not a readable card."
        raise Refusal(Code.NO_SUCH_CARD, message, action=action, card=card, details={"cards": lost, "found": details})
    ring = find_cycle(card_id, new, world)
    if ring is not None:
        message = f"That would close a ring: {arrow(ring)}; leave out #{ring[1]}, or edit a link away further on."
        raise Refusal(Code.CYCLE, message, action=action, card=card, details={"path": list(ring)})


def _add(request: Request, actor: Actor, world: World, now: datetime) -> Change:
    fingerprint = _fingerprint(request)
    for earlier in world.keyed(request.key) if request.key is not None else ():
        same_actor = earlier.created_by is not None and earlier.created_by.id == actor.id
        if same_actor and earlier.unknown.get(FINGERPRINT) == fingerprint:
            return Change(action=request.action, write=Write.NOTHING, card=earlier, replayed=True)
        message = f"The key {request.key} was used for #{earlier.id} with other fields; use a new key for a new card."
        details: dict[str, object] = {"key": request.key, "card": earlier.id}
        raise Refusal(Code.KEY_REUSED, message, action=request.action, card=earlier, details=details)
    card_id = world.next_id()
    _check_links(None, card_id, request.depends_on or (), world)
    unknown = {FINGERPRINT: fingerprint} if request.key is not None else {}
    card = effects.added(request, actor, card_id, now, unknown)
    return Change(action=request.action, write=Write.CREATE, card=card)


def _fingerprint(request: Request) -> str:
    fields = [request.title, request.paths, request.priority, request.depends_on, request.text]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:16]


def _next(request: Request, actor: Actor, world: World, now: datetime) -> Change:
    found = best(actor.id, world)
    if found is None:
        open_cards = [card for card in world.cards() if card.lane != "done"]
        waiting = sum(1 for card in open_cards if card.owner is None)
        held = len(open_cards) - waiting
        message = f"Nothing can be claimed now: {held} held, {waiting} waiting on unfinished work."
        details: dict[str, object] = {"held": held, "waiting": waiting}
        raise Refusal(Code.NOTHING_TO_DO, message, action=request.action, details=details, next=[{"action": "round"}])
    if request.dry_run:
        extra = {"reason": found.why, "dryRun": True}
        return Change(action=request.action, write=Write.NOTHING, card=found.card, extra=extra)
    case = wording.Case(request, actor, found.card, world)
    taken = _fitting(case, with_raw_kept(effects.taken(found.card, actor, now)))
    return Change(action=request.action, write=Write.UPDATE, card=taken, extra={"reason": found.why})


def _undo(request: Request, actor: Actor, world: World, now: datetime) -> Change:
    """Brings back what this actor dropped last (or the card it names), for a day and as long as the number is free."""
    mine = [
        (mark.at, card)
        for card in world.dropped()
        if (mark := effects.dropped_mark(card)) is not None and mark.by == actor.id and request.card in {None, card.id}
    ]
    dropped: tuple[Stamp, Card | None] = max(mine, key=lambda found: (found[0], found[1].id), default=(EPOCH, None))
    at, card = dropped
    if card is None or at < cutoff(now, UNDO_WITHIN):
        what = f"#{request.card} was not" if request.card is not None else "Nothing was"
        message = f"{what} dropped by you in the last 24 hours, so there is nothing to bring back."
        raise Refusal(Code.NOTHING_TO_DO, message, action=request.action)
    taken = world.get(card.id)
    if taken is not None:
        message = f"#{card.id} exists again as another file, so the dropped card cannot come back under its number."
        raise Refusal(Code.NOTHING_TO_DO, message, action=request.action, card=taken)
    return Change(action=request.action, write=Write.RESTORE, card=_brought_back(card, actor, now))
