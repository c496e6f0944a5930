"""Answering `why`: what keeps a card from the caller's hands, in the words that a claim would hear.

Command line and tool ask it. It lets the rules decide a claim that nobody makes, and adds what a claim does not say:
the far end of the chain, what else the card holds up, and every call on it that the rules would accept.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from flask_pi_taskbar.board import wording
from flask_pi_taskbar.board.links import graph, open_dependencies
from flask_pi_taskbar.board.listing import card_json, find_card
from flask_pi_taskbar.board.model import Actor, Card, Lane
from flask_pi_taskbar.board.ranking import claimable, why
from flask_pi_taskbar.board.reason import reason
from flask_pi_taskbar.board.refusal import Call, Refusal
from flask_pi_taskbar.board.request import Action, Request, read_request
from flask_pi_taskbar.board.rules import decide, legal
from flask_pi_taskbar.board.world import World

_CALLS: Final = (
    (Action.CLAIM, "-"),
    (Action.MOVE, "doing"),
    (Action.MOVE, "done"),
    (Action.MOVE, "blocked"),
    (Action.RELEASE, "-"),
    (Action.RECLAIM, "-"),
    (Action.NOTE, "-"),
)


class Why(Struct, frozen=True):
    """Whether the caller can claim a card, and if not, what stands in the way."""

    card: Card
    claimable: bool
    text: str
    waits_on: Sequence[dict[str, object]]
    roots: tuple[int, ...]
    """The unfinished cards at the ends of the chains that it waits for: what to work on first."""
    frees: int
    needed_by: tuple[int, ...]
    next: tuple[Call, ...]
    """What the caller could do with this card now."""

    def as_dict(self, actor: Actor, world: World) -> dict[str, object]:
        """The answer as JSON."""
        return {
            "ok": True,
            "action": "why",
            "card": card_json(self.card, actor, world),
            "claimable": self.claimable,
            "why": self.text,
            "reason": reason(self.card, world).text,
            "waitsOn": list(self.waits_on),
            "roots": list(self.roots),
            "frees": self.frees,
            "neededBy": list(self.needed_by),
            "next": list(self.next),
        }


def explain(request: Request, actor: Actor, world: World, now: datetime) -> Why:
    """Why a card can or cannot be claimed by the caller. Raises `Refusal` if there is no such card."""
    card = find_card(request.number, world, Action.WHY)
    links = graph(world.cards())
    open_ids = open_dependencies(card, world) if card.status is not Lane.DONE else ()
    roots = _roots(open_ids, card, world)
    try:
        decide(read_request(Action.CLAIM, {"card": card.id}), actor, world, now)
        ready = claimable(card, actor.id, world)
        text = (
            f"#{card.id} can be claimed: {why(card, links)}."
            if ready
            else f"You hold #{card.id} already ({card.lane})."
        )
    except Refusal as refusal:
        text = refusal.message
        far = [card_id for card_id in roots if card_id not in card.depends_on]
        if far:
            text += f" At the far end: {wording.some(wording.waiting_for(far, world)[0])}."
    return Why(
        card=card,
        claimable=claimable(card, actor.id, world),
        text=text,
        waits_on=wording.waiting_for(open_ids, world)[1],
        roots=roots,
        frees=links.frees.get(card.id, 0),
        needed_by=tuple(sorted(one.id for one in world.dependents(card.id) if one.status is not Lane.DONE)),
        next=tuple(_calls(card, actor, world)),
    )


def _calls(card: Card, actor: Actor, world: World) -> list[Call]:
    calls: list[Call] = []
    for action, target in _CALLS:
        changes = target != card.lane and (action is not Action.CLAIM or claimable(card, actor.id, world))
        if changes and legal(action, card, actor.id, world, target):
            status = {"status": target} if action is Action.MOVE else {}
            calls.append({"action": action.value, "card": card.id, **status})
    return calls


def _roots(open_ids: Sequence[int], card: Card, world: World) -> tuple[int, ...]:
    """What a card waits for in the end: unfinished, and waiting for nothing itself (or not readable)."""
    roots: set[int] = set()
    seen: set[int] = {card.id}
    reached = list(open_ids)
    while reached:
        card_id = reached.pop()
        if card_id in seen:
            continue
        seen.add(card_id)
        entry = world.get(card_id)
        further: Sequence[int] = open_dependencies(entry, world) if isinstance(entry, Card) else ()
        reached.extend(further)
        if not further:
            roots.add(card_id)
    return tuple(sorted(roots))
