"""What a decision may read: the cards as they are, the roster, what was dropped, and the next free number.

The rules ask only through this. `World` gives every question a plain answer from two (`get`, `entries`); the store
passes a lazy one that reads under its lock and answers the dear questions from an index; `Board` is the one in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence

from flask_pi_taskbar.board.model import Card, Damaged, Entry, Session


class World(ABC):
    """A read-only view of the board at one moment."""

    @abstractmethod
    def get(self, card_id: int) -> Entry | None:
        """The card of that number, the damaged file in its place, or None."""

    @abstractmethod
    def entries(self) -> Iterable[Entry]:
        """Everything there is, damaged files and copies too, in no order. Reads all; most decisions never ask."""

    def cards(self) -> Iterator[Card]:
        """Every readable card."""
        return (entry for entry in self.entries() if isinstance(entry, Card))

    def damaged(self) -> Iterator[Damaged]:
        """Every file that cannot be shown as a card."""
        return (entry for entry in self.entries() if isinstance(entry, Damaged))

    def dependents(self, card_id: int) -> Sequence[Card]:
        """The readable cards that name this one in their `dependsOn`, whatever their lane."""
        return [card for card in self.cards() if card_id in card.depends_on]

    def keyed(self, key: str) -> Sequence[Card]:
        """The cards that were added with this idempotency key."""
        return [card for card in self.cards() if card.key == key]

    def roster(self) -> Sequence[Session]:
        """The sessions that have a record."""
        return ()

    def dropped(self) -> Iterable[Card]:
        """The last contents of dropped cards."""
        return ()

    def next_id(self) -> int:
        """The number that a new card gets; never one that was ever given."""
        return 1 + max((entry.id for entry in self.entries() if entry.id is not None), default=0)


class Board(World):
    """A world in memory, whole and fixed."""

    def __init__(
        self,
        entries: Iterable[Entry],
        *,
        sessions: Sequence[Session] = (),
        dropped: Sequence[Card] = (),
        highest: int = 0,
    ) -> None:
        self._all = tuple(entries)
        self._by_id = {entry.id: entry for entry in self._all if entry.id is not None}
        self._cards = [entry for entry in self._all if isinstance(entry, Card)]
        self._sessions = sessions
        self._dropped = dropped
        self._highest = highest
        self._dependents: dict[int, list[Card]] | None = None

    def get(self, card_id: int) -> Entry | None:
        return self._by_id.get(card_id)

    def entries(self) -> Sequence[Entry]:
        return self._all

    def cards(self) -> Iterator[Card]:
        return iter(self._cards)

    def dependents(self, card_id: int) -> Sequence[Card]:
        if self._dependents is None:
            self._dependents = {}
            for card in self._cards:
                for linked in card.depends_on:
                    self._dependents.setdefault(linked, []).append(card)
        return self._dependents.get(card_id, ())

    def roster(self) -> Sequence[Session]:
        return self._sessions

    def dropped(self) -> Iterable[Card]:
        return self._dropped

    def next_id(self) -> int:
        return max([self._highest, *self._by_id, *(card.id for card in self._dropped)]) + 1
