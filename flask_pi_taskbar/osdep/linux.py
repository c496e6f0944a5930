"""Linux: `/proc`, pidfds and `SO_PEERCRED`.

The start of a process is its boot and its tick count since then. `psutil.Process.create_time` is not used for it: it
is a wall-clock time computed from the boot time, which moves whenever the clock is set, and two processes must agree.
"""

from __future__ import annotations

import os
import signal
import socket
import struct
from functools import cache
from typing import Final

from flask_pi_taskbar.osdep.types import Peer, Process, Row

SOCKET_PATH_BYTES: Final = 107  # sizeof(sun_path) is 108, and the last one ends the string

_UCRED: Final = struct.Struct("=iII")
# Fields of /proc/<pid>/stat counted from the one after the name; proc_pid_stat(5).
_STATE, _PPID, _PGRP, _SESSION, _STARTTIME = 0, 1, 2, 3, 19


def durable_sync(fd: int) -> None:
    """What was written to `fd` outlives a power cut when this returns."""
    os.fsync(fd)


def peer_of(connection: socket.socket) -> Peer:
    pid, uid, _gid = _UCRED.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _UCRED.size))
    return Peer(pid, uid)


def start_of(pid: int) -> str | None:
    """When the living process `pid` started; None when there is none (a zombie counts as none)."""
    fields = _stat(pid)
    return _start(fields) if fields else None


def process_table() -> list[Row]:
    """Every living process that we may look at."""
    rows = []
    for name in os.listdir("/proc"):  # noqa: PTH208 - names, not one object each
        if name.isdigit() and (fields := _stat(int(name))):
            rows.append(
                Row(int(name), _start(fields), int(fields[_PPID]), int(fields[_PGRP]), int(fields[_SESSION])),
            )
    return rows


def environment_of(pid: int) -> bytes:
    """The environment that `pid` was started with, as `NAME=value` parted by NUL; empty where it cannot be read."""
    return _read(f"/proc/{pid}/environ")


def exit_descriptor(pid: int) -> int | None:
    """A descriptor that becomes readable when our child `pid` ends; None where the kernel has none (before 5.3)."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        return None


def send_signal(process: Process, number: int) -> bool:
    """Signal exactly this process; False when it is gone. A pidfd closes the gap between the look and the signal."""
    descriptor = exit_descriptor(process.pid)
    try:
        if start_of(process.pid) != process.start:
            return False
        if descriptor is None:
            os.kill(process.pid, number)
        else:
            signal.pidfd_send_signal(descriptor, number)
    except (ProcessLookupError, PermissionError):
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)
    return True


def _stat(pid: int) -> list[bytes] | None:
    # The name in parentheses may itself hold spaces and parentheses: what counts begins after the last one.
    fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    return None if len(fields) <= _STARTTIME or fields[_STATE] in (b"Z", b"X") else fields


def _start(fields: list[bytes]) -> str:
    return f"{_boot()}:{fields[_STARTTIME].decode()}"


@cache
def _boot() -> str:
    return _read("/proc/sys/kernel/random/boot_id").decode().strip()[:8]


def _read(path: str) -> bytes:
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        parts = []
        while part := os.read(fd, 65536):
            parts.append(part)
        return b"".join(parts)
    except OSError:
        return b""
    finally:
        os.close(fd)
