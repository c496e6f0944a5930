"""What keeps a store in order: sweeping what crashes left, and names for damaged files that a person sets aside.

The store sweeps with every write, since whoever holds the lock knows that every temporary file is dead. Nothing here
touches a card; the one thing that moves a file among the cards is `Store.set_aside`, which a person asks for.
"""

from __future__ import annotations

import contextlib
import stat
from datetime import datetime
from typing import Final

from flask_pi_taskbar.board.directory_lock import remove_tomb
from flask_pi_taskbar.board.filesystem import Disk, exists, remove_if_there
from flask_pi_taskbar.board.layout import Layout

TOMB_SECONDS: Final = 600
"""So long may a process believe that a folder lock is dead; and so old must a temporary file be where only a folder is
the lock, since its holder may have been given up without being dead."""


def clear(disk: Disk, layout: Layout, *, by_directory: bool) -> None:
    """Under the lock: remove what earlier writers left in the middle of a write."""
    with contextlib.suppress(OSError):
        for name in disk.names(layout.temporary):
            _clear_one(disk, f"{layout.temporary}/{name}", by_directory=by_directory)
    with contextlib.suppress(OSError):
        for name in disk.names(layout.reserved):
            disk.rmdir(f"{layout.reserved}/{name}")


def _clear_one(disk: Disk, path: str, *, by_directory: bool) -> None:
    try:
        found = disk.stat(path)
    except FileNotFoundError:
        return
    is_tomb = stat.S_ISDIR(found.st_mode)
    if (is_tomb or by_directory) and disk.now_ns() - found.st_mtime_ns < TOMB_SECONDS * 1_000_000_000:
        return
    if is_tomb:
        remove_tomb(disk, path)
    else:
        remove_if_there(disk, path)


def aside_name(disk: Disk, layout: Layout, name: str, now: datetime) -> str:
    """A free name in `damaged/` that still tells the number, so that it is never given again."""
    stem = f"{name.removesuffix('.json')}.{now:%Y%m%dT%H%M%S}"
    candidate, number = f"{stem}.json", 1
    while exists(disk, f"{layout.damaged}/{candidate}"):
        number += 1
        candidate = f"{stem}-{number}.json"
    return candidate
