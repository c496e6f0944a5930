"""The smallest shell around a session: one thread, one selector, real processes. For tests that talk to a Pi.

It carries out effects in order and reports back, keeps what was answered and settled, and journals into a list. The
broker's own shell is asyncio and is tested elsewhere; this one has no deadlines of its own and writes stdin blocking.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import time
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from flask_pi_taskbar.broker.effects import Answer, Effect, Journal, Result, Send, Settled, Spawn, Stop
from flask_pi_taskbar.broker.records import RecordReader
from flask_pi_taskbar.broker.session import Session, SessionConfig
from flask_pi_taskbar.broker.timing import Timing
from flask_pi_taskbar.contract.snapshot import Snapshot
from tests.session.worlds import task_request

PEER = Path(__file__).parents[1] / "peer" / "scripted_pi.py"


class Shell:
    """A session with real processes under it. `until` runs it; leave it by `close`."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: dict[str, str] | None = None,
        task_timeout: float = 60.0,
        timing: Timing | None = None,
    ) -> None:
        ids = count(1)
        config = SessionConfig(task_timeout, timing or Timing())
        self.session = Session(config, new_id=lambda: f"id-{next(ids):020}", utcnow=lambda: datetime.now(UTC))
        self.answers: dict[object, Result] = {}
        self.settled: list[Settled] = []
        self.sent: list[dict[str, object]] = []
        self.starts = 0
        self._argv = [*argv, "--mode", "rpc"]
        self._cwd = cwd
        self._env = {**os.environ, **(env or {})}
        self._selector = selectors.DefaultSelector()
        self._processes: dict[int, tuple[subprocess.Popen[bytes], RecordReader]] = {}
        self._reports: deque[Callable[[float], list[Effect]]] = deque()
        self._tickets = count(1)
        self._do(self.session.open(time.monotonic()))

    # -- Requests

    def submit(self, prompt: str) -> Result:
        return self._request(lambda ticket, now: self.session.submit(task_request(prompt), ticket, now))

    def cancel(self, task_id: str | None = None) -> Result:
        task = self.snapshot.task
        name = task_id or (task.id if task else "")
        return self._request(lambda ticket, now: self.session.cancel(name, ticket, now))

    def reset(self) -> Result:
        return self._request(self.session.reset)

    @property
    def snapshot(self) -> Snapshot:
        return self.session.snapshot()

    @property
    def task_line(self) -> str:
        task = self.snapshot.task
        return f"{task.status}: {task.activity}, {task.error}" if task else "no task"

    def run(self, prompt: str) -> Snapshot:
        """Submit and wait for the end."""
        assert self.submit(prompt) is Result.ACCEPTED
        return self.until(lambda now: now.task is not None and now.task.finished_at is not None)

    def until(self, holds: Callable[[Snapshot], bool], seconds: float = 30.0) -> Snapshot:
        give_up = time.monotonic() + seconds
        while not holds(self.snapshot):
            assert time.monotonic() < give_up, f"still {self.snapshot.session}, {self.task_line}"
            self._turn()
        return self.snapshot

    def close(self) -> None:
        self._do(self.session.close(time.monotonic()))
        while not self.session.idle:
            self._turn()
        self._selector.close()

    # -- The loop

    def _request(self, ask: Callable[[object, float], list[Effect]]) -> Result:
        ticket = next(self._tickets)
        self._do(ask(ticket, time.monotonic()))
        while ticket not in self.answers:
            self._turn()
        return self.answers[ticket]

    def _turn(self) -> None:
        if self._reports:
            self._do(self._reports.popleft()(time.monotonic()))
            return
        deadline = self.session.deadline()
        pause = 0.2 if deadline is None else min(0.2, max(0.0, deadline - time.monotonic()))
        for key, _ in self._selector.select(pause):
            self._read(key.data)
        self._do(self.session.tick(time.monotonic()))

    def _read(self, incarnation: int) -> None:
        process, reader = self._processes[incarnation]
        assert process.stdout is not None
        data = os.read(process.stdout.fileno(), 65_536)
        for record in reader.feed(data) if data else reader.finish():
            self._do(self.session.record(incarnation, record, time.monotonic()))
        if not data and incarnation in self._processes:
            self._selector.unregister(process.stdout)
            self._do(self.session.exited(incarnation, time.monotonic()))

    def _do(self, effects: list[Effect]) -> None:
        for effect in effects:
            match effect:
                case Spawn(incarnation):
                    self._spawn(incarnation)
                case Send(incarnation, message):
                    self._send(incarnation, message)
                case Stop(incarnation):
                    self._stop(incarnation)
                case Journal(task_id):
                    self._reports.append(lambda now, task_id=task_id: self.session.journaled(task_id, True, now))
                case Settled():
                    self.settled.append(effect)
                case Answer(ticket, result):
                    assert ticket not in self.answers
                    self.answers[ticket] = result

    def _spawn(self, incarnation: int) -> None:
        self.starts += 1
        try:
            process = subprocess.Popen(
                self._argv,
                cwd=self._cwd,
                env=self._env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        except OSError:
            self._reports.append(lambda now: self.session.spawn_failed(incarnation, now))
            return
        self._processes[incarnation] = (process, RecordReader())
        self._selector.register(process.stdout, selectors.EVENT_READ, incarnation)  # type: ignore[arg-type]
        self._reports.append(lambda now: self.session.spawned(incarnation, now))

    def _send(self, incarnation: int, message: dict[str, object]) -> None:
        self.sent.append(message)
        stdin = self._processes[incarnation][0].stdin
        assert stdin is not None
        with contextlib.suppress(BrokenPipeError):
            stdin.write(json.dumps(message).encode() + b"\n")
            stdin.flush()

    def _stop(self, incarnation: int) -> None:
        process, _ = self._processes.pop(incarnation)
        assert process.stdout is not None
        assert process.stdin is not None
        if process.stdout in {key.fileobj for key in self._selector.get_map().values()}:
            self._selector.unregister(process.stdout)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                process.wait(1.0)
                break
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, number)
        process.wait()
        process.stdout.close()
        self._reports.append(lambda now: self.session.stopped(incarnation, now))
