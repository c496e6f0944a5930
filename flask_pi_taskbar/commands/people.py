"""What people see in a terminal: the board in lanes, a card, the round, mail, and what a call has done.

`answers` calls it with what the board's core has worked out. Every word that comes from a file goes through `line` or
`wrapped` first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from flask_pi_taskbar.board.decisions import Decision, Kind, Queue
from flask_pi_taskbar.board.explain import Why
from flask_pi_taskbar.board.links import open_dependencies
from flask_pi_taskbar.board.listing import Listing
from flask_pi_taskbar.board.model import Card, Damaged, Lane, NoteKind, Priority
from flask_pi_taskbar.board.reason import reason, waits_text
from flask_pi_taskbar.board.rollup import Round, owner_text
from flask_pi_taskbar.board.rules import Change, Write
from flask_pi_taskbar.board.stamps import Stamp, age, well_formed
from flask_pi_taskbar.board.team import State, Teammate, name_text, state_text
from flask_pi_taskbar.board.wording import holder, place
from flask_pi_taskbar.board.world import World
from flask_pi_taskbar.commands.rendering import Screen, block, columns, cut, line, padded, wrapped

ROWS: Final = 200
"""So many cards of a lane are drawn unless all are asked for: more than anybody reads, less than a second's scroll."""
NOTES: Final = 10
DECISIONS: Final = 20
"""The team stands below the decisions and should be seen too."""

LANE_NAMES: Final = {Lane.TODO: "To do", Lane.DOING: "Doing", Lane.BLOCKED: "Blocked", Lane.DONE: "Done"}
_LANE_STYLE: Final = {
    Lane.TODO: ("bold",),
    Lane.DOING: ("bold", "cyan"),
    Lane.BLOCKED: ("bold", "red"),
    Lane.DONE: ("bold", "green"),
}
_PRIORITY_STYLE: Final = {Priority.HIGH: "yellow", Priority.NORMAL: "dim", Priority.LOW: "dim"}
_HOLDER: Final = 18
_TITLE: Final = 24
_REASON: Final = 16
_NUMBER: Final = 8
_TICKS: Final = re.compile("`+")


def listing(found: Listing, world: World, now: datetime, screen: Screen, *, everything: bool, empty: str) -> str:
    """The cards by lane, as wide as the screen is."""
    lines = [damaged_line(entry, screen) for entry in found.damaged]
    if found.round is not None:
        lines += [*round_lines(found.round, screen), ""]
    if not found.cards:
        return "\n".join([*lines, empty])
    inside = {lane: [one for one in found.cards if one.lane is lane] for lane in Lane}
    shown = {lane: cards if everything else cards[:ROWS] for lane, cards in inside.items()}
    if found.collapsed:
        shown[Lane.DONE] = []
    rows = iter(card_rows([one for cards in shown.values() for one in cards], world, now, screen))
    for lane, cards in inside.items():
        if not cards:
            continue
        lines.append(f"{screen.styled(LANE_NAMES[lane], *_LANE_STYLE[lane])} {len(cards)}")
        lines += islice(rows, len(shown[lane]))
        left = len(cards) - len(shown[lane])
        if lane is Lane.DONE and found.collapsed:
            lines[-1] += screen.dim("  --all lists them")
        elif left:
            lines.append(f"  … {left} more; narrow with --status, --mine or --query, or list --all")
        lines.append("")
    return "\n".join(lines[:-1])


def damaged_line(entry: Damaged, screen: Screen) -> str:
    """The one line about a file that is no card."""
    return screen.styled(cut(f"! {line(entry.name)}: {line(entry.why)}", screen.width), "red")


