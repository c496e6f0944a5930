"""The board as text for an agent or a terminal (spec 6.5): short, bounded, and never able to pose as instructions.

The tool and the command line print what these functions return. Titles and notes are somebody's words: what could
move a cursor or hide a letter is taken out, and notes stand fenced under the name of whoever wrote them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from flask_pi_taskbar.board.decisions import Decision, Kind, Queue
from flask_pi_taskbar.board.explain import Why
from flask_pi_taskbar.board.links import open_dependencies, unblocked_by
from flask_pi_taskbar.board.listing import Listing
from flask_pi_taskbar.board.model import Card, Lane, Note, Priority
from flask_pi_taskbar.board.reason import reason
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.rollup import Round, owner_text
from flask_pi_taskbar.board.rules import Change, Write
from flask_pi_taskbar.board.stamps import age
from flask_pi_taskbar.board.team import Teammate, name_text, state_text
from flask_pi_taskbar.board.text import one_line, settled
from flask_pi_taskbar.board.world import World

LIST_LIMIT: Final = 12_000
NOTES_SHOWN: Final = 10
_LINE_LIMIT: Final = 240
_TAIL: Final = 120
"""Room kept for the line that says how much was left out."""
_TICKS: Final = re.compile("`+")


def list_text(listing: Listing, world: World, now: datetime, limit: int = LIST_LIMIT) -> str:
    """One line for each card, finished ones as a count unless asked for, never more than `limit` characters."""
    lines: list[str] = []
    if listing.round is not None:
        lines += [_cut(line) for line in round_text(listing.round).splitlines()[:20]]
    lines += [_cut(f"! {one_line(entry.name)}: {one_line(entry.why)}") for entry in listing.damaged[:10]]
    if len(listing.damaged) > 10:
        lines.append(f"! {len(listing.damaged) - 10} more damaged files; doctor names them")
    shown = [card for card in listing.cards if not listing.collapsed or card.status is not Lane.DONE]
    finished = len(listing.cards) - len(shown)
    used = sum(len(line) + 1 for line in lines)
    for place, card in enumerate(shown):
        line = card_line(card, world, now)
        used += len(line) + 1
        if used > limit - _TAIL:
            lines.append(f"… {len(shown) - place} more; narrow with status, mine or query")
            break
        lines.append(line)
    if finished:
        lines.append(f"{finished} done")
    if not shown and not finished:
        lines.append("no cards match" if listing.total else "no cards yet; add the first one")
    return "\n".join(lines)


def card_line(card: Card, world: World, now: datetime) -> str:
    """`#4 doing high agent-3 21m  Title  [waits #1]`."""
    words = [f"#{card.id}", card.lane.value]
    if card.priority is not Priority.NORMAL:
        words.append(card.priority.value)
    if card.owner is not None:
        words.append(one_line(card.owner.label))
    words.append(age(card.touched_at, now))
    line = f"{' '.join(words)}  {one_line(card.title)}"
    waits_on = open_dependencies(card, world) if card.status is not Lane.DONE else ()
    if waits_on:
        named = " ".join(f"#{card_id}" for card_id in waits_on[:5])
        line += f"  [waits {named}{f' and {len(waits_on) - 5} more' if len(waits_on) > 5 else ''}]"
    if card.newer:
        line += "  [newer board]"
    return _cut(line)


def card_text(card: Card, world: World, now: datetime, *, notes: int | None = NOTES_SHOWN) -> str:
    """One card whole, with its last notes; `notes=None` for all of them."""
    lines = [card_line(card, world, now)]
    why = reason(card, world).text
    if why:
        lines.append(f"  {_cut(one_line(why))}")
    if card.owner is not None:
        lines.append(f"  holder: {one_line(card.owner.label)} ({one_line(card.owner.id)})")
    if card.paths:
        lines.append(f"  paths: {', '.join(map(one_line, card.paths))}")
    if card.depends_on:
        lines.append(f"  depends on: {', '.join(f'#{card_id}' for card_id in card.depends_on)}")
    if card.plan is not None:
        lines.append(f"  plan: {one_line(card.plan)}")
    lines.append(
        f"  rev {card.rev} · created {age(card.created_at, now)} ago · touched {age(card.touched_at, now)} ago"
    )
    if card.repaired:
        lines.append(f"  repaired on read: {', '.join(map(one_line, card.repaired))}")
    shown = card.notes if notes is None else card.notes[-notes:]
    if len(shown) < len(card.notes):
        lines.append(f"  {len(card.notes) - len(shown)} earlier notes; --all shows them")
    lines += [note_text(note, now) for note in shown]
    return "\n".join(lines)


def note_text(note: Note, now: datetime) -> str:
    """A note, fenced and headed by who wrote it; no text inside can end the fence."""
    said = settled(note.text)
    fence = "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(said)), default=0))
    kind = "" if note.kind.value == "note" else f" ({note.kind})"
    heading = f"note {note.n}{kind}, written by {one_line(note.by.label)}, {age(note.at, now)} ago:"
    return f"{heading}\n{fence}\n{said}\n{fence}"


def round_text(taken: Round, shown: int = 12) -> str:
    """The round's counts and a line for each owner."""
    lines = [taken.text, *(one_line(owner_text(line)) for line in taken.owner_lines[:shown])]
    if len(taken.owner_lines) > shown:
        lines.append(f"{len(taken.owner_lines) - shown} more owners")
    return "\n".join(lines)


