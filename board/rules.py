"""Deciding a call: what the rules make of it, given the board as it is. (Being written; the signatures stand.)"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum

from msgspec import Struct

from flask_pi_taskbar.board.model import Actor, Card, Who
from flask_pi_taskbar.board.refusal import Call, Refusal
from flask_pi_taskbar.board.request import Action, Request
from flask_pi_taskbar.board.world import World


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
    at: str
    text: str


class Change(Struct, frozen=True, kw_only=True):
    """An accepted call: the card as it becomes and what is to be written."""

    action: Action
    write: Write
    card: Card
    replayed: bool = False
    reason: str | None = None
    mails: tuple[Mail, ...] = ()
    extra: Mapping[str, object] = {}

    def result(self, world: World) -> dict[str, object]:
        """The answer of spec 6.1; `world` is the board after the write."""
        raise NotImplementedError


def decide(request: Request, actor: Actor, world: World, now: datetime) -> Change:
    """The change that this call makes, or a Refusal. Call it under the lock with a world read under the lock.

    It stands after fields (`read_request`) and after "is the store writable"; it checks, in order: the card exists,
    is readable, `ifRev` and `base`, the table.
    """
    raise NotImplementedError


def with_alternatives(refusal: Refusal, actor: Actor, world: World) -> Refusal:
    """The refusal with up to three calls that would be accepted; may read every card, so call it after unlocking."""
    raise NotImplementedError


def legal(action: Action, card: Card, actor_id: str, world: World, **target: object) -> bool:
    """Whether the table accepts this call now; the one source of buttons, `claimable` and `next`."""
    raise NotImplementedError


__all__ = ["Action", "Call", "Change", "Mail", "Request", "Write", "decide", "legal", "with_alternatives"]
