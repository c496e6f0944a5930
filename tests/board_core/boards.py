"""Worlds for tests: cards, actors and clocks made in one line each."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

from hypothesis import HealthCheck, settings

from flask_pi_taskbar.board.model import Actor, ActorKind, Card, Lane, Note, NoteKind, Priority, Session, Who
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.request import read_request
from flask_pi_taskbar.board.rules import Change, Write, decide, with_alternatives
from flask_pi_taskbar.board.stamps import stamp
from flask_pi_taskbar.board.world import Board

NOW = datetime(2026, 11, 30, 20, 0, 0, 123000, tzinfo=UTC)
ME = Actor("s-me", "agent-1")
OTHER = Actor("s-other", "agent-2")
STRANGER = Actor("s-stranger", "agent-3")
SEAT = Actor("seat:1f3a", "team-lead", ActorKind.SEAT)


def tries(examples: int) -> settings:
    """How often a property is tried. No deadline: a slow machine is no bug; no database: every run stands alone."""
    quiet = [HealthCheck.too_slow]
    return settings(max_examples=examples, deadline=None, database=None, suppress_health_check=quiet)


def ago(**span: float) -> str:
    """The stamp so long before NOW."""
    return stamp(NOW - timedelta(**span))


def card(
    card_id: int = 4, /, status: str = "todo", *, owner: Actor | None = None, said: str = "", **fields: object
) -> Card:
    """A card with a note if something was said; untouched for an hour unless the fields say otherwise."""
    hour = ago(hours=1)
    author = owner or OTHER
    notes = (Note(n=1, at=hour, by=author.who, kind=NoteKind.NOTE, text=said),) if said else ()
    whole: dict[str, object] = {
        "title": f"Feature {card_id}",
        "created_at": hour,
        "created_by": OTHER.who,
        "touched_at": hour,
        "held_touched_at": hour if owner else None,
        "claimed_at": hour if owner and status != "todo" else None,
        "finished_at": hour if status == "done" else None,
        "notes": notes,
    }
    whole |= fields
    whole["priority"] = Priority(whole.get("priority", "normal"))
    return Card(id=card_id, status=Lane(status), owner=owner.who if owner else None, **whole)  # type: ignore[arg-type]


def session(actor: Actor, **fields: object) -> Session:
    """A live, listening session of this actor."""
    return Session(
        id=actor.id, label=actor.label, **({"live": True, "listening": True, "heartbeat_at": ago()} | fields)
    )


class Table:
    """A board in memory on which calls really happen: `table.do(ME, "claim", card=4)`."""

    def __init__(self, *cards: Card, sessions: tuple[Session, ...] = ()) -> None:
        self.cards = {one.id: one for one in cards}
        self.dropped: dict[int, Card] = {}
        self.sessions = sessions
        self.highest = 0
        self.now = NOW

    @property
    def world(self) -> Board:
        return Board(
            self.cards.values(), sessions=self.sessions, dropped=tuple(self.dropped.values()), highest=self.highest
        )

    def later(self, **span: float) -> None:
        self.now += timedelta(**span)

    def decide(self, actor: Actor, action: str, /, **fields: object) -> Change:
        return decide(read_request(action, fields), actor, self.world, self.now)

    def do(self, actor: Actor, action: str, /, **fields: object) -> dict[str, object]:
        """The answer as a surface gives it, refusals included."""
        world = self.world
        try:
            change = self.decide(actor, action, **fields)
        except Refusal as refusal:
            return with_alternatives(refusal, actor, world).as_dict()
        if change.write is Write.DROP:
            self.dropped[change.card.id] = change.card
            del self.cards[change.card.id]
        elif change.write is not Write.NOTHING:
            self.cards[change.card.id] = change.card
            self.dropped.pop(change.card.id, None)
        self.highest = max(self.highest, change.card.id)
        return change.result(self.world)


def many(count: int, seed: int = 1) -> list[Card]:
    """A board as teams have them: most cards done, a few in flight, every fifth linked, three notes each."""
    dice = random.Random(seed)
    people = [Who(id=f"s-{n:012x}", label=f"agent-{n}") for n in range(12)]
    cards: list[Card] = []
    for card_id in range(1, count + 1):
        status = dice.choices(list(Lane), (30, 8, 4, 58))[0]
        owner = dice.choice(people) if status in {Lane.DOING, Lane.DONE} or dice.random() < 0.1 else None
        at = [ago(minutes=dice.randrange(1, 40_000)) for _ in range(3)]
        at.sort()
        by = owner or dice.choice(people)
        words = "the webhook answers 202 and the retry branch was merged after review"
        kinds = (NoteKind.NOTE, NoteKind.CLAIM, NoteKind.NOTE)
        cards.append(
            Card(
                id=card_id,
                rev=dice.randrange(1, 9),
                title=f"Billing webhook accepts orders of kind {card_id}",
                status=status,
                priority=dice.choices(list(Priority), (2, 7, 1))[0],
                paths=("src/billing", f"tests/billing/test_{card_id % 97}.py"),
                depends_on=(dice.randrange(1, card_id),) if card_id > 1 and dice.random() < 0.2 else (),
                plan="docs/plans/billing.md" if dice.random() < 0.5 else None,
                owner=owner,
                created_at=at[0],
                created_by=by,
                touched_at=at[2],
                held_touched_at=at[2] if owner else None,
                claimed_at=at[1] if owner else None,
                finished_at=at[2] if status is Lane.DONE else None,
                notes=tuple(Note(n=n + 1, at=at[n], by=by, kind=kind, text=words) for n, kind in enumerate(kinds)),
            )
        )
    return cards
