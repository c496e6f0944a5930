"""Who is around: one record a session, beside the cards, and a lock that is held while the session lives.

The bus writes the records and the store reads them for every decision that names a teammate. A record is rewritten by
its own session only. Whether a session lives is known for certain on its own host, by its lock; a call from a command
line leaves no process behind, and counts as live for ten minutes like a session of another host.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final

import msgspec

from flask_pi_taskbar.board.filesystem import Disk, read_regular
from flask_pi_taskbar.board.holder import Holder
from flask_pi_taskbar.board.layout import Layout
from flask_pi_taskbar.board.lock import is_held
from flask_pi_taskbar.board.mail import unread
from flask_pi_taskbar.board.model import MAX_LABEL, SEAT_LABEL, Session
from flask_pi_taskbar.board.stamps import EPOCH, Stamp, cutoff

LIVE_FOR: Final = timedelta(minutes=10)
HEARTBEAT: Final = timedelta(seconds=10)
FORGOTTEN_AFTER: Final = timedelta(days=7)

CLI: Final = "cli"
"""The mode of a caller whose process ends with each call, so that no lock can tell whether it is still around."""

_RECORD_BYTES: Final = 64 * 1024


class Record(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """`sessions/<sid>.json`."""

    v: int = 1
    id: str
    label: str
    mode: str = CLI
    pid: int = 0
    host: str = ""
    boot: str = ""
    start: str = ""
    cwd: str = ""
    started_at: Stamp = EPOCH
    heartbeat_at: Stamp = EPOCH
    listening: bool = False
    serves: bool = False

    @property
    def process(self) -> Holder:
        """The process that the record speaks of."""
        return Holder(pid=self.pid, label=self.label, host=self.host, boot=self.boot, start=self.start)


class Roster:
    """The records of one store, read when asked. Writes nothing."""

    def __init__(self, disk: Disk, layout: Layout) -> None:
        self._disk = disk
        self._layout = layout

    def record(self, session_id: str) -> Record | None:
        """The record of one session; None when there is none that can be read."""
        return self._read(self._layout.session_record(session_id))

    def records(self) -> list[Record]:
        """Every record that can be read."""
        try:
            names = self._disk.names(self._layout.sessions)
        except FileNotFoundError:
            return []
        found = (self._read(f"{self._layout.sessions}/{name}") for name in names if name.endswith(".json"))
        return [record for record in found if record is not None]

    def sessions(self, now: datetime) -> list[Session]:
        """The sessions as rules and page know them."""
        return [self._session(record, now) for record in self.records()]

    def is_live(self, record: Record, now: datetime) -> bool:
        """Its lock is held; or nobody can hold one for it here, and its heartbeat is at most ten minutes old."""
        if is_held(self._disk, self._layout.session_lock(record.id)):
            return True
        if record.mode != CLI and record.process.is_here:
            return False
        return record.heartbeat_at >= cutoff(now, LIVE_FOR)

    def free_label(self, wanted: str, session_id: str, now: datetime) -> str:
        """`wanted`, or with the first suffix `-2`, `-3` … that no other live session has. Ask under the lock."""
        taken = {record.label for record in self.records() if record.id != session_id and self.is_live(record, now)}
        taken.add(SEAT_LABEL)
        return next(label for label in _suffixed(wanted) if label not in taken)

    def forgotten(self, now: datetime) -> Iterable[Record]:
        """The records that nothing was heard of for a week and whose session does not live."""
        limit = cutoff(now, FORGOTTEN_AFTER)
        return [r for r in self.records() if r.heartbeat_at < limit and not self.is_live(r, now)]

    def _read(self, path: str) -> Record | None:
        try:
            _, data = read_regular(self._disk, path, _RECORD_BYTES)
            return _RECORD.decode(data) if data else None
        except (OSError, msgspec.DecodeError):
            return None  # a teammate's damaged record takes nothing but that teammate's row

    def _session(self, record: Record, now: datetime) -> Session:
        return Session(
            id=record.id,
            label=record.label,
            live=self.is_live(record, now),
            heartbeat_at=record.heartbeat_at,
            listening=record.listening,
            mode=record.mode,
            unread=len(unread(self._disk, self._layout, record.id)),
            serves=record.serves,
        )


def encode(record: Record) -> bytes:
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def keeps(label: str, wanted: str) -> bool:
    """A session that asks for `wanted` goes on with `label`: it is the same, or made from it by a suffix."""
    if label == wanted:
        return True
    stem, _, number = label.rpartition("-")
    return (
        bool(stem) and number.isdecimal() and (wanted == stem or (len(label) == MAX_LABEL and wanted.startswith(stem)))
    )


def _suffixed(wanted: str) -> Iterator[str]:
    yield wanted
    number = 2
    while True:
        suffix = f"-{number}"
        yield wanted[: MAX_LABEL - len(suffix)].rstrip() + suffix
        number += 1


_RECORD: Final = msgspec.json.Decoder(Record)
