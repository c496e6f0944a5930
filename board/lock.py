"""The locks of a store: one for every write, and one for each session's or page's life.

The store opens `StoreLock` around each write. A `flock` does it wherever the file system has one: the kernel gives it
back when its holder dies. Where it answers that it has none, a folder is the lock. Both kinds see each other, so that a
process for which `flock` failed once never writes beside one for which it works. Nothing here ever goes on unlocked.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from typing import Final

import msgspec

from flask_pi_taskbar.board.directory_lock import DirectoryLock
from flask_pi_taskbar.board.filesystem import EXISTING_FILE, LOCK_REFUSED, Disk
from flask_pi_taskbar.board.holder import Clock, Hold, Holder, here, polls, read_holder

WAIT_SECONDS: Final = 5.0
"""Longer than any burst of writes, shorter than a person's patience."""

LOOK_SECONDS: Final = 0.1
"""How long a lifetime lock is tried for, because a mere look at it holds it for a moment."""

_LINE_LENGTH: Final = 500
_OPEN_LOCK: Final = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Held(Exception):  # noqa: N818 - it says what happened
    """Somebody else holds the lock, and did so for as long as we waited. `holder` is who says so, if anybody."""

    def __init__(self, holder: Holder | None) -> None:
        super().__init__(holder)
        self.holder = holder


class StoreLock:
    """The lock that every write holds: `lock`, or `lock.d` where there is no `flock`."""

    def __init__(self, disk: Disk, path: str, tombs: str, *, clock: Clock = time, wait: float = WAIT_SECONDS) -> None:
        self._disk = disk
        self._path = path
        self._directory = DirectoryLock(disk, f"{path}.d", tombs, clock)
        self._clock = clock
        self._wait = wait
        self._excludes: bool | None = None

    @contextlib.contextmanager
    def held(self, label: str, since: str) -> Iterator[Hold]:
        """Hold the lock, waiting for it. Raises `Held`, and `OSError` where no lock can be had at all."""
        me = here(label, since)
        for _ in polls(self._clock, self._wait):
            hold = self._try(me)
            if hold is not None:
                break
        else:
            raise Held(self.holder())
        try:
            yield hold
        finally:
            hold.release()

    def holder(self) -> Holder | None:
        """Who holds the lock now, as far as it says. Takes nothing and changes nothing."""
        return self._directory.holder() or read_holder(self._disk, self._path)

    def _try(self, me: Holder) -> Hold | None:
        if self._excludes is not False:
            try:
                return self._try_flock(me)
            except OSError as error:
                if error.errno not in LOCK_REFUSED:
                    raise
        return self._try_directory(me)

    def _try_flock(self, me: Holder) -> Hold | None:
        fd = _flocked(self._disk, self._path, _OPEN_LOCK, fcntl.LOCK_EX)
        if fd is None:
            return None
        hold = _NamedHold(self._disk, fd)
        try:
            if not _is_at(self._disk, fd, self._path):
                hold.release()  # the store was removed under us and made anew
                return None
            self._try_whether_it_excludes()
            self._disk.write_at(fd, _line(me), 0)
            # First our line, then a look for theirs; the other kind does the same the other way round.
            if not self._directory.is_free():
                hold.release()
                return None
        except BaseException:
            hold.release()
            raise
        return hold

    def _try_directory(self, me: Holder) -> Hold | None:
        hold = self._directory.take(me)
        if hold is not None:
            try:
                other = read_holder(self._disk, self._path)
                if other is not None and not self._directory.is_dead(other, self._path):
                    hold.release()
                    return None
            except BaseException:
                hold.release()
                raise
        return hold

    def _try_whether_it_excludes(self) -> None:
        """Once a process: a second lock beside the one that we hold must be refused. Raises ENOLCK if it is not."""
        if self._excludes is None:
            fd = _flocked(self._disk, self._path, os.O_RDWR | os.O_CLOEXEC, fcntl.LOCK_EX)
            self._excludes = fd is None
            if fd is not None:
                self._disk.close(fd)
                raise OSError(errno.ENOLCK, "flock excludes nobody here")


class LifetimeLock:
    """A lock that a session or a page holds while it lives, so that others can tell for certain that it does."""

    def __init__(self, hold: Hold) -> None:
        self._hold = hold

    @classmethod
    def take(
        cls, disk: Disk, path: str, tombs: str, me: Holder, *, clock: Clock = time, wait: float = LOOK_SECONDS
    ) -> LifetimeLock | None:
        """The lock, or None where another process has it. Raises `OSError`."""
        # More than one try: somebody who looks whether the lock is held holds it, shared, for that moment.
        for _ in polls(clock, wait):
            try:
                fd = _flocked(disk, path, _OPEN_LOCK, fcntl.LOCK_EX)
                hold: Hold | None = None if fd is None else _FlockHold(disk, fd)
            except OSError as error:
                if error.errno not in LOCK_REFUSED:
                    raise
                hold = DirectoryLock(disk, f"{path}.d", tombs, clock).take(me)
            if hold is not None:
                return cls(hold)
        return None

    def renew(self) -> None:
        """Needed every few seconds where a folder is the lock. Raises `Lost`, `OSError`."""
        self._hold.check()

    def release(self) -> None:
        self._hold.release()


def is_held(disk: Disk, path: str) -> bool:
    """Whether some process holds the lifetime lock `path`. Creates and changes nothing."""
    try:
        fd = _flocked(disk, path, EXISTING_FILE, fcntl.LOCK_SH)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in LOCK_REFUSED:
            raise
    else:
        if fd is None:
            return True
        disk.flock(fd, fcntl.LOCK_UN)
        disk.close(fd)
    owner = DirectoryLock(disk, f"{path}.d", "").holder()
    return owner is not None and not owner.is_gone


class _FlockHold:
    by_directory = False

    def __init__(self, disk: Disk, fd: int) -> None:
        self._disk = disk
        self._fd = fd

    def check(self) -> None:
        """The kernel keeps it for us."""

    def release(self) -> None:
        # Unlocked by name, not only closed: a child forked meanwhile has the descriptor too.
        with contextlib.suppress(OSError):
            self._disk.flock(self._fd, fcntl.LOCK_UN)
        with contextlib.suppress(OSError):
            self._disk.close(self._fd)


class _NamedHold(_FlockHold):
    """A lock whose file says who holds it."""

    def release(self) -> None:
        with contextlib.suppress(OSError):
            self._disk.write_at(self._fd, _line(None), 0)
        super().release()


def _line(holder: Holder | None) -> bytes:
    """The lock file's content, always of one length: cutting it short would make some file systems write it out."""
    text = b"" if holder is None else msgspec.json.encode(msgspec.structs.replace(holder, nonce=""))
    return text[:_LINE_LENGTH].ljust(_LINE_LENGTH) + b"\n"


def _flocked(disk: Disk, path: str, flags: int, operation: int) -> int | None:
    """A descriptor of the file with the lock on it; None where somebody else has the lock."""
    fd = disk.open(path, flags)
    for last in (False, True):
        try:
            disk.flock(fd, operation | fcntl.LOCK_NB)
        except BlockingIOError:
            disk.close(fd)
            return None
        except OSError as error:
            disk.close(fd)
            if last or error.errno != errno.ESTALE:
                raise
            fd = disk.open(path, flags)  # the server forgot the file that the descriptor meant
        except BaseException:
            disk.close(fd)
            raise
        else:
            return fd
    raise AssertionError("unreachable")


def _is_at(disk: Disk, fd: int, path: str) -> bool:
    held = disk.fstat(fd)
    try:
        found = disk.stat(path)
    except FileNotFoundError:
        return False
    return (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino)
