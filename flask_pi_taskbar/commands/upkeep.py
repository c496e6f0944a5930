"""`status` and `doctor`: where the board is, who calls, and what is odd about its files. They mend nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flask_pi_taskbar.board.facts import facts
from flask_pi_taskbar.commands.actor import Desk
from flask_pi_taskbar.commands.answers import Answer, Data
from flask_pi_taskbar.commands.page import page_status, page_text
from flask_pi_taskbar.commands.rendering import PLAIN, Screen, block, line, wrapped

_UNITS: Final = ("bytes", "KB", "MB", "GB")


def status(desk: Desk) -> Answer:
    """One line: seat, store, size, level, and the caller's place on the team."""
    found = facts(desk.store, desk.now())
    record = desk.store.roster.record(desk.actor.id)
    data: Data = {"ok": True, "action": "status", **_place(desk), "store": found}
    data["you"] = {"id": desk.actor.id, "label": record.label if record else desk.actor.label, "joined": bool(record)}
    you = f"you are {record.label}" if record else f"you have not joined (you would be {desk.actor.label})"
    store = f"{found['path']} ({size_text(found['bytes'])}, {_level(found)})"
    page = page_status(desk)
    data["page"] = page
    text = line(
        f"{desk.store.seat.label}'s board of {desk.repo.root} · {page_text(page)} · {_count(found['cards'], 'card')} "
        f"· {store} · {you}"
    )
    if found["readOnly"]:
        text += f" · read-only: {line(str(found['readOnly']))}"
    return Answer(lambda: data, lambda: text, lambda _: text)


def doctor(desk: Desk) -> Answer:
    """What is wrong, each with what can be done about it."""
    found = facts(desk.store, desk.now())
    problems = _problems(found)
    data: Data = {"ok": True, "action": "doctor", "healthy": not problems, "problems": problems}
    data |= {**_place(desk), "store": found}

    def drawn(screen: Screen) -> str:
        lines = [
            f"store       {line(str(found['path']))}",
            f"repository  {line(str(desk.repo.root))}" + ("" if desk.repo.is_git else " (not a git repository)"),
            f"files       {_count(found['cards'], 'card')}, {size_text(found['bytes'])}, {_level(found)}"
            + (f", on {line(str(found['filesystem']))}" if found["filesystem"] else ""),
        ]
        for problem in problems:
            first, *more = wrapped(f"! {problem}", screen.width) if screen.terminal else block(f"! {problem}")
            lines += [screen.styled(first, "yellow"), *[f"  {text}" for text in more]]
        if not problems:
            lines.append(screen.styled("nothing is wrong", "green"))
        return "\n".join(lines)

    return Answer(lambda: data, lambda: drawn(PLAIN), drawn)


def _place(desk: Desk) -> Data:
    return {
        "repository": {"root": str(desk.repo.root), "key": desk.repo.key, "git": desk.repo.is_git},
        "seat": {"id": desk.store.seat.id, "label": desk.store.seat.label},
    }


def _problems(found: Data) -> list[str]:
    problems = []
    if found["readOnly"]:
        problems.append(f"Nothing can be written: {found['readOnly']}")
    for entry in _list(found["damaged"]):
        if isinstance(entry, dict):
            problems.append(f"{entry['name']} cannot be read as a card: {entry['why']}. Repair it, or move it away.")
    newer = _list(found["newer"])
    if newer:
        numbers = ", ".join(f"#{card_id}" for card_id in newer)
        problems.append(f"Written by a newer board and read-only here: {numbers}. Update flask-pi-taskbar.")
    others = _list(found["otherFiles"])
    if others:
        problems.append(f"{_count(len(others), 'other file')} among the cards, which is ignored: {_few(others)}.")
    for path in _list(found["tooOpen"]):
        problems.append(f"Others than you may use {path}: chmod go-rwx it.")
    if found["notice"]:
        problems.append(f"{found['notice']}.")
    if found["level"]:
        problems.append(f"This file system lacks what the board likes best (level {found['level']}); it works, slower.")
    return [line(problem) for problem in problems]


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []


def _few(names: Sequence[object], shown: int = 5) -> str:
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(str(name) for name in names[:shown]) + more


def _level(found: Data) -> str:
    return "not written to yet" if found["level"] is None and not found["readOnly"] else f"level {found['level']}"


def _count(number: object, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def size_text(size: object) -> str:
    """A number of bytes for people: `12 KB`."""
    left = float(str(size))
    for unit in _UNITS:
        if left < 1000 or unit == _UNITS[-1]:
            break
        left /= 1000
    return f"{left:.0f} {unit}"
