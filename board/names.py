"""Which file names among the cards mean what.

The store sorts a folder's listing with it before opening anything. Only one spelling of a number is a card; a foreign
spelling (a copy that a file manager or a sync tool made) claims no number, yet keeps it from being given again.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Final, NamedTuple

from flask_pi_taskbar.board.model import MAX_ID

_CARD: Final = re.compile(r"([1-9][0-9]{0,9})\.json")
_FOREIGN: Final = re.compile(r"0*([1-9][0-9]{0,9})(?:\.json|[ _.-].*\.json)", re.IGNORECASE | re.DOTALL)


class Kind(Enum):
    """What a file among the cards is, by its name alone."""

    CARD = "card"
    COPY = "copy"
    """Shown as damaged: it looks like a card's file and is none."""
    OTHER = "other"
    """Counted and otherwise ignored: editors' swap files, notes."""


class Named(NamedTuple):
    """A name's kind, and the number in it (0 for other files)."""

    kind: Kind
    number: int


def classify(name: str) -> Named:
    """What a file name among the cards means."""
    if found := _CARD.fullmatch(name):
        number = int(found[1])
        return Named(Kind.CARD, number) if number <= MAX_ID else Named(Kind.OTHER, 0)
    if found := _FOREIGN.fullmatch(name):
        number = int(found[1])
        return Named(Kind.COPY, number) if number <= MAX_ID else Named(Kind.OTHER, 0)
    return Named(Kind.OTHER, 0)
