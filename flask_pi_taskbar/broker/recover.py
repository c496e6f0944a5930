"""What a broker that died left running: found and ended before a new Pi starts.

Pi sees the end of its input and leaves by itself, but a tool that it had running may live on, in a session of its own
and without a parent. Three traces lead to it: a variable in its environment that names the project, the record of the
last Pi and of everybody seen below it, and descent from any of these. A bare process number leads nowhere.

What carries the variable of a Pi that ended in good order is left alone: all that was to end with that one has ended.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, TypeVar

import msgspec

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker.runtime import PrivateDirectory, Refused
from flask_pi_taskbar.osdep import processes
from flask_pi_taskbar.osdep.types import Process

NAME: Final = "pi.json"
SPARED: Final = "spared.json"
SPARED_KEPT: Final = 100
MARKER: Final = "PI_BROWSER_TASKBAR_BROKER_CHILD"
"""In the environment of Pi and so of all that it starts. Clients strip it again (it has the prefix of our private
variables), so a server that an agent starts does not pass it on to a broker.
"""

GRACE_SECONDS: Final = 1.0
"""A Pi that is just leaving may finish writing its session file."""


T = TypeVar("T")


class _Record(msgspec.Struct):
    processes: list[Process]


class Ledger:
    """The record of the running Pi in a state directory. Blocking; for the file thread."""

    def __init__(self, directory: Path, key: str) -> None:
        self._directory = directory
        self._key = key

    def marker(self, name: str) -> bytes:
        """The environment entry for one Pi; `name` tells it from every other one of this project."""
        return f"{MARKER}={self._key}.{name}.".encode()

    def write(self, members: Iterable[Process]) -> None:
        with PrivateDirectory.open(self._directory) as folder:
            folder.write(NAME, msgspec.json.encode(_Record(sorted(members))))

    def clear(self) -> None:
        with PrivateDirectory.open(self._directory) as folder:
            folder.remove(NAME)

    def spare(self, marker: bytes) -> None:
        """The Pi with this marker has been dismissed: whatever still carries it is to stay, under later brokers too."""
        with PrivateDirectory.open(self._directory) as folder:
            kept = [other for other in self._spared() if processes.members([], marker=other)]
            folder.write(SPARED, msgspec.json.encode([*kept, marker][-SPARED_KEPT:]))

    def sweep(self) -> tuple[int, int]:
        """End everything that an earlier broker left; how many were found, and how many would not die.

        Only the holder of the election may call this, and only while it has no Pi of its own.
        """
        recorded = self._read()
        marker = f"{MARKER}={self._key}.".encode()
        spared = self._spared()

        def find() -> set[Process]:
            found = processes.members(recorded, marker=marker)
            return {one for one in found if not any(processes.carries(one.pid, other) for other in spared)}

        found = find()
        for process in found:
            osdep.send_signal(process, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS
        while any(processes.is_alive(process) for process in found) and time.monotonic() < deadline:
            time.sleep(processes.POLL_SECONDS)
        left = processes.end(find)
        with contextlib.suppress(OSError, Refused):
            self.clear()
        return len(found), len(left)

    def _spared(self) -> list[bytes]:
        return self._load(SPARED, list[bytes], [])

    def _read(self) -> list[Process]:
        """Who was recorded."""
        return self._load(NAME, _Record, _Record([])).processes

    def _load(self, name: str, kind: type[T], nothing: T) -> T:
        """What a file says. One that cannot be read names nobody: the marker still leads to most of them."""
        try:
            with PrivateDirectory.open(self._directory) as folder:
                data = folder.read(name)
            return nothing if data is None else msgspec.json.decode(data, type=kind)
        except (OSError, Refused, msgspec.DecodeError):
            return nothing