def card_rows(cards: Sequence[Card], world: World, now: datetime, screen: Screen) -> list[str]:
    """One row a card: number, priority, holder, age, title, and why it is where it is as far as there is room."""
    if not cards:
        return []
    numbers = [f"#{card.id}" for card in cards]
    priorities = ["" if card.priority is Priority.NORMAL else card.priority.value for card in cards]
    holders = [line(holder(card)) if card.owner is not None else "" for card in cards]
    ages = [age(card.touched_at, now) for card in cards]
    titles = [line(card.title) for card in cards]
    width = {
        "number": max(map(len, numbers)),
        "priority": max(map(len, priorities)),
        "holder": min(_HOLDER, max(map(columns, holders))),
        "age": max(map(len, ages)),
    }
    for spare in ("age", "holder", "priority"):  # what a narrow screen can do without, first of all the age
        if _room(width, screen) >= _TITLE:
            break
        width[spare] = 0
    room = _room(width, screen)
    longest = max(map(columns, titles))
    title = min(longest, max(_TITLE, room * 3 // 5)) if room - longest < _REASON + 2 else longest
    title = min(title, room)
    why = room - title - 2
    rows = []
    for number, priority, who, old, name, card in zip(numbers, priorities, holders, ages, titles, cards, strict=True):
        cells = [number.rjust(width["number"])]
        if width["priority"]:
            cells.append(screen.styled(padded(priority, width["priority"]), _PRIORITY_STYLE[card.priority]))
        if width["holder"]:
            cells.append(padded(who, width["holder"]))
        if width["age"]:
            cells.append(screen.dim(old.rjust(width["age"])))
        if why >= _REASON and (text := line(_reason(card, world))):
            cells += [padded(name, title), _toned(cut(text, why), card, screen)]
        else:
            cells.append(cut(name, room))
        rows.append(f"  {'  '.join(cells)}".rstrip())
    return rows


def _room(width: Mapping[str, int], screen: Screen) -> int:
    return screen.width - 2 - sum(size + 2 for size in width.values() if size)


def _reason(card: Card, world: World) -> str:
    mark = " (written by a newer board)" if card.newer else " (repaired on read)" if card.repaired else ""
    return reason(card, world).text + mark


def _toned(text: str, card: Card, screen: Screen) -> str:
    return screen.styled(text, "red") if card.lane is Lane.BLOCKED else screen.dim(text)


def card(one: Card, world: World, now: datetime, screen: Screen, *, everything: bool) -> str:
    """One card whole, with its last notes."""
    number = screen.styled(f"#{one.id}", *_LANE_STYLE[one.lane])
    title = wrapped(line(one.title), screen.width - len(f"#{one.id}") - 2)
    lines = [f"{number}  {screen.styled(title[0], 'bold')}"]
    lines += [" " * (len(f"#{one.id}") + 2) + screen.styled(more, "bold") for more in title[1:]]
    state = [one.lane.value, one.priority.value if one.priority is not Priority.NORMAL else "", line(holder(one))]
    lines += [f"  {row}" for row in wrapped(" · ".join(filter(None, [*state, f"rev {one.rev}"])), screen.width - 2)]
    for text in wrapped(line(_reason(one, world)), screen.width - 2):
        lines.append("  " + _toned(text, one, screen))
    facts = _facts(one, world, now)
    names = max(len(name) for name, _ in facts)
    for name, text in facts:
        first, *more = wrapped(text, screen.width - names - 4)
        lines += [f"  {name.ljust(names)}  {first}", *[f"{' ' * (names + 4)}{row}" for row in more]]
    shown = one.notes if everything else one.notes[-NOTES:]
    if len(shown) < len(one.notes):
        lines.append(screen.dim(f"  {len(one.notes) - len(shown)} earlier entries; --all shows them"))
    for note in shown:
        kind = "" if note.kind is NoteKind.NOTE else f"  {note.kind}"
        lines += ["", f"  {line(note.by.label)}{screen.dim(f'  {age(note.at, now)} ago{kind}')}"]
        lines += [f"  │ {text}" for text in wrapped(note.text, screen.width - 4)]
    return "\n".join(row.rstrip() for row in lines)


def _facts(one: Card, world: World, now: datetime) -> list[tuple[str, str]]:
    by = f" by {line(one.created_by.label)}" if one.created_by is not None else ""
    facts = [("created", f"{age(one.created_at, now)} ago{by}"), ("touched", f"{age(one.touched_at, now)} ago")]
    if one.paths:
        facts.append(("paths", ", ".join(map(line, one.paths))))
    if one.depends_on:
        facts.append(("depends on", ", ".join(f"#{card_id} ({_where(card_id, world)})" for card_id in one.depends_on)))
    if one.plan is not None:
        facts.append(("plan", line(one.plan)))
    if one.key is not None:
        facts.append(("key", line(one.key)))
    return facts


def _where(card_id: int, world: World) -> str:
    entry = world.get(card_id)
    if isinstance(entry, Card):
        return line(place(entry))
    return "missing" if entry is None else "unreadable"


_DID: Final = {
    "claim": "Claimed",
    "release": "Released",
    "reclaim": "Reclaimed",
    "note": "Noted on",
    "edit": "Changed",
    "add": "Added",
    "undo": "Brought back",
    "next": "Claimed",
}


def change(done: Change, data: Mapping[str, object], world: World, screen: Screen) -> str:
    """What an accepted call did, in a sentence, and what follows from it."""
    one = done.card
    named = f"{screen.styled(f'#{one.id}', *_LANE_STYLE[one.lane])} {line(one.title)}"
    lines = [_did(done, data, named)]
    if done.write is not Write.DROP:
        waits_on = open_dependencies(one, world) if one.lane is not Lane.DONE else ()
        if waits_on:
            lines.append(screen.dim(f"  {line(waits_text(waits_on, world))}"))
    ready = data.get("unblocked")
    if isinstance(ready, list) and ready:
        lines.append(f"  Ready now: {', '.join(f'#{card_id}' for card_id in ready)}")
    if "notice" in data:
        lines.append(f"  {line(str(data['notice']))}")
    return "\n".join(lines)


def _did(done: Change, data: Mapping[str, object], named: str) -> str:
    one, action = done.card, str(done.action)
    if data.get("replayed"):
        return f"{named} was added by this key before; nothing changed"
    if action == "next":
        why = line(str(data.get("reason", "")))
        return f"{'Next would be' if data.get('dryRun') else 'Claimed'} {named}: {why}"
    if done.write is Write.NOTHING:
        return f"{named} is so already ({line(place(one))}); nothing changed"
    if action == "move":
        return f"Moved {named} to {one.lane}"
    if action == "plan":
        return f"Recorded the plan of {named}: {line(one.plan or '')}"
    if action == "drop":
        return f"Dropped {named}; undo brings it back for a day"
    if action == "assign":
        return f"Assigned {named} to {line(holder(one))}; no handoff was sent"
    if action == "reopen":
        return f"Reopened #{data.get('reopened')} as {named}"
    if action in {"handoff", "offer"}:
        sent = data.get("sentTo")
        labels = [line(str(to["label"])) for to in sent if isinstance(to, dict)] if isinstance(sent, list) else []
        return f"{'Handed' if action == 'handoff' else 'Offered'} {named} to {', '.join(labels)}; a claim takes it"
    return f"{_DID.get(action, action)} {named}" + (", now yours" if action == "claim" else "")


def why(said: Why, world: World, now: datetime, screen: Screen) -> str:
    """The answer to `why`: the card, the sentence, and whom it keeps waiting."""
    lines = [*card_rows([said.card], world, now, screen), *wrapped(said.text, screen.width)]
    if said.needed_by:
        lines += wrapped(f"Wait for it: {', '.join(f'#{card_id}' for card_id in said.needed_by)}", screen.width)
    return "\n".join(lines)


def round_lines(taken: Round, screen: Screen) -> list[str]:
    """The counts and a line for each owner."""
    owners = [cut(line(owner_text(owner)), screen.width) for owner in taken.owner_lines]
    return [*[screen.styled(row, "bold") for row in wrapped(taken.text, screen.width)], *owners]


_KIND_STYLE: Final = {"danger": ("red",), "warn": ("yellow",), "dim": ("dim",), "dashed": ("dim",)}


def overview(
    taken: Round, queue: Queue, team: Sequence[Teammate], world: World, now: datetime, screen: Screen, *, me: str
) -> str:
    """The round in the terminal: the rollup, what needs a decision, who is live and who has gone quiet."""
    lines = round_lines(taken, screen)
    lines += ["", screen.styled(f"Needs a decision {len(queue.rows)}", "bold")]
    for row in queue.rows[:DECISIONS]:
        lines += _decision_lines(row, world, now, screen)
    if len(queue.rows) > DECISIONS:
        lines.append(f"  … {len(queue.rows) - DECISIONS} more")
    if not queue.rows:
        lines.append(screen.dim("  nothing"))
    if queue.in_progress:
        lines.append(screen.dim(f"  {len(queue.in_progress)} waiting on work in progress"))
    lines += ["", screen.styled("Team", "bold")]
    if not team:
        lines.append(screen.dim("  nobody has joined yet"))
    names = [line(name_text(mate)) + (" (you)" if mate.id == me else "") for mate in team]
    width = min(_HOLDER + 8, screen.width // 2, max(map(columns, names), default=0))
    for name, mate in zip(names, team, strict=True):
        dot = screen.styled("●", "green") if mate.state is State.LIVE else screen.dim("○")
        state = state_text(mate, now) + (f" · {mate.unread} unread" if mate.unread else "")
        state += " · not listening" if mate.state is State.LIVE and not mate.listening else ""
        lines.append(f"  {dot} {padded(name, width)}  {cut(state, screen.width - width - 6)}")
    return "\n".join(row.rstrip() for row in lines)


def _decision_lines(row: Decision, world: World, now: datetime, screen: Screen) -> list[str]:
    entry = world.get(row.card) if row.card is not None else None
    number = f"#{row.card}" if row.card is not None else ""
    title = line(entry.title) if isinstance(entry, Card) else line(row.name or "file")
    who = f"  {line(holder(entry))}" if isinstance(entry, Card) and entry.owner is not None else ""
    way_out = f"→ {row.action}" if row.action in {"claim", "reclaim"} else ""
    kind = padded(row.kind.value, max(len(kind.value) for kind in Kind))
    text = line(row.reason)
    if row.since is not None and row.kind in {Kind.IDLE, Kind.UNSTARTED, Kind.UNPLANNED}:
        text += f" for {age(row.since, now)}"
    if row.frees:
        text += f" · unblocks {row.frees}"
    head = screen.width - len(kind) - 4
    first = f"{number} {title}".strip()
    tail = f"{who}  {way_out}".rstrip()
    if head - columns(tail) < _NUMBER:
        tail, text = "", f"{tail.strip()} {text}".strip()
    return [
        f"  {screen.styled(kind, *_KIND_STYLE[row.edge])}  {cut(first, head - columns(tail))}{tail}",
        f"  {' ' * len(kind)}  {screen.dim(cut(text, head))}",
    ]


def mail(letters: Sequence[Mapping[str, object]], now: datetime, screen: Screen) -> str:
    """The letters, for a person."""
    if not letters:
        return "No new mail"
    lines: list[str] = []
    for letter in letters:
        about = f"  about #{letter['card']}" if letter["card"] is not None else ""
        heading = f"{_sender(letter)}{screen.dim(f'  {_when(letter, now)} ago')}  {line(str(letter['kind']))}{about}"
        lines += ["", heading, *[f"│ {text}" for text in wrapped(str(letter["text"]), screen.width - 2)]]
    return "\n".join(lines[1:])


def mail_text(letters: Sequence[Mapping[str, object]], now: datetime) -> str:
    """The letters for an agent: each fenced as data under the name of whoever wrote it."""
    parts = []
    for letter in letters:
        said = "\n".join(block(str(letter["text"])))
        fence = "`" * max(3, 1 + max((len(ticks) for ticks in _TICKS.findall(said)), default=0))
        about = f" about #{letter['card']}" if letter["card"] is not None else ""
        head = f"mail from {_sender(letter)} ({line(str(letter['kind']))}{about}), {_when(letter, now)} ago:"
        parts.append(f"{head}\n{fence}\n{said}\n{fence}")
    return "\n".join(parts) if parts else "no new mail"


def _sender(letter: Mapping[str, object]) -> str:
    sender = letter["from"]
    return line(str(sender["label"])) if isinstance(sender, dict) else "somebody"


def _when(letter: Mapping[str, object], now: datetime) -> str:
    at: Stamp = str(letter["at"])
    return age(at, now) if well_formed([at]) else "?"
