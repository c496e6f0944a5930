"""The shell around one `Session`: carries out its effects and tells it what has happened.

The host makes one for the settings in force. Everything here runs on the loop's thread; what blocks is handed to the
file thread. No rule about tasks stands in this file.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from flask_pi_taskbar.broker.effects import Answer, Dismiss, Effect, Journal, Result, Send, Settled, Spawn, Stop
from flask_pi_taskbar.broker.journal import Journal as JournalFile
from flask_pi_taskbar.broker.pi import Events, PiChild
from flask_pi_taskbar.broker.reception import Settings
from flask_pi_taskbar.broker.records import Fault
from flask_pi_taskbar.broker.recover import Ledger
from flask_pi_taskbar.broker.runtime import Refused
from flask_pi_taskbar.broker.session import Session, SessionConfig
from flask_pi_taskbar.broker.shell import Shell
from flask_pi_taskbar.contract import TaskRequest
from flask_pi_taskbar.contract.snapshot import TaskStatus
from flask_pi_taskbar.osdep.types import Process

CENSUS_SECONDS = 2.0
"""How often a busy Pi's tree is looked at, so that what it started is known should Pi and broker both be killed."""


class Ticket(Protocol):
    """A client's request that waits for its decision."""

    def answer(self, result: str) -> None: ...
    def __hash__(self) -> int: ...


class Disk(NamedTuple):
    """Where an engine works and what it writes."""

    root: Path
    journal: JournalFile
    ledger: Ledger


