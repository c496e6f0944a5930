"""Where everything of a store lies, and making it so.

A store that was never written to does not exist, and reading one that does not exist finds an empty board: only
`prepare` makes folders, and only writers call it.
"""

from __future__ import annotations

import contextlib
import os
import stat
from hashlib import sha256
from typing import Final
from urllib.parse import quote

from flask_pi_taskbar.board.filesystem import FILE_MODE, FOLDER_MODE, Disk, sync_folder

_FOLDERS: Final = ("tmp", "dropped", "damaged", "sessions", "inbox", "ids", "cards")
"""The last one there tells that all are."""
_STEM_LENGTH: Final = 100


class NotOurs(OSError):  # noqa: N818 - it says what is wrong
    """The store belongs to another user; nothing is written into it."""


class Layout:
    """The paths of one store, as absolute strings."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.cards = f"{root}/cards"
        self.temporary = f"{root}/tmp"  # noqa: S108 - inside the store
        self.dropped = f"{root}/dropped"
        self.damaged = f"{root}/damaged"
        self.sessions = f"{root}/sessions"
        self.inbox = f"{root}/inbox"
        self.reserved = f"{root}/ids"
        self.lock = f"{root}/lock"
        self.seq = f"{root}/seq"
        self.journal = f"{root}/journal.jsonl"
        self.page_note = f"{root}/page.json"
        self.page_lock = f"{root}/page.lock"
        self.port = f"{root}/port"

    def card(self, card_id: int) -> str:
        return f"{self.cards}/{card_id}.json"

    def dropped_card(self, card_id: int) -> str:
        return f"{self.dropped}/{card_id}.json"

    def session_record(self, session_id: str) -> str:
        return f"{self.sessions}/{file_stem(session_id)}.json"

    def session_lock(self, session_id: str) -> str:
        return f"{self.sessions}/{file_stem(session_id)}.lock"

    def inbox_of(self, session_id: str) -> str:
        return f"{self.inbox}/{file_stem(session_id)}"

    def prepare(self, disk: Disk) -> None:
        """Make what is missing, private to this user. Raises `NotOurs`, `OSError`."""
        make_folder(disk, self.root)
        if os.stat(self.root).st_uid != os.geteuid():  # noqa: PTH116 - follows a link that the user made of the store
            raise NotOurs(None, f"{self.root} belongs to another user")
        for name in _FOLDERS:
            make_folder(disk, f"{self.root}/{name}")

    def too_open(self, disk: Disk) -> list[str]:
        """What others than its owner may read or write, of the folders and of the files that every store has."""
        found = []
        for path in (self.root, *(f"{self.root}/{name}" for name in _FOLDERS), self.lock, self.seq, self.journal):
            try:
                mode = disk.stat(path).st_mode
            except OSError:
                continue
            if stat.S_IMODE(mode) & ~(FOLDER_MODE if stat.S_ISDIR(mode) else FILE_MODE):
                found.append(path)
        return found


def file_stem(session_id: str) -> str:
    """A session's id as a file name: itself where it can be one, and never another's."""
    name = quote(session_id, safe="@._-", errors="surrogatepass")
    if len(name) <= _STEM_LENGTH and not name.startswith("."):
        return name
    digest = sha256(session_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{name[:_STEM_LENGTH].lstrip('.')}~{digest}"


def make_folder(disk: Disk, path: str) -> None:
    """The folder is there, with those above it, also after a power cut."""
    try:
        disk.mkdir(path)
    except FileExistsError:
        return
    except FileNotFoundError:
        parent = os.path.dirname(path)  # noqa: PTH120
        make_folder(disk, parent)
        with contextlib.suppress(FileExistsError):  # two processes may be the first at once
            disk.mkdir(path)
    sync_folder(disk, os.path.dirname(path))  # noqa: PTH120 - else a power cut takes the folder and all that is in it
