"""One line for every accepted write: what happened on this board, in order.

The store appends under its lock, after the write. It is derived and may be deleted at any time: nothing is decided by
what it says, and a line that cannot be written costs nobody's work. A line that a crash cut short is passed over. Only
its growth is used: by it a running process notices a write that falls into the same tick of the file system's clock as
its own (`Index.unmoved`), which a missing line lets it notice later.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final

import msgspec

from flask_pi_taskbar.board.filesystem import Disk, read_regular, write_all
from flask_pi_taskbar.board.layout import Layout
from flask_pi_taskbar.board.model import Actor, Card
from flask_pi_taskbar.board.stamps import Stamp

MOST_BYTES: Final = 8 << 20
"""From here on the older half is left behind; about 60,000 writes."""

_APPEND: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class Writer(msgspec.Struct, frozen=True):
    """Who wrote."""

    id: str
    label: str


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One accepted write. `status` is the lane that the card was in afterwards."""

    at: Stamp
    by: Writer
    action: str
    card: int | None = None
    rev: int | None = None
    status: str | None = None


def line_of(actor: Actor, at: Stamp, action: str, card: Card | None = None) -> Line:
    by = Writer(actor.id, actor.label)
    if card is None:
        return Line(at=at, by=by, action=action)
    return Line(at=at, by=by, action=action, card=card.id, rev=card.rev, status=card.status.value)


def append(disk: Disk, layout: Layout, line: Line) -> None:
    """Write one line. Raises `OSError`, which the caller may pass over."""
    fd = disk.open(layout.journal, _APPEND)
    try:
        size = disk.fstat(fd).st_size
        torn = size > 0 and disk.read_at(fd, 1, size - 1) != b"\n"
        write_all(disk, fd, (b"\n" if torn else b"") + msgspec.json.encode(line) + b"\n")
    finally:
        disk.close(fd)


def lines(disk: Disk, layout: Layout) -> Iterator[Line]:
    """All that is left, oldest first."""
    try:
        _, data = read_regular(disk, layout.journal, MOST_BYTES * 2)
    except FileNotFoundError:
        return
    for text in (data or b"").split(b"\n"):
        try:
            yield _LINE.decode(text)
        except msgspec.DecodeError:
            continue


def is_long(disk: Disk, layout: Layout) -> bool:
    try:
        return disk.stat(layout.journal).st_size > MOST_BYTES
    except FileNotFoundError:
        return False


def newer_half(disk: Disk, layout: Layout) -> bytes:
    """What is kept of a journal that has grown too long: whole lines."""
    _, data = read_regular(disk, layout.journal, 1 << 40)
    data = data or b""
    return data[data.find(b"\n", len(data) // 2) + 1 :]


_LINE: Final = msgspec.json.Decoder(Line)
