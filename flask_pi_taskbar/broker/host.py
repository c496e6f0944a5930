"""The page task of a project: which engine is in force, what its snapshot is, and the way from one engine to the next.

The server passes clients' requests on to it and asks it for the snapshot. Tabs will be another host beside this one,
with the same server and shell.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from flask_pi_taskbar.broker.engine import Disk, Engine, Ticket
from flask_pi_taskbar.broker.journal import Begun, Journal
from flask_pi_taskbar.broker.reception import Settings
from flask_pi_taskbar.broker.recover import Ledger
from flask_pi_taskbar.broker.runtime import Refused
from flask_pi_taskbar.broker.session import Result
from flask_pi_taskbar.broker.shell import Shell
from flask_pi_taskbar.broker.wire import INVALID
from flask_pi_taskbar.contract import InvalidTask, parse_task, texts
from flask_pi_taskbar.contract.snapshot import (
    SessionStatus,
    SessionView,
    Snapshot,
    TaskStatus,
    TaskView,
    encode,
    timestamp,
)


class TaskHost:
    """The engine in force and the numbered snapshot.

    Revisions grow through all engines of this broker, and start at the wall clock's milliseconds, so that a number from
    an earlier broker is not taken for one of ours.
    """

    def __init__(self, shell: Shell, root: Path, state: Path, key: str, changed: Callable[[], None]) -> None:
        self._shell = shell
        self._disk = Disk(root, Journal(state), Ledger(state, key))
        self._changed = changed
        self._name = f"{time.time_ns():x}"
        self._settings: Settings | None = None
        self._engine: Engine | None = None
        self._engines = 0
        self._retained: TaskView | None = None
        self._open = asyncio.Event()
        self._turn = asyncio.Lock()
        self._closing = False
        self._base = time.time_ns() // 1_000_000
        self._encoded: tuple[int, bytes] | None = None

    async def recover(self) -> None:
        """Bring back the task that a dead broker left, and end what it left running. Once, before `configure`."""
        try:
            begun = await self._shell.run(self._disk.journal.interrupted)
        except (OSError, Refused) as error:
            begun = None
            self._shell.note("journal unreadable", problem=type(error).__name__)
        if begun is not None:
            self._retained = interrupted(begun, datetime.now(UTC))
            self._base += 1
            self._changed()
        ended, left = await self._shell.run(self._disk.ledger.sweep)
        if ended:
            self._shell.note("swept", ended=ended, left=left)

    async def configure(self, settings: Settings) -> None:
        """Work with these settings from now on, in place of any others. The retained task stays to be seen."""
        self._settings = settings
        async with self._turn:
            self._open.clear()
            if self._engine is not None:
                await self._engine.close()
                self._retained = self._engine.session.snapshot().task
            if self._closing:
                return
            self._engines += 1
            engine = Engine(self._shell, self._disk, self._settings, f"{self._name}.{self._engines}", self._changed)
            if self._retained is not None:
                engine.session.restore(self._retained)
            self._base = self.revision + 1 - engine.session.revision
            self._engine = engine
            self._open.set()
            engine.open()

    def renew(self, settings: Settings) -> None:
        """The same settings with a newer environment, for the next start of Pi, which this may bring about."""
        self._settings = settings  # also for an engine that is only on its way
        if self._engine is not None:
            self._engine.renew(settings)

    async def close(self) -> None:
        """End Pi. What comes after this is answered with `unavailable`."""
        self._closing = True
        self._open.set()
        if self._engine is not None:
            await self._engine.close()

    # What clients see.

    @property
    def revision(self) -> int:
        return self._base + (self._engine.session.revision if self._engine else 0)

    def snapshot(self) -> bytes:
        """The snapshot as JSON, encoded once a revision."""
        revision = self.revision
        if self._encoded is None or self._encoded[0] != revision:
            engine = self._engine
            self._encoded = revision, encode(engine.session.snapshot() if engine else self._before_first_engine())
        return self._encoded[1]

    @property
    def idle(self) -> bool:
        """There is no work that a change of settings or an exit would cut off."""
        return self._engine is None or self._engine.session.idle

    @property
    def session_status(self) -> str:
        return (self._engine.session.snapshot() if self._engine else self._before_first_engine()).session.status

    @property
    def pi_pid(self) -> int:
        return self._engine.pi_pid if self._engine else 0

    # Requests.

    def read(self) -> None:
        """Somebody looks."""
        if self._engine is not None and self._open.is_set():
            self._engine.read()

    async def submit(self, body: bytes, ticket: Ticket) -> None:
        try:
            task = await self._shell.run(parse_task, body)
        except InvalidTask:
            ticket.answer(INVALID)
            return
        if engine := await self._ready(ticket):
            engine.submit(task, ticket)

    async def cancel(self, task_id: str, ticket: Ticket) -> None:
        if engine := await self._ready(ticket):
            engine.cancel(task_id, ticket)

    async def reset(self, ticket: Ticket) -> None:
        if engine := await self._ready(ticket):
            engine.reset(ticket)

    async def _ready(self, ticket: Ticket) -> Engine | None:
        """The engine, once a change of settings is through; answers the request itself when there is none."""
        await self._open.wait()
        if self._engine is None or self._closing:
            ticket.answer(Result.UNAVAILABLE.value)
            return None
        return self._engine

    def _before_first_engine(self) -> Snapshot:
        return Snapshot(session=SessionView(status=SessionStatus.STARTING), task=self._retained)


def interrupted(begun: Begun, now: datetime) -> TaskView:
    """The task of a dead broker as it is shown: failed, with its prompt."""
    return TaskView(
        id=begun.id,
        prompt=begun.prompt,
        status=TaskStatus.FAILED,
        activity=texts.TASK_FAILED,
        error=texts.INTERRUPTED,
        started_at=begun.started_at,
        finished_at=timestamp(now),
    )
