"""Finding the page that is served already, and whether to believe its note.

A note is believed only if some process holds the page's lock and the address in the note answers with the note's epoch.
Anything else is named for what it is, so that whoever asks can say it in words. Nothing here changes anything.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

import msgspec

from flask_pi_taskbar.board import note
from flask_pi_taskbar.board.holder import Clock
from flask_pi_taskbar.board.lock import is_held
from flask_pi_taskbar.board.note import PageNote, Unreadable
from flask_pi_taskbar.board.store import Store

PING_SECONDS: Final = 1.0
TRIES: Final = 3
PAUSE_SECONDS: Final = 0.1
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")
_ANSWER_BYTES: Final = 4096


class Serving(msgspec.Struct, frozen=True):
    """A page that was seen answering."""

    note: PageNote


class Silent(msgspec.Struct, frozen=True):
    """Some process holds the page, and nothing answers. No second server may start."""

    note: PageNote | None

    @property
    def text(self) -> str:
        """What to tell people."""
        if self.note is None:
            return "Another process holds the page and has not said where it serves it."
        return (
            f"Process {self.note.pid} holds the page and does not answer at {address_of(self.note)}. "
            "Wait for it, or end that process."
        )


class Dead(msgspec.Struct, frozen=True):
    """Nobody holds the page; the note is what a server left that did not end in order."""

    note: PageNote

    @property
    def text(self) -> str:
        """What to tell people once the page is taken over."""
        return f"The page that process {self.note.pid} served at {address_of(self.note)} was dead; it is taken over."


Found = Serving | Silent | Dead | Unreadable | None


def find(store: Store, *, clock: Clock = time, ping: Callable[[PageNote], bool] | None = None) -> Found:
    """What is known of the page of `store`; None where nobody serves one and nobody left a note. Raises `OSError`."""
    answers = ping or ping_page
    found: PageNote | Unreadable | None = None
    for attempt in range(TRIES):
        if attempt:
            clock.sleep(PAUSE_SECONDS)
        held = is_held(store.disk, store.layout.page_lock)
        found = note.read(store.disk, store.layout)
        if not held:
            return Dead(found) if isinstance(found, PageNote) else found
        # Held, but no note yet: it is about to be written.
        if isinstance(found, PageNote) and answers(found):
            return Serving(found)
    return Silent(found if isinstance(found, PageNote) else None)


def address_of(found: PageNote) -> str:
    """Where the page is served, without a key."""
    return found.url.partition("#")[0]


def ping_page(found: PageNote) -> bool:
    """Whether the address in the note answers with the note's epoch."""
    return asked(found) is not None


def asked(found: PageNote) -> dict[str, object] | None:
    """What the page of a note says of itself; None if it does not answer, or is another one's.

    Asks no address but this machine's.
    """
    try:
        parts = urlsplit(address_of(found))
        name, port = parts.hostname, parts.port
    except ValueError:  # no address at all
        return None
    if parts.scheme != "http" or name not in _LOCAL or not port:
        return None
    host = "127.0.0.1" if name == "localhost" else name
    connection = http.client.HTTPConnection(host, port, timeout=PING_SECONDS)
    try:
        path = f"{parts.path.rstrip('/')}/api/ping?epoch={found.epoch}"
        connection.request("GET", path, headers={"Host": parts.netloc, "Connection": "close"})
        answer = connection.getresponse()
        said = msgspec.json.decode(answer.read(_ANSWER_BYTES))
        ours = answer.status == http.client.OK and isinstance(said, dict) and said.get("epoch") == found.epoch
        return said if ours else None
    except (OSError, http.client.HTTPException, msgspec.DecodeError, ValueError):
        return None
    finally:
        connection.close()
