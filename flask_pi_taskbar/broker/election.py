"""Who is the broker of a project: whoever holds the lock, for as long as it lives.

The lock is a `flock`, which the kernel gives back when the holder dies, however it dies. The holder alone may remove a
stale socket, bind a new one and publish the endpoint. A loser leaves everything as it found it. There are two locks:
one beside the socket, which is the election, and one beside the journal, which keeps two brokers apart that were
started with different runtime directories (an SSH session without `XDG_RUNTIME_DIR`) and so never meet.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
from typing import Final

import msgspec

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker.runtime import ENDPOINT, LOCK, SOCKET, PrivateDirectory, Refused, socket_path

BACKLOG: Final = 512
"""Connections that may wait to be taken: every worker of a large server may come at once."""


class Lost(Exception):  # noqa: N818 - it says what happened
    """Another broker of this project lives."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """Where the broker listens and how to know it: `endpoint.json`, replaced as a whole."""

    generation: int
    identity: str
    token: str
    socket: str
    pid: int
    start: str
    version: str


class Election:
    """A won election: the lock, held until this process ends."""

    def __init__(self, directory: PrivateDirectory, lock: int) -> None:
        self._directory = directory
        self._lock = lock
        self._published: bytes | None = None

    @classmethod
    def win(cls, directory: PrivateDirectory) -> Election:
        """Take the lock. Raises `Lost`."""
        lock = hold(directory)
        if lock is None:
            raise Lost
        return cls(directory, lock)

    def bind(self) -> socket.socket:
        """Listen, in place of whatever an earlier broker left there."""
        path = socket_path(self._directory.path)
        self._directory.remove(SOCKET)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            listener.bind(str(path))
            path.chmod(0o600)
            listener.listen(BACKLOG)
            listener.setblocking(False)
        except BaseException:
            listener.close()
            raise
        return listener

    def publish(self, endpoint: Endpoint) -> None:
        """From here on clients find us."""
        self._published = msgspec.json.encode(endpoint)
        self._directory.write(ENDPOINT, self._published)

    def still_stands(self) -> bool:
        """The lock that we hold is the one that others would try; False after somebody removed the directory."""
        try:
            found = os.stat(LOCK, dir_fd=self._directory.fd, follow_symlinks=False)
        except OSError:
            return False
        held = os.fstat(self._lock)
        return (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino) and self._directory.is_still_there()

    def step_down(self) -> None:
        """Remove what leads clients here. The lock stays until the process ends: its Pi may still be ending."""
        if self._published is not None and self.still_stands():
            with contextlib.suppress(Refused):
                if self._directory.read(ENDPOINT) == self._published:
                    self._directory.remove(ENDPOINT)
            self._directory.remove(SOCKET)


def hold(directory: PrivateDirectory) -> int | None:
    """Take the lock in `directory` without waiting; None when somebody else has it."""
    while True:
        lock = directory.open_lock(LOCK)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            named = os.stat(LOCK, dir_fd=directory.fd, follow_symlinks=False)
        except BlockingIOError:
            os.close(lock)
            return None
        except FileNotFoundError:
            os.close(lock)
            continue
        except BaseException:
            os.close(lock)
            raise
        held = os.fstat(lock)
        if (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino):
            return lock
        os.close(lock)  # it was replaced between the two steps; try the one that is there now


def hold_state(directory: PrivateDirectory) -> None:
    """Keep every other broker away from this state directory, for the life of the process. Raises `Refused`."""
    try:
        if hold(directory) is None:
            raise Refused(
                "a broker of this project runs with another runtime directory: "
                "start the server with the same XDG_RUNTIME_DIR, or stop that broker there (`pi-taskbar broker stop`)"
            )
    except OSError as error:
        if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS):
            raise  # a home directory whose file system knows no locks is the one thing that we go on without


def load_endpoint(directory: PrivateDirectory) -> Endpoint | None:
    """The published endpoint; None where there is none or it makes no sense. Raises `Refused` for a hostile file."""
    data = directory.read(ENDPOINT)
    if data is None:
        return None
    try:
        endpoint = _DECODER.decode(data)
    except msgspec.DecodeError:
        return None
    if endpoint.socket != str(socket_path(directory.path)):
        return None
    return endpoint


def is_held(directory: PrivateDirectory) -> bool:
    """Some process holds the lock: a broker lives, is starting, or is ending."""
    lock = hold(directory)
    if lock is None:
        return True
    os.close(lock)
    return False


def own_start() -> str:
    return osdep.start_of(os.getpid()) or ""


_DECODER: Final = msgspec.json.Decoder(Endpoint)
