"""What a person sees while a command takes its time: a line that says what it waits for, and goes away at the end.

The line is on stderr and only where that is a terminal, so that it is never in anybody's data.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Final

from flask_pi_taskbar.board.stamps import span
from flask_pi_taskbar.board.text import bad
from flask_pi_taskbar.commands.actor import Desk
from flask_pi_taskbar.commands.answers import Answer, waited
from flask_pi_taskbar.commands.rendering import cut, screen_of

MAX_SECONDS: Final = 7 * 24 * 3600
_REDRAW_SECONDS: Final = 0.5
_CLEAR: Final = "\r\x1b[2K"


class Progress:
    """One line that is drawn over and over."""

    def __init__(self) -> None:
        self._screen = screen_of(sys.stderr)
        self._shown = False

    def show(self, text: str) -> None:
        if self._screen.terminal:
            sys.stderr.write(f"{_CLEAR}{self._screen.dim(cut(text, self._screen.width - 1))}")
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()
            self._shown = False


@contextlib.contextmanager
def progress() -> Iterator[Progress]:
    """A line that is gone afterwards, also after Ctrl-C."""
    shown = Progress()
    try:
        yield shown
    finally:
        shown.clear()


class _Clock:
    """The clock that `wait` sleeps by; the line is drawn while it sleeps."""

    def __init__(self, shown: Progress, text: str) -> None:
        self._shown = shown
        self._text = text
        self._started = self._drawn = time.monotonic()

    def monotonic(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float, /) -> None:
        now = time.monotonic()
        if now - self._drawn >= _REDRAW_SECONDS:
            self._drawn = now
            self._shown.show(f"{self._text}, for {span(now - self._started)} now; Ctrl-C ends it")
        time.sleep(seconds)


def waiting(desk: Desk, fields: dict[str, object]) -> Answer:
    """`wait`, with its line."""
    seconds = seconds_of(fields.pop("seconds", None))
    with progress() as shown:
        desk.store.clock = _Clock(shown, f"waiting for #{fields.get('card')} until {fields.get('until', 'done')}")
        return waited(desk, fields, seconds=seconds)


def seconds_of(typed: object, name: str = "--timeout") -> float | None:
    """A number of seconds as it was typed. Raises `Refusal`."""
    if typed is None:
        return None
    try:
        seconds = float(str(typed))
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MAX_SECONDS:
        raise bad(name, f"{name} is a number of seconds, from 0 to a week's.")
    return seconds
