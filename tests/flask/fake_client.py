"""A broker client that does what a test tells it to: the same methods, no broker, no socket."""

from __future__ import annotations

import queue
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask_pi_taskbar.broker.client import Frame, Reply, Unavailable
from flask_pi_taskbar.contract import TaskRequest
from flask_pi_taskbar.contract.snapshot import SessionStatus, SessionView, Snapshot, encode

READY = encode(Snapshot(session=SessionView(id="s" * 24, status=SessionStatus.READY, model="test/model")))
HEARTBEAT = None


class FakeClient:
    """`result` is what every mutation answers, or the exception that every call raises. `frames` feeds the streams that
    are open: a `Frame`, `HEARTBEAT` for a tick without news, an exception, or `StopIteration` for the end.
    """

    def __init__(self, result: str | Exception = "ok", snapshot: bytes = READY, revision: int = 1) -> None:
        self.result = result
        self.snapshot = snapshot
        self.revision = revision
        self.calls: list[tuple[str, Any]] = []
        self.frames: queue.Queue[Frame | Exception | type[StopIteration] | None] = queue.Queue()
        self.following = 0

    def state(self) -> Reply:
        return self._reply("state", None, "ok")

    def submit(self, task: TaskRequest) -> Reply:
        return self._reply("submit", task)

    def cancel(self, task_id: str) -> Reply:
        return self._reply("cancel", task_id)

    def reset(self) -> Reply:
        return self._reply("reset", None)

    @contextmanager
    def follow(self, after: int | None, heartbeat: float) -> Iterator[Iterator[Frame | None]]:
        self.calls.append(("follow", after))
        if isinstance(self.result, Exception):
            raise self.result
        self.following += 1
        try:
            yield self._frames(heartbeat)
        finally:
            self.following -= 1

    def close(self) -> None:
        self.calls.append(("close", None))

    def _reply(self, name: str, argument: Any, result: str | None = None) -> Reply:
        self.calls.append((name, argument))
        if isinstance(self.result, Exception):
            raise self.result
        return Reply(result or self.result, self.snapshot, self.revision)

    def _frames(self, heartbeat: float) -> Iterator[Frame | None]:
        while True:
            try:
                frame = self.frames.get(timeout=heartbeat)
            except queue.Empty:
                frame = HEARTBEAT
            if isinstance(frame, Exception):
                raise frame
            if frame is StopIteration:
                return
            assert frame is None or isinstance(frame, Frame)
            yield frame


def gone() -> Unavailable:
    return Unavailable("no broker in this test")
