"""Pruning: dropping the cards that were finished long ago, with a look at which they are before anything is done.

A finished card stays on the board until somebody drops it; this drops many. Each one is an ordinary drop, with its copy
kept for `undo` and its line in the journal. A card that another one names stays, unless that one goes as well.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import datetime, timedelta
from typing import Final

from flask_pi_taskbar.board.model import Actor, Card, Lane
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.stamps import cutoff, settled
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.board.text import bad
from flask_pi_taskbar.board.world import World

DAYS: Final = 14
MAX_DAYS: Final = 3650


def prune_done(
    store: Store, actor: Actor, now: datetime, days: object = None, *, dry_run: object = False
) -> dict[str, object]:
    """Drop what was finished `days` or more ago (14 if not given), or only say what that would be. Raises `Refusal`.

    The answer names the cards that went (or would go), and those that stay in spite of their age, with the reason.
    """
    age = DAYS if days is None else days
    if not isinstance(age, int) or isinstance(age, bool) or not 0 <= age <= MAX_DAYS:
        raise bad("days", f"days must be a whole number from 0 to {MAX_DAYS}.")
    if not isinstance(dry_run, bool):
        raise bad("dryRun", "dryRun must be true or false.")
    old, kept = _old_cards(store.read_all(now), now, age)
    gone = []
    for card in old:
        if not dry_run:
            try:
                store.apply("drop", {"card": card.id}, actor, now=now, if_rev=card.rev)
            except (Refusal, OSError) as problem:
                kept.append({"id": card.id, "title": card.title, "why": str(problem)})
                continue
        gone.append({"id": card.id, "title": card.title, "finishedAt": _finished(card, now)})
    gone.sort(key=lambda one: str(one["finishedAt"]))
    return {"ok": True, "action": "prune", "dryRun": dry_run, "days": age, "cards": gone, "kept": kept}


def _old_cards(world: World, now: datetime, days: int) -> tuple[list[Card], list[dict[str, object]]]:
    """The cards to drop, each behind those that name it, and the ones that have to stay."""
    limit = cutoff(now, timedelta(days=days))
    left = {card.id: card for card in world.cards() if card.status is Lane.DONE and _finished(card, now) <= limit}
    order: list[Card] = []
    gone: set[int] = set()
    while ready := [card for card in left.values() if not card.newer and not _named_by(card, world, gone)]:
        order += sorted(ready, key=lambda card: card.id)
        for card in ready:
            gone.add(card.id)
            del left[card.id]
    kept: list[dict[str, object]] = []
    for card in sorted(left.values(), key=lambda card: card.id):
        names = ", ".join(f"#{number}" for number in _named_by(card, world, gone)[:5])
        why = "It was written by a newer board." if card.newer else f"It is named by {names}."
        kept.append({"id": card.id, "title": card.title, "why": why})
    return order, kept


def _named_by(card: Card, world: World, gone: Set[int]) -> list[int]:
    return [other.id for other in world.dependents(card.id) if other.id not in gone]


def _finished(card: Card, now: datetime) -> str:
    return settled(card.finished_at or card.touched_at, now)
