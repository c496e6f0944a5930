"""Holding a page: the lock that one server has for its life, and the note that it leaves for others.

The lock decides who serves; the note only says where. So two that start in the same moment cannot both serve, and a
note that a dead server left excludes nobody. A standalone server holds its page itself, for an app the broker does.
"""

from __future__ import annotations

import secrets
import time
from datetime import datetime
from typing import Final

from flask_pi_taskbar.board import note
from flask_pi_taskbar.board.holder import Clock, here
from flask_pi_taskbar.board.lock import LifetimeLock
from flask_pi_taskbar.board.model import SEAT_LABEL
from flask_pi_taskbar.board.note import PageNote
from flask_pi_taskbar.board.serving.keys import Keys
from flask_pi_taskbar.board.stamps import stamp
from flask_pi_taskbar.board.store import Store

EPOCH_BYTES: Final = 4
LOOK_SECONDS: Final = 0.25


class HeldPage:
    """The page of one store, held by this process. Let go by `leave`, and by the end of the process."""

    def __init__(self, store: Store, lock: LifetimeLock) -> None:
        self._store = store
        self._lock = lock
        self.epoch = secrets.token_hex(EPOCH_BYTES)
        self.keys = Keys.new()
        self.note: PageNote | None = None

    def announce(self, address: str, port: int, now: datetime, *, remembered: bool = False) -> PageNote:
        """Leave the note. `address` is the page's, without a key; the note gets the viewer's. Raises `Refusal`.

        `remembered`: the next page of this store is to be served on the same port.
        """
        me = here(SEAT_LABEL, stamp(now))
        written = PageNote(
            epoch=self.epoch,
            pid=me.pid,
            host=me.host,
            boot=me.boot,
            start=me.start,
            port=port,
            url=f"{address}#k={self.keys.viewer}",
            started_at=stamp(now),
        )
        store = self._store
        with store.writing(store.seat, now) as hold, store.commit(hold) as commit:
            note.write(commit, store.disk, store.layout, written)
            if remembered:
                commit.hint(store.layout.port, b"%d\n" % port)
        self.note = written
        return written

    def renew(self) -> None:
        """Every few seconds, where a folder is the lock. Raises `Lost`, `OSError`."""
        self._lock.renew()

    def leave(self, now: datetime) -> None:
        """Take the note away, if it is ours still, and let go. Raises `Refusal` if the note had to stay."""
        store = self._store
        try:
            with store.writing(store.seat, now) as hold, store.commit(hold) as commit:
                note.remove(commit, store.disk, store.layout, self.epoch)
        finally:
            self.close()

    def close(self) -> None:
        """Let go and write nothing."""
        self._lock.release()


def take_page(store: Store, now: datetime, *, clock: Clock = time, wait: float = LOOK_SECONDS) -> HeldPage | None:
    """The page, or None where another process holds it. Raises `OSError`."""
    store.layout.prepare(store.disk)
    layout = store.layout
    me = here(SEAT_LABEL, stamp(now))
    lock = LifetimeLock.take(store.disk, layout.page_lock, layout.temporary, me, clock=clock, wait=wait)
    return None if lock is None else HeldPage(store, lock)
