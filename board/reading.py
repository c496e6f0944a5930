"""The board as a decision or a page reads it.

`Reading` is one moment, whole and fixed: lists, pages and counts. `Live` asks the disk anew for every card: what the
rules decide by, under the lock, and only the files that they ask for. Neither writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import cached_property
from typing import Final

from flask_pi_taskbar.board.card import parse
from flask_pi_taskbar.board.filesystem import Disk, read_regular
from flask_pi_taskbar.board.index import Index, Snapshot
from flask_pi_taskbar.board.layout import Layout
from flask_pi_taskbar.board.model import MAX_COPY_BYTES, MAX_ID, Actor, Card, Entry, Session
from flask_pi_taskbar.board.names import classify
from flask_pi_taskbar.board.sessions import Roster
from flask_pi_taskbar.board.world import World

_SEQ_BYTES: Final = 32
_JSON: Final = len(".json")


class Surroundings:
    """What lies around the cards: teammates, dropped cards, numbers that were given."""

    def __init__(self, disk: Disk, layout: Layout, roster: Roster, seat: Actor, now: datetime) -> None:
        self._disk = disk
        self._layout = layout
        self._roster = roster
        self._seat = seat
        self._now = now

    @cached_property
    def sessions(self) -> Sequence[Session]:
        """The sessions with a record."""
        return self._roster.sessions(self._now)

    @cached_property
    def addressees(self) -> Sequence[Session]:
        """The sessions, and the seat, which mail and cards can be given to like a session.

        The seat counts as quiet, so that an offer to all live sessions reaches the one that serves the page once.
        """
        listening = any(session.listening for session in self.sessions if session.serves and session.live)
        seat = Session(id=self._seat.id, label=self._seat.label, live=False, listening=listening, mode="page")
        return [*self.sessions, seat]

    def dropped(self) -> Iterator[Card]:
        """The last contents of dropped cards."""
        for name in self._names(self._layout.dropped):
            try:
                _, data = read_regular(self._disk, f"{self._layout.dropped}/{name}", MAX_COPY_BYTES)
            except OSError:
                continue
            entry = parse(data, classify(name).number, limit=MAX_COPY_BYTES) if data else None
            if isinstance(entry, Card):
                yield entry

    def highest_id(self, among_cards: int | None) -> int:
        """The highest number that was ever given, as far as anything tells. `among_cards`: if that is known already."""
        if among_cards is None:
            among_cards = _highest(self._names(self._layout.cards))
        gone = (_highest(self._names(folder)) for folder in (self._layout.dropped, self._layout.damaged))
        return max(among_cards, *gone, self._seq())

    def _names(self, folder: str) -> list[str]:
        try:
            return self._disk.names(folder)
        except FileNotFoundError:
            return []

    def _seq(self) -> int:
        try:
            _, data = read_regular(self._disk, self._layout.seq, _SEQ_BYTES)
        except FileNotFoundError:
            return 0
        return _number((data or b"").decode("ascii", "replace").strip())


class Reading(World):
    """Everything at one moment."""

    def __init__(self, snapshot: Snapshot, around: Surroundings) -> None:
        self.snapshot = snapshot
        self._around = around

    @property
    def others(self) -> Sequence[str]:
        """The names of the files among the cards that are nothing of ours."""
        return self.snapshot.others

    def get(self, card_id: int) -> Entry | None:
        found = self.snapshot.get(card_id)
        return None if found is None else found.entry

    def entries(self) -> Iterable[Entry]:
        return self.snapshot.entries()

    def dependents(self, card_id: int) -> Sequence[Card]:
        return self.snapshot.dependents.get(card_id, ())

    def roster(self) -> Sequence[Session]:
        return self._around.sessions

    def dropped(self) -> Iterable[Card]:
        return self._around.dropped()

    def next_id(self) -> int:
        return self._around.highest_id(self.snapshot.highest) + 1


class Live(World):
    """The board as it is now: each card is looked at when it is asked for, once.

    `everything` brings the whole board up to date when a question needs all of it; an `Index.sweep` where a decision
    must not miss a foreign edit, an `Index.glance` where the answer is for reading.
    """

    def __init__(self, index: Index, around: Surroundings, everything: Callable[[], Snapshot]) -> None:
        self._index = index
        self._around = around
        self._everything = everything
        self._cards: dict[int, Entry | None] = {}
        self.unmoved = index.unmoved()
        """The snapshot that is known to hold all names there are, if there is one."""

    def get(self, card_id: int) -> Entry | None:
        if card_id not in self._cards:
            self._cards[card_id] = self._index.current(card_id)
        return self._cards[card_id]

    def entries(self) -> Iterable[Entry]:
        return self._all.entries()

    def dependents(self, card_id: int) -> Sequence[Card]:
        return self._all.dependents.get(card_id, ())

    def roster(self) -> Sequence[Session]:
        return self._around.addressees

    def dropped(self) -> Iterable[Card]:
        return self._around.dropped()

    def next_id(self) -> int:
        return self._around.highest_id(None if self.unmoved is None else self.unmoved.highest) + 1

    @cached_property
    def _all(self) -> Snapshot:
        self.unmoved = self._everything()
        return self.unmoved


def _highest(names: list[str]) -> int:
    best = 0
    for name in names:
        stem = name[:-_JSON]
        number = _number(stem) if name.endswith(".json") and stem.isdecimal() else classify(name).number
        if number > best:
            best = number
    return best


def _number(text: str) -> int:
    """The number that a text spells, 0 if it is none that a card can have."""
    if not (text.isascii() and text.isdecimal() and len(text) <= 20):
        return 0
    number = int(text)
    return number if number <= MAX_ID else 0
