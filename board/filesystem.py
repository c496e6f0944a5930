"""The file system under the store: each system call by name, and what this file system can and cannot do.

`Disk` is the only door to the disk for everything in the store, so that a test (and `torture`) can stand in it and
record, fail or kill at any step. `create_exclusively` publishes a finished file under a name that nobody has, by
whatever this file system gives for it. Nothing here knows cards, and nothing here decides what to do about a failure.
"""

# System calls on plain strings: a `Path` for each of 10,000 cards costs more than the calls.
# ruff: noqa: PTH102, PTH104, PTH106, PTH108, PTH208
from __future__ import annotations

import contextlib
import enum
import errno
import fcntl
import os
import stat
import sys
import time
from collections.abc import Iterator
from typing import Final, NamedTuple

from flask_pi_taskbar import osdep

# What `link` answers where there are no hard links, or not here (exFAT, SMB, FUSE, a mount in between).
LINK_REFUSED: Final = frozenset(
    {
        errno.EPERM,
        errno.ENOTSUP,
        errno.EOPNOTSUPP,
        errno.ENOSYS,
        errno.EXDEV,
        errno.EMLINK,
        errno.EINVAL,
        errno.EACCES,
    }
)
RENAME_REFUSED: Final = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
LOCK_REFUSED: Final = frozenset({errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP})

NETWORK_KINDS: Final = ("nfs", "cifs", "smb", "9p", "fuse", "afs", "ceph", "lustre", "virtiofs")
NETWORK_NOTICE: Final = "network filesystem: other hosts' changes may take a minute"

FILE_MODE: Final = 0o600
FOLDER_MODE: Final = 0o700
NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
EXISTING_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_CHUNK: Final = 1 << 20


class Signature(NamedTuple):
    """By this a changed file is told from the one that was read."""

    mtime_ns: int
    inode: int
    size: int


def signature(found: os.stat_result) -> Signature:
    return Signature(found.st_mtime_ns, found.st_ino, found.st_size)


class Disk:
    """One method, one system call. Paths are absolute strings; every method raises `OSError`."""

    def open(self, path: str, flags: int) -> int:
        return os.open(path, flags, FILE_MODE)

    def close(self, fd: int) -> None:
        os.close(fd)

    def read(self, fd: int, size: int) -> bytes:
        return os.read(fd, size)

    def read_at(self, fd: int, size: int, offset: int) -> bytes:
        return os.pread(fd, size, offset)

    def write(self, fd: int, data: bytes | memoryview) -> int:
        return os.write(fd, data)

    def write_at(self, fd: int, data: bytes, offset: int) -> int:
        return os.pwrite(fd, data, offset)

    def sync(self, fd: int) -> None:
        osdep.durable_sync(fd)

    def fstat(self, fd: int) -> os.stat_result:
        return os.fstat(fd)

    def stat(self, path: str) -> os.stat_result:
        return os.lstat(path)

    def names(self, path: str) -> list[str]:
        return os.listdir(path)

    def scan(self, path: str) -> list[tuple[str, os.stat_result]]:
        """Every name in the folder with its status; what vanishes meanwhile is left out."""
        return list(_scan(path))

    def link(self, source: str, target: str) -> None:
        os.link(source, target, follow_symlinks=False)

    def rename(self, source: str, target: str) -> None:
        os.rename(source, target)

    def rename_new(self, source: str, target: str) -> None:
        """`rename` that fails with EEXIST instead of replacing."""
        _rename_new(source, target)

    def unlink(self, path: str) -> None:
        os.unlink(path)

    def mkdir(self, path: str) -> None:
        os.mkdir(path, FOLDER_MODE)

    def rmdir(self, path: str) -> None:
        os.rmdir(path)

    def touch(self, path: str) -> None:
        """Set the times to now, by the clock of the file system's own host."""
        os.utime(path)

    def flock(self, fd: int, operation: int) -> None:
        fcntl.flock(fd, operation)

    def now_ns(self) -> int:
        """The clock that this host stamps files with; compared with their times, and with nothing else."""
        return time.time_ns()


class Creation(enum.Enum):
    """How a finished file gets a name that nobody has."""

    LINK = "link"
    RENAME = "rename without replacing"
    RESERVE = "a reserved name, then rename"


