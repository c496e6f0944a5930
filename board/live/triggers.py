"""What tells that something on the board may have moved: the times of a few folders, and, where there are any, events.

A write of a card, a record or a letter makes or removes a name, so the folder's own time moves: one `stat` a folder,
some microseconds. Events of the operating system (watchdog) only make the next look come sooner; where they are not
delivered, as on network file systems, the look each fifth of a second finds it. Nothing here reads a card.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from typing import Any, Final

from flask_pi_taskbar.board.layout import Layout

TICK_NS: Final = 20_000_000
"""Two changes within a tick of the kernel's clock can leave the same time on a folder."""

Times = tuple[tuple[str, int], ...]


class Folders:
    """The times of the folders that a board is made of."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._cards = -1
        self._around: Times = ()
        self._again = False

    def look(self, now_ns: int) -> tuple[bool, bool]:
        """Whether the cards, and whether records or letters, may have moved since the last look."""
        cards, around = _time(self._layout.cards), self._times_around()
        cards_moved = self._again or cards != self._cards
        around_moved = around != self._around
        newest = max((cards, *(time for _, time in around)), default=0)
        self._again = abs(now_ns - newest) < TICK_NS
        self._cards, self._around = cards, around
        return cards_moved, around_moved

    def _times_around(self) -> Times:
        layout = self._layout
        times = [("", _time(layout.sessions))]
        with contextlib.suppress(OSError):
            times += [(name, _time(f"{layout.inbox}/{name}")) for name in sorted(os.listdir(layout.inbox))]  # noqa: PTH208
        return tuple(times)


class Events:
    """Events of the operating system, if there are any to be had; each sets `moved`."""

    def __init__(self, layout: Layout, moved: threading.Event) -> None:
        self._layout = layout
        self._moved = moved
        self._observer: Any = None
        self._watched: set[str] = set()

    def start(self) -> None:
        """Begin to listen, also to folders that came since. Does nothing where there are no events.

        Each folder is tried once: where the user's limit of watches is reached, asking again will not help.
        """
        folders = (self._layout.cards, self._layout.sessions, self._layout.inbox)
        fresh = [name for name in folders if name not in self._watched and os.path.isdir(name)]  # noqa: PTH112
        if not fresh or _is_green():
            return  # reading events would block every greenlet of the process
        self._watched.update(fresh)
        try:
            from watchdog.events import FileSystemEventHandler
            from watchdog.observers import Observer
        except ImportError:
            return
        moved = self._moved

        class Handler(FileSystemEventHandler):
            def on_any_event(self, event: object) -> None:
                # Opening and reading are events too, and ours as often as not.
                if getattr(event, "event_type", "") not in ("opened", "closed", "closed_no_write"):
                    moved.set()

        if self._observer is None:
            self._observer = Observer()
            self._observer.daemon = True
            self._observer.start()
        for folder in fresh:
            with contextlib.suppress(OSError):
                self._observer.schedule(Handler(), folder, recursive=folder == self._layout.inbox)

    def stop(self) -> None:
        """Stop listening, and wait for the thread that did."""
        observer, self._observer = self._observer, None
        self._watched.clear()
        if observer is not None:
            observer.stop()
            observer.join()


def _time(folder: str) -> int:
    try:
        return os.stat(folder).st_mtime_ns  # noqa: PTH116 - some thousand times a minute
    except OSError:
        return -1


def _is_green() -> bool:
    """Threads here are greenlets."""
    monkey = sys.modules.get("gevent.monkey")
    return monkey is not None and bool(monkey.is_module_patched("threading"))
