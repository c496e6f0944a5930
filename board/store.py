"""The store: the only place that writes cards.

Page, command line, Pi's tool and bus hand a call to `Store.apply`; it takes the lock, has `rules.decide` judge the call
by what is on the disk at that moment, and makes what it decides durable. Reading takes no lock and changes nothing.
Time is passed in as an aware datetime; the clock given to the constructor is only waited by.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from flask_pi_taskbar.board import joining, journal, mail, rules, upkeep
from flask_pi_taskbar.board.card import etag, parse, serialize
from flask_pi_taskbar.board.commit import Commit, Uncertain
from flask_pi_taskbar.board.filesystem import Creation, Disk, exists, level_of, probe_creation, read_regular, signature
from flask_pi_taskbar.board.holder import Clock, Hold, Holder, Lost
from flask_pi_taskbar.board.identity import seat
from flask_pi_taskbar.board.index import Index, Snapshot
from flask_pi_taskbar.board.layout import Layout
from flask_pi_taskbar.board.lock import WAIT_SECONDS, Held, StoreLock
from flask_pi_taskbar.board.model import MAX_COPY_BYTES, MAX_FILE_BYTES, MAX_ID, Actor, ActorKind, Card, Damaged, Entry
from flask_pi_taskbar.board.reader import Seen, shown_name
from flask_pi_taskbar.board.reading import Live, Reading, Surroundings
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import Action, read_request
from flask_pi_taskbar.board.rules import Change, Write
from flask_pi_taskbar.board.sessions import Record, Roster
from flask_pi_taskbar.board.stamps import stamp

ID_ATTEMPTS: Final = 1000
"""So many numbers in a row may be taken by writers that take no lock, before an add gives up."""

_NEEDS_ALL: Final = frozenset({Action.DROP, Action.NEXT})
"""The actions that are decided by every card, so that none may have changed unseen."""


class Store:
    """The board in one folder. Cheap to make; nothing is opened before the first call, nothing written before a write.

    Threads may share it. `disk` and `clock` are for tests; `wait` is how long a write waits for the lock.
    """

    def __init__(
        self, path: Path | str, *, disk: Disk | None = None, clock: Clock = time, wait: float = WAIT_SECONDS
    ) -> None:
        self.layout = Layout(os.path.abspath(path))  # noqa: PTH100 - a plain string, its links as they are
        self.disk = disk or Disk()
        self.clock = clock
        self.roster = Roster(self.disk, self.layout)
        self.seat = seat(Path(path).name)
        self._index = Index(self.disk, clock, self.layout)
        self._lock = StoreLock(self.disk, self.layout.lock, self.layout.temporary, clock=clock, wait=wait)
        self._creation: Creation | None = None
        self._by_directory = False
        self._sound = False
        """The folders were looked at, and nothing has failed since."""

    # Reading

    def read_all(self, now: datetime) -> Reading:
        """Everything as it is at this moment, every file looked at. Raises `OSError`."""
        return Reading(self._index.sweep(), self._around(now))

    def glance(self, now: datetime) -> Reading:
        """Everything, with every write of ours that has ended; an edit in place by others may not show yet."""
        return Reading(self._index.glance(), self._around(now))

    def live(self, now: datetime) -> Live:
        """The board as it is now, read where it is asked: for one card and what it depends on."""
        return Live(self._index, self._around(now), self._index.glance)

    def read(self, card_id: int) -> tuple[Entry, str] | None:
        """One card as it is now, with its etag; None if there is none."""
        seen = self._index.get(card_id)
        if seen is None:
            return None
        return seen.entry, etag(card_id, seen.entry.rev if isinstance(seen.entry, Card) else 0, seen.data)

    def level(self, now: datetime) -> int:
        """What this file system gives (spec 10): 0, 1 or 2. Found out by a lock and a probe. Raises `Refusal`."""
        with self.writing(self.seat, now):
            return level_of(self._creation or Creation.LINK, by_directory=self._by_directory)

    @property
    def known_level(self) -> int | None:
        """The level, if this process has written already."""
        if self._creation is None:
            return None
        return level_of(self._creation, by_directory=self._by_directory)

    @property
    def creation(self) -> Creation | None:
        return self._creation

    def size(self, seen: Snapshot | None = None) -> int:
        """How many bytes the files of the store hold. `seen`: the cards, for whoever has just looked at them."""
        layout = self.layout
        total = sum(known.signature.size for known in (seen or self._index.glance()).known.values())
        for folder in (layout.root, layout.dropped, layout.damaged, layout.sessions):
            total += sum(found.st_size for found in self._files(folder))
        for letters in mail.folders(self.disk, layout):
            total += sum(found.st_size for found in self._files(letters))
        return total

    def _files(self, folder: str) -> list[os.stat_result]:
        try:
            return [found for _, found in self.disk.scan(folder) if stat.S_ISREG(found.st_mode)]
        except (FileNotFoundError, NotADirectoryError):
            return []

    def holder(self) -> Holder | None:
        """Who holds the lock at this moment, as far as it says."""
        return self._lock.holder()

    # Writing

    def apply(
        self,
        action: str,
        fields: Mapping[str, object],
        actor: Actor,
        *,
        now: datetime,
        if_rev: int | None = None,
        base: Mapping[str, object] | None = None,
        key: str | None = None,
        cwd: str = "",
    ) -> dict[str, object]:
        """Do one action as `actor` and answer as spec 6.1 says. Raises `Refusal`, and then nothing was changed."""
        conditions = {"ifRev": if_rev, "base": base, "key": key}
        request = read_request(action, {**fields, **{name: to for name, to in conditions.items() if to is not None}})
        needs_all = request.action in _NEEDS_ALL or request.key is not None
        team: dict[str, object] = {}
        try:
            if needs_all:
                with contextlib.suppress(OSError):
                    self._index.glance()  # so that under the lock only what has moved since is read
            with self.writing(actor, now) as hold:
                known, record = joining.as_known(actor, self.roster, now)
                world = Live(self._index, self._around(now), self._index.sweep if needs_all else self._index.glance)
                change = rules.decide(request, known, world, now)
                if change.write is not Write.NOTHING:
                    change = self._write(change, known, world, hold, now)
                    team = self._join(known, record, hold, now, cwd)
        except Refusal as refusal:
            refusal.action = refusal.action or request.action
            with contextlib.suppress(OSError):
                rules.with_alternatives(refusal, actor, self.live(now))
            raise
        return self._answer(change, now) | team

    @contextlib.contextmanager
    def writing(self, actor: Actor, now: datetime) -> Iterator[Hold]:
        """Hold the lock of the store, made ready for a write. A failure of the disk becomes a `Refusal`."""
        try:
            if not self._sound or not exists(self.disk, self.layout.cards):
                self.layout.prepare(self.disk)
                self._sound = True
            with self._lock.held(actor.label, stamp(now)) as hold:
                self._by_directory = hold.by_directory
                upkeep.clear(self.disk, self.layout, by_directory=hold.by_directory)
                if self._creation is None:
                    self._creation = probe_creation(self.disk, f"{self.layout.temporary}/probe.{os.urandom(4).hex()}")
                yield hold
        except Held as held:
            raise _busy(held.holder) from held
        except Lost as lost:
            raise Refusal(Code.BUSY, "Another process took over the lock of the board; nothing was written.") from lost
        except OSError as error:
            self._sound = False
            raise _unwritable(error) from error

    def commit(self, hold: Hold) -> Commit:
        """The changes of one write, made under `hold`."""
        return Commit(self.disk, self.layout, self._creation or Creation.LINK, hold)

    def set_aside(self, name: str, actor: Actor, *, now: datetime) -> dict[str, object]:
        """Move a damaged file out of the cards into `damaged/`. Raises `Refusal`."""
        with self.writing(actor, now) as hold:
            files = self._index.sweep().known
            name = next((raw for raw in files if raw == name or shown_name(raw) == name), name)
            found = files.get(name)
            if found is None or not isinstance(found.entry, Damaged):
                message = f"{name!r} is not among the damaged files."
                raise Refusal(Code.NO_SUCH_CARD, message, action="set_aside", details={"name": name})
            target = upkeep.aside_name(self.disk, self.layout, shown_name(name), now)
            with self.commit(hold) as commit:
                commit.move(f"{self.layout.cards}/{name}", f"{self.layout.damaged}/{target}")
            self._record(journal.line_of(actor, stamp(now), "set_aside"), hold)
        return {"ok": True, "action": "set_aside", "name": shown_name(name), "to": f"{self.layout.damaged}/{target}"}

    def _around(self, now: datetime) -> Surroundings:
        return Surroundings(self.disk, self.layout, self.roster, self.seat, now)

    def _write(self, change: Change, actor: Actor, world: Live, hold: Hold, now: datetime) -> Change:
        card = change.card
        path = self.layout.card(card.id)
        before = self._bytes_of(card.id, world) if change.write in {Write.UPDATE, Write.DROP} else b""
        beside: Card | None = None
        with self.commit(hold) as commit:
            for letter in change.mails:
                mail.deliver(commit, self.disk, self.layout, letter)
            match change.write:
                case Write.CREATE:
                    card = self._create(commit, card)
                    if change.origin is not None:
                        beside = self._note_at_origin(commit, change.origin, actor, card.id, world, now)
                case Write.UPDATE:
                    commit.replace(path, _fitting(card), before)
                case Write.DROP:
                    copy = self.layout.dropped_card(card.id)
                    commit.replace(copy, serialize(card), self._copy_at(copy))
                    commit.settle()
                    commit.remove(path, before)
                case Write.RESTORE:
                    self._restore(commit, card)
        self._after(change, card, actor, world, hold, now, beside)
        return change if card is change.card else replace(change, card=card)

    def _create(self, commit: Commit, card: Card) -> Card:
        for number in range(card.id, min(card.id + ID_ATTEMPTS, MAX_ID + 1)):
            numbered = card if number == card.id else replace(card, id=number)
            try:
                commit.create(self.layout.card(number), _fitting(numbered))
            except FileExistsError:
                continue  # somebody who takes no lock was here
            commit.hint(self.layout.seq, b"%d\n" % number)
            return numbered
        raise Refusal(
            Code.STORE_UNWRITABLE, f"No number from {card.id} on is free for a new card; nothing was changed."
        )

    def _note_at_origin(
        self, commit: Commit, origin: Card, actor: Actor, number: int, world: Live, now: datetime
    ) -> Card | None:
        """Behind the new card, so that a crash leaves that one alone, which says itself what it was made of."""
        before = self._bytes_of(origin.id, world)
        noted = rules.origin_noted(origin, actor, number, now)
        if noted is not None:
            commit.replace(self.layout.card(origin.id), serialize(noted), before)
        return noted

    def _restore(self, commit: Commit, card: Card) -> None:
        try:
            commit.create(self.layout.card(card.id), _fitting(card))
        except FileExistsError:
            message = f"#{card.id} exists again as another file, so the dropped card cannot come back under its number."
            raise Refusal(Code.NOTHING_TO_DO, message) from None
        path = self.layout.dropped_card(card.id)
        before = self._copy_at(path)
        if before is not None:
            commit.remove(path, before)

    def _bytes_of(self, card_id: int, world: Live) -> bytes:
        """What the card's file holds, if that is still what was decided by."""
        seen = self._index.get(card_id)
        if seen is None or seen.entry != world.get(card_id):
            message = f"#{card_id} was changed in this moment by a program that takes no lock; nothing was written."
            raise Refusal(Code.BUSY, message, card=None if seen is None else seen.entry)
        return seen.data

    def _copy_at(self, path: str) -> bytes | None:
        """What the copy of a dropped card holds, if there is one."""
        try:
            return read_regular(self.disk, path, MAX_COPY_BYTES)[1]
        except FileNotFoundError:
            return None

    def _after(
        self,
        change: Change,
        card: Card,
        actor: Actor,
        world: Live,
        hold: Hold,
        now: datetime,
        beside: Card | None,
    ) -> None:
        """What follows an accepted write; it is done and durable, and nothing here can make it fail."""
        self._record(journal.line_of(actor, stamp(now), change.action.value, card), hold)
        try:
            seen = None if change.write is Write.DROP else self._as_written(card)
            also = {} if beside is None else {beside.id: self._as_written(beside)}
            self._index.wrote(world.unmoved, {card.id: seen} | also)
        except OSError:
            self._index.forget()

    def _as_written(self, card: Card) -> Seen:
        data = serialize(card)
        return Seen(signature(self.disk.stat(self.layout.card(card.id))), parse(data, card.id), data)

    def _record(self, line: journal.Line, hold: Hold) -> None:
        with contextlib.suppress(OSError, Lost):  # derived, and may be missing
            journal.append(self.disk, self.layout, line)
            if journal.is_long(self.disk, self.layout):
                with self.commit(hold) as commit:
                    commit.hint(self.layout.journal, journal.newer_half(self.disk, self.layout))

    def _join(self, actor: Actor, record: Record | None, hold: Hold, now: datetime, cwd: str) -> dict[str, object]:
        """The writer is on the team from now on. If that fails, it is a remark on the answer."""
        if actor.kind is ActorKind.SEAT or joining.is_fresh(record, actor, now):
            return {}
        try:
            with self.commit(hold) as commit:
                joining.save(commit, self.disk, self.layout, joining.seen_now(record, actor, now, cwd=cwd))
        except (OSError, Lost) as error:
            why = (error.strerror or str(error)) if isinstance(error, OSError) else "the lock was lost"
            return {"team": {"label": actor.label, "joined": False, "why": why}}
        is_news = record is None or record.label != actor.label
        return {"team": {"label": actor.label, "joined": True}} if is_news else {}

    def _answer(self, change: Change, now: datetime) -> dict[str, object]:
        try:
            return change.result(self.live(now))
        except OSError:
            # The write stands, whatever can be read now.
            return change.result(Reading(self._index.newest, self._around(now)))


def _fitting(card: Card) -> bytes:
    data = serialize(card)
    if len(data) > MAX_FILE_BYTES:
        message = f"#{card.id} is full: {MAX_FILE_BYTES // 1024} KiB is all that a card holds. Go on in a new card."
        raise Refusal(Code.CARD_FULL, message, card=card)
    return data


def _busy(holder: Holder | None) -> Refusal:
    if holder is None or not holder.pid:
        return Refusal(Code.BUSY, "The board is busy: somebody else is writing and does not let go; try again.")
    message = f"The board is busy: {holder.label} (pid {holder.pid}) is writing since {holder.since}; try again."
    details = {"holder": {"pid": holder.pid, "label": holder.label, "since": holder.since, "host": holder.host}}
    return Refusal(Code.BUSY, message, details=details)


def _unwritable(error: OSError) -> Refusal:
    changed = "nothing was changed" if not isinstance(error, Uncertain) else "look at the board again"
    message = f"The board cannot be written: {error.strerror or error}; {changed}."
    name = errno.errorcode.get(error.errno or 0)
    return Refusal(Code.STORE_UNWRITABLE, message, details={"errno": name, "path": error.filename})
