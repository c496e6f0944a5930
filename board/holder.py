"""Who holds a lock, and how one waits for it.

Both kinds of lock (`lock`, `directory_lock`) write a `Holder` beside what they hold, read each other's, and wait by the
same polls.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from typing import Final, Protocol

import msgspec

from flask_pi_taskbar import osdep
from flask_pi_taskbar.board.filesystem import Disk, read_regular

FIRST_POLL_SECONDS: Final = 0.001
LAST_POLL_SECONDS: Final = 0.05

_LINE_BYTES: Final = 1024


class Holder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Who holds a lock, as the lock file's line (or the folder's `owner.json`) says."""

    pid: int = 0
    label: str = ""
    since: str = ""
    host: str = ""
    boot: str = ""
    start: str = ""
    nonce: str = ""

    @property
    def is_here(self) -> bool:
        """Its process ran where we can look: same host, same boot, same table of processes."""
        return (self.host, self.boot) == (_host(), _boot())

    @property
    def is_gone(self) -> bool:
        """For certain: it was here, and no such process runs any more."""
        return self.is_here and osdep.start_of(self.pid) != self.start


class Lost(Exception):  # noqa: N818 - it says what happened
    """Our folder lock was given up as dead while we held it; nothing may be written any more."""


class Clock(Protocol):
    """Time as somebody who waits uses it; tests put their own here."""

    def monotonic(self) -> float: ...

    def sleep(self, seconds: float, /) -> None: ...


class Hold(Protocol):
    """A lock that is held."""

    by_directory: bool

    def check(self) -> None:
        """Still ours, and seen to be alive; asked before each step that others can see. Raises `Lost`."""

    def release(self) -> None:
        """Let go. Never raises: whoever comes next finds out what is left."""


def here(label: str, since: str) -> Holder:
    """This process as the holder of a lock."""
    pid = os.getpid()
    return Holder(
        pid=pid, label=label, since=since, host=_host(), boot=_boot(), start=_start(pid), nonce=os.urandom(8).hex()
    )


def polls(clock: Clock, seconds: float) -> Iterator[None]:
    """The moments at which to try again: at once, then after growing, jittered pauses until the time is over."""
    deadline = clock.monotonic() + seconds
    pause = FIRST_POLL_SECONDS
    while True:
        yield
        left = deadline - clock.monotonic()
        if left <= 0:
            return

        jitter = 0.5 + os.urandom(1)[0] / 510  # so that those who wait do not come back together
        clock.sleep(min(left, pause * jitter))
        pause = min(pause * 1.5, LAST_POLL_SECONDS)


def read_holder(disk: Disk, path: str) -> Holder | None:
    try:
        _, data = read_regular(disk, path, _LINE_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        return _HOLDER.decode(data) if data and not data.isspace() else None
    except msgspec.DecodeError:
        return Holder()


@functools.cache
def _start(pid: int) -> str:
    return osdep.start_of(pid) or ""


@functools.cache
def _host() -> str:
    return os.uname().nodename


@functools.cache
def _boot() -> str:
    """This run of this kernel and, in a container, this table of processes: the same number may mean another there."""
    boot = _start(os.getpid()).partition(":")[0]
    try:
        return f"{boot}.{os.readlink('/proc/self/ns/pid')}"  # noqa: PTH115
    except OSError:
        return boot


_HOLDER: Final = msgspec.json.Decoder(Holder)