class Engine:
    """A session, its timer and its Pi children. `changed` is called when something may look different."""

    def __init__(self, shell: Shell, disk: Disk, settings: Settings, name: str, changed: Callable[[], None]) -> None:
        self.settings = settings
        self.session = Session(
            SessionConfig(task_timeout=settings.task_timeout),
            new_id=lambda: os.urandom(12).hex(),
            utcnow=lambda: datetime.now(UTC),
        )
        self._shell = shell
        self._disk = disk
        self._name = name
        self._changed = changed
        self._loop = asyncio.get_running_loop()
        self._children: dict[int, PiChild] = {}
        self._spawning: dict[int, asyncio.Task[bool]] = {}
        self._resets: set[Ticket] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_for: float | None = None
        self._census: asyncio.TimerHandle | None = None
        self._closing = False
        self._ended = asyncio.Event()

    @property
    def pi_pid(self) -> int:
        """The newest Pi's process, or 0."""
        living = [child.process.pid for child in self._children.values() if child.process]
        return living[-1] if living else 0

    # Inputs from the host.

    def open(self) -> None:
        self._apply(self.session.open(self._loop.time()))

    def read(self) -> None:
        if effects := self.session.read(self._loop.time()):
            self._apply(effects)

    def renew(self, settings: Settings) -> None:
        """The next Pi is started with these; tells the session when that makes a difference."""
        self.settings = settings
        if any(child.settings.differs_for_pi(settings) for child in self._children.values()):
            self._apply(self.session.outdated(self._loop.time()))

    def submit(self, task: TaskRequest, ticket: Ticket) -> None:
        self._apply(self.session.submit(task, ticket, self._loop.time()))

    def cancel(self, task_id: str, ticket: Ticket) -> None:
        self._apply(self.session.cancel(task_id, ticket, self._loop.time()))

    def reset(self, ticket: Ticket) -> None:
        self._resets.add(ticket)
        self._apply(self.session.reset(ticket, self._loop.time()))

    async def close(self) -> None:
        """Stop Pi and whatever it started; returns when that is done.

        A task that this cuts off is left unsettled in the journal, so that the next broker shows it as interrupted. One
        that a user has stopped is not: nobody waits for it.
        """
        if not self._closing:
            self._closing = True
            self._apply(self.session.close(self._loop.time()))
        while self._children:
            self._ended.clear()
            await self._ended.wait()
        for timer in (self._timer, self._census):
            if timer is not None:
                timer.cancel()

    # Effects of the session.

    def _apply(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case Send(incarnation, message):
                    if (child := self._children.get(incarnation)) is not None:
                        child.send(message)
                case Answer(ticket, result):
                    self._answer(ticket, result)
                case Journal(task_id, prompt, started_at):
                    self._shell.own(self._begin(task_id, prompt, started_at))
                case Settled(task_id, status):
                    if not (self._closing and status is TaskStatus.FAILED):
                        self._shell.own(self._write(self._disk.journal.end, task_id, status.value))
                case Spawn(incarnation):
                    self._spawn(incarnation)
                case Dismiss(incarnation):
                    self._shell.own(self._stop(incarnation, PiChild.dismiss))
                case Stop(incarnation):
                    self._shell.own(self._stop(incarnation, PiChild.stop))
        self._set_timer()
        self._changed()

    def _answer(self, ticket: Any, result: Result) -> None:
        if ticket in self._resets:
            self._resets.discard(ticket)
            if result is Result.ACCEPTED:
                self._shell.own(self._write(self._disk.journal.forget))
        ticket.answer(result.value)

    def _set_timer(self) -> None:
        wanted = self.session.deadline()
        if wanted == self._timer_for:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_for = wanted
        self._timer = None if wanted is None else self._loop.call_at(wanted, self._tick)

    def _tick(self) -> None:
        self._timer = self._timer_for = None
        self._apply(self.session.tick(self._loop.time()))

    # The disk.

    async def _begin(self, task_id: str, prompt: str, started_at: str) -> None:
        recorded = await self._write(self._disk.journal.begin, task_id, prompt, started_at)
        self._apply(self.session.journaled(task_id, recorded, self._loop.time()))
        self._watch_tree()

    async def _write(self, work: Callable[..., None], *arguments: Any) -> bool:
        """Do `work` on the file thread; False when the disk does not let us."""
        try:
            await self._shell.run(work, *arguments)
        except (OSError, Refused) as error:
            self._shell.note("disk failed", work=work.__qualname__, problem=type(error).__name__)
            return False
        return True

    # The children.

    def _spawn(self, incarnation: int) -> None:
        events = Events(
            partial(self._records, incarnation),
            lambda: self._apply(self.session.exited(incarnation, self._loop.time())),
            lambda: self._apply(self.session.write_stalled(incarnation, self._loop.time())),
        )
        marker = self._disk.ledger.marker(f"{self._name}.{incarnation}")
        child = PiChild(self.settings, self._disk.root, marker, events, self._shell.run)
        self._children[incarnation] = child
        self._spawning[incarnation] = self._shell.own(self._start(incarnation, child))

    async def _start(self, incarnation: int, child: PiChild) -> bool:
        try:
            await child.spawn()
        except (OSError, ValueError) as error:
            self._shell.note("spawn failed", problem=type(error).__name__)
            self._forget_child(incarnation)
            self._apply(self.session.spawn_failed(incarnation, self._loop.time()))
            return False
        self._shell.note("pi started", child=self.pi_pid)
        self._shell.own(self._write(self._disk.ledger.write, child.members()))
        self._apply(self.session.spawned(incarnation, self._loop.time()))
        return True

    def _records(self, incarnation: int, records: Sequence[dict[str, Any] | Fault]) -> None:
        now = self._loop.time()
        effects: list[Effect] = []
        for record in records:
            effects += self.session.record(incarnation, record, now)
        self._apply(effects)

    async def _stop(self, incarnation: int, end: Callable[[PiChild], Awaitable[set[Process]]]) -> None:
        child = self._children.get(incarnation)
        if child is None or not await self._spawning[incarnation]:
            return
        left = await end(child)
        pid = child.process.pid if child.process else 0
        self._shell.note("pi ended", child=pid, left=len(left), spared=len(child.spared))
        if child.spared:
            await self._write(self._disk.ledger.spare, child.marker)
        self._forget_child(incarnation)
        await self._write(self._disk.ledger.clear)
        self._apply(self.session.stopped(incarnation, self._loop.time()))

    def _forget_child(self, incarnation: int) -> None:
        self._children.pop(incarnation, None)
        self._spawning.pop(incarnation, None)
        self._ended.set()

    def _watch_tree(self) -> None:
        if self._census is None and not self.session.idle:
            self._census = self._loop.call_later(CENSUS_SECONDS, lambda: self._shell.own(self._look_at_tree()))

    async def _look_at_tree(self) -> None:
        self._census = None
        for incarnation, child in list(self._children.items()):
            # One that was stopped while we looked at another has been reaped: its group's number is nobody's any more.
            if incarnation in self._children and child.process is not None and await child.census():
                await self._write(self._disk.ledger.write, child.members())
        self._watch_tree()
