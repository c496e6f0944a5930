"""Locks for tests: both kinds, holders that are dead, far away or in another process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec

from flask_pi_taskbar.board.directory_lock import DirectoryLock
from flask_pi_taskbar.board.faults import NoFlock
from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.holder import Holder, here
from flask_pi_taskbar.board.lock import StoreLock
from flask_pi_taskbar.board.races import environment
from tests.board_store.boards import FakeClock

SINCE = "2026-11-30T20:00:00.000Z"
DISKS = {"flock": Disk, "folder": NoFlock}


def store_lock(folder: Path, disk: Disk, clock: FakeClock | None = None) -> StoreLock:
    return StoreLock(disk, f"{folder}/lock", f"{folder}/tmp", clock=clock or FakeClock(), wait=0.5)


def folder_lock(folder: Path, disk: Disk | None = None, clock: FakeClock | None = None) -> DirectoryLock:
    return DirectoryLock(disk or Disk(), f"{folder}/lock.d", f"{folder}/tmp", clock or FakeClock())


def holder_process(store: Path, kind: str) -> subprocess.Popen[bytes]:
    """A process that takes the lock of a store, says so, and holds it."""
    program = (
        "import sys\n"
        "from flask_pi_taskbar.board.faults import NoFlock\n"
        "from flask_pi_taskbar.board.filesystem import Disk\n"
        "from flask_pi_taskbar.board.identity import session\n"
        "from flask_pi_taskbar.board.store import Store\n"
        "from datetime import UTC, datetime\n"
        f"store = Store({str(store)!r}, disk={'Disk()' if kind == 'flock' else 'NoFlock()'})\n"
        "with store.writing(session('s-slow', 'slow'), datetime(2026, 11, 30, 20, tzinfo=UTC)):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    process = python(program)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def python(program: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def dead() -> Holder:
    """A process of this host that is gone for certain."""
    return msgspec.structs.replace(here("gone", SINCE), pid=2**22 + 1, start="0:0", nonce="dead")


def from_another_host(nonce: str = "far") -> Holder:
    return msgspec.structs.replace(here("far", SINCE), host="another", nonce=nonce)


def left_by(folder: Path, holder: Holder) -> None:
    (folder / "lock.d").mkdir()
    (folder / "lock.d" / "owner.json").write_bytes(msgspec.json.encode(holder))


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))