def team_text(team: Sequence[Teammate], now: datetime) -> str:
    """Who is live and who has gone quiet, with ages."""
    lines = [
        f"{one_line(name_text(row))}: {state_text(row, now)}"
        + (f" · {row.unread} unread" if row.unread else "")
        + (" · not listening" if row.state == "live" and not row.listening else "")
        for row in team
    ]
    return "\n".join(lines) if lines else "nobody has joined yet"


def queue_text(queue: Queue, world: World, now: datetime, shown: int = 20) -> str:
    """What needs a decision, the most pressing first."""
    lines = [_decision_line(row, world, now) for row in queue.rows[:shown]]
    if len(queue.rows) > shown:
        lines.append(f"… {len(queue.rows) - shown} more")
    if queue.in_progress:
        lines.append(f"{len(queue.in_progress)} waiting on work in progress")
    return "\n".join(lines) if lines else "nothing needs a decision"


def _decision_line(row: Decision, world: World, now: datetime) -> str:
    entry = world.get(row.card) if row.card is not None else None
    title = f" {one_line(entry.title)}" if isinstance(entry, Card) else ""
    why = one_line(row.reason)
    if row.since is not None and row.kind in {Kind.IDLE, Kind.UNSTARTED, Kind.UNPLANNED}:
        why += f" for {age(row.since, now)}"
    if row.frees:
        why += f" · unblocks {row.frees}"
    way_out = f" → {row.action}" if row.action in {"claim", "reclaim"} else ""
    name = f"#{row.card}" if row.card is not None else one_line(row.name or "file")
    return _cut(f"{row.kind} {name}{title}: {why}{way_out}")


def why_text(answer: Why) -> str:
    """The answer to `why`, and what could be done."""
    lines = [one_line(answer.text)]
    if answer.frees:
        lines.append(f"unblocks {answer.frees}")
    if answer.next:
        lines.append("could be done now: " + "; ".join(call_text(call) for call in answer.next))
    return "\n".join(lines)


def change_text(change: Change, world: World, now: datetime) -> str:
    """What an accepted call did; `world` is the board after the write."""
    card = change.card
    if change.write is Write.DROP:
        return f"dropped #{card.id} {one_line(card.title)}; undo brings it back for a day"
    done = "already so" if change.write is Write.NOTHING else str(change.action)
    lines = [f"{done}: {card_line(card, world, now)}"]
    if change.finishes and (ready := unblocked_by(card.id, world)):
        lines.append(f"ready now: {', '.join(f'#{card_id}' for card_id in ready)}")
    if "reopened" in change.extra:
        lines.append(f"made of #{change.extra['reopened']}, which stays done")
    lines += [one_line(str(change.extra[name])) for name in ("reason", "notice") if name in change.extra]
    return "\n".join(lines)


def refusal_text(refusal: Refusal, world: World, now: datetime) -> str:
    """What was refused, the card as it is, and what would be accepted."""
    lines = [f"refused ({refusal.code}): {one_line(refusal.message)}"]
    if isinstance(refusal.card, Card):
        lines.append(card_line(refusal.card, world, now))
    if refusal.next:
        lines.append("could be done now: " + "; ".join(call_text(call) for call in refusal.next))
    return "\n".join(lines)


def call_text(call: Mapping[str, object]) -> str:
    """A suggested call in words: `claim #5 (high, nothing it waits for)`."""
    words = [str(call["action"])]
    for name, value in call.items():
        if name == "card":
            words.append(f"#{value}")
        elif name not in {"action", "why"}:
            words.append(f"{name} {one_line(str(value))}")
    return " ".join(words) + (f" ({one_line(str(call['why']))})" if "why" in call else "")


def _cut(line: str) -> str:
    return line if len(line) <= _LINE_LIMIT else f"{line[: _LINE_LIMIT - 1]}…"
