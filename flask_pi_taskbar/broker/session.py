"""The session: everything that is decided about the one Pi child and the one retained task.

FIRST VERSION: signatures only, so that the shell can be built against them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from flask_pi_taskbar.broker.effects import Answer, Effect, Journal, Result, Send, Settled, Spawn, Stop, Ticket
from flask_pi_taskbar.broker.records import Fault
from flask_pi_taskbar.contract import TaskRequest
from flask_pi_taskbar.contract.snapshot import Snapshot, TaskView

__all__ = ["Answer", "Effect", "Journal", "Result", "Send", "Session", "SessionConfig", "Settled", "Spawn", "Stop"]


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """What the user set."""

    task_timeout: float


class Session:
    """See the seam. Every input returns the effects to carry out, in order."""

    def __init__(self, config: SessionConfig, *, new_id: Callable[[], str], utcnow: Callable[[], datetime]) -> None:
        raise NotImplementedError

    def restore(self, task: TaskView) -> None:
        """Before `open`: the retained task of a crashed broker, already final."""
        raise NotImplementedError

    def open(self, now: float) -> list[Effect]:
        raise NotImplementedError

    def submit(self, task: TaskRequest, ticket: Ticket, now: float) -> list[Effect]:
        raise NotImplementedError

    def cancel(self, task_id: str, ticket: Ticket, now: float) -> list[Effect]:
        raise NotImplementedError

    def reset(self, ticket: Ticket, now: float) -> list[Effect]:
        raise NotImplementedError

    def read(self, now: float) -> list[Effect]:
        """Somebody looks at the state (a state call, a follower's heartbeat): a cooled-down `unavailable` tries again."""
        raise NotImplementedError

    def journaled(self, task_id: str, ok: bool, now: float) -> list[Effect]:
        raise NotImplementedError

    def spawned(self, incarnation: int, now: float) -> list[Effect]:
        raise NotImplementedError

    def spawn_failed(self, incarnation: int, now: float) -> list[Effect]:
        raise NotImplementedError

    def record(self, incarnation: int, rec: dict[str, Any] | Fault, now: float) -> list[Effect]:
        raise NotImplementedError

    def exited(self, incarnation: int, now: float) -> list[Effect]:
        raise NotImplementedError

    def stopped(self, incarnation: int, now: float) -> list[Effect]:
        raise NotImplementedError

    def write_stalled(self, incarnation: int, now: float) -> list[Effect]:
        raise NotImplementedError

    def tick(self, now: float) -> list[Effect]:
        raise NotImplementedError

    def deadline(self) -> float | None:
        raise NotImplementedError

    def close(self, now: float) -> list[Effect]:
        """Graceful shutdown: answers what is open, stops Pi; `idle` once the last Stop is complete."""
        raise NotImplementedError

    @property
    def idle(self) -> bool:
        raise NotImplementedError

    @property
    def revision(self) -> int:
        raise NotImplementedError

    def snapshot(self) -> Snapshot:
        raise NotImplementedError
