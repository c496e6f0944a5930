"""What the session tests share: a session in a world without time and processes, and the laws that hold in it.

Whatever a test does to a session, it does through a `World`, which plays the shell, the clock and, on request, Pi,
and checks after every input that the effects and the snapshot obey the laws:

* never two incarnations at once; each has a greater number than the last; nothing is sent to one that is not running,
  or has been told to stop; each is stopped at most once
* never a second prompt before the first is answered and its task settled
* each ticket is answered exactly once; each admitted task is settled exactly once, and never changes afterwards
* the revision grows if, and only if, the snapshot has changed
* a tick leaves no deadline behind that has already passed
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from flask_pi_taskbar.broker.effects import Answer, Effect, Journal, Message, Result, Send, Settled, Spawn, Stop
from flask_pi_taskbar.broker.records import Fault
from flask_pi_taskbar.broker.session import Session, SessionConfig
from flask_pi_taskbar.broker.timing import Timing
from flask_pi_taskbar.contract import TaskRequest
from flask_pi_taskbar.contract.snapshot import SessionStatus, Snapshot, TaskStatus, TaskView, encode

FINAL = {TaskStatus.COMPLETED, TaskStatus.FAILED, TaskStatus.CANCELLED}
MODEL = {"provider": "test", "id": "model"}
IDLE = {"isStreaming": False, "isCompacting": False, "pendingMessageCount": 0}


def task_request(prompt: str = "Explain the page.") -> TaskRequest:
    return TaskRequest(prompt, {"contract_version": 1, "page": "<main>"})


class World:
    """A session, its shell and its clock. `sent` holds what the current incarnation was told."""

    def __init__(
        self, *, task_timeout: float = 1800.0, timing: Timing | None = None, restored: TaskView | None = None
    ) -> None:
        self.timing = timing or Timing()
        self.now = 1_000.0
        ids = count(1)
        self.session = Session(
            SessionConfig(task_timeout, self.timing),
            new_id=lambda: f"id{next(ids):022}",
            utcnow=lambda: datetime(2026, 8, 4, tzinfo=UTC) + timedelta(seconds=self.now),
        )
        self.sent: list[Message] = []
        self.log: list[Effect] = []
        self.answers: dict[object, Result] = {}
        self.settled: dict[str, TaskStatus] = {}
        self.child: int | None = None  # an incarnation whose tree may live
        self.running = False  # … that may be written to
        self.stopping: int | None = None
        self._tickets = count(1)
        self._asked: set[object] = set()
        self._incarnation = 0
        self._finals: dict[str, TaskView] = {}
        self._prompt: str | None = None  # the id of a prompt that is not answered
        if restored:
            self.session.restore(restored)
            self.settled[restored.id] = restored.status
        self._seen = (self.session.revision, encode(self.session.snapshot()))

    # -- The shell

    def do(self, act: Callable[..., list[Effect]], *arguments: object) -> list[Effect]:
        """One input, its effects and the laws."""
        effects = act(*arguments, self.now)
        for effect in effects:
            self.log.append(effect)
            self._carry_out(effect)
        self._look()
        return effects

    def _carry_out(self, effect: Effect) -> None:
        match effect:
            case Spawn(incarnation):
                assert self.child is None, "two incarnations at once"
                assert incarnation > self._incarnation
                self._incarnation = self.child = incarnation
                self.sent = []
                self._prompt = None
            case Send(incarnation, message):
                assert self.running, "sent to a child that is not there"
                assert incarnation == self.child
                assert self.stopping is None
                encode_message(message)
                if message["type"] == "prompt":
                    assert self._prompt is None, "two prompts in flight"
                    self._prompt = message["id"]
                self.sent.append(message)
            case Stop(incarnation):
                assert incarnation == self.child
                assert self.stopping is None, "stopped twice"
                self.stopping = incarnation
                self.running = False
            case Journal(task_id):
                assert self.task.id == task_id
                assert not set(self.settled) & {task_id}
            case Settled(task_id, status):
                assert task_id not in self.settled, "settled twice"
                assert status in FINAL
                self.settled[task_id] = status
                self._prompt = None
            case Answer(ticket, result):
                assert ticket in self._asked, "answered twice, or never asked"
                self._asked.discard(ticket)
                self.answers[ticket] = result

    def _look(self) -> None:
        snapshot = self.session.snapshot()
        revision, seen = self.session.revision, encode(snapshot)
        assert (revision > self._seen[0]) == (seen != self._seen[1]), "the revision follows the snapshot"
        self._seen = (revision, seen)
        task = snapshot.task
        if task is None:
            return
        assert (task.status in FINAL) == (task.finished_at is not None)
        if task.id in self.settled:
            assert task.status is self.settled[task.id]
            assert self._finals.setdefault(task.id, task) == task, "a settled task has changed"
        elif task.finished_at is None:
            assert snapshot.session.status is SessionStatus.BUSY

    @property
    def open_tickets(self) -> set[object]:
        return set(self._asked)

    # -- Time

    def advance(self, seconds: float) -> None:
        """Let time pass, with a tick at every deadline on the way."""
        end = self.now + seconds
        while (due := self.session.deadline()) is not None and due <= end:
            self.now = max(self.now, due)
            self.tick()
        self.now = end
        self.tick()

    def tick(self) -> None:
        self.do(self.session.tick)
        due = self.session.deadline()
        assert due is None or due > self.now, "a tick that does not help"

    # -- Processes

    def open(self) -> None:
        self.do(self.session.open)

    def spawned(self) -> None:
        assert self.child is not None
        self.running = self.stopping is None
        self.do(self.session.spawned, self.child)

    def spawn_fails(self) -> None:
        child, self.child, self.stopping, self.running = self.child, None, None, False
        self.do(self.session.spawn_failed, child)

    def exits(self) -> None:
        self.do(self.session.exited, self.child)

    def stopped(self) -> None:
        assert self.stopping is not None
        child, self.child, self.stopping = self.stopping, None, None
        self.do(self.session.stopped, child)

    def stalls(self) -> None:
        self.do(self.session.write_stalled, self.child)

    # -- Pi

    def says(self, record: dict[str, Any] | Fault | str, **fields: object) -> None:
        """One record of the current child; an event may be given as its type and fields."""
        if isinstance(record, str):
            record = {"type": record, **fields}
        if isinstance(record, dict) and record.get("type") == "response" and record.get("id") == self._prompt:
            self._prompt = None if record.get("success") is False else self._prompt
        self.do(self.session.record, self.child, record)

    def answers_to(self, kind: str, *, success: bool = True, **fields: object) -> None:
        """The answer to the newest command of that type."""
        command = next(message for message in reversed(self.sent) if message["type"] == kind)
        self.says("response", command=kind, id=command["id"], success=success, **fields)

    def tells_state(self, session: str = "pi-1", model: object = MODEL, **fields: object) -> None:
        self.answers_to("get_state", data={"sessionId": session, "model": model, **IDLE, **fields})

    def delta(self, text: object, index: object = 0) -> None:
        self.says("message_update", assistantMessageEvent={"type": "text_delta", "contentIndex": index, "delta": text})

    def message_ends(self, reason: str, **fields: object) -> None:
        self.says("message_end", message={"role": "assistant", "content": [], "stopReason": reason, **fields})

    # -- Clients

    def submit(self, prompt: str = "Explain the page.") -> object:
        return self._request(lambda ticket, now: self.session.submit(task_request(prompt), ticket, now))

    def cancel(self, task_id: str | None = None) -> object:
        name = task_id or self.task.id
        return self._request(lambda ticket, now: self.session.cancel(name, ticket, now))

    def reset(self) -> object:
        return self._request(self.session.reset)

    def journaled(self, *, ok: bool = True) -> None:
        self.do(self.session.journaled, self.task.id, ok)

    def _request(self, ask: Callable[..., list[Effect]]) -> object:
        ticket = self.new_ticket()
        self.do(ask, ticket)
        return ticket

    def new_ticket(self) -> object:
        ticket = next(self._tickets)
        self._asked.add(ticket)
        return ticket

    # -- What is there

    @property
    def snapshot(self) -> Snapshot:
        return self.session.snapshot()

    @property
    def status(self) -> str:
        return self.snapshot.session.status.value

    @property
    def error(self) -> str | None:
        return self.snapshot.session.error

    @property
    def task(self) -> TaskView:
        assert self.snapshot.task is not None
        return self.snapshot.task

    @property
    def outcome(self) -> tuple[str, str | None]:
        return self.task.status.value, self.task.error

    @property
    def starts(self) -> int:
        return self._incarnation

    def sent_types(self) -> list[str]:
        return [message["type"] for message in self.sent]

    # -- Ways to common situations

    def until_ready(self, **state: object) -> World:
        self.open()
        self.spawned()
        self.tells_state(**state)  # type: ignore[arg-type]
        assert self.status == "ready"
        return self

    def until_sent(self, prompt: str = "Explain the page.") -> World:
        if self.status == "starting":
            self.until_ready()
        self.submit(prompt)
        self.journaled()
        assert self.sent[-1]["type"] == "prompt"
        return self

    def until_accepted(self, disposition: str | None = "started") -> World:
        """On the newer line; on the older one without a disposition."""
        self.until_sent()
        self.answers_to("prompt", **({"data": {"disposition": disposition}} if disposition else {}))
        return self

    def until_working(self, disposition: str | None = "started") -> World:
        self.until_accepted(disposition)
        self.says("agent_start")
        return self

    def until_restarted(self, session: str = "pi-2") -> World:
        """From a lost child to the next that is ready."""
        if self.stopping is not None:
            self.stopped()
        self.advance(self.timing.retry_last)
        self.spawned()
        self.tells_state(session)
        return self

    def until_unavailable(self) -> World:
        if self.status == "starting" and self.child is None:
            self.open()
        while self.status != "unavailable":
            if self.child is not None:
                self.spawn_fails()
            else:
                self.advance(self.timing.retry_last)
        return self


def encode_message(message: Message) -> bytes:
    """As the shell will write it; raises for what is no JSON."""
    import msgspec

    return msgspec.json.encode(message)
