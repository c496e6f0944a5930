"""Reading one card's file without believing anything about it.

The index and every decision read through here. A file that is no card, whatever it is (a link, a pipe, half a file, a
folder), becomes a `Damaged` entry that says why; it is never changed, and it never stops or hangs a reader.
"""

from __future__ import annotations

import errno
import os
import stat
from datetime import UTC, datetime
from typing import Final, NamedTuple

from msgspec.structs import replace

from flask_pi_taskbar.board import card as cards
from flask_pi_taskbar.board.filesystem import Disk, Signature, read_regular, signature
from flask_pi_taskbar.board.holder import Clock
from flask_pi_taskbar.board.model import MAX_FILE_BYTES, Damaged, Entry
from flask_pi_taskbar.board.names import Kind, Named
from flask_pi_taskbar.board.repair import damaged
from flask_pi_taskbar.board.stamps import EPOCH, Stamp, stamp

AGAIN: Final = 3
"""How often a file that changes while we read it is read again before it is called damaged."""
AGAIN_SECONDS: Final = 0.02
FRESH_NS: Final = 20_000_000
"""A file changed this short a time ago may be in the middle of being written in place."""

_UNREADABLE: Final = {
    errno.EACCES: "it may not be read: permission denied",
    errno.EPERM: "it may not be read: not permitted",
    errno.ELOOP: "it is a symbolic link",
    errno.ENXIO: "it is not a regular file",
    errno.EIO: "it cannot be read: input/output error",
    errno.ENODEV: "it is not a regular file",
}


class Seen(NamedTuple):
    """A file as it was read: what it is told by, what it means, and its bytes."""

    signature: Signature
    entry: Entry
    data: bytes


def look(disk: Disk, clock: Clock, path: str, named: Named) -> Seen | None:
    """The file at `path`, whose name means `named`; None when it is not there. Raises `OSError` when *we* cannot
    read."""
    for again in range(AGAIN + 1):
        try:
            seen = _read(disk, path, named)
            if not isinstance(seen.entry, Damaged) or named.kind is not Kind.CARD or again == AGAIN:
                return seen
            moving = _is_moving(disk, path, seen.signature)
        except FileNotFoundError:
            return None
        if not moving:
            return seen
        clock.sleep(AGAIN_SECONDS)
    raise AssertionError("unreachable")


def _read(disk: Disk, path: str, named: Named) -> Seen:
    number = named.number
    try:
        found, data = read_regular(disk, path, MAX_FILE_BYTES)
    except OSError as error:
        if error.errno == errno.ESTALE:
            found, data = read_regular(disk, path, MAX_FILE_BYTES)
        elif error.errno in _UNREADABLE:
            return _damaged(path, named, _UNREADABLE[error.errno], disk.stat(path))
        else:
            raise
    if named.kind is Kind.COPY:
        return _damaged(
            path, named, f"its name is a copy's; card #{number} is the file {number}.json", found, data or b""
        )
    if data is None:
        too_large = stat.S_ISREG(found.st_mode)
        why = f"it is larger than {MAX_FILE_BYTES // 1024} KiB" if too_large else "it is not a regular file"
        return _damaged(path, named, why, found)
    entry = cards.parse(data, number)
    if isinstance(entry, Damaged) or EPOCH in (entry.created_at, entry.touched_at):
        entry = cards.parse(data, number, _stamp(found))
        if isinstance(entry, Damaged):
            entry = replace(entry, mtime=_stamp(found))
    return Seen(signature(found), entry, data)


def shown_name(name: str) -> str:
    """A file's name as text, whatever bytes it is made of: what is no UTF-8 stands as its numbers."""
    return name.encode("utf-8", "backslashreplace").decode()


def _is_moving(disk: Disk, path: str, before: Signature) -> bool:
    found = disk.stat(path)
    return signature(found) != before or 0 <= disk.now_ns() - found.st_mtime_ns < FRESH_NS


def _damaged(path: str, named: Named, why: str, found: os.stat_result, data: bytes = b"") -> Seen:
    number = named.number if named.kind is Kind.CARD else None
    entry = damaged(data, number, why, name=shown_name(path.rpartition("/")[2]))
    return Seen(signature(found), replace(entry, size=found.st_size, mtime=_stamp(found)), data)


def _stamp(found: os.stat_result) -> Stamp:
    return stamp(datetime.fromtimestamp(found.st_mtime, UTC))
