"""What to do instead, as command lines: suggestions of the board's rules in the words of the shell.

The rules suggest calls (`{"action": "move", "card": 4, "status": "doing"}`); a person or an agent at a shell is told
`pi-taskbar board move 4 doing`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Final

PROGRAM: Final = "pi-taskbar"

# The shell's words after an action, in order; `{}` stands for the field's value.
_SHAPES: Final[Mapping[str, tuple[str, ...]]] = {
    "list": ("board list", "card"),
    "round": ("team",),
    "add": ("board add", "title"),
    "move": ("board move", "card", "status"),
    "note": ("board note", "card", "text"),
    "plan": ("board plan", "card", "path"),
    "assign": ("board assign", "card", "label"),
    "handoff": ("team assign", "card", "label"),
    "offer": ("team offer", "card"),
    "edit": ("board edit", "card"),
    "next": ("board next",),
}
_REQUIRED: Final = {
    "card": "CARD",
    "title": '"TITLE"',
    "status": "LANE",
    "text": '"TEXT"',
    "path": "PATH",
    "label": "LABEL",
}
_OPTIONAL: Final = {"list": {"card"}}
_FLAGS: Final = {"dryRun": "--dry-run", "mine": "--mine", "round": "--round", "all": "--all"}
_VALUES: Final = {"dependsOn": "--depends-on", "title": "--title", "priority": "--priority", "query": "--query"}
_RESPELLED: Final = {"dependsOn": "--depends-on", "ifRev": "--if-rev"}
_MEANT: Final = re.compile(r'(\w+)(?: with (\w+)(?: "(\w+)")?)?')


def command_line(call: Mapping[str, object], program: str = PROGRAM, tail: str = "") -> str:
    """A suggested call as it would be typed."""
    action = str(call["action"])
    words, *names = _SHAPES.get(action, (f"board {action}", "card"))
    parts = [program, words]
    for name in names:
        if name in call:
            parts.append(_quoted(call[name]))
        elif name not in _OPTIONAL.get(action, ()):
            parts.append(_REQUIRED[name])
    for name, value in call.items():
        if name in names or name in {"action", "why", "card"}:
            continue
        if name in _FLAGS:
            parts += [_FLAGS[name]] if value else []
        elif name in _VALUES:
            parts += [_VALUES[name], _quoted(value)]
    return " ".join(parts) + tail


def as_typed(message: str) -> str:
    """A message with the names of fields that no shell has, as the options that they are."""
    for name, option in _RESPELLED.items():
        message = message.replace(name, option)
    return message


def meant(hint: str, program: str = PROGRAM) -> str:
    """The request's hint for a word that is no action (`move with status "done"`), as command lines."""
    return " or ".join(_meant(part.strip(), program) for part in hint.split(", or "))


def _meant(hint: str, program: str) -> str:
    found = _MEANT.fullmatch(hint)
    if found is None:
        return hint
    action, field, value = found.groups()
    call: dict[str, object] = {"action": action}
    if field in _FLAGS:
        call[field] = True
    elif field in _VALUES:
        call[field] = "ID"
    elif field is not None:
        call[field] = value or _REQUIRED.get(field, field.upper())
    return command_line(call, program)


def _quoted(value: object) -> str:
    if isinstance(value, list | tuple):
        return ",".join(str(item) for item in value) or "none"
    return shlex.quote(str(value))


def options(*pairs: tuple[str, str | None]) -> str:
    """The options that were given, to be typed again."""
    return "".join(f" {name} {shlex.quote(value)}" for name, value in pairs if value is not None)
