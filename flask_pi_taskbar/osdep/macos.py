"""macOS: psutil for the process table, `LOCAL_PEERCRED`, `F_FULLFSYNC`.

The start of a process is the kernel's own record of it (`proc_pidinfo`), a wall-clock time that is written once and
not recomputed, so it names a process across reboots too.
"""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
from typing import Final

import psutil

from flask_pi_taskbar.osdep.types import Peer, Process, Row

SOCKET_PATH_BYTES: Final = 103  # sizeof(sun_path) is 104, and the last one ends the string

# Numbers of <sys/un.h> and <sys/fcntl.h>: Python names only some of them, and only when built on macOS.
_SOL_LOCAL: Final = 0
_LOCAL_PEERCRED: Final = 1
_LOCAL_PEERPID: Final = 2
_F_FULLFSYNC: Final = 51
_XUCRED: Final = struct.Struct("=II")  # the head of struct xucred: version, uid
_XUCRED_SIZE: Final = 76


def durable_sync(fd: int) -> None:
    """What was written to `fd` outlives a power cut when this returns; plain fsync stops at the drive's cache here."""
    try:
        fcntl.fcntl(fd, _F_FULLFSYNC)
    except OSError as error:
        if error.errno not in (errno.ENOTSUP, errno.EINVAL, errno.ENOTTY):
            raise
        os.fsync(fd)  # a network or FUSE file system that knows no full sync


def peer_of(connection: socket.socket) -> Peer:
    _version, uid = _XUCRED.unpack_from(connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERCRED, _XUCRED_SIZE))
    (pid,) = struct.unpack("=i", connection.getsockopt(_SOL_LOCAL, _LOCAL_PEERPID, 4))
    return Peer(pid, uid)


def start_of(pid: int) -> str | None:
    """When the living process `pid` started; None when there is none (a zombie counts as none)."""
    try:
        return _start(psutil.Process(pid))
    except (psutil.Error, OSError):
        return None


def process_table() -> list[Row]:
    """Every living process that we may look at."""
    rows = []
    for process in psutil.process_iter():
        try:
            if start := _start(process):
                pid = process.pid
                rows.append(Row(pid, start, process.ppid(), os.getpgid(pid), os.getsid(pid)))
        except (psutil.Error, OSError):
            continue
    return rows


def environment_of(pid: int) -> bytes:
    """The environment that `pid` was started with, as `NAME=value` parted by NUL; empty where it cannot be read.

    The system hides it for its own signed programs (`/bin/sleep`): callers also go by descent and by their own records.
    """
    try:
        found = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return b""
    return b"\0".join(os.fsencode(f"{name}={value}") for name, value in found.items())


def exit_descriptor(pid: int) -> int | None:  # noqa: ARG001 - the same signature as on Linux
    """No such descriptor here; callers look at the process now and then instead."""
    return None


def send_signal(process: Process, number: int) -> bool:
    """Signal exactly this process; False when it is gone."""
    if start_of(process.pid) != process.start:
        return False
    try:
        os.kill(process.pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _start(process: psutil.Process) -> str | None:
    if process.status() == psutil.STATUS_ZOMBIE:
        return None
    return f"{process.create_time():.6f}"
