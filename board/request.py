"""A call on the board, as all surfaces read it: an action and its fields, cleaned once.

`read_request` is the first stage of every call (spec 5: fields, before anything is looked at), so that page, CLI and
tool cannot disagree about what a field means. It refuses with 422 codes only and knows no card.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct

from flask_pi_taskbar.board import text
from flask_pi_taskbar.board.model import Lane, Priority
from flask_pi_taskbar.board.refusal import Code, Refusal


class Action(StrEnum):
    """Everything that can be asked of the board. `handoff` and `offer` are `team assign` and `team offer`."""

    ADD = "add"
    CLAIM = "claim"
    RELEASE = "release"
    RECLAIM = "reclaim"
    MOVE = "move"
    ASSIGN = "assign"
    NOTE = "note"
    PLAN = "plan"
    EDIT = "edit"
    DROP = "drop"
    NEXT = "next"
    UNDO = "undo"
    REOPEN = "reopen"
    HANDOFF = "handoff"
    OFFER = "offer"
    LIST = "list"
    ROUND = "round"
    WHY = "why"
    WAIT = "wait"


READS: Final = frozenset({Action.LIST, Action.ROUND, Action.WHY, Action.WAIT})
"""The actions that change nothing; `rules.decide` takes all others."""


class Request(Struct, frozen=True, kw_only=True):
    """A call whose fields are clean. What was not given is None: absent means "not this field", never "empty"."""

    action: Action
    card: int | None = None
    title: str | None = None
    paths: tuple[str, ...] | None = None
    priority: Priority | None = None
    depends_on: tuple[int, ...] | None = None
    text: str | None = None
    status: Lane | None = None
    path: str | None = None
    label: str | None = None
    query: str | None = None
    mine: bool = False
    round: bool = False
    all: bool = False
    dry_run: bool = False
    until: str | None = None
    key: str | None = None
    if_rev: int | None = None
    base: Mapping[str, object] | None = None

    @property
    def number(self) -> int:
        """The card's number, for actions that always have one."""
        if self.card is None:
            raise LookupError(f"{self.action} names no card")
        return self.card


UNTIL_OTHER: Final = ("claimable", "changed", "gone")
"""What `wait` can wait for besides a lane."""

_ALIASES: Final = {
    "start": 'claim, or move with status "doing"',
    "take": "claim",
    "begin": "claim",
    "finish": 'move with status "done"',
    "complete": 'move with status "done"',
    "close": 'move with status "done"',
    "redo": "reopen",
    "restore": "undo",
    "done": 'move with status "done"',
    "block": 'move with status "blocked"',
    "park": 'move with status "blocked"',
    "create": "add",
    "new": "add",
    "delete": "drop",
    "remove": "drop",
    "comment": "note",
    "update": "edit",
    "set": "edit",
    "link": "edit with dependsOn",
    "depend": "edit with dependsOn",
    "relation": "edit with dependsOn",
    "show": "list with card",
    "get": "list with card",
    "ready": "next with dryRun",
}
_FIELD_ALIASES: Final = {
    "id": "card",
    "lane": "status",
    "state": "status",
    "description": "text",
    "body": "text",
    "message": "text",
    "comment": "text",
    "depends_on": "dependsOn",
    "deps": "dependsOn",
    "dependencies": "dependsOn",
    "blockedBy": "dependsOn",
    "blocked_by": "dependsOn",
    "files": "paths",
    "plan": "path",
    "to": "label",
    "assignee": "label",
    "name": "title",
    "search": "query",
    "filter": "query",
}


def _choice(kind: type[Lane] | type[Priority]) -> Callable[[object, str], object]:
    def read(value: object, field: str) -> object:
        try:
            return kind(value)  # type: ignore[arg-type]
        except ValueError:
            words = [member.value for member in kind]
            near = _nearest(str(value), words)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise text.bad(field, f"{field} must be one of {', '.join(words)}.{hint}", valid=words) from None

    return read


def _flag(value: object, field: str) -> object:
    if isinstance(value, bool):
        return value
    raise text.bad(field, f"{field} must be true or false.")


def _rev(value: object, field: str) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise text.bad(field, f"{field} must be the rev of the card that you last saw, a number from 1.")


def _until(value: object, field: str) -> object:
    valid = [*Lane, *UNTIL_OTHER]
    if isinstance(value, str) and value in valid:
        return str(value)
    raise text.bad(field, f"{field} must be one of {', '.join(valid)}.", valid=[str(word) for word in valid])


def _base(value: object, field: str) -> object:
    if isinstance(value, Mapping) and all(name in _EDITABLE for name in value):
        return dict(value)
    raise text.bad(
        field, f"{field} must be an object with the values that the edit began from: {', '.join(_EDITABLE)}."
    )


_EDITABLE: Final = ("title", "paths", "priority", "dependsOn")

