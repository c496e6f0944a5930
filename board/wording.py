"""What a refusal says: the sentence, the details, and what could be done to the same card instead.

One function for each code that the table or the checks around it can give. Every sentence says what to do, or names who
can; every suggested call has been asked of the table first. Suggestions of other cards are `rules.with_alternatives`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from flask_pi_taskbar.board.links import open_dependencies
from flask_pi_taskbar.board.model import Actor, Card, Damaged, Lane, Session
from flask_pi_taskbar.board.plain import who_json
from flask_pi_taskbar.board.refusal import Call, Code, Refusal
from flask_pi_taskbar.board.request import Action, Request
from flask_pi_taskbar.board.table import Relation, relation, verdict
from flask_pi_taskbar.board.world import World


class Case(Struct, frozen=True):
    """A call on a card, and what was looked at to decide it."""

    request: Request
    actor: Actor
    card: Card
    world: World
    sessions: Sequence[Session] = ()
    """The sessions that a label names."""

    @property
    def action(self) -> Action:
        """The action asked for."""
        return self.request.action

    def allows(self, action: Action, target: str = "-", card: Card | None = None) -> bool:
        """Whether the table would accept this of the same caller."""
        subject = card or self.card
        waits = bool(open_dependencies(subject, self.world))
        return not subject.newer and verdict(action, subject, self.actor.id, waits, target).accepted

    def call(self, action: Action, target: str = "-", **fields: object) -> list[Call]:
        """A call on the same card, as a suggestion, if it would be accepted."""
        named = {"status": target} if action is Action.MOVE else {}
        call: Call = {"action": action.value, "card": self.card.id, **named, **fields}
        return [call] if self.allows(action, target) else []


Said = tuple[str, dict[str, object], list[Call]]


def refused(code: Code, case: Case) -> Refusal:
    """The refusal of a call that the table does not accept."""
    message, details, calls = _SAY[code](case)
    return Refusal(code, message, action=case.action, card=case.card, details=details, next=calls[:3])


def holder(card: Card) -> str:
    """The label of whoever holds a card."""
    return card.owner.label if card.owner is not None else "nobody"


def place(card: Card) -> str:
    """Where a card is and with whom: `doing, agent-3`, or `todo`."""
    return f"{card.lane}, {card.owner.label}" if card.owner is not None else card.lane.value


def some(words: Sequence[str], shown: int = 3) -> str:
    """A list in words: `a`, `a and b`, `a, b and c`, `a, b, c and 4 more`."""
    head = list(words[:shown]) + ([f"{len(words) - shown} more"] if len(words) > shown else [])
    return " and ".join([", ".join(head[:-1]), head[-1]] if len(head) > 1 else head)


def waiting_for(card_ids: Iterable[int], world: World) -> tuple[list[str], list[dict[str, object]]]:
    """Dependencies in words (`#1 (doing, agent-3)`, `#7 (missing)`) and as details."""
    words: list[str] = []
    details: list[dict[str, object]] = []
    for card_id in card_ids:
        entry = world.get(card_id)
        if isinstance(entry, Card):
            words.append(f"#{card_id} ({place(entry)})")
            details.append({"id": card_id, "status": entry.lane.value, "owner": entry.owner and entry.owner.label})
        else:
            state = "missing" if entry is None else "unreadable"
            words.append(f"#{card_id} ({state})")
            details.append({"id": card_id, "status": state, "owner": None})
    return words, details


_CANNOT: Final[Mapping[Action, str]] = {
    Action.CLAIM: "be claimed",
    Action.RELEASE: "be released",
    Action.RECLAIM: "be reclaimed",
    Action.MOVE: "be moved",
    Action.ASSIGN: "be assigned",
    Action.PLAN: "get a plan",
    Action.EDIT: "be edited",
    Action.DROP: "be dropped",
    Action.HANDOFF: "be handed on",
    Action.OFFER: "be offered",
}


def _waiting(case: Case) -> Said:
    open_ids = open_dependencies(case.card, case.world)
    words, details = waiting_for(open_ids, case.world)
    cannot = f"move to {case.request.status}" if case.action is Action.MOVE else _CANNOT[case.action]
    message = f"#{case.card.id} waits on {some(words)}; it cannot {cannot} yet."
    return message, {"waitsOn": details}, _note(case) + _claims_of(open_ids, case)


def _claims_of(card_ids: Iterable[int], case: Case) -> list[Call]:
    for card_id in card_ids:
        entry = case.world.get(card_id)
        if isinstance(entry, Card) and entry.lane is not Lane.DOING and case.allows(Action.CLAIM, card=entry):
            return [{"action": "claim", "card": card_id, "why": f"#{case.card.id} waits on it"}]
    return []


def _held(case: Case) -> Said:
    card = case.card
    details: dict[str, object] = {"owner": who_json(card.owner), "status": card.lane.value}
    if relation(card, case.actor.id) is Relation.HOLDER:
        message = f"You hold #{card.id} ({card.lane}); release it before it can {_CANNOT[case.action]}."
        return message, details, case.call(Action.RELEASE) + _note(case)
    how = "assigned to" if card.lane is Lane.TODO else "held by"
    ask = f"leave {holder(card)} a note, reclaim it if {holder(card)} is gone, or take another card"
    message = f"#{card.id} is {how} {holder(card)} ({card.lane}) and cannot {_CANNOT[case.action]}; {ask}."
    return message, details, _note(case) + case.call(Action.RECLAIM)


def _not_holder(case: Case) -> Said:
    card = case.card
    details: dict[str, object] = {"owner": who_json(card.owner), "status": card.lane.value}
    message = (
        f"#{card.id} is held by {holder(card)} ({card.lane}) and can {_CANNOT[case.action]} by its holder only; "
        f"leave {holder(card)} a note, or reclaim it if {holder(card)} is gone."
    )
    return message.replace("can get a plan by", "can get a plan from"), details, case.call(Action.RECLAIM) + _note(case)


def _not_held(case: Case) -> Said:
    card = case.card
    if case.action is Action.MOVE:
        what = f"claim it first, then move it to {case.request.status}"
        message = f"Nobody holds #{card.id} ({card.lane}); {what}."
    else:
        message = f"Nobody holds #{card.id} ({card.lane}); there is nothing to give back."
    open_ids = open_dependencies(card, case.world)
    words, details = waiting_for(open_ids, case.world)
    if words and case.action is Action.MOVE:
        message += f" It waits on {some(words)}, so that comes first."
    return message, {"status": card.lane.value, "waitsOn": details}, case.call(Action.CLAIM) + _note(case)


def _wrong_lane(case: Case) -> Said:
    card = case.card
    details: dict[str, object] = {"status": card.lane.value}
    if case.action is Action.REOPEN:
        return (
            f"#{card.id} is in {card.lane}, so there is nothing to reopen; only what is done is.",
            details,
            _note(case),
        )
    if case.action is Action.OFFER:
        message = f"#{card.id} is parked in blocked; move it to todo before offering it."
        return message, details, case.call(Action.MOVE, "todo") + _note(case)
    words, waits_on = waiting_for(open_dependencies(card, case.world), case.world)
    if words:
        message = f"#{card.id} is yours and in {card.lane}; it waits on {some(words)} before it can move to doing."
        return message, details | {"waitsOn": waits_on}, _note(case)
    then = ", then to done" if case.request.status is Lane.DONE else ""
    message = f"#{card.id} is yours and in {card.lane}; move it to doing{then}."
    return message, details, case.call(Action.MOVE, "doing") + _note(case)


def _finished(case: Case) -> Said:
    card = case.card
    details: dict[str, object] = {"owner": who_json(card.owner), "finishedAt": card.finished_at}
    if case.action is Action.EDIT:
        if relation(card, case.actor.id) is Relation.HOLDER:
            message = f"#{card.id} is done: its words can be corrected and links removed, but none added."
        else:
            who = f"{holder(card)}, who finished it," if card.owner is not None else "its holder"
            message = f"#{card.id} is done; only {who} can still correct it. Leave a note instead."
        return message, details, _note(case)
    message = f"#{card.id} is done and stays done; reopen makes a new card of it, with its notes, if it must be redone."
    return message, details, _note(case)


def _waited_on(case: Case) -> Said:
    card = case.card
    waiters = sorted((other for other in case.world.dependents(card.id) if other.id != card.id), key=lambda c: c.id)
    names = some([f"#{other.id}" for other in waiters])
    waits = "waits" if len(waiters) == 1 else "wait"
    message = f"{names} {waits} on #{card.id}; edit the link away there, or drop the waiting card first."
    calls: list[Call] = []
    for other in waiters[:1]:
        rest = [card_id for card_id in other.depends_on if card_id != card.id]
        if case.allows(Action.EDIT, "unlink", other):
            calls.append({"action": "edit", "card": other.id, "dependsOn": rest})
        named = any(other.id != third.id for third in case.world.dependents(other.id))
        if case.allows(Action.DROP, "named" if named else "free", other):
            calls.append({"action": "drop", "card": other.id})
    return message, {"waitedOnBy": [other.id for other in waiters]}, calls + _note(case)


def _no_such_teammate(case: Case) -> Said:
    here = sorted({session.label for session in case.world.roster() if session.id != case.actor.id})
    if case.action is Action.OFFER:
        message = f"No other session is live, so there is nobody to offer #{case.card.id} to; it stays in todo."
    elif here:
        message = f"No session here is called {case.request.label!r}; there is {some(here, 8)}."
    else:
        message = f"No session here is called {case.request.label!r}; no other session has joined this board."
    calls: list[Call] = []
    if case.action is not Action.OFFER:
        calls = [{"action": case.action.value, "card": case.card.id, "label": label} for label in _unique(case)[:2]]
    return message, {"roster": here}, calls + _note(case)


def _unique(case: Case) -> list[str]:
    """The labels that name one live session each, and not the caller's."""
    labels = [session.label for session in case.world.roster() if session.live]
    mine = {session.label for session in case.world.roster() if session.id == case.actor.id}
    return sorted(label for label in set(labels) if labels.count(label) == 1 and label not in mine)


