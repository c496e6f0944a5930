"""What the board is made of: cards, their notes, who wrote them, files that are no cards, and the sessions around them.

Every other module speaks in these types. They are frozen; a change makes a new one. They hold what a file holds, and
know nothing of files, locks or rules.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from flask_pi_taskbar.board.stamps import EPOCH, Stamp

VERSION: Final = 1
MAX_ID: Final = 2**31 - 1
MAX_FILE_BYTES: Final = 512 * 1024
MAX_COPY_BYTES: Final = MAX_FILE_BYTES + 4096
"""The copy of a dropped card has room for who dropped it and when, so that a full card can be dropped too."""
MAX_TITLE: Final = 120
MAX_PATHS: Final = 20
MAX_PATH: Final = 200
MAX_LINKS: Final = 50
MAX_PLAN: Final = 400
MAX_NOTES: Final = 500
MAX_NOTE: Final = 4000
MAX_LABEL: Final = 40
MAX_ACTOR_ID: Final = 200
MAX_KEY: Final = 64
MAX_QUERY: Final = 200
SEAT_LABEL: Final = "team-lead"
"""The label of the page's seat; no session may carry it."""


class Lane(StrEnum):
    """The four lanes, in the order in which they are read."""

    TODO = "todo"
    DOING = "doing"
    BLOCKED = "blocked"
    DONE = "done"


class Priority(StrEnum):
    """How urgent a card is; the first sorts first."""

    HIGH = "high"
    NORMAL = "normal"
    LOW = "low"


class NoteKind(StrEnum):
    """What wrote an entry of a card's history. `note` and `add` are somebody's words, the others the board's own."""

    NOTE = "note"
    ADD = "add"
    CLAIM = "claim"
    RELEASE = "release"
    RECLAIM = "reclaim"
    ASSIGN = "assign"
    MOVE = "move"
    PLAN = "plan"
    EDIT = "edit"
    UNDO = "undo"


SPOKEN: Final = frozenset({NoteKind.NOTE, NoteKind.ADD})


class Kept:
    """What a file said beyond what this version knows, so that a rewrite loses nothing.

    `unknown`: the fields that this version does not know. `was`: the raw values of known fields that could not be used
    and stand at their default; an accepted write moves them under `x-was`. No decoder builds one, so no file can fill
    it.
    """

    __slots__ = ("unknown", "was")

    def __init__(self, unknown: Mapping[str, object], was: Mapping[str, object] | None = None) -> None:
        self.unknown = unknown
        self.was: Mapping[str, object] = was or {}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and (self.unknown, self.was) == (other.unknown, other.was)

    __hash__ = None  # type: ignore[assignment]  # holds JSON objects

    def __repr__(self) -> str:
        return f"Kept({self.unknown!r}, {self.was!r})"


class _Stored(Struct, frozen=True, forbid_unknown_fields=True, rename="camel", kw_only=True, gc=False):
    kept: Kept | UnsetType = UNSET

    @property
    def unknown(self) -> Mapping[str, object]:
        """The fields that this version does not know."""
        return {} if self.kept is UNSET else self.kept.unknown


class Who(_Stored, frozen=True, kw_only=True):
    """Whoever did something, as a card records it. Compared by id; the label is for reading."""

    id: Annotated[str, Meta(min_length=1, max_length=MAX_ACTOR_ID)]
    label: Annotated[str, Meta(min_length=1, max_length=MAX_LABEL)]


class ActorKind(StrEnum):
    """A session of an agent or a person at a shell, or the page's seat."""

    SESSION = "session"
    SEAT = "seat"


class Actor(Struct, frozen=True):
    """Whoever makes a call."""

    id: str
    label: str
    kind: ActorKind = ActorKind.SESSION

    @property
    def who(self) -> Who:
        """The actor as a card records it."""
        return Who(id=self.id, label=self.label)


class Note(_Stored, frozen=True, kw_only=True):
    """One entry of a card's history."""

    n: Annotated[int, Meta(ge=1)]
    at: Stamp
    by: Who
    kind: NoteKind
    text: Annotated[str, Meta(min_length=1, max_length=MAX_NOTE)]
    via: Literal["page"] | None = None


class Card(_Stored, frozen=True, kw_only=True):
    """One feature. The fields and their bounds are those of the file."""

    v: int = VERSION
    id: Annotated[int, Meta(ge=1, le=MAX_ID)]
    rev: Annotated[int, Meta(ge=1)] = 1
    title: Annotated[str, Meta(min_length=1, max_length=MAX_TITLE)]
    status: Lane
    priority: Priority = Priority.NORMAL
    paths: Annotated[
        tuple[Annotated[str, Meta(min_length=1, max_length=MAX_PATH)], ...], Meta(max_length=MAX_PATHS)
    ] = ()
    depends_on: Annotated[tuple[Annotated[int, Meta(ge=1, le=MAX_ID)], ...], Meta(max_length=MAX_LINKS)] = ()
    plan: Annotated[str, Meta(min_length=1, max_length=MAX_PLAN)] | None = None
    owner: Who | None = None
    created_at: Stamp
    created_by: Who | None = None
    touched_at: Stamp
    held_touched_at: Stamp | None = None
    claimed_at: Stamp | None = None
    finished_at: Stamp | None = None
    notes: Annotated[tuple[Note, ...], Meta(max_length=MAX_NOTES)] = ()
    key: Annotated[str, Meta(min_length=1, max_length=MAX_KEY)] | None = None

    @property
    def lane(self) -> Lane:
        """The lane that rules, lists and page go by: `doing` that nobody holds (a hand edit) counts as blocked."""
        return Lane.BLOCKED if self.owner is None and self.status is Lane.DOING else self.status

    @property
    def held_at(self) -> Stamp:
        """When its holder last gave a sign; for a card without that field, when anybody did."""
        return self.held_touched_at or self.touched_at

    @property
    def newer(self) -> bool:
        """Whether a newer board wrote it; then it is read-only here."""
        return self.v > VERSION

    @property
    def repaired(self) -> tuple[str, ...]:
        """The fields that could not be used as the file gives them."""
        return () if self.kept is UNSET else tuple(self.kept.was)


class Damaged(Struct, frozen=True, kw_only=True):
    """A file among the cards that cannot be shown as one. Its id stays taken and counts as unfinished work."""

    id: int | None
    """None for a copy: a foreign spelling of a number, which claims no id."""
    name: str
    why: str
    size: int | None = None
    mtime: Stamp | None = None
    head: str = ""
    """Its first 200 characters, as text."""
    newer: bool = False


class Session(Struct, frozen=True, kw_only=True):
    """One session as the roster knows it."""

    id: str
    label: str
    live: bool
    """Its lifetime lock is held, or, on another host, its heartbeat is at most ten minutes old."""
    heartbeat_at: Stamp = EPOCH
    listening: bool = False
    mode: str = ""
    unread: int = 0
    serves: bool = False


Entry = Card | Damaged


def evolve(card: Card, **changes: object) -> Card:
    """`card` with some fields changed."""
    return msgspec.structs.replace(card, **changes)
