"""Which project a process belongs to, and where that project's private files lie.

Every process that has to meet another one (workers, broker, command line, later holders) asks here, so that all of them
come to the same answer. Nothing here creates, opens or checks a file beyond looking whether it is there.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

NAMESPACE: Final = "pi-taskbar"
"""Our own folder name below each XDG directory; no sibling adapter uses it."""

ROOT_MARKERS: Final = (".git", "pyproject.toml", "setup.cfg")
KEY_LENGTH: Final = 12


class NoHome(OSError):  # noqa: N818 - it says what happened
    """This user has no home, and no variable names another place."""


def project_root(start: Path) -> Path:
    """The nearest folder at or above `start` with one of `ROOT_MARKERS` in it, else `start`; symlinks resolved."""
    folder = Path(os.path.realpath(start))
    if not folder.is_dir():
        folder = folder.parent
    for candidate in (folder, *folder.parents):
        if any(os.path.lexists(candidate / marker) for marker in ROOT_MARKERS):
            return candidate
    return folder


def project_key(root: Path, uid: int) -> str:
    """The name of one user's work on one checkout: the same through every symlink, another for every other one."""
    import hashlib  # only here: it brings OpenSSL with it, and most importers need no key

    named = str(uid).encode() + b"\0" + os.fsencode(os.path.realpath(root))
    return hashlib.sha256(named).hexdigest()[:KEY_LENGTH]


def identity(root: Path) -> str:
    """What two processes of this user compare to be sure that they mean the same project."""
    path = os.fsencode(os.path.realpath(root))
    return f"{os.getuid()}:{path.decode(errors='backslashreplace')}"


def runtime_dir(root: Path) -> Path:
    """Where the lock, the socket and the secret of this project lie.

    `$XDG_RUNTIME_DIR` counts only when it is what its specification demands: an absolute path to a folder of ours that
    nobody else may enter. A variable left over by `su` or `sudo -E` names another user's folder and is passed over.
    Raises `NoHome`.
    """
    key = project_key(root, os.getuid())
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if base.startswith("/") and _is_private_folder(base):
        return Path(base, NAMESPACE, key)
    return _state_home() / NAMESPACE / "run" / key


def state_dir(root: Path) -> Path:
    """Where the journal, the registry and the logs of this project lie; it survives a reboot. Raises `NoHome`."""
    return _state_home() / NAMESPACE / project_key(root, os.getuid())


def _state_home() -> Path:
    base = os.environ.get("XDG_STATE_HOME", "")
    if base.startswith("/"):
        return Path(base)
    home = os.path.expanduser("~")  # noqa: PTH111 - gives back what it cannot resolve, which is asked next
    if not home.startswith("/"):
        raise NoHome("there is no home folder to keep files in: set HOME or XDG_STATE_HOME")
    return Path(home, ".local", "state")


def _is_private_folder(path: str) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077