def _ambiguous(case: Case) -> Said:
    ids = [session.id for session in case.sessions]
    message = f"{len(ids)} sessions are called {case.request.label!r}; name one by its id: {some(ids, 8)}."
    calls: list[Call] = [{"action": case.action.value, "card": case.card.id, "label": name} for name in ids]
    return message, {"ids": ids}, calls


def _note(case: Case) -> list[Call]:
    return case.call(Action.NOTE)


_SAY: Final[Mapping[Code, Callable[[Case], Said]]] = {
    Code.WAITING: _waiting,
    Code.HELD: _held,
    Code.NOT_HOLDER: _not_holder,
    Code.NOT_HELD: _not_held,
    Code.WRONG_LANE: _wrong_lane,
    Code.FINISHED: _finished,
    Code.WAITED_ON: _waited_on,
    Code.NO_SUCH_TEAMMATE: _no_such_teammate,
    Code.AMBIGUOUS: _ambiguous,
}


def unreadable(request: Request, entry: Card | Damaged) -> Refusal:
    """The refusal of a write to a file that is no card, or a newer board's."""
    name = entry.name if isinstance(entry, Damaged) else f"#{entry.id}"
    if entry.newer:
        message = f"{name} was written by a newer board and is read-only here; update flask-pi-taskbar to change it."
        return Refusal(Code.NEWER, message, action=request.action, card=entry)
    why = entry.why if isinstance(entry, Damaged) else "unreadable"
    message = f"{name} cannot be read as a card: {why}. Repair it, or move it away; nothing was changed."
    return Refusal(Code.DAMAGED, message, action=request.action, card=entry, details={"name": name, "why": why})
