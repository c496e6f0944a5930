"""One write's files, changed as one: all of them, or none.

The store and the bus make every change of the disk through a `Commit`, under the lock. Each step is made so that a
reader (and whoever comes after a crash) finds the whole old file or the whole new one; a step that fails takes back
those before it. What a crash leaves is at most a file in `tmp/`, which the next writer sweeps.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType

from flask_pi_taskbar.board.filesystem import (
    Creation,
    Disk,
    create_exclusively,
    remove_if_there,
    sync_folder,
    write_new,
)
from flask_pi_taskbar.board.holder import Hold
from flask_pi_taskbar.board.layout import Layout


class Uncertain(OSError):  # noqa: N818 - it says what happened
    """A step failed and an earlier one could not be taken back: the disk holds part of the write."""


class Commit:
    """The changes of one write. As a context manager: durable when it ends, undone when it is left by an exception."""

    def __init__(self, disk: Disk, layout: Layout, creation: Creation, hold: Hold) -> None:
        self._disk = disk
        self._layout = layout
        self._creation = creation
        self._hold = hold
        self._back: list[Callable[[], None]] = []
        self._folders: dict[str, None] = {}

    def __enter__(self) -> Commit:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            try:
                self.settle()
            except BaseException as failure:
                self._undo(failure)
                raise
        else:
            self._undo(error)

    def create(self, path: str, data: bytes) -> None:
        """A new file under a name that nobody has. Raises `FileExistsError`, and then nothing was done."""
        temp = self._write(data)
        try:
            self._hold.check()
            reservation = f"{self._layout.reserved}/{path[len(self._layout.root) + 1 :].replace('/', '.')}"
            self._creation = create_exclusively(self._disk, self._creation, temp, path, reservation)
        except BaseException:
            remove_if_there(self._disk, temp)
            raise
        self._back.append(lambda: self._disk.unlink(path))
        self._folders[_folder(path)] = None
        if self._creation is Creation.LINK:
            remove_if_there(self._disk, temp)

    def replace(self, path: str, data: bytes, before: bytes | None) -> None:
        """A file's new content; `before` is what it held, None if there was no file."""
        self._publish(path, self._write(data))
        if before is None:
            self._back.append(lambda: self._disk.unlink(path))
        else:
            self._back.append(lambda: self._put_back(path, before))
        self._folders[_folder(path)] = None

    def remove(self, path: str, before: bytes) -> None:
        """A file is there no more."""
        self._hold.check()
        self._disk.unlink(path)
        self._back.append(lambda: self._put_back(path, before))
        self._folders[_folder(path)] = None

    def move(self, path: str, target: str) -> None:
        """A file under another name, which must be free."""
        self._hold.check()
        self._disk.rename(path, target)
        self._back.append(lambda: self._disk.rename(target, path))
        self._folders[_folder(path)] = self._folders[_folder(target)] = None

    def hint(self, path: str, data: bytes) -> None:
        """A small file that may be lost in a power cut, because what it says can be found out again."""
        temp = self._temporary()
        write_new(self._disk, temp, data, durable=False)
        self._publish(path, temp)

    def settle(self) -> None:
        """What was done so far outlives a power cut."""
        for folder in list(self._folders):
            sync_folder(self._disk, folder)
            del self._folders[folder]

    def _write(self, data: bytes) -> str:
        temp = self._temporary()
        write_new(self._disk, temp, data)
        return temp

    def _publish(self, path: str, temp: str) -> None:
        try:
            self._hold.check()
            self._disk.rename(temp, path)
        except BaseException:
            remove_if_there(self._disk, temp)
            raise

    def _put_back(self, path: str, before: bytes) -> None:
        temp = self._temporary()
        write_new(self._disk, temp, before, durable=False)
        self._disk.rename(temp, path)

    def _undo(self, error: BaseException) -> None:
        failed = False
        while self._back:
            try:
                self._back.pop()()
            except OSError:
                failed = True
        if failed:
            raise Uncertain(getattr(error, "errno", None), f"{error}; what was written before could not be taken back")

    def _temporary(self) -> str:
        return f"{self._layout.temporary}/{os.getpid()}.{os.urandom(6).hex()}"


def _folder(path: str) -> str:
    return path.rpartition("/")[0]
