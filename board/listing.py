"""Answering `list`, `round`, `why` and `wait`: the calls that change nothing.

Surfaces call these with a request that `read_request` has cleaned and a world read without the lock. What a list says
about readiness is the table's word, the same that a claim would hear.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from flask_pi_taskbar.board import wording
from flask_pi_taskbar.board.decisions import IDLE_MINUTES
from flask_pi_taskbar.board.links import graph, open_dependencies
from flask_pi_taskbar.board.model import Actor, Card, Damaged, Entry, Lane
from flask_pi_taskbar.board.order import in_order
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.query import compile_query
from flask_pi_taskbar.board.ranking import claimable, why
from flask_pi_taskbar.board.refusal import Call, Code, Refusal
from flask_pi_taskbar.board.request import Action, Request, read_request
from flask_pi_taskbar.board.rollup import Round, take_round
from flask_pi_taskbar.board.rules import decide, with_alternatives
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
        cards = [_card(request.card, world, Action.LIST)]
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


def _card(card_id: int, world: World, action: Action) -> Card:
    entry = world.get(card_id)
    if isinstance(entry, Card):
        return entry
    if isinstance(entry, Damaged):
        message = f"{entry.name} cannot be read as a card: {entry.why}. Repair the file, or set it aside on the page."
        raise Refusal(Code.DAMAGED, message, action=action, card=entry, details={"name": entry.name, "why": entry.why})
    message = f"There is no #{card_id}; list shows the cards that there are."
    raise Refusal(Code.NO_SUCH_CARD, message, action=action, details={"card": card_id}, next=[{"action": "list"}])


class Why(Struct, frozen=True):
    """Whether the caller can claim a card, and if not, what stands in the way at the far end."""

    card: Card
    claimable: bool
    text: str
    roots: tuple[int, ...]
    """The unfinished cards at the ends of the chains that it waits for: what to work on first."""
    next: tuple[Call, ...]

    def as_dict(self, actor: Actor, world: World) -> dict[str, object]:
        """The answer as JSON."""
        return {
            "ok": True,
            "action": "why",
            "card": card_json(self.card, actor, world),
            "claimable": self.claimable,
            "why": self.text,
            "roots": list(self.roots),
            "next": list(self.next),
        }


def explain(request: Request, actor: Actor, world: World, now: datetime) -> Why:
    """Why a card can or cannot be claimed by the caller, in the words that the claim itself would hear."""
    card = _card(request.number, world, Action.WHY)
    claim = read_request(Action.CLAIM, {"card": card.id})
    try:
        decide(claim, actor, world, now)
    except Refusal as refusal:
        refusal = with_alternatives(refusal, actor, world)
        roots = _roots(card, world)
        text = refusal.message
        far = [card_id for card_id in roots if card_id not in card.depends_on]
        if far:
            words, _ = wording.waiting_for(far, world)
            text += f" At the far end: {wording.some(words)}."
        return Why(card, False, text, roots, refusal.next)
    if claimable(card, actor.id, world):
        ready = f"#{card.id} can be claimed: {why(card, graph(world.cards()))}."
        return Why(card, True, ready, (), ({"action": "claim", "card": card.id},))
    return Why(card, False, f"You hold #{card.id} already ({card.lane}).", (), ({"action": "note", "card": card.id},))


def _roots(card: Card, world: World) -> tuple[int, ...]:
    """What a card waits for in the end: unfinished, and waiting for nothing itself (or not readable)."""
    roots: set[int] = set()
    seen: set[int] = {card.id}
    reached: list[int] = list(open_dependencies(card, world))
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


def reached(until: str, entry: Entry | None, since: Entry | None, actor: Actor, world: World) -> bool:
    """Whether what `wait` waits for has come: a lane, `claimable`, `changed` (since `since` was read) or `gone`.

    A card that is gone can come to nothing else, so it ends every wait.
    """
    if entry is None:
        return True
    if until == "changed":
        return entry != since
    return isinstance(entry, Card) and (
        claimable(entry, actor.id, world) if until == "claimable" else entry.lane.value == until
    )


def news(world: World, since: Stamp, actor: Actor) -> list[Card]:
    """The cards that somebody else has touched since a moment, the latest first: "since you last looked"."""
    touched = [card for card in world.cards() if card.touched_at > since and _by_another(card, since, actor)]
    return sorted(touched, key=lambda card: (card.touched_at, card.id), reverse=True)


def _by_another(card: Card, since: Stamp, actor: Actor) -> bool:
    recent = [note.by.id for note in card.notes if note.at > since]
    author = card.created_by.id if card.created_by is not None else None
    return any(who != actor.id for who in recent) if recent else author != actor.id
