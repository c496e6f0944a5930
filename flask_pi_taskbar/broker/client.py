"""The broker as a worker sees it: five calls, each with a deadline, each answered with the whole snapshot.

Flask workers and the command line use it. It is synchronous, safe in threads, greenlets and forked children, and does
nothing before the first call. It never imports Flask, never owns an agent and never sends a mutation twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Self

import msgspec

from flask_pi_taskbar.contract import TaskRequest


class Unavailable(Exception):  # noqa: N818 - the name that callers hold on to
    """No verified broker answered in time. `reason` is for a log, never for a browser."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BrokerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the broker has to know. `executable` is looked up on `PATH` or, with a slash, from the project root."""

    project_root: Path
    executable: str = "pi"
    task_timeout: int = 1800


class Reply(msgspec.Struct, frozen=True):
    """An answer: the wire word, and the snapshot after it as compact JSON. `revision` names that state."""

    result: str
    snapshot: bytes
    revision: int


class Frame(msgspec.Struct, frozen=True):
    """A state of the feed."""

    revision: int
    snapshot: bytes


class Follow:
    """A feed on a connection of its own: `with client.follow(None, 15) as frames: for frame in frames: …`.

    Gives the newest state whenever there is a newer one than the last (never a backlog), and None when `heartbeat`
    seconds have passed without one. Raises `Unavailable` when the broker is gone. `close` may be called from another thread.
    """

    def __enter__(self) -> Self:
        raise Unavailable("not built yet")

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[Frame | None]:
        return self

    def __next__(self) -> Frame | None:
        raise Unavailable("not built yet")

    def close(self) -> None:
        """End it now. Calling it again does nothing."""


class BrokerClient:
    """One process's way to its project's broker, which is started when there is none. Each call may raise `Unavailable`."""

    def __init__(self, config: BrokerConfig) -> None:
        self._config = config

    def state(self) -> Reply:
        """The snapshot as it is; `result` is `ok`."""
        raise Unavailable("not built yet")

    def submit(self, task: TaskRequest) -> Reply:
        """Hand over a task: `accepted` (it is recorded and goes to Pi), `busy`, or `unavailable`."""
        raise Unavailable("not built yet")

    def cancel(self, task_id: str) -> Reply:
        """Stop a task: `accepted`, `cancelled` (it already is), `not_found`, `not_cancellable`, `unavailable`."""
        raise Unavailable("not built yet")

    def reset(self) -> Reply:
        """Begin a new conversation: `accepted`, `reset_while_busy`, `session_reset_rejected`, `unavailable`."""
        raise Unavailable("not built yet")

    def follow(self, after: int | None = None, heartbeat: float = 15.0) -> Follow:
        """The feed from the state after `after`; a state with exactly that revision is not sent again."""
        raise Unavailable("not built yet")

    def close(self) -> None:
        """Let go of every connection. The client may be used again."""


def session_secret(project_root: Path) -> bytes:
    """32 random bytes, made once a project and user, the same in every worker. Raises `Unavailable`."""
    raise Unavailable("not built yet")
