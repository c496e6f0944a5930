"""The private runtime directory: who may use it, and the few small files in it.

Broker and clients both come through here before they trust a lock, a socket or a token. A directory that is not plainly
ours is refused with the reason; it is never repaired by following a link, and nothing in it is ever deleted here but
by its own name.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from flask_pi_taskbar import osdep
from flask_pi_taskbar.project import NAMESPACE

LOCK: Final = "lock"
SOCKET: Final = "sock"
ENDPOINT: Final = "endpoint.json"
SECRET: Final = "secret"  # noqa: S105 - a file's name

SECRET_BYTES: Final = 32
SMALL_FILE_BYTES: Final = 65_536
_FILE: Final = os.O_NOFOLLOW | os.O_CLOEXEC


class Refused(Exception):  # noqa: N818 - it says what happened
    """A directory or file is not what it has to be. `reason` names it and what to do."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class PrivateDirectory:
    """A folder that is ours alone, held open.

    Its files are reached through the descriptor, so that a folder put in its place later is not mistaken for it.
    """

    def __init__(self, path: Path, fd: int) -> None:
        self.path = path
        self.fd = fd

    @classmethod
    def open(cls, path: Path) -> PrivateDirectory:
        """Make `path` where it is missing, check it, hold it. Raises `Refused`.

        What lies above our namespace is the user's and made as it comes. From the namespace down every folder must be a
        real one, ours, and not writable by others; if others may read it, its mode is narrowed through the descriptor,
        which no link can redirect.
        """
        try:
            chain = _own_part(path)
            chain[0].parent.mkdir(0o700, parents=True, exist_ok=True)
            for above in chain[:-1]:
                os.close(_make_and_open(above))
            return cls(path, _make_and_open(path))
        except OSError as error:
            raise Refused(f"{error.filename or path} cannot be used: {error.strerror or error}") from error

    def close(self) -> None:
        os.close(self.fd)

    def __enter__(self) -> PrivateDirectory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def is_still_there(self) -> bool:
        """`path` leads to this very folder: nobody removed or replaced it."""
        try:
            found = os.lstat(self.path)
        except OSError:
            return False
        held = os.fstat(self.fd)
        return (found.st_dev, found.st_ino) == (held.st_dev, held.st_ino)

    def read(self, name: str) -> bytes | None:
        """A small private file; None where there is none. Raises `Refused` for a link or what others may touch."""
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | _FILE, dir_fd=self.fd)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise Refused(f"{self.path / name} cannot be read: {error.strerror or error}") from error
        try:
            _check(os.fstat(fd), self.path / name, stat.S_ISREG, "a regular file")
            return _read_all(fd)
        finally:
            os.close(fd)

    def write(self, name: str, data: bytes) -> None:
        """Replace a file as a whole: readers see the old one or the new one, also after a power cut.

        Which of the two a power cut leaves is open until `sync`.
        """
        temporary = f".{name}.{os.getpid()}.{os.urandom(4).hex()}"
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=self.fd)
        try:
            try:
                write_all(fd, data)
                osdep.durable_sync(fd)
            finally:
                os.close(fd)
            os.rename(temporary, name, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except BaseException:
            self.remove(temporary)
            raise

    def sync(self) -> None:
        """What was made, replaced or removed in here stays so after a power cut."""
        os.fsync(self.fd)

    def create_once(self, name: str, make: Callable[[], bytes]) -> bytes:
        """The file's content; where there is no file, one process of all that ask makes it."""
        found = self.read(name)
        if found is None:
            with self._exclusive(f"{name}.lock"):
                found = self.read(name)
                if found is None:
                    found = make()
                    self.write(name, found)
                    self.sync()
        return found

    def remove(self, name: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.fd)

    def open_lock(self, name: str) -> int:
        """The lock file `name`, made where it is missing. Never removed: a lock on a lost file excludes nobody."""
        fd = os.open(name, os.O_RDWR | os.O_CREAT | _FILE, 0o600, dir_fd=self.fd)
        try:
            _check(os.fstat(fd), self.path / name, stat.S_ISREG, "a regular file")
        except BaseException:
            os.close(fd)
            raise
        return fd

    @contextlib.contextmanager
    def _exclusive(self, name: str) -> Iterator[None]:
        fd = self.open_lock(name)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            yield
        finally:
            os.close(fd)


def socket_path(directory: Path) -> Path:
    """Where the broker of `directory` listens. Raises `Refused` when the system cannot take a path that long."""
    path = directory / SOCKET
    length = len(os.fsencode(path))
    if length > osdep.SOCKET_PATH_BYTES:
        raise Refused(
            f"the socket path {path} has {length} bytes, and this system takes {osdep.SOCKET_PATH_BYTES}: "
            "set XDG_RUNTIME_DIR (or XDG_STATE_HOME) to a shorter folder of yours"
        )
    return path


def check_socket(path: Path) -> None:
    """The socket is one, and ours alone. Raises `Refused`, and `FileNotFoundError` where there is none."""
    _check(os.lstat(path), path, stat.S_ISSOCK, "a socket")


def secret(directory: PrivateDirectory) -> bytes:
    """The project's secret: random, made once, the same for everyone who may read the directory."""
    found = directory.create_once(SECRET, lambda: os.urandom(SECRET_BYTES))
    if len(found) != SECRET_BYTES:
        raise Refused(f"{directory.path / SECRET} does not hold {SECRET_BYTES} bytes; remove it")
    return found


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _own_part(path: Path) -> list[Path]:
    """The folders from our namespace down to `path`."""
    folders = [path, *path.parents]
    depth = next((at for at, folder in enumerate(folders) if folder.name == NAMESPACE), 0)
    return folders[depth::-1]


def _make_and_open(path: Path) -> int:
    with contextlib.suppress(FileExistsError):
        path.mkdir(0o700)
    seen = os.lstat(path)
    _check(seen, path, stat.S_ISDIR, "a folder", forbidden=0o022)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FILE)
    try:
        held = os.fstat(fd)
        _check(held, path, stat.S_ISDIR, "a folder", forbidden=0o022)
        if (seen.st_dev, seen.st_ino) != (held.st_dev, held.st_ino):
            raise Refused(f"{path} was replaced while it was opened")
        if stat.S_IMODE(held.st_mode) != 0o700:
            os.fchmod(fd, 0o700)
    except BaseException:
        os.close(fd)
        raise
    return fd


def _check(found: os.stat_result, path: Path, kind: Callable[[int], bool], name: str, forbidden: int = 0o077) -> None:
    if not kind(found.st_mode):
        raise Refused(f"{path} is not {name}; remove it")
    if found.st_uid != os.getuid():
        raise Refused(f"{path} belongs to another user (uid {found.st_uid}); remove it or set XDG_RUNTIME_DIR")
    if found.st_mode & forbidden:
        raise Refused(f"{path} may be used by others (mode {stat.S_IMODE(found.st_mode):04o}); remove it")


def _read_all(fd: int) -> bytes:
    parts = []
    size = 0
    while part := os.read(fd, SMALL_FILE_BYTES):
        parts.append(part)
        size += len(part)
        if size > SMALL_FILE_BYTES:
            raise Refused("a file in the runtime directory is larger than any that we write")
    return b"".join(parts)
