"""What may be typed after a command's name, how it becomes a call's fields, and what is said when it cannot.

The fields themselves are judged by the board's own `read_request`, so that a priority or a lane is refused in the same
words here, on the page and in Pi's tool. Only what the shell adds (options, quotes, lists in one word) is settled here.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import click

from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import Action, read_request
from flask_pi_taskbar.board.text import bad
from flask_pi_taskbar.commands import completing, wayout

NOTHING: Final = "none"
"""What clears a list: `--depends-on none`."""

_COMMA: Final = re.compile(r",(?![^{]*\})")
_BETWEEN_IDS: Final = re.compile(r"[,\s]+")
_QUOTE_CARDS: Final = "Write 4, or '#4' in quotes: a shell takes a bare # as the start of a comment."
_QUOTE_WORDS: Final = "Put words with spaces between them in quotes."


@cache
def common() -> tuple[click.Parameter, ...]:
    """The options of every call; the same objects for all of them."""
    return (
        click.Option(
            ["--as", "actor"],
            metavar="LABEL",
            shell_complete=completing.labels,
            help="Who calls (default: $PI_TASKBAR_SESSION and $PI_TASKBAR_LABEL).",
        ),
        click.Option(["--session", "session"], metavar="ID", hidden=True, help="The session that calls."),
        click.Option(
            ["--repo", "repo"],
            metavar="PATH",
            shell_complete=completing.folders,
            help="A folder of the repository (default: the current one).",
        ),
        click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
    )


_FLAGS: Final = frozenset({"--json"})
_WITH_VALUE: Final = frozenset({"--as", "--session", "--repo"})


def leading(args: Sequence[str]) -> list[str]:
    """The common options that stand before a call's name."""
    place = 0
    while place < len(args):
        if args[place] in _FLAGS or (args[place].partition("=")[0] in _WITH_VALUE and "=" in args[place]):
            place += 1
        elif args[place] in _WITH_VALUE:
            place += 2
        else:
            break
    return list(args[:place])


def card(name: str = "card") -> click.Argument:
    """The card that a call is about."""
    return click.Argument([name], metavar="CARD", shell_complete=completing.cards)


def maybe_card() -> list[click.Parameter]:
    """A card that may be named by its place or with `--card`."""
    return [
        click.Argument(["place"], metavar="[CARD]", required=False, shell_complete=completing.cards),
        click.Option(["--card", "card"], metavar="CARD", shell_complete=completing.cards, hidden=True),
    ]


def argument(field: str, metavar: str, *values: str, complete: Any = None) -> click.Argument:
    """A field that stands at its place."""
    complete = complete or (completing.words(values) if values else None)
    return click.Argument([field], metavar="|".join(values) or metavar, shell_complete=complete)


def option(field: str, spelled: str, metavar: str, help_text: str, *values: str, many: bool = False) -> click.Option:
    """A field with a name. `values` are offered by completion and shown; what is typed is judged by the board."""
    complete = completing.cards if field == "dependsOn" else completing.words(values) if values else None
    return click.Option(
        [spelled, field], metavar="|".join(values) or metavar, help=help_text, multiple=many, shell_complete=complete
    )


def flag(field: str, spelled: str, help_text: str) -> click.Option:
    return click.Option([spelled, field], is_flag=True, help=help_text)


def if_rev() -> click.Option:
    return option("ifRev", "--if-rev", "N", "Only if the card is still at this rev.")


