"""The bus: who is on the team, whether they live and listen, and the mail between them.

The extension inside Pi, the page's process and the `team` commands use it. Records and mail are files beside the cards,
written under the store's lock; the bus holds no connection and needs no process of its own. It decides nothing about
cards: the verbs that send mail are actions like any other, and `rules` judges them.
"""

from __future__ import annotations

import contextlib
from datetime import datetime
from typing import Final

from msgspec.structs import replace

from flask_pi_taskbar.board import joining, mail
from flask_pi_taskbar.board.filesystem import remove_if_there
from flask_pi_taskbar.board.holder import here
from flask_pi_taskbar.board.lock import LifetimeLock
from flask_pi_taskbar.board.model import Actor, ActorKind, Session
from flask_pi_taskbar.board.sessions import Record
from flask_pi_taskbar.board.stamps import stamp
from flask_pi_taskbar.board.store import Store

_LOOK_SECONDS: Final = 0.02
"""Under the store's lock a session waits no longer for its own: who looks at it holds it for microseconds."""


class Bus:
    """The team of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def join(
        self, actor: Actor, *, mode: str, cwd: str, now: datetime, listening: bool = False, serves: bool = False
    ) -> Membership:
        """Put a session on the team for as long as this process (or the membership) lives. Raises `Refusal`.

        The label may get a suffix: among live sessions it is unique.
        """
        store = self._store
        with store.writing(actor, now) as hold:
            self._forget(now)
            known, earlier = joining.as_known(actor, store.roster, now)
            record = replace(joining.new_record(known, now, mode, cwd), listening=listening, serves=serves)
            if earlier is not None:
                record = replace(record, started_at=earlier.started_at)
            with store.commit(hold) as commit:
                joining.save(commit, store.disk, store.layout, record)
            lock = LifetimeLock.take(
                store.disk,
                store.layout.session_lock(actor.id),
                store.layout.temporary,
                here(known.label, stamp(now)),
                clock=store.clock,
                wait=_LOOK_SECONDS,
            )
        return Membership(store, record, lock)

    def roster(self, now: datetime) -> list[Session]:
        """The sessions with a record. Changes nothing."""
        return self._store.roster.sessions(now)

    def unread(self, session_id: str) -> int:
        """How many letters wait for a session (or the seat). Changes nothing."""
        return len(mail.unread(self._store.disk, self._store.layout, session_id))

    def inbox(self, actor: Actor, *, now: datetime) -> dict[str, object]:
        """The letters that the caller has not read; from now on it has. Raises `Refusal`.

        The session that serves the page is given the seat's mail too.
        """
        store = self._store
        boxes = [actor.id]
        record = None if actor.kind is ActorKind.SEAT else store.roster.record(actor.id)
        if record is not None and record.serves:
            boxes.append(store.seat.id)
        found: list[mail.Letter] = []
        if self._any_unread(boxes):
            with store.writing(actor, now) as hold, store.commit(hold) as commit:
                for box in boxes:
                    letters = mail.letters(store.disk, store.layout, box)
                    mail.mark_seen(commit, store.layout, box, letters)
                    mail.forget_old(store.disk, store.layout, box)
                    found += letters
        found.sort(key=lambda letter: (letter.at, letter.n))
        return {"ok": True, "action": "inbox", "mail": [mail.as_json(letter) for letter in found]}

    def _any_unread(self, boxes: list[str]) -> bool:
        try:
            return any(self.unread(box) for box in boxes)
        except OSError:
            return True  # the locked look says what is wrong

    def assign(
        self, card: object, label: str, actor: Actor, *, now: datetime, text: str | None = None
    ) -> dict[str, object]:
        """Send a handoff; the recipient's claim takes the card. Raises `Refusal`."""
        return self._store.apply("handoff", {"card": card, "label": label, "text": text}, actor, now=now)

    def offer(self, card: object, actor: Actor, *, now: datetime, text: str | None = None) -> dict[str, object]:
        """Offer a card to every other live session; the first claim wins. Raises `Refusal`."""
        return self._store.apply("offer", {"card": card, "text": text}, actor, now=now)

    def reclaim(self, card: object, actor: Actor, *, now: datetime) -> dict[str, object]:
        """Take a card back, whoever holds it. Raises `Refusal`."""
        return self._store.apply("reclaim", {"card": card}, actor, now=now)

    def sweep(self, actor: Actor, *, now: datetime) -> None:
        """Forget the sessions that nothing was heard of for a week. Raises `Refusal`."""
        with self._store.writing(actor, now):
            self._forget(now)

    def _forget(self, now: datetime) -> None:
        for record in self._store.roster.forgotten(now):
            # The lock file goes first: a record without one is a session that does not live.
            remove_if_there(self._store.disk, self._store.layout.session_lock(record.id))
            remove_if_there(self._store.disk, self._store.layout.session_record(record.id))


class Membership:
    """A session's place on the team: its record and, while it is held, the lock that shows that it lives."""

    def __init__(self, store: Store, record: Record, lock: LifetimeLock | None) -> None:
        self._store = store
        self._record = record
        self._lock = lock

    @property
    def actor(self) -> Actor:
        """The session under the label that it was given."""
        return Actor(self._record.id, self._record.label)

    @property
    def holds_lock(self) -> bool:
        """False where another process is the same session already."""
        return self._lock is not None

    def heartbeat(self, *, now: datetime) -> None:
        """Show that the session goes on; every ten seconds. Raises `Refusal`."""
        self._save(now, self._record)

    def listen(self, *, now: datetime, listening: bool) -> None:
        """Tell whether the session's inbox is being watched. Raises `Refusal`."""
        self._save(now, replace(self._record, listening=listening))

    def serve(self, *, now: datetime, serves: bool) -> None:
        """Tell whether the session serves the page. Raises `Refusal`."""
        self._save(now, replace(self._record, serves=serves))

    def leave(self, *, now: datetime) -> None:
        """Stop listening and let go; the record stays, and says when the session was last heard of."""
        try:
            self._save(now, replace(self._record, listening=False, serves=False))
        finally:
            self.close()

    def close(self) -> None:
        """Let go of the lock and write nothing, as the end of the process does."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _save(self, now: datetime, record: Record) -> None:
        record = replace(record, heartbeat_at=stamp(now))
        if self._lock is not None:
            with contextlib.suppress(OSError):
                self._lock.renew()
        with self._store.writing(self.actor, now) as hold, self._store.commit(hold) as commit:
            joining.save(commit, self._store.disk, self._store.layout, record)
        self._record = record
