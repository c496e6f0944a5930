"""The hub: one a process, which knows the board as it is now and tells everybody who follows when that changes.

Routes ask it for the newest state (`snapshot`) and follow it (`follow`). It is right without any thread: each question
looks first whether something has moved. While somebody follows, one thread looks five times a second, at once where the
operating system tells of changes, every five seconds at every single file, and when time alone changes something. A
follower holds nothing but the number of the state that it was told last; what it missed it is told together. After a
fork the child starts over. A disk that fails takes no view away: the last good one stays and says so (`store.notice`).
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import TracebackType
from typing import Final, NamedTuple, Self

from flask_pi_taskbar.board import index as files
from flask_pi_taskbar.board.decisions import IDLE_MINUTES
from flask_pi_taskbar.board.live import frames
from flask_pi_taskbar.board.live.timeline import Timeline
from flask_pi_taskbar.board.live.triggers import Events, Folders
from flask_pi_taskbar.board.model import Session
from flask_pi_taskbar.board.reading import Reading
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.board.view import View, build

LOOK_SECONDS: Final = 0.2
SWEEP_SECONDS: Final = 5.0
"""How often every file is looked at: an editor that saves in place moves no folder's time."""

PACE_SECONDS: Final = 0.05
"""At most one frame in this time; what moves meanwhile goes out together."""

LINGER_SECONDS: Final = 10.0
"""The thread outlives its last follower by this: a browser whose stream was ended on purpose is about to return."""

_STARTING_OVER: Final = threading.Lock()

LEVEL_NOTICES: Final = {
    1: "This file system has no hard links; cards are created by an exclusive rename instead.",
    2: "This file system has no file locks; a folder is the lock, and other hosts' changes may take a minute to show.",
}


class Snapshot(NamedTuple):
    """The board at one moment. `etag` names the state, as HTTP has it."""

    etag: str
    rev: int
    body: bytes


