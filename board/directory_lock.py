"""The lock for a file system without `flock`: a folder.

`mkdir` is atomic on every file system, also on SMB and old NFS. `lock` takes this one where `flock` answers that there
is none. A lock left by the dead is taken away by a rename that only one can win.

Why a takeover cannot hit a living lock: the rename gives the folder the name of a tomb, and that name holds the *dead
holder's* nonce. Whoever comes second finds the tomb there, not empty, and its rename fails, even if the lock's name
belongs to the next holder by then. So a tomb stays for as long as anybody may believe that its lock is dead (the
sweeper keeps it for ten minutes), and a holder that was slow enough to be given up leaves one when it lets go.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from typing import Final

import msgspec

from flask_pi_taskbar.board.filesystem import NEW_FILE, Disk, exists, remove_if_there, write_all
from flask_pi_taskbar.board.holder import Clock, Holder, Lost, read_holder

RENEW_SECONDS: Final = 5.0
DEAD_AFTER_SECONDS: Final = 30.0
"""A lock from another host, not renewed for so long, is given up: six renewals missed."""
BRIEF_SECONDS: Final = 10.0
"""A lock held for less can be believed dead by nobody, so that its tomb need not stay."""

_OWNER: Final = "owner.json"
_TAKEN_AWAY: Final = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOENT)
"""What a rename or rmdir answers when somebody else was quicker."""


class DirectoryLock:
    """A lock made of a folder: whoever creates `owner.json` in it holds it."""

    def __init__(self, disk: Disk, path: str, tombs: str, clock: Clock = time) -> None:
        self._disk = disk
        self._path = path
        self._tombs = tombs
        self._clock = clock
        self._given_up: set[str] = set()

    def take(self, me: Holder) -> DirectoryHold | None:
        """The lock, if nobody living holds it. Raises `OSError` where no folder can be made."""
        try:
            self._disk.mkdir(self._path)
        except FileExistsError:
            if not self._bury():
                return None
            try:
                self._disk.mkdir(self._path)
            except FileExistsError:
                return None
        owner = f"{self._path}/{_OWNER}"
        try:
            fd = self._disk.open(owner, NEW_FILE)
        except (FileExistsError, FileNotFoundError):
            return None  # we were slow, and somebody else took over the empty folder
        hold = DirectoryHold(self, me.nonce, self._clock)
        try:
            try:
                write_all(self._disk, fd, msgspec.json.encode(me))
            finally:
                self._disk.close(fd)
        except BaseException:
            hold.release()
            raise
        return hold

    def is_free(self) -> bool:
        """Nobody living holds it; what the dead left is taken away."""
        return not exists(self._disk, self._path) or self._bury()

    def holder(self) -> Holder | None:
        """Who holds it; nobody in particular where an owner's file is there and does not say."""
        owner = f"{self._path}/{_OWNER}"
        found = read_holder(self._disk, owner)
        return Holder() if found is None and exists(self._disk, owner) else found

    def is_dead(self, holder: Holder, renewed: str) -> bool:
        """Whether a holder is dead: for certain where we can look, else by the age of the path `renewed`."""
        if holder.nonce in self._given_up:
            return True
        return holder.is_gone if holder.is_here else self._age(renewed) > DEAD_AFTER_SECONDS

    def renew(self, nonce: str) -> None:
        """Show that the holder lives. Raises `Lost`."""
        self.confirm(nonce)
        self._disk.touch(self._path)

    def confirm(self, nonce: str) -> None:
        """The lock is still ours. Raises `Lost`."""
        holder = self.holder()
        if holder is None or holder.nonce != nonce:
            raise Lost

    def give_back(self, nonce: str, *, tomb_stays: bool) -> None:
        """Let go of the lock, if it is still ours. Never raises."""
        for _ in range(2):  # a lock that stays while its process lives on would stop everybody: one error is not enough
            try:
                self.renew(nonce)
                self._disk.rename(self._path, self._tomb(nonce))
            except Lost:
                return
            except OSError as error:
                if error.errno in _TAKEN_AWAY:
                    return
            else:
                if not tomb_stays:
                    remove_tomb(self._disk, self._tomb(nonce))
                return
        self._given_up.add(nonce)

    def _bury(self) -> bool:
        """Take the folder away if its holder is dead; whether the name is free now."""
        holder = self.holder()
        try:
            if holder is None:
                # Made and not yet owned, or never. rmdir takes only an empty folder, so no owner is lost.
                if self._age(self._path) > DEAD_AFTER_SECONDS:
                    self._disk.rmdir(self._path)
                return not exists(self._disk, self._path)
            name = holder.nonce or f"inode-{self._disk.stat(self._path).st_ino}"
            if not self.is_dead(holder, self._path):
                return False
            if self.holder() != holder:
                return False  # only now it is certain: dead, and still there, so that it cannot let go any more
            self._disk.touch(self._path)  # the sweeper keeps the tomb from now, not from when its holder died
            self._disk.rename(self._path, self._tomb(name))
        except OSError as error:
            if error.errno not in _TAKEN_AWAY:
                raise
            return False
        return True

    def _tomb(self, nonce: str) -> str:
        return f"{self._tombs}/{os.path.basename(self._path)}.{nonce}"  # noqa: PTH119 - plain strings here

    def _age(self, path: str) -> float:
        """Seconds since `path` was changed, by the clock of the file system itself."""
        fresh = f"{self._tombs}/now.{os.urandom(4).hex()}"
        fd = self._disk.open(fresh, NEW_FILE)
        try:
            now = self._disk.fstat(fd).st_mtime
        finally:
            self._disk.close(fd)
            remove_if_there(self._disk, fresh)
        try:
            return now - self._disk.stat(path).st_mtime
        except FileNotFoundError:
            return 0.0


class DirectoryHold:
    by_directory = True

    def __init__(self, lock: DirectoryLock, nonce: str, clock: Clock) -> None:
        self._lock = lock
        self._nonce = nonce
        self._clock = clock
        self._taken = self._renewed = clock.monotonic()

    def check(self) -> None:
        now = self._clock.monotonic()
        if now - self._renewed < RENEW_SECONDS:
            self._lock.confirm(self._nonce)
        else:
            self._lock.renew(self._nonce)
            self._renewed = now

    def release(self) -> None:
        held = self._clock.monotonic() - self._taken
        self._lock.give_back(self._nonce, tomb_stays=held >= BRIEF_SECONDS)


def remove_tomb(disk: Disk, path: str) -> None:
    """Remove a folder lock that nobody can mistake for a living one."""
    remove_if_there(disk, f"{path}/{_OWNER}")
    with contextlib.suppress(OSError):
        disk.rmdir(path)
