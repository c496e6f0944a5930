"""Who is around: one row for each session on the roster and each owner that a card names (spec 13, "Teammates").

The Team tab and `/team` show it. A missing record never means a dead session; the row says only what is known. Rows
hold moments, not ages: a heartbeat is not news.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

from flask_pi_taskbar.board.model import Actor, Card, Lane, Session, Who
from flask_pi_taskbar.board.stamps import Stamp, age
from flask_pi_taskbar.board.world import World


class State(StrEnum):
    """What is known of a teammate, in the order of the list."""

    LIVE = "live"
    QUIET = "quiet"
    NO_RECORD = "no record"
    UNKNOWN = "—"
    """No session has ever joined this board."""


class Teammate(Struct, frozen=True, rename="camel"):
    """One row."""

    id: str
    label: str
    state: State
    held: int
    done: int
    oldest: Stamp | None
    """The longest silence among the cards held."""
    quiet_since: Stamp | None
    listening: bool
    unread: int
    mode: str
    serves: bool
    suffix: str | None
    """The end of the id, where two rows carry the same label."""


_STATE_RANK = {state: rank for rank, state in enumerate(State)}


def take_team(world: World, me: str | None = None, seat: Actor | None = None) -> tuple[Teammate, ...]:
    """The rows, sorted: you (if `me` is one of them), live, quiet, no record; then who holds most.

    The seat has no record of its own: while it holds cards it is as live as the session that serves its page.
    """
    sessions = {session.id: session for session in world.roster()}
    nobody_joined = not sessions
    serving = next((session for session in sessions.values() if session.serves and session.live), None)
    held: dict[str, list[Card]] = {}
    done: Counter[str] = Counter()
    owners: dict[str, tuple[Stamp, Who]] = {}
    for card in world.cards():
        if card.owner is None:
            continue
        who = card.owner.id
        if card.status is Lane.DONE:
            done[who] += 1
        else:
            held.setdefault(who, []).append(card)
        if who not in owners or owners[who][0] < card.touched_at:
            owners[who] = (card.touched_at, card.owner)
    labels = {who: owner.label for who, (_, owner) in owners.items()}
    if seat is not None and serving is not None and seat.id in owners:
        sessions[seat.id] = replace(serving, id=seat.id, label=seat.label, unread=0)
    labels |= {session.id: session.label for session in sessions.values()}
    called = Counter(labels.values())
    rows = [
        _row(who, label, sessions.get(who), held.get(who, []), done[who], called[label] > 1, nobody_joined)
        for who, label in labels.items()
    ]
    return tuple(sorted(rows, key=lambda row: (row.id != me, _STATE_RANK[row.state], -row.held, row.label, row.id)))


def _row(
    who: str, label: str, session: Session | None, held: list[Card], done: int, shared: bool, nobody_joined: bool
) -> Teammate:
    if session is None:
        state = State.UNKNOWN if nobody_joined else State.NO_RECORD
    else:
        state = State.LIVE if session.live else State.QUIET
    return Teammate(
        id=who,
        label=label,
        state=state,
        held=len(held),
        done=done,
        oldest=min((card.held_at for card in held), default=None),
        quiet_since=session.heartbeat_at if session is not None and not session.live else None,
        listening=session is not None and session.listening,
        unread=session.unread if session is not None else 0,
        mode=session.mode if session is not None else "",
        serves=session is not None and session.serves,
        suffix=who[-4:] if shared else None,
    )


def state_text(row: Teammate, now: datetime) -> str:
    """`live · 3 held · 1 done · oldest 21m`; a quiet one `quiet for 2h · …`, since only an age justifies a reclaim."""
    parts = [f"quiet for {age(row.quiet_since, now)}" if row.quiet_since is not None else row.state.value]
    parts.append(f"{row.held} held")
    if row.done:
        parts.append(f"{row.done} done")
    if row.oldest is not None:
        parts.append(f"oldest {age(row.oldest, now)}")
    return " · ".join(parts)


def name_text(row: Teammate) -> str:
    """The label, with the end of the id where the label alone would name two."""
    return f"{row.label} (…{row.suffix})" if row.suffix is not None else row.label
