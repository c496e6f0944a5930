"""A model of a Pi that is well, for both lines: what it may do, in which order, with any delay in between.

It is a process without a process: commands wait in `stdin`, records in `stdout`, and `step` does one thing that the
real one does in one tick. What a run will be is a plan, a list of the words in `PLANS`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

Record = dict[str, Any]

# How a run goes on after a loop. The last word decides how it ends.
PLANS = (
    ["stop"],
    ["error"],
    ["retry", "stop"],
    ["retry", "retry", "error"],
    ["compact"],
    ["compact and go on", "stop"],
    ["overflow", "stop"],
    ["retry", "compact and go on", "error"],
    ["silent overflow"],
    ["handled"],
    ["refused"],
)


class Aborted(Exception):
    """The run is to end."""


class HonestPi:
    """One process. `truth` is how the last run ended, whatever anybody thinks of it."""

    def __init__(self, *, announces_end: bool) -> None:
        self.announces_end = announces_end
        self.stdin: deque[Record] = deque()
        self.stdout: deque[Record] = deque()
        self.plan: list[str] = ["stop"]
        self.truth: str | None = None
        self.streaming = False
        self.compacting = False
        self.going_on = False  # between two loops of one run, where nothing shows that there will be another
        self.pausing = False
        self.working = False
        self.session = 1
        self._run: Iterator[None] | None = None
        self._abort: Record | None = None

    def step(self) -> None:
        """One command, or one tick of the run."""
        if self.stdin:
            self._take(self.stdin.popleft())
        else:
            self.work()

    def work(self) -> None:
        """One tick of the run."""
        if self._run is None:
            return
        try:
            next(self._run)
        except StopIteration:
            self._run = None
            self.working = self.streaming = self.compacting = self.going_on = False
            if self._abort:
                self._answer(self._abort)
                self._abort = None

    def _take(self, command: Record) -> None:
        kind = command["type"]
        if kind == "get_state":
            model = {"provider": "test", "id": "model"}
            state = {"isStreaming": self.streaming, "isCompacting": self.compacting, "pendingMessageCount": 0}
            self._answer(command, data={"sessionId": f"s{self.session}", "model": model, **state})
        elif kind == "prompt":
            assert not self.working, "a prompt while the last run goes on"
            self.working = True
            self._run = self._play(command)
        elif kind == "abort":
            if not self.streaming and not self.pausing:
                self._answer(command)  # nothing to abort, or not yet
            else:
                assert self._abort is None, "a second abort while the first waits"
                self._abort = command
        elif kind == "new_session":
            assert not self.working
            self.session += 1
            self._answer(command, data={"cancelled": False})

    def _answer(self, command: Record, *, success: bool = True, **fields: object) -> None:
        self.stdout.append(
            {"type": "response", "command": command["type"], "id": command["id"], "success": success, **fields}
        )

    def _say(self, kind: str, **fields: object) -> None:
        self.stdout.append({"type": kind, **fields})

    def _play(self, command: Record) -> Iterator[None]:
        yield
        if self.plan == ["refused"]:
            self.truth = "failed"
            self._answer(command, success=False)
            return
        if self.plan == ["handled"]:
            self.truth = "completed"
            self._answer(command, **({"data": {"disposition": "handled"}} if self.announces_end else {}))
            return
        self.streaming = True
        self._answer(command, **({"data": {"disposition": "started"}} if self.announces_end else {}))
        try:
            yield from self._loops()
        except Aborted:
            self.truth = "aborted"
        if self.announces_end:
            self._say("agent_settled", aborted=self.truth == "aborted")
        self.streaming = False

    def _loops(self) -> Iterator[None]:
        retries = 0
        for word in self.plan:
            reason = "error" if word in ("error", "retry", "overflow") else "stop"
            yield from self._loop(reason, retries if word != "retry" else 0)
            self.truth = "failed" if reason == "error" else "completed"
            if word == "retry":
                retries += 1
                yield from self._pause(retries)
            elif word == "error" and retries:
                self._say("auto_retry_end", success=False, attempt=retries)
            elif "compact" in word or "overflow" in word:
                self.compacting = True
                self._say("compaction_start", reason="threshold")
                yield
                self.compacting = False
                goes_on = word != "compact"
                self._say("compaction_end", reason="threshold", willRetry=goes_on)
                self.going_on = goes_on and word != "silent overflow"
                yield
                self._check()

    def _loop(self, reason: str, retries: int) -> Iterator[None]:
        self.streaming, self.going_on = True, False
        self._say("agent_start")
        try:
            yield
            self._check()
            self._say("message_update", assistantMessageEvent={"type": "text_delta", "contentIndex": 0, "delta": "x"})
            yield
            self._check()
        except Aborted:
            self._end_loop("aborted")
            raise
        if retries and reason == "stop":
            self._say("message_end", message={"role": "assistant", "stopReason": reason})
            self._say("auto_retry_end", success=True, attempt=retries)
        self._end_loop(reason)

    def _end_loop(self, reason: str) -> None:
        self._say("message_end", message={"role": "assistant", "stopReason": reason})
        self.streaming = self.announces_end
        self._say("agent_end", messages=[])

    def _pause(self, attempt: int) -> Iterator[None]:
        self._say("auto_retry_start", attempt=attempt, maxAttempts=3)
        self.pausing = True
        try:
            for _ in range(3):
                yield
                self._check()
        except Aborted:
            self._say("auto_retry_end", success=False, attempt=attempt, finalError="Retry cancelled")
            raise
        finally:
            self.pausing = False

    def _check(self) -> None:
        if self._abort and not self.compacting:
            raise Aborted
