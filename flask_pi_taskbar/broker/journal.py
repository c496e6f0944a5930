"""The one retained task on disk, so that a prompt outlives a crash of the broker.

The broker writes it before Pi gets the prompt and marks it when it is settled. After a crash the task comes back as
failed, with its prompt; it is never sent again. All calls block on the disk and belong on the file thread. Prompts are
private (0600 in a 0700 folder). Since adding a line costs the disk less than a new file does, those of settled tasks
stay until there are 64 KB of them, the next broker starts, or a new conversation begins; only the last one is ever
shown.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker.runtime import PrivateDirectory, write_all

NAME: Final = "journal"
COMPACT_BYTES: Final = 65_536
"""Settled tasks are cleared away once the file is larger than this."""


class Begun(msgspec.Struct, frozen=True, tag="begun", tag_field="type"):
    """An admitted task, written before it goes to Pi."""

    id: str
    prompt: str
    started_at: str


class Ended(msgspec.Struct, frozen=True, tag="ended", tag_field="type"):
    """That task has its final state."""

    id: str
    status: str


class Journal:
    """The file `journal` in a state directory. Methods raise `OSError` (and `Refused` for a hostile directory)."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._last: Begun | None = None

    def interrupted(self) -> Begun | None:
        """The task that a dead broker left unsettled, if any. Also puts a torn file in order."""
        with PrivateDirectory.open(self._directory) as folder:
            data = _read(folder)
            last, settled = _replay(data)
            if settled:
                last = None
            whole = _encode(last)
            if data != whole:
                folder.write(NAME, whole)
                folder.sync()
        self._last = last
        return last

    def begin(self, task_id: str, prompt: str, started_at: str) -> None:
        """Record an admitted task; it is on the disk when this returns."""
        begun = Begun(task_id, prompt, started_at)
        self._append(begun, osdep.durable_sync)
        self._last = begun

    def end(self, task_id: str, status: str) -> None:
        """Record its final state. It outlives us at once; if a power cut takes it, the task is shown as interrupted."""
        size = self._append(Ended(task_id, status), lambda _: None)
        if size > COMPACT_BYTES:
            with PrivateDirectory.open(self._directory) as folder:
                last = self._last
                folder.write(NAME, _encode(last) + (_encode(Ended(task_id, status)) if last else b""))
                folder.sync()

    def forget(self) -> None:
        """The retained task is gone on purpose (a new conversation): nothing comes back after a crash."""
        self._last = None
        with PrivateDirectory.open(self._directory) as folder:
            folder.write(NAME, b"")
            folder.sync()

    def _append(self, entry: Begun | Ended, sync: Callable[[int], None]) -> int:
        with PrivateDirectory.open(self._directory) as folder:
            flags = os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
            try:
                fd = os.open(NAME, flags, dir_fd=folder.fd)
            except FileNotFoundError:
                fd = os.open(NAME, flags | os.O_CREAT, 0o600, dir_fd=folder.fd)
                folder.sync()
            try:
                size = os.fstat(fd).st_size
                data = _encode(entry)
                try:
                    write_all(fd, data)
                    sync(fd)
                except OSError:
                    # A full disk: half a line must not stay in front of the next entry.
                    with contextlib.suppress(OSError):
                        os.ftruncate(fd, size)
                    raise
                return size + len(data)
            finally:
                os.close(fd)


def _read(folder: PrivateDirectory) -> bytes:
    try:
        fd = os.open(NAME, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder.fd)
    except FileNotFoundError:
        return b""
    with os.fdopen(fd, "rb") as file:
        return file.read()


def _replay(data: bytes) -> tuple[Begun | None, bool]:
    """The last task and whether it is settled. A line that cannot be read, torn or damaged, is passed over."""
    last: Begun | None = None
    settled = True
    for line in data.split(b"\n"):
        with contextlib.suppress(msgspec.DecodeError):
            entry = _DECODER.decode(line)
            if isinstance(entry, Begun):
                last, settled = entry, False
            elif last is not None and entry.id == last.id:
                settled = True
    return last, settled


def _encode(entry: Begun | Ended | None) -> bytes:
    return b"" if entry is None else msgspec.json.encode(entry) + b"\n"


_DECODER: Final = msgspec.json.Decoder(Begun | Ended)
