"""Text for a terminal: how wide it is, whether it has colours, and what may be written to it.

`people` and the commands draw with it. Card text is somebody's words: whatever comes from a file goes through `line` or
`block`, which leave nothing in it that could move a cursor, change a colour or hide a letter.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Any, Final
from unicodedata import category, east_asian_width

from msgspec import Struct

from flask_pi_taskbar.board.text import one_line, settled

MIN_WIDTH: Final = 20
MAX_WIDTH: Final = 10_000
_EMOJI_STYLE: Final = "\ufe0f"
_INVISIBLE: Final = frozenset({"Mn", "Me", "Cf"})
_SGR: Final = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "cyan": "36",
}


class Screen(Struct, frozen=True):
    """What the text is drawn on. `terminal` false means a pipe or a file: no colours, and bounded by other rules."""

    width: int
    terminal: bool
    colours: bool

    def styled(self, text: str, *styles: str) -> str:
        """The text in these styles, where the screen has colours."""
        if not self.colours or not text.strip() or not styles:
            return text
        return f"\x1b[{';'.join(_SGR[style] for style in styles)}m{text}\x1b[0m"

    def dim(self, text: str) -> str:
        return self.styled(text, "dim")


PLAIN: Final = Screen(80, False, False)


def screen_of(stream: IO[Any], environ: Mapping[str, str] | None = None) -> Screen:
    """What `stream` is. NO_COLOR (no-color.org) and a dumb terminal are respected."""
    environ = os.environ if environ is None else environ
    try:
        terminal = stream.isatty()
    except ValueError:  # closed
        terminal = False
    colours = terminal and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"
    width = _width(stream, environ) if terminal else PLAIN.width
    return Screen(max(MIN_WIDTH, width), terminal, colours)


def _width(stream: IO[Any], environ: Mapping[str, str]) -> int:
    """What COLUMNS says, else what the terminal itself does."""
    told = environ.get("COLUMNS", "")
    if told.isascii() and told.isdecimal() and 0 < int(told) < MAX_WIDTH:
        return int(told)
    try:
        return os.get_terminal_size(stream.fileno()).columns or PLAIN.width
    except (OSError, ValueError):
        return PLAIN.width


def line(text: str) -> str:
    """Somebody's words on one line, harmless."""
    return speakable(one_line(text))


def block(text: str) -> list[str]:
    """Somebody's words as lines, harmless; a tab is four spaces."""
    return speakable(settled(text)).expandtabs(4).splitlines()


def speakable(text: str) -> str:
    """Text without halves of characters, which file names may hold and no terminal takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def columns(text: str) -> int:
    """How many columns a terminal gives to the text. Where terminals differ (joined emoji), the most that any gives."""
    if text.isascii():
        return len(text)
    total = last = 0
    for letter in text:
        if letter == _EMOJI_STYLE:
            total, last = total + (last == 1), 2
        elif category(letter) not in _INVISIBLE:
            last = 2 if east_asian_width(letter) in "WF" else 1
            total += last
    return total


def cut(text: str, width: int) -> str:
    """The text in at most `width` columns, with an ellipsis where it was cut."""
    if columns(text) <= width:
        return text
    kept = ""
    for letter in text:
        if columns(kept + letter) > width - 1:
            break
        kept += letter
    return f"{kept.rstrip()}…" if width > 0 else ""


def padded(text: str, width: int) -> str:
    """The text in exactly `width` columns."""
    text = cut(text, width)
    return text + " " * (width - columns(text))


def wrapped(text: str, width: int) -> list[str]:
    """Lines of at most `width` columns, broken between words where that can be."""
    found: list[str] = []
    for row in block(text):
        current = ""
        for word in row.split(" "):
            joined = f"{current} {word}" if current else word
            if columns(joined) <= width:
                current = joined
                continue
            if current:
                found.append(current)
            *whole, current = _pieces(word, width)
            found += whole
        found.append(current)
    return found


def _pieces(word: str, width: int) -> list[str]:
    pieces = []
    while columns(word) > width:
        head = cut(word, width + 1)[:-1] or word[0]
        pieces.append(head)
        word = word[len(head) :]
    return [*pieces, word]
