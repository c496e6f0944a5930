"""Joining the team: which name a session goes by, and the record that shows it.

The store joins whoever writes a card; the bus joins a session that opens the page or listens for mail. Both hold the
lock, which is what makes a label unique.
"""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime

from msgspec.structs import replace

from flask_pi_taskbar.board.commit import Commit
from flask_pi_taskbar.board.filesystem import Disk, read_regular
from flask_pi_taskbar.board.holder import here
from flask_pi_taskbar.board.layout import Layout
from flask_pi_taskbar.board.model import SEAT_LABEL, Actor, ActorKind
from flask_pi_taskbar.board.sessions import CLI, HEARTBEAT, Record, Roster, encode, keeps
from flask_pi_taskbar.board.stamps import cutoff, stamp
from flask_pi_taskbar.board.text import bad


def as_known(actor: Actor, roster: Roster, now: datetime) -> tuple[Actor, Record | None]:
    """The actor under the label that the team knows it by, and its record if it has one. Raises `Refusal`."""
    if actor.kind is ActorKind.SEAT:
        return actor, None
    if reads_as_the_seat(actor.label):
        raise bad("label", f"{SEAT_LABEL} is the page's seat; a session needs a name of its own (--as LABEL).")
    record = roster.record(actor.id)
    if record is not None and keeps(record.label, actor.label):
        return replace(actor, label=record.label), record
    return replace(actor, label=roster.free_label(actor.label, actor.id, now)), record


def reads_as_the_seat(label: str) -> bool:
    """Whether people would take a session of this label for the page's seat: `Team-Lead`, `team lead`, wide letters."""
    return re.sub(r"[-_. ]+", "-", unicodedata.normalize("NFKC", label).casefold()) == SEAT_LABEL


def is_fresh(record: Record | None, actor: Actor, now: datetime) -> bool:
    """The record says already what a write of the actor would make it say."""
    if record is None or record.label != actor.label:
        return False
    # One in the future comes of a clock that ran ahead; it would stand, and seem to live, until that day.
    return cutoff(now, HEARTBEAT) < record.heartbeat_at <= stamp(now)


def seen_now(record: Record | None, actor: Actor, now: datetime, *, cwd: str) -> Record:
    """The record of a session that has just written a card."""
    at = stamp(now)
    return new_record(actor, now, CLI, cwd) if record is None else replace(record, label=actor.label, heartbeat_at=at)


def new_record(actor: Actor, now: datetime, mode: str, cwd: str) -> Record:
    """The record of a session that this process is."""
    at = stamp(now)
    me = here(actor.label, at)
    return Record(
        id=actor.id,
        label=actor.label,
        mode=mode,
        pid=me.pid,
        host=me.host,
        boot=me.boot,
        start=me.start,
        cwd=cwd.encode("utf-8", "replace").decode(),  # a folder's name may be any bytes; a record is UTF-8
        started_at=at,
        heartbeat_at=at,
    )


def save(commit: Commit, disk: Disk, layout: Layout, record: Record) -> None:
    """Write a record, as a part of `commit`."""
    path = layout.session_record(record.id)
    try:
        _, before = read_regular(disk, path, 1 << 20)
    except FileNotFoundError:
        before = None
    commit.replace(path, encode(record), before)