_READERS: Final[dict[str, tuple[str, Callable[[object, str], object]]]] = {
    "card": ("card", text.clean_card_id),
    "title": ("title", text.clean_title),
    "paths": ("paths", text.clean_paths),
    "priority": ("priority", _choice(Priority)),
    "dependsOn": ("depends_on", text.clean_card_ids),
    "note": ("text", text.clean_note),
    "text": ("text", text.clean_note),
    "status": ("status", _choice(Lane)),
    "path": ("path", text.clean_plan),
    "label": ("label", text.clean_actor_id),  # a label, or a session's id where two share one
    "query": ("query", text.clean_query),
    "mine": ("mine", _flag),
    "round": ("round", _flag),
    "all": ("all", _flag),
    "dryRun": ("dry_run", _flag),
    "until": ("until", _until),
    "key": ("key", text.clean_key),
    "ifRev": ("if_rev", _rev),
    "base": ("base", _base),
}

FIELDS: Final[dict[Action, tuple[str, str]]] = {
    # action: (fields that must be given, fields that may be)
    Action.ADD: ("title", "paths priority note dependsOn key"),
    Action.CLAIM: ("card", "ifRev"),
    Action.RELEASE: ("card", "ifRev"),
    Action.RECLAIM: ("card", "ifRev"),
    Action.MOVE: ("card status", "ifRev"),
    Action.ASSIGN: ("card label", "ifRev"),
    Action.NOTE: ("card text", "ifRev"),
    Action.PLAN: ("card path", "ifRev"),
    Action.EDIT: ("card", "title paths priority dependsOn ifRev base"),
    Action.DROP: ("card", "ifRev"),
    Action.NEXT: ("", "dryRun"),
    Action.UNDO: ("", "card"),
    Action.REOPEN: ("card", "ifRev"),
    Action.HANDOFF: ("card label", "text ifRev"),
    Action.OFFER: ("card", "text ifRev"),
    Action.LIST: ("", "status mine card query round all"),
    Action.ROUND: ("", ""),
    Action.WHY: ("card", ""),
    Action.WAIT: ("card", "until"),
}


def read_request(action: object, fields: Mapping[str, object]) -> Request:
    """The call with its fields cleaned, or a refusal that names the field and what it may be.

    A field that is null counts as not given.
    """
    known = _action(action)
    required, optional = (names.split() for names in FIELDS[known])
    given = {name: value for name, value in fields.items() if value is not None}
    for name in given:
        if name not in required and name not in optional:
            raise _tell(known, _unknown_field(known, str(name), required + optional))
    clean: dict[str, object] = {}
    try:
        for name in required:
            if name not in given:
                raise text.bad(name, f"{known} needs {name}.", missing=True)
        for name, value in given.items():
            attribute, read_one = _READERS[name]
            clean[attribute] = read_one(value, name)
    except Refusal as refusal:
        raise _tell(known, refusal) from None
    if known is Action.EDIT and not any(name in given for name in _EDITABLE):
        message = f"An edit changes at least one of {', '.join(_EDITABLE)}; none was given."
        raise Refusal(Code.NOTHING_TO_DO, message, action=known, details={"valid": list(_EDITABLE)})
    return Request(action=known, **clean)  # type: ignore[arg-type]


def _action(action: object) -> Action:
    valid = [member.value for member in Action]
    if isinstance(action, str):
        if action in valid:
            return Action(action)
        near = _nearest(action, valid)
        meant = _ALIASES.get(action.lower()) or (near[0] if near else None)
        hint = f" Use {meant}." if meant else ""
        message = f"There is no action {action[:40]!r}.{hint} Valid: {', '.join(valid)}."
        details: dict[str, object] = {"valid": valid} | ({"nearest": meant} if meant else {})
        raise Refusal(Code.UNKNOWN_ACTION, message, action=action[:40], details=details)
    raise Refusal(Code.UNKNOWN_ACTION, f"Name an action: {', '.join(valid)}.", details={"valid": valid})


def _unknown_field(action: Action, name: str, valid: list[str]) -> Refusal:
    near = _nearest(name, valid)
    meant = _FIELD_ALIASES.get(name)
    meant = meant if meant in valid else (near[0] if near else None)
    hint = f" Did you mean {meant}?" if meant else ""
    takes = ", ".join(valid) if valid else "no fields"
    details: dict[str, object] = {"valid": valid} | ({"nearest": meant} if meant else {})
    return text.bad(name[:40], f"{action} has no field {name[:40]!r}.{hint} It takes {takes}.", **details)


def _nearest(word: str, valid: Sequence[str]) -> list[str]:
    """The valid word that this one is nearly spelled like, if there is one."""
    from difflib import get_close_matches  # only here: most calls are spelled right

    return get_close_matches(word[:40], valid, 1)


def _tell(action: Action, refusal: Refusal) -> Refusal:
    refusal.action = action.value
    return refusal