class Hub:
    """The live view of one store.

    `epoch` begins the name of this hub's states; each process adds its own. `facts` says whose board this is and where
    it is served, for the frames. `now` and `look_seconds` are for tests.
    """

    def __init__(
        self,
        store: Store,
        *,
        epoch: str,
        idle_minutes: int = IDLE_MINUTES,
        facts: Callable[[], Mapping[str, object]] = dict,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        look_seconds: float = LOOK_SECONDS,
        sweep_seconds: float = SWEEP_SECONDS,
        linger_seconds: float = LINGER_SECONDS,
    ) -> None:
        self._store = store
        self._named = epoch
        self._idle_minutes = idle_minutes
        self._facts = facts
        self._now = now
        self._look_seconds = look_seconds
        self._sweep_seconds = sweep_seconds
        self._linger_seconds = linger_seconds
        self._start_over()

    def _start_over(self) -> None:
        self._over: str | None = None
        self._looking = threading.Lock()
        """Held while files are looked at; never by who waits for a state."""
        self._turn = threading.Condition()
        """Guards what follows; notified when there is a new state, or none any more."""
        self._timeline: Timeline | None = None
        self._viewers = 0
        self._thread: threading.Thread | None = None
        self._moved = threading.Event()
        self._folders = Folders(self._store.layout)
        self._roster: tuple[Session, ...] = ()
        self._world: files.Snapshot | None = None
        self._problem = ""
        self._failures = 0
        self._again = 0.0
        """When a look that failed is to be repeated, in the seconds of `time.monotonic`."""
        self.was_followed = False
        self.last_left = time.monotonic()
        """When the last stream ended, in the seconds of `time.monotonic`."""
        self._pid = os.getpid()  # last: who sees it finds everything else in place

    @property
    def viewers(self) -> int:
        """How many streams are open."""
        return self._viewers

    @property
    def epoch(self) -> str:
        """The name of this process's states."""
        return self._newest().epoch

    def snapshot(self, *, can_write: bool) -> Snapshot:
        """The board as it is now. Raises `OSError` if it could never be read."""
        timeline = self._refreshed()
        with self._turn:
            body = timeline.snapshot(self._now(), can_write=can_write)
            return Snapshot(f'"{timeline.epoch}.{timeline.rev}"', timeline.rev, body)

    def follow(self, last: str | None = None, have: str | None = None, *, can_write: bool) -> Follower:
        """Whoever enters it follows from the state with the id `last`, or that shows what the digest `have` stands for.

        Raises `OSError` if the board could never be read.
        """
        self._refreshed()
        return Follower(self, last, have, can_write=can_write)

    def nudge(self) -> None:
        """Something was written by us: look at once."""
        with contextlib.suppress(OSError):
            self._refreshed()

    def close(self, why: str = frames.BYE_STOPPED) -> None:
        """Tell everybody that the page stops, and stop looking. Following is over from now on."""
        with self._turn:
            self._over = why
            self._turn.notify_all()
            thread, self._thread = self._thread, None
        self._moved.set()
        if thread is not None:
            thread.join()

    # Looking.

    def _newest(self) -> Timeline:
        timeline = self._timeline
        return timeline if timeline is not None and self._pid == os.getpid() else self._refreshed()

    def _refreshed(self) -> Timeline:
        """The timeline, with the board as it is now in it."""
        if self._pid != os.getpid():
            with _STARTING_OVER:
                if self._pid != os.getpid():
                    self._start_over()
        with self._looking:
            self._look(every_file=False)
            if self._timeline is None:
                raise OSError(self._problem or "the board could not be read")
            return self._timeline

    def _look(self, *, every_file: bool) -> bool:
        """See what has moved; whether there is a new state. Only under `_looking`. Never raises `OSError`."""
        now = self._now()
        timeline = self._timeline
        # What moved before a look failed is not told again: the next ones look at everything, soon, then seldom.
        every_file = every_file or (bool(self._problem) and time.monotonic() >= self._again)
        cards_moved, around_moved = self._folders.look(time.time_ns())
        due = timeline is not None and timeline.view.due is not None and now >= timeline.view.due
        if timeline is not None and not (cards_moved or around_moved or due or every_file):
            return False
        try:
            world = self._store.read_all(now) if cards_moved or every_file else self._store.glance(now)
            roster = tuple(world.roster())
            same_cards = self._cards_are_those_of(world)
            if timeline is not None and same_cards and not due and _alike(roster, self._roster) and not self._problem:
                return False
            previous = None if timeline is None else timeline.view
            view = build(world, self._store.seat, now, idle_minutes=self._idle_minutes, previous=previous)
            published = self._publish(view, now, self._store_facts(world))
            self._roster, self._world, self._problem, self._failures = roster, world.snapshot, "", 0
            return published
        except Exception as error:  # noqa: BLE001 - whatever a file holds, the last good board stays and says so
            self._failures += 1
            self._again = time.monotonic() + min(
                self._sweep_seconds, LOOK_SECONDS * (2 ** min(self._failures - 1, 9) - 1)
            )
            why = (error.strerror or str(error)) if isinstance(error, OSError) else type(error).__name__
            self._problem = f"The board cannot be read: {why}. What is shown is how it was before."
            if timeline is None:
                return False
            return self._publish(timeline.view, now, {**timeline.store, "notice": self._problem})

    def _cards_are_those_of(self, world: Reading) -> bool:
        before = self._world
        known = world.snapshot.known
        if before is None or len(before.known) != len(known):
            return False
        return before is world.snapshot or all(before.known.get(name) is found for name, found in known.items())

    def _publish(self, view: View, now: datetime, facts: Mapping[str, object]) -> bool:
        with self._turn:
            if self._timeline is None:
                epoch = f"{self._named}-{secrets.token_hex(3)}"
                self._timeline = Timeline(epoch, view, store=facts, board=self._facts())
                return True
            if not self._timeline.push(view, now, facts):
                return False
            self._turn.notify_all()
            return True

    def _store_facts(self, world: Reading) -> dict[str, object]:
        level = self._store.known_level
        return {
            "bytes": self._store.size(world.snapshot),
            "level": level or 0,
            "notice": LEVEL_NOTICES.get(level or 0),
            "others": len(world.others),
        }

    # The thread.

    def _watch(self) -> None:
        events = Events(self._store.layout, self._moved)
        swept = last_frame = time.monotonic()
        nobody_since: float | None = None
        try:
            while self._over is None and self._pid == os.getpid():
                events.start()
                self._moved.wait(self._look_seconds)
                now = time.monotonic()
                if now < last_frame + PACE_SECONDS:
                    time.sleep(last_frame + PACE_SECONDS - now)
                self._moved.clear()
                every_file = now - swept >= self._sweep_seconds
                swept = now if every_file else swept
                # A failure is what the next request finds too and can say; the readers are not left without a thread.
                with self._looking, contextlib.suppress(Exception):
                    if self._look(every_file=every_file):
                        last_frame = time.monotonic()
                nobody_since = None if self._viewers else nobody_since or now
                if nobody_since is not None and now - nobody_since >= self._linger_seconds:
                    with self._turn:
                        if not self._viewers:
                            self._thread = None
                            return
        finally:
            events.stop()

    def _enter(self) -> None:
        with self._turn:
            if (self._thread is None or not self._thread.is_alive()) and self._over is None:
                thread = threading.Thread(target=self._watch, name="board hub", daemon=True)
                thread.start()  # may fail, and then nobody has entered
                self._thread = thread
            self._viewers += 1
            self.was_followed = True

    def _leave(self) -> None:
        with self._turn:
            self._viewers = max(0, self._viewers - 1)  # a forked child leaves what it never entered
            self.last_left = time.monotonic()


class Follower:
    """One reader of the stream. It holds no frames: only which state its reader was told last."""

    def __init__(self, hub: Hub, last: str | None, have: str | None, *, can_write: bool) -> None:
        self._hub = hub
        self._last = last
        self._have = have
        self._can_write = can_write
        self._told: int | None = None
        self._is_over = False

    def __enter__(self) -> Self:
        self._hub._enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._hub._leave()

    def next(self, timeout: float) -> list[bytes] | None:
        """The frames to be sent now; empty if nothing came within the time, None when the page has stopped.

        The first call answers at once: with what leads from the reader's state to the newest one, which may be nothing.
        """
        hub = self._hub
        if self._is_over:
            return None
        with hub._turn:
            timeline = hub._timeline
            assert timeline is not None
            if self._told is not None:
                hub._turn.wait_for(lambda: hub._over is not None or self._told != timeline.rev, timeout)
            if hub._over is not None:
                self._is_over = True
                return [frames.bye(hub._over)]
            if self._told is None:
                found = timeline.resume(self._last, self._have, hub._now(), can_write=self._can_write)
            else:
                found = timeline.since(self._told) or []
                if not found and self._told != timeline.rev:
                    found = timeline.resume(None, None, hub._now(), can_write=self._can_write)
            self._told = timeline.rev
            return found


def _alike(one: tuple[Session, ...], other: tuple[Session, ...]) -> bool:
    """The same teammates in the same state; only hearts may have beaten."""
    return len(one) == len(other) and all(_shown(a) == _shown(b) for a, b in zip(one, other, strict=True))


def _shown(session: Session) -> tuple[object, ...]:
    quiet_since = None if session.live else session.heartbeat_at
    return (
        session.id,
        session.label,
        session.live,
        session.listening,
        session.mode,
        session.unread,
        session.serves,
        quiet_since,
    )
