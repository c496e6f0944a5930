"""The page's note, `page.json`: how a second session finds the page that is served already.

Whoever serves the page writes it, whoever looks for one reads it. This is its format only: that a note is to be
believed (its lock is held, its port answers with its epoch) is for the page to find out. It never carries the lead's
token.
"""

from __future__ import annotations

from typing import Final

import msgspec

from flask_pi_taskbar.board.commit import Commit
from flask_pi_taskbar.board.filesystem import Disk, read_regular
from flask_pi_taskbar.board.holder import Holder
from flask_pi_taskbar.board.layout import Layout
from flask_pi_taskbar.board.model import SEAT_LABEL
from flask_pi_taskbar.board.stamps import Stamp

_NOTE_BYTES: Final = 16 * 1024


class PageNote(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Who serves the page and where. `url` carries the viewer's key in its fragment."""

    v: int = 1
    epoch: str
    pid: int
    host: str
    boot: str
    start: str
    port: int
    seat: str = SEAT_LABEL
    url: str
    started_at: Stamp

    @property
    def process(self) -> Holder:
        """The process that wrote it."""
        return Holder(pid=self.pid, label=self.seat, host=self.host, boot=self.boot, start=self.start)


class Unreadable(msgspec.Struct, frozen=True):
    """A note that says nothing; named with its path, and replaced by the next page once its lock is free."""

    path: str
    why: str


def read(disk: Disk, layout: Layout) -> PageNote | Unreadable | None:
    """The note; None where nobody left one."""
    try:
        _, data = read_regular(disk, layout.page_note, _NOTE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        return Unreadable(layout.page_note, error.strerror or str(error))
    if data is None:
        return Unreadable(layout.page_note, "it is not a regular file of reasonable size")
    try:
        return _NOTE.decode(data)
    except msgspec.DecodeError as error:
        return Unreadable(layout.page_note, str(error))


def write(commit: Commit, disk: Disk, layout: Layout, note: PageNote) -> None:
    """Leave a note, as a part of `commit`."""
    try:
        _, before = read_regular(disk, layout.page_note, _NOTE_BYTES)
    except OSError:
        before = None
    commit.replace(layout.page_note, msgspec.json.format(msgspec.json.encode(note), indent=1) + b"\n", before)


def remove(commit: Commit, disk: Disk, layout: Layout, epoch: str) -> None:
    """Take the note away, if it is the one of this epoch."""
    found = read(disk, layout)
    if isinstance(found, PageNote) and found.epoch == epoch:
        commit.remove(layout.page_note, msgspec.json.encode(found))


_NOTE: Final = msgspec.json.Decoder(PageNote)
