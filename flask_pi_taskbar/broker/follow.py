"""The feed of snapshots as a worker reads it: an iterator that waits."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, Self

import msgspec

from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.connection import Broken, Connection
from flask_pi_taskbar.broker.unavailable import Unavailable

OPEN_SECONDS: Final = 5.0


class Frame(msgspec.Struct, frozen=True):
    """A state of the feed: the snapshot as compact JSON, and the revision that names it."""

    revision: int
    snapshot: bytes


class Follow:
    """A feed on a connection of its own: `with client.follow(None, 15) as frames: for frame in frames: …`.

    Gives the newest state whenever there is a newer one than the last (never a backlog), and None when `heartbeat`
    seconds have passed without one. Raises `Unavailable` when the broker is gone. `close` may be called from another
    thread.
    """

    def __init__(self, reach: Callable[[float], Connection], after: int | None, heartbeat: float) -> None:
        self._reach = reach
        self._after = after
        self._heartbeat = heartbeat
        self._connection: Connection | None = None
        self._closed = False

    def __enter__(self) -> Self:
        deadline = time.monotonic() + OPEN_SECONDS
        connection = self._reach(deadline)
        try:
            connection.send(wire.Follow(after=self._after), deadline)
        except (Broken, TimeoutError) as error:
            connection.close()
            raise Unavailable(f"the feed could not be opened: {error}") from error
        self._connection = connection
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        if self._connection is not None:
            self._connection.close()

    def __iter__(self) -> Iterator[Frame | None]:
        return self

    def __next__(self) -> Frame | None:
        if self._closed or self._connection is None:
            raise StopIteration
        try:
            message = self._connection.receive(time.monotonic() + self._heartbeat)
        except TimeoutError:
            return None
        except Broken as error:
            if self._closed:
                raise StopIteration from None
            raise Unavailable(f"the feed has ended: {error}") from error
        if not isinstance(message, wire.Update):
            raise Unavailable("the broker sent something else on the feed")
        return Frame(message.revision, message.snapshot)

    def close(self) -> None:
        """End it now. Calling it again does nothing."""
        self._closed = True
        if self._connection is not None:
            self._connection.interrupt()
