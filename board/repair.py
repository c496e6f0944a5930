"""Reading a card's file that is not as we would have written it: by hand, by a newer board, torn, or hostile.

`card.parse` calls it when the quick way fails. It never raises and never loses anything: what makes a card a card
(number, title, lane) must be usable, else the file is `Damaged` with the reason; any other field that cannot be used
stands at its default, and its raw value is kept beside it for the next write.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, TypeVar

import msgspec
from msgspec import UNSET

from flask_pi_taskbar.board import text
from flask_pi_taskbar.board.model import (
    MAX_FILE_BYTES,
    MAX_LABEL,
    MAX_LINKS,
    MAX_PATHS,
    VERSION,
    Card,
    Damaged,
    Kept,
    Lane,
    Note,
    NoteKind,
    Priority,
    Who,
)
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.stamps import EPOCH, Stamp, restamp

T = TypeVar("T")

NOBODY_KNOWN: Final = Who(id="?", label="?")
_BOM: Final = b"\xef\xbb\xbf"
CARD_FIELDS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(Card)) - {"kept"}
_NOTE_FIELDS: Final = frozenset(field.encode_name for field in msgspec.structs.fields(Note)) - {"kept"}
_HEAD: Final = 200


def head_of(data: bytes) -> str:
    """The first 200 characters of a file, as text that is safe to show."""
    return text.settled(data[: _HEAD * 4].decode("utf-8", "replace"))[:_HEAD]


def damaged(data: bytes, file_id: int | None, why: str, *, name: str | None = None, newer: bool = False) -> Damaged:
    """A file that cannot be shown as a card; the store adds what only it knows (mtime, the true size)."""
    return Damaged(id=file_id, name=name or f"{file_id}.json", why=why, size=len(data), head=head_of(data), newer=newer)


def read(data: bytes, file_id: int, mtime: Stamp | None, limit: int = MAX_FILE_BYTES) -> Card | Damaged:
    """The card in these bytes, as far as it can be saved."""
    raw = _object(data, limit)
    if isinstance(raw, str):
        return damaged(data, file_id, raw)
    fields = _Fields(raw)
    version = fields.take("v", VERSION, _positive)
    newer = version > VERSION
    said = raw.get("id")
    why: str | None = None
    if isinstance(said, bool) or not isinstance(said, int):
        why = f'its "id" is {_shown(said)}, not a number' if "id" in raw else 'it has no "id"'
    elif said != file_id:
        why = f"it says it is #{said}"
    title = fields.take("title", "", text.clean_title)
    status = fields.take("status", None, _lane)
    if why is None and not title:
        why = f'its "title" is {_shown(raw.get("title"))}, which cannot be used'
    if why is None and status is None:
        why = f'its "status" is {_shown(raw.get("status"))}, not one of {", ".join(Lane)}'
    if why is not None or status is None:
        by_newer = f"written by a newer board (version {version}), and " if newer else ""
        return damaged(data, file_id, f"{by_newer}{why}", newer=newer)
    return _card(fields, file_id, version, title, status, mtime or EPOCH)


def _card(fields: _Fields, file_id: int, version: int, title: str, status: Lane, mtime: Stamp) -> Card:
    created = fields.take("createdAt", mtime, _stamp)
    touched = fields.take("touchedAt", max(mtime, created), _stamp)
    paths = fields.some("paths", text.clean_path, MAX_PATHS)
    depends_on = fields.some("dependsOn", text.clean_card_id, MAX_LINKS)
    notes = _notes(fields, created)
    card = Card(
        v=version,
        id=file_id,
        rev=fields.take("rev", 1, _positive),
        title=title,
        status=status,
        priority=fields.take("priority", Priority.NORMAL, _priority),
        paths=paths,
        depends_on=depends_on,
        plan=fields.take("plan", None, text.clean_plan),
        owner=fields.take("owner", None, _who),
        created_at=created,
        created_by=fields.take("createdBy", None, _who),
        touched_at=touched,
        held_touched_at=fields.take("heldTouchedAt", None, _stamp),
        claimed_at=fields.take("claimedAt", None, _stamp),
        finished_at=fields.take("finishedAt", None, _stamp),
        notes=notes,
        key=fields.take("key", None, text.clean_key),
    )
    unknown = {name: value for name, value in fields.raw.items() if name not in CARD_FIELDS}
    if unknown or fields.was:
        return msgspec.structs.replace(card, kept=Kept(unknown, fields.was))
    return card


def _object(data: bytes, limit: int) -> dict[str, object] | str:
    if len(data) > limit:
        return f"it is larger than {limit // 1024} KiB"
    if not data.strip():
        return "it is empty"
    if not data.strip(b"\0"):
        return "it holds nothing but NUL bytes"
    try:
        raw = msgspec.json.decode(data.removeprefix(_BOM))
    except RecursionError:
        return "its JSON is nested too deeply"
    except ValueError as error:  # DecodeError and UnicodeDecodeError are its children
        return f"it is not JSON: {text.one_line(str(error))[:120]}"
    return raw if isinstance(raw, dict) else "it is JSON, but not an object"


class _Fields:
    """The raw fields of one object, and what became of those that could not be used."""

    def __init__(self, raw: dict[str, object]) -> None:
        self.raw = raw
        self.was: dict[str, object] = {}

    def take(self, name: str, default: T, read_one: Callable[[object], T]) -> T:
        """The field, or its default where it is absent, null or unusable."""
        value = self.raw.get(name)
        if value is None:
            return default
        try:
            usable = read_one(value)
        except Refusal:
            self.was[name] = value
            return default
        if isinstance(usable, str) and usable != value and not name.endswith("At"):
            self.was[name] = value
        return usable

    def some(self, name: str, read_one: Callable[[object], T], limit: int) -> tuple[T, ...]:
        """The usable entries of a list, each once."""
        value = self.raw.get(name)
        if value is None:
            return ()
        usable: dict[T, None] = {}
        for item in value if isinstance(value, list) else ():
            try:
                usable[read_one(item)] = None
            except Refusal:
                continue
        kept = tuple(usable)[:limit]
        if list(kept) != value:
            self.was[name] = value
        return kept


def _notes(fields: _Fields, created: Stamp) -> tuple[Note, ...]:
    value = fields.raw.get("notes")
    if value is None:
        return ()
    items = value if isinstance(value, list) else [value]
    notes: list[Note] = []
    lost: list[object] = []
    for item in items:
        note = _note(item, len(notes) + 1, notes[-1].at if notes else created)
        if note is None:
            lost.append(item)
        else:
            notes.append(note)
    if lost:
        fields.was["notes"] = lost
    return tuple(notes)


def _note(item: object, place: int, at: Stamp) -> Note | None:
    if not isinstance(item, dict):
        return None
    said = item.get("text")
    words = text.settled(said) if isinstance(said, str) else ""
    if not words:
        return None
    fields = _Fields(item)
    note = Note(
        n=fields.take("n", place, _positive),
        at=fields.take("at", at, _stamp),
        by=fields.take("by", NOBODY_KNOWN, _who),
        kind=fields.take("kind", NoteKind.NOTE, _kind),
        text=words,
        via=fields.take("via", None, _via),
    )
    if words != said:
        fields.was["text"] = said
    unknown = {name: value for name, value in item.items() if name not in _NOTE_FIELDS}
    if fields.was:
        earlier = unknown.get("x-was")
        unknown["x-was"] = (earlier if isinstance(earlier, dict) else {}) | fields.was
    return msgspec.structs.replace(note, kept=Kept(unknown)) if unknown else note


def _who(value: object) -> Who:
    if not isinstance(value, dict):
        raise text.bad("owner", "not an object")
    name = text.clean_actor_id(value.get("id"))
    said = value.get("label")
    label = text.one_line(said)[:MAX_LABEL].strip() if isinstance(said, str) else ""
    unknown = {key: item for key, item in value.items() if key not in {"id", "label"}}
    return Who(id=name, label=label or name[:MAX_LABEL].strip(), kept=Kept(unknown) if unknown else UNSET)


def _positive(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
        return value
    raise text.bad("", "not a positive number")


def _stamp(value: object) -> Stamp:
    found = restamp(value)
    if found is None:
        raise text.bad("", "not a time")
    return found


def _lane(value: object) -> Lane:
    try:
        return Lane(value)  # type: ignore[arg-type]
    except ValueError:
        raise text.bad("", "not a lane") from None


def _priority(value: object) -> Priority:
    try:
        return Priority(value)  # type: ignore[arg-type]
    except ValueError:
        raise text.bad("", "not a priority") from None


def _kind(value: object) -> NoteKind:
    try:
        return NoteKind(value)  # type: ignore[arg-type]
    except ValueError:
        raise text.bad("", "not a kind of note") from None


def _via(value: object) -> Literal["page"]:
    if value == "page":
        return "page"
    raise text.bad("", "not a way in")


def _shown(value: object) -> str:
    if value is None:
        return "missing"
    try:
        plain = msgspec.json.encode(value).decode()
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError, TypeError):
        plain = type(value).__name__
    return plain if len(plain) <= 60 else f"{plain[:60]}…"
