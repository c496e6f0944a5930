"""Finding cards by words: the one rule for the page's filter, `list` and the tool (spec 13).

A query is split at white space; every term must match. `#12` means card 12 and nothing else; any other term matches
inside the title, a path hint or the holder's label, with case and compatibility forms folded away. The page has the
same rule in JavaScript; both are held to the vectors in `tests/board_core/query_vectors.json`.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import normalize

from msgspec import Struct

from flask_pi_taskbar.board.model import Card

_NUMBER: Final = re.compile(r"#([1-9][0-9]*)")


def fold(text: str) -> str:
    """Text as queries compare it."""
    return text.lower() if text.isascii() else normalize("NFKC", text).lower()


class Query(Struct, frozen=True):
    """A query, taken apart once."""

    numbers: frozenset[int] = frozenset()
    terms: tuple[str, ...] = ()

    def matches(self, card: Card) -> bool:
        """Whether every term matches this card."""
        if self.numbers and self.numbers != {card.id}:
            return False
        if not self.terms:
            return True
        places = [fold(card.title), *(fold(path) for path in card.paths)]
        if card.owner is not None:
            places.append(fold(card.owner.label))
        return all(any(term in place for place in places) for term in self.terms)


def compile_query(text: str) -> Query:
    """The query that a text means; the empty one matches all."""
    numbers: set[int] = set()
    terms: list[str] = []
    for term in fold(text).split():
        found = _NUMBER.fullmatch(term)
        if found:
            numbers.add(int(found[1]))
        else:
            terms.append(term)
    return Query(frozenset(numbers), tuple(terms))
