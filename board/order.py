"""The order of cards: lanes, and cards inside a lane (spec 13).

Lists, page and tool read cards in this order. Age is the id, which only grows, so that no clock can reorder a lane;
done is the exception, where the newest finish stands first.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from flask_pi_taskbar.board.model import Card, Lane, Priority
from flask_pi_taskbar.board.stamps import EPOCH, stamp

PRIORITY_RANK: Final = {priority: rank for rank, priority in enumerate(Priority)}


def by_lane(cards: Iterable[Card], now: datetime) -> dict[Lane, list[Card]]:
    """The cards of each lane in their order; every lane is there, empty or not."""
    lanes: dict[Lane, list[Card]] = {lane: [] for lane in Lane}
    for card in cards:
        lanes[card.status if card.owner is not None else card.lane].append(card)
    for lane, inside in lanes.items():
        if lane is Lane.DONE:
            latest = stamp(now)  # a finish in the future counts as now
            inside.sort(key=lambda card: (min(card.finished_at or EPOCH, latest), card.id), reverse=True)
        else:
            inside.sort(key=lambda card: (PRIORITY_RANK[card.priority], card.id))
    return lanes


def in_order(cards: Iterable[Card], now: datetime) -> list[Card]:
    """Cards as they are read from top left to bottom right."""
    return [card for lane in by_lane(cards, now).values() for card in lane]
