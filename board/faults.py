"""Disks that fail on purpose, for `torture` and for the tests of the store.

A `WatchedDisk` lets somebody stand between the store and each system call: count it, fail it, end the process at it.
The others lack what some file systems lack. None of this is used by a board in service.
"""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from flask_pi_taskbar.board.filesystem import Disk

Call = Callable[[], Any]
Watcher = Callable[[str, tuple[Any, ...], Call], Any]
"""Given a call's name, its arguments and the call itself; returns what the caller gets."""

STEPS: Final = (
    "open", "close", "read", "read_at", "write", "write_at", "sync", "fstat", "stat", "names", "scan", "link", "rename",
    "rename_new", "unlink", "mkdir", "rmdir", "touch", "flock",
)  # fmt: skip
CHANGES: Final = frozenset(
    {"write", "write_at", "sync", "link", "rename", "rename_new", "unlink", "mkdir", "rmdir", "touch"}
)

CRASHED: Final = 86
"""The exit status of a process that was made to crash."""


class WatchedDisk(Disk):
    """A disk with a watcher at every call."""

    def __init__(self, watcher: Watcher, under: Disk | None = None) -> None:
        self._watcher = watcher
        self._under = under or Disk()


def _watched(name: str) -> Callable[..., Any]:
    def step(self: WatchedDisk, *arguments: Any) -> Any:
        return self._watcher(name, arguments, partial(getattr(self._under, name), *arguments))

    return step


for _name in STEPS:
    setattr(WatchedDisk, _name, _watched(_name))


def unsynced(name: str, arguments: tuple[Any, ...], call: Call) -> Any:  # noqa: ARG001
    """A watcher that spares the wait for the platter: what a killed process leaves does not depend on it."""
    return None if name == "sync" else call()


class Counted:
    """A watcher that remembers every step."""

    def __init__(self) -> None:
        self.steps: list[tuple[str, tuple[Any, ...]]] = []

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Call) -> Any:
        self.steps.append((name, arguments))
        return call()


class FailAt:
    """A watcher that fails one step, or one and all that change something after it."""

    def __init__(self, step: int, number: int, *, lasting: bool = False) -> None:
        self._left = step
        self._number = number
        self._lasting = lasting
        self.hit: str | None = None
        """The name of the step that was failed first; None if there were not so many."""

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Call) -> Any:
        self._left -= 1
        if self._left == -1 or (self._lasting and self._left < 0 and self._changes(name, arguments)):
            self.hit = self.hit or name
            if name == "close":
                call()  # a failed close closes too
            path = next((argument for argument in arguments if isinstance(argument, str)), None)
            raise OSError(self._number, os.strerror(self._number), path)
        return unsynced(name, arguments, call)

    def _changes(self, name: str, arguments: tuple[Any, ...]) -> bool:
        return name in CHANGES or (name == "open" and bool(arguments[1] & os.O_CREAT))


class CrashAt:
    """A watcher that ends the process before one step; a write goes half way first."""

    def __init__(self, step: int) -> None:
        self._left = step

    def __call__(self, name: str, arguments: tuple[Any, ...], call: Call) -> Any:
        self._left -= 1
        if self._left == -1:
            if name == "write":
                os.write(arguments[0], bytes(arguments[1])[: len(arguments[1]) // 2])
            os._exit(CRASHED)
        return unsynced(name, arguments, call)


class NoLinks(Disk):
    """exFAT, SMB, many FUSE file systems."""

    def __init__(self, number: int = errno.EPERM) -> None:
        self._number = number

    def link(self, source: str, target: str) -> None:
        raise OSError(self._number, os.strerror(self._number), source, None, target)


class NoExclusiveRename(NoLinks):
    """A file system that has neither links nor a rename that does not replace."""

    def rename_new(self, source: str, target: str) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), source, None, target)


class NoFlock(Disk):
    """NFS without a lock service."""

    def flock(self, fd: int, operation: int) -> None:  # noqa: ARG002
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))


class FlockForNothing(Disk):
    """A file system that grants every lock to everybody."""

    def flock(self, fd: int, operation: int) -> None:
        """Granted."""


class LocalLocks(Disk):
    """A file system whose locks each process has to itself: what a race must be able to tell from a good one."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}

    def flock(self, fd: int, operation: int) -> None:
        inode = os.fstat(fd).st_ino
        if operation & fcntl.LOCK_UN:
            self._held.pop(inode, None)
        elif self._held.setdefault(inode, fd) != fd:
            raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK))


LEVELS: Final[dict[str, Callable[[], Disk]]] = {
    "0": Disk,
    "1": NoLinks,
    "1 reserved": NoExclusiveRename,
    "2": NoFlock,
    "broken": LocalLocks,
}
"""A disk of each level, for races on all of them, and one on which every race must be lost."""