def given(params: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that were typed, as the board reads them."""
    fields = {name: value for name, value in params.items() if value not in (None, (), False)}
    if "place" in fields:
        place = fields.pop("place")
        if fields.setdefault("card", place) != place:
            raise bad("card", f"Name one card: {place} or {fields['card']}.")
    if "ifRev" in fields:
        fields["ifRev"] = number(fields["ifRev"])
    if "paths" in fields:
        fields["paths"] = [path for typed in fields["paths"] for path in paths(typed)]
    if "dependsOn" in fields:
        fields["dependsOn"] = [one for typed in fields["dependsOn"] for one in ids(typed)]
    for name in ("text", "note"):
        if fields.get(name) == "-":
            fields[name] = sys.stdin.buffer.read().decode("utf-8", "surrogateescape")
    return fields


def number(typed: str) -> object:
    """A number where it is one; else the word, which the board refuses."""
    return int(typed) if typed.isascii() and typed.isdecimal() and len(typed) < 12 else typed


def paths(typed: str) -> list[str]:
    """One path, several with commas between them (not inside braces), or a JSON list. `none` is none."""
    if typed.strip() in ("", NOTHING):
        return []
    listed = _json_list(typed)
    return listed if listed is not None else [path.strip() for path in _COMMA.split(typed) if path.strip()]


def ids(typed: str) -> list[Any]:
    """Numbers with commas or spaces between them, or a JSON list. `none` is none."""
    if typed.strip() in ("", NOTHING):
        return []
    listed = _json_list(typed)
    return listed if listed is not None else [word for word in _BETWEEN_IDS.split(typed.strip()) if word]


def _json_list(typed: str) -> list[Any] | None:
    if not typed.lstrip().startswith("["):
        return None
    try:
        found = json.loads(typed)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def refusal_of(error: click.UsageError, command: click.Command, path: str) -> Refusal:
    """Wrong usage as the refusal that it is."""
    params = [*command.params, *(common() if isinstance(command, click.Group) else ())]
    options = [name for one in params if isinstance(one, click.Option) and not one.hidden for name in one.opts]
    message = error.format_message()
    details: dict[str, object] = {"valid": options}
    ctx = error.ctx or click.Context(command)
    if isinstance(error, click.NoSuchOption):
        from difflib import get_close_matches  # here and below: most calls are spelled right

        near = get_close_matches(error.option_name, options, 1)
        message = f"{command.name} has no option {error.option_name}."
        message += f" Did you mean {near[0]}?" if near else f" It takes {', '.join(options)}."
        details |= {"field": error.option_name} | ({"nearest": near[0]} if near else {})
    elif isinstance(error, click.MissingParameter) and error.param is not None:
        pieces = " ".join(one.make_metavar(ctx) for one in command.params if isinstance(one, click.Argument))
        message = f"{command.name} needs {error.param.make_metavar(ctx)}: {path} {pieces}."
        if error.param.name == "card":
            message += f" {_QUOTE_CARDS}"
        details |= {"field": error.param.name, "missing": True}
    elif "extra argument" in message:
        message = f"{message.rstrip('.')}. {_QUOTE_WORDS}"
    return Refusal(Code.BAD_FIELD, message, action=command.name, details=details)


def unknown_action(group: click.Group, name: str | None, program: str) -> Refusal:
    """The refusal of a word that is no call, with what was meant if that can be told."""
    valid = list(group.commands)
    if name is None:
        return Refusal(Code.UNKNOWN_ACTION, f"Name an action: {', '.join(valid)}.", details={"valid": valid})
    hint = _meant(group, name, program)
    message = f"There is no action {name[:40]!r}." + (f" Use {hint}." if hint else "") + f" Valid: {', '.join(valid)}."
    nearest = {"nearest": hint} if hint else {}
    return Refusal(Code.UNKNOWN_ACTION, message, action=name[:40], details={"valid": valid, **nearest})


def _meant(group: click.Group, name: str, program: str) -> str | None:
    """What was meant: a call of this group that is nearly spelled so, one of another group, or an alias."""
    from difflib import get_close_matches

    typo = get_close_matches(name[:40], group.commands, 1, 0.8)
    if typo:
        return f"{program} {group.name} {typo[0]}"
    if name in list(Action):
        return wayout.command_line({"action": name}, program)
    try:
        read_request(name, {})
    except Refusal as refusal:
        if "nearest" in refusal.details:
            return wayout.meant(str(refusal.details["nearest"]), program)
    return None
