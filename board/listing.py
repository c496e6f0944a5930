"""Answering `list` and `round`: what is on the board, filtered and counted.

Surfaces call these with a request that `read_request` has cleaned and a world read without the lock. What a list says
about readiness is the table's word, the same that a claim would hear.
"""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from flask_pi_taskbar.board.decisions import IDLE_MINUTES
from flask_pi_taskbar.board.links import open_dependencies
from flask_pi_taskbar.board.model import Actor, Card, Damaged, Lane
from flask_pi_taskbar.board.order import in_order
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.query import compile_query
from flask_pi_taskbar.board.ranking import claimable
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import Action, Request
from flask_pi_taskbar.board.rollup import Round, take_round
from flask_pi_taskbar.board.stamps import Stamp
from flask_pi_taskbar.board.world import World


class Listing(Struct, frozen=True):
    """What a list found: the cards in lane order, the damaged files, and the round where it was asked for."""

    cards: tuple[Card, ...]
    damaged: tuple[Damaged, ...]
    total: int
    """Readable cards on the whole board."""
    collapsed: bool
    """Whether a text may count the finished cards instead of naming them: nobody asked for them."""
    round: Round | None = None

    def as_dict(self, actor: Actor, world: World) -> dict[str, object]:
        """The answer as JSON: whole cards, with what they wait for and whether the caller could claim them."""
        answer: dict[str, object] = {
            "ok": True,
            "action": "list",
            "cards": [card_json(card, actor, world) for card in self.cards],
            "total": self.total,
            "damaged": [as_json(entry) for entry in self.damaged],
        }
        return answer if self.round is None else answer | {"round": round_json(self.round)}


def card_json(card: Card, actor: Actor, world: World) -> dict[str, object]:
    """A card as lists give it."""
    waits_on = list(open_dependencies(card, world)) if card.status is not Lane.DONE else []
    return as_json(card) | {"waits": waits_on, "claimable": claimable(card, actor.id, world)}


def round_json(taken: Round) -> dict[str, object]:
    """The round as JSON; its names are those of `rollup.Round`, `ownerLines` and `text` among them."""
    lines = [
        {
            "id": line.id,
            "label": line.label,
            "live": line.live,
            "finished": line.finished,
            "cards": [{"id": card.id, "status": card.status.value} for card in line.cards],
        }
        for line in taken.owner_lines
    ]
    counts = {name: getattr(taken, name) for name in Round.__struct_fields__ if name not in {"owner_lines", "text"}}
    return counts | {"ownerLines": lines, "text": taken.text}


def take_list(request: Request, actor: Actor, world: World, now: datetime, idle_minutes: int = IDLE_MINUTES) -> Listing:
    """The cards that match every filter given: lane, mine, words, number. A number that is no card is refused."""
    if request.card is not None:
        cards = [find_card(request.card, world, Action.LIST)]
    else:
        cards = list(world.cards())
    total = sum(1 for _ in world.cards())
    query = compile_query(request.query or "")
    cards = [card for card in cards if _wanted(card, request, actor) and query.matches(card)]
    filtered = request.card is not None or bool(request.query) or request.status is not None
    return Listing(
        cards=tuple(in_order(cards, now)),
        damaged=() if filtered or request.mine else tuple(sorted(world.damaged(), key=lambda entry: entry.name)),
        total=total,
        collapsed=not filtered and not request.all,
        round=take_round(world, now, idle_minutes) if request.round else None,
    )


def _wanted(card: Card, request: Request, actor: Actor) -> bool:
    if request.status is not None and card.lane is not request.status:
        return False
    if not request.mine:
        return True
    mine = card.owner is not None and card.owner.id == actor.id
    return mine and (card.status is not Lane.DONE or request.status is Lane.DONE)


def find_card(card_id: int, world: World, action: Action) -> Card:
    """The readable card of that number, or a refusal."""
    entry = world.get(card_id)
    if isinstance(entry, Card):
        return entry
    if isinstance(entry, Damaged):
        message = f"{entry.name} cannot be read as a card: {entry.why}. Repair it, or move it away."
        raise Refusal(Code.DAMAGED, message, action=action, card=entry, details={"name": entry.name, "why": entry.why})
    message = f"There is no #{card_id}; list shows the cards that there are."
    raise Refusal(Code.NO_SUCH_CARD, message, action=action, details={"card": card_id}, next=[{"action": "list"}])


def news(world: World, since: Stamp, actor: Actor) -> list[Card]:
    """The cards that somebody else has touched since a moment, the latest first: "since you last looked"."""
    touched = [card for card in world.cards() if card.touched_at > since and _by_another(card, since, actor)]
    return sorted(touched, key=lambda card: (card.touched_at, card.id), reverse=True)


def _by_another(card: Card, since: Stamp, actor: Actor) -> bool:
    recent = [note.by.id for note in card.notes if note.at > since]
    author = card.created_by.id if card.created_by is not None else None
    return any(who != actor.id for who in recent) if recent else author != actor.id