def create_exclusively(disk: Disk, how: Creation, temp: str, target: str, reservation: str) -> Creation:
    """Give the finished file `temp` the name `target`; the way that worked (a refused one falls back to the next).

    Raises `FileExistsError` when the name is taken, and then `temp` is as it was. After `LINK` the name `temp` is still
    there too. `reservation` is a folder name of `target` alone, used where neither links nor exclusive renames exist.
    """
    if how is Creation.LINK:
        try:
            disk.link(temp, target)
        except OSError as error:
            # NFS may report an error, even EEXIST, of a call that was repeated and had landed: the link count knows.
            if _landed(disk, temp):
                return Creation.LINK
            if error.errno not in LINK_REFUSED:
                raise
        else:
            return Creation.LINK
        how = Creation.RENAME
    if how is Creation.RENAME:
        try:
            disk.rename_new(temp, target)
        except OSError as error:
            if error.errno not in RENAME_REFUSED:
                raise
        else:
            return Creation.RENAME
    disk.mkdir(reservation)
    try:
        if exists(disk, target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
        disk.rename(temp, target)
    finally:
        with contextlib.suppress(OSError):  # what stays is swept by the next writer
            disk.rmdir(reservation)
    return Creation.RESERVE


def probe_creation(disk: Disk, stem: str) -> Creation:
    """The best way of creating that works here and really excludes, tried out on files named after `stem`."""
    best = Creation.LINK
    for how in Creation:
        temps = [f"{stem}.{at}" for at in range(2)]
        target, reservation = f"{stem}.target", f"{stem}.reserved"
        try:
            for temp in temps:
                disk.close(disk.open(temp, NEW_FILE))
            best = create_exclusively(disk, how, temps[0], target, reservation)
            create_exclusively(disk, best, temps[1], target, reservation)
        except FileExistsError:
            return best
        finally:
            for path in (*temps, target):
                remove_if_there(disk, path)
    return best


def level_of(how: Creation, *, by_directory: bool) -> int:
    """0: flock and links. 1: flock without links. 2: no flock."""
    if by_directory:
        return 2
    return 0 if how is Creation.LINK else 1


def read_regular(disk: Disk, path: str, limit: int) -> tuple[os.stat_result, bytes | None]:
    """A file's status and content; the content is None when it is no regular file or larger than `limit`."""
    fd = disk.open(path, EXISTING_FILE)
    try:
        found = disk.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_size > limit:
            return found, None
        data = disk.read(fd, found.st_size + 1)
        while len(data) > found.st_size:  # it grows while we read it
            more = disk.read(fd, _CHUNK)
            if not more:
                break
            data += more
            if len(data) > limit:
                return found, None
        return found, data
    finally:
        disk.close(fd)


def write_new(disk: Disk, path: str, data: bytes, *, durable: bool = True) -> None:
    """A new private file with all of `data`; when it cannot be finished it is removed."""
    fd = disk.open(path, NEW_FILE)
    try:
        try:
            write_all(disk, fd, data)
            if durable:
                disk.sync(fd)
        finally:
            disk.close(fd)
    except BaseException:
        remove_if_there(disk, path)
        raise


def write_all(disk: Disk, fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[disk.write(fd, view) :]


def sync_folder(disk: Disk, path: str) -> None:
    """Names made or removed in the folder outlive a power cut."""
    fd = disk.open(path, FOLDER)
    try:
        disk.sync(fd)
    except OSError as error:
        if error.errno != errno.EINVAL:  # a file system that syncs no folders keeps names on its own
            raise
    finally:
        disk.close(fd)


def exists(disk: Disk, path: str) -> bool:
    try:
        disk.stat(path)
    except FileNotFoundError:
        return False
    return True


def remove_if_there(disk: Disk, path: str) -> None:
    """Remove as well as can be; what stays is swept by the next writer."""
    try:
        disk.unlink(path)
    except OSError:
        return


def kind_of(path: str) -> str | None:
    """The type of the file system that `path` lies on, as the kernel names it; None where it does not say."""
    try:
        with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
            lines = file.readlines()
    except OSError:
        return None
    real = os.path.realpath(path)
    best, kind = "", None
    for line in lines:
        before, _, after = line.partition(" - ")
        fields = before.split()
        if len(fields) < 5 or not after:
            continue
        point = fields[4].replace("\\040", " ")
        if len(point) >= len(best) and (real == point or real.startswith(point.rstrip("/") + "/")):
            best, kind = point, after.split()[0]
    return kind


def notice_of(kind: str | None) -> str | None:
    """What a reader should know about a file system of this type."""
    return NETWORK_NOTICE if kind and kind.startswith(NETWORK_KINDS) else None


def _landed(disk: Disk, temp: str) -> bool:
    try:
        return disk.stat(temp).st_nlink == 2
    except OSError:
        return False


def _scan(path: str) -> Iterator[tuple[str, os.stat_result]]:
    with os.scandir(path) as entries:
        for entry in entries:
            try:
                yield entry.name, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def _rename_new(source: str, target: str) -> None:
    import ctypes  # only where links are refused

    library = ctypes.CDLL(None, use_errno=True)
    old, new = os.fsencode(source), os.fsencode(target)
    if sys.platform == "darwin":
        call, arguments = getattr(library, "renamex_np", None), (old, new, 0x4)  # RENAME_EXCL
    else:
        call, arguments = getattr(library, "renameat2", None), (-100, old, -100, new, 0x1)  # AT_FDCWD, RENAME_NOREPLACE
    number = errno.ENOSYS if call is None else ctypes.get_errno() if call(*arguments) else 0
    if number:
        raise OSError(number, os.strerror(number), source, None, target)
