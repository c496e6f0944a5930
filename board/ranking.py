"""Which cards can be claimed, and which of them first.

`next`, the suggestions in refusals and the round ask it. What is claimable is what the table accepts, nothing else; the
rank is priority, then how many cards wait for it (also through others), then age.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from flask_pi_taskbar.board.links import Graph, graph, waits
from flask_pi_taskbar.board.model import Card, Lane
from flask_pi_taskbar.board.order import PRIORITY_RANK
from flask_pi_taskbar.board.request import Action
from flask_pi_taskbar.board.table import Effect, verdict
from flask_pi_taskbar.board.world import World


class Candidate(Struct, frozen=True):
    """A card that can be claimed, and why it comes where it comes."""

    card: Card
    why: str


def claimable(card: Card, actor_id: str, world: World) -> bool:
    """Whether a claim would put this card into the caller's hands (a card that is already there is not claimable)."""
    return card.status is not Lane.DONE and takes(card, actor_id, waits(card, world))


def takes(card: Card, actor_id: str, waiting: bool) -> bool:
    """The same, for a caller that knows already whether the card waits."""
    if card.newer:
        return False
    return verdict(Action.CLAIM, card, actor_id, waiting).effect is Effect.TAKE


def candidates(actor_id: str, world: World) -> Iterator[Card]:
    """Every card that the caller can claim, in no order."""
    return (card for card in world.cards() if claimable(card, actor_id, world))


def best(actor_id: str, world: World) -> Candidate | None:
    """The card to claim first, or None if nothing can be claimed."""
    links = graph(world.cards())
    first = min(candidates(actor_id, world), key=lambda card: rank(card, links), default=None)
    return None if first is None else Candidate(first, why(first, links))


def ranked(cards: Iterable[Card], links: Graph) -> list[Card]:
    """Cards in the order in which they should be claimed."""
    return sorted(cards, key=lambda card: rank(card, links))


def rank(card: Card, links: Graph) -> tuple[int, int, int]:
    """The key by which claimable cards are compared; the least comes first."""
    return PRIORITY_RANK[card.priority], -links.frees.get(card.id, 0), card.id


def why(card: Card, links: Graph) -> str:
    """Why it comes where it comes, in words: `high, frees 3, nothing it waits for`."""
    freed = links.frees.get(card.id, 0)
    return f"{card.priority}, {f'frees {freed}, ' if freed else ''}nothing it waits for"
