"""One run: a task on its way through Pi, from admission until nothing of it is left to come.

The session makes one for each admitted task, feeds it every record that Pi sends meanwhile, and carries out what it
asks for; the run itself sends nothing and starts nothing. It owns two questions: what does this record say to the
person who waits, and is the run over?

When is a run over?
-------------------

Pi answers the prompt when it has *accepted* it and works afterwards. Newer lines announce the end: one
`agent_settled` for each accepted run, after retries, compaction and everything queued, sometimes without an
`agent_end`. Older ones say nothing. There `agent_end` closes only one loop of the agent; a retry, a compaction or
another loop may follow. But what Pi does by itself after a loop it announces in the same tick (`auto_retry_start`,
`compaction_start`), hence before its answer to a question that we ask now. So we put up a **fence**: send `get_state`,
and when its answer comes without any of these before it, and Pi says that it neither streams nor compacts, the run is
over.

The traps, all measured:

* In a retry's pause the older line is not streaming: an open retry is remembered, not asked for.
* After `compaction_end` with `willRetry` the next loop begins a moment later, or, if its start failed silently, never:
  wait for a second, then ask.
* Messages that are still queued mean work to come, except after an abort, which leaves them queued for good: believe
  their number for a second only.
* A prompt that an extension has consumed is accepted and followed by nothing. Newer lines say `handled`; otherwise,
  when no loop has begun a second after acceptance, ask.
* `agent_settled` before our prompt was accepted belongs to something else.

There is one algorithm for all lines. A child that has once announced an end, or has named a disposition, is trusted
to do so again: then the question waits for a second, and is hardly ever asked.

How did it end?
---------------

Provider errors do not arrive as errors. The `stopReason` of the last assistant message decides: `error` leaves a
pending error, which a later message that ends well, or a retry that succeeds, takes back. `aborted` without our
having asked (an extension did) is a failure too: the work is unfinished and nobody here stopped it. While we are
cancelling only the end counts, and it is `cancelled`, whatever the records say on the way.

Stopping has a trap as well: an abort that reaches Pi while it still prepares the prompt is answered with success and
does nothing. So the abort waits until the prompt is accepted, and is sent again if Pi goes on afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Final

from flask_pi_taskbar.broker import losses
from flask_pi_taskbar.broker.child import Child
from flask_pi_taskbar.broker.effects import Ticket
from flask_pi_taskbar.broker.losses import Loss
from flask_pi_taskbar.broker.replies import Record, Reply
from flask_pi_taskbar.broker.retained import RetainedTask
from flask_pi_taskbar.broker.timing import Timing
from flask_pi_taskbar.contract import TaskRequest, texts
from flask_pi_taskbar.contract.snapshot import TaskStatus


class Stage(IntEnum):
    """How far the prompt has come."""

    JOURNALING = 0  # admitted; not on disk yet, the client not answered
    UNSENT = 1  # on disk; Pi must finish something else first
    SENT = 2
    ACCEPTED = 3


class Run:
    """One run. `over` and `loss` are its verdicts, `ask_at` and `abort_due` its wishes."""

    def __init__(self, task: RetainedTask, request: TaskRequest, ticket: Ticket, child: Child, timing: Timing) -> None:
        self.task = task
        self.request: TaskRequest | None = request
        self.ticket = ticket
        self.child = child
        self.stage = Stage.JOURNALING
        self.renewed = False  # a new conversation was asked for, in the hope of a model

        self.over = False
        self.loss: Loss | None = None
        self.ask_at: float | None = None
        self.abort_due = False
        self.aborts = 0  # how many were sent

        self._timing = timing
        self._pending_error: str | None = None
        self._begun = False  # a loop of the agent was seen
        self._looping = False  # … and has not ended
        self._retrying = False
        self._aborted = False  # the last assistant message was cut short
        self._abort_answered = False
        self._fence_stands = False  # nothing has happened since the question was asked
        self._gap = timing.ask_first
        self._queued_since: float | None = None
        self._message = 0
        self._message_has_text = False

    # What the session reports

    @property
    def is_cancelling(self) -> bool:
        return self.task.status is TaskStatus.CANCELLING

    def cancel(self) -> None:
        """Stop it. An abort is due once Pi can take it."""
        self.task.status = TaskStatus.CANCELLING
        self.task.activity = texts.STOPPING
        self.abort_due = self.stage is Stage.ACCEPTED

    def hold(self, now: float) -> None:
        """The prompt waits for the end of a compaction; ask, in case we shall not hear of it."""
        self.task.activity = texts.COMPACTING
        if self.ask_at is None and not self._fence_stands:
            self.ask_at = now + self._timing.patience

    def sent(self, now: float) -> None:
        """The prompt is on its way; the page it carried is no longer needed."""
        self.request = None
        self.stage = Stage.SENT
        self._work_goes_on()
        self.ask_at = now + self._timing.silence

    def accepted(self, disposition: object, now: float) -> None:
        """Pi has taken the prompt over."""
        self.stage = Stage.ACCEPTED
        self.child.announces_end |= disposition is not None
        self.abort_due = self.is_cancelling
        self._work_goes_on()
        if self.task.status is TaskStatus.RUNNING and not self._begun:
            self.task.activity = texts.ACCEPTED
        if self._looping:
            return
        if disposition == "handled" and not self._begun:
            self.over = True
        else:
            self.ask_at = now + self._timing.patience

    def refused(self) -> None:
        """Pi will not run the prompt, and is well."""
        self._pending_error = texts.REJECTED_TASK
        self.over = True

    def aborting(self) -> None:
        """The abort is on its way."""
        self.aborts += 1
        self.abort_due = self._abort_answered = False

    def aborted(self, now: float) -> None:
        """The abort is answered: Pi is idle, or had nothing to abort yet."""
        self._abort_answered = True
        if self.ask_at is None and not self._fence_stands:
            self.ask_at = now + self._timing.patience

    def asked(self) -> None:
        """The question is on its way."""
        self.ask_at = None
        self._fence_stands = True

    def answered(self, reply: Reply, now: float) -> None:
        """Pi has told its state. It counts only if nothing came in between."""
        if not self._fence_stands:
            return
        self._fence_stands = False
        state = reply.data
        if state.get("isCompacting") is False:
            self.child.compacting = False
        if self.stage is Stage.SENT:
            self.ask_at = now + self._timing.silence
        elif self.stage is Stage.UNSENT:
            self._ask_again(now)
        elif not reply.success or state.get("isStreaming") is not False or state.get("isCompacting") is not False:
            self._ask_again(now)
            self.abort_due = self.is_cancelling and self._abort_answered
        elif self._has_queued_work(state.get("pendingMessageCount"), now):
            self._ask_again(now)
        else:
            self.over = True

    def read(self, kind: str, record: Record, now: float) -> None:
        """One record that is no response."""
        if self.stage < Stage.SENT:
            return
        if self.task.status is TaskStatus.RUNNING and (say := _ACTIVITIES.get(kind)):
            self.task.activity = say(record) or self.task.activity
        if meaning := _MEANINGS.get(kind):
            meaning(self, record, now)
        if self.stage is Stage.SENT:
            self.ask_at = now + self._timing.silence

    def verdict(self) -> tuple[TaskStatus, str | None]:
        """How it ended."""
        if self.is_cancelling:
            return TaskStatus.CANCELLED, None
        if self._pending_error is not None:
            return TaskStatus.FAILED, self._pending_error
        return TaskStatus.COMPLETED, None

    # What the records mean

    def _loop_began(self, _record: Record, _now: float) -> None:
        self._begun = self._looping = True
        self._retrying = False
        self._work_goes_on()
        self.abort_due = self.is_cancelling and self._abort_answered

    def _loop_ended(self, _record: Record, now: float) -> None:
        self._looping = False
        self._ask(now)

    def _settled(self, record: Record, _now: float) -> None:
        if self.stage is Stage.ACCEPTED:
            if record.get("aborted") is True:
                self._fail(texts.STOPPED_BY_PI)
            self.over = True
        self._looping = False

    def _retry_began(self, _record: Record, _now: float) -> None:
        self._retrying = True
        self._work_goes_on()

    def _retry_ended(self, record: Record, now: float) -> None:
        self._retrying = False
        if record.get("success") is False:
            self._pending_error = texts.RETRIES_FAILED
        else:
            self._pending_error = None
        self._ask(now)

    def _compaction_began(self, _record: Record, _now: float) -> None:
        self._work_goes_on()

    def _compaction_ended(self, record: Record, now: float) -> None:
        if _is_text(record.get("errorMessage")):
            self._pending_error = texts.COMPACTION_FAILED
        self._ask(now + self._timing.patience if record.get("willRetry") is True else now)

    def _message_began(self, record: Record, _now: float) -> None:
        if _assistant_message(record) is not None:
            self._message += 1
            self._message_has_text = False

    def _message_grew(self, record: Record, _now: float) -> None:
        event = record.get("assistantMessageEvent")
        if not isinstance(event, dict):
            return
        if event.get("type") == "text_delta":
            delta = event.get("delta")
            if isinstance(delta, str):
                self._say(delta, event.get("contentIndex"))
            else:
                self.loss = losses.EVENT
        elif event.get("type") == "error" and not self.is_cancelling:
            self._pending_error = texts.MESSAGE_ERROR
            self.task.activity = texts.TASK_FAILED

    def _message_ended(self, record: Record, _now: float) -> None:
        message = _assistant_message(record)
        if message is None:
            return
        if not self._message_has_text and isinstance(content := message.get("content"), list):
            # Not every provider streams.
            for index, block in enumerate(content):
                if isinstance(block, dict) and block.get("type") == "text" and _is_text(block.get("text")):
                    self._say(block["text"], index)
        reason = message.get("stopReason")
        self._aborted = reason == "aborted"
        if reason == "error":
            self._fail(texts.PROVIDER_ERROR)
        elif reason == "aborted":
            self._fail(texts.STOPPED_BY_PI)
        elif isinstance(reason, str):
            self._pending_error = None

    def _say(self, text: str, index: object) -> None:
        self.task.output.append(text, (self._message, index))
        self._message_has_text = True

    def _fail(self, error: str) -> None:
        """An error that stands unless the run goes on and ends well; the first one says most."""
        self._pending_error = self._pending_error or error

    # Asking whether it is over

    def _work_goes_on(self) -> None:
        self.ask_at = None
        self._fence_stands = False
        self._queued_since = None
        self._gap = self._timing.ask_first

    def _ask(self, at: float) -> None:
        self._fence_stands = False
        if self.stage is Stage.ACCEPTED and not (self._looping or self._retrying or self.child.compacting):
            self.ask_at = at + self._timing.patience if self.child.announces_end else at

    def _ask_again(self, now: float) -> None:
        self.ask_at = now + self._gap
        self._gap = min(2 * self._gap, self._timing.ask_last)

    def _has_queued_work(self, count: object, now: float) -> bool:
        if self._aborted or self.is_cancelling or type(count) is not int or count <= 0:
            return False
        if self._queued_since is None:
            self._queued_since = now
        return now - self._queued_since < self._timing.queued


def _assistant_message(record: Record) -> Record | None:
    message = record.get("message")
    return message if isinstance(message, dict) and message.get("role") == "assistant" else None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and value != ""


def _compaction_result(record: Record) -> str | None:
    if _is_text(record.get("errorMessage")):
        return None
    return texts.COMPACTED_RETRYING if record.get("willRetry") is True else texts.COMPACTED


# What a record says to the person who waits. While cancelling it says nothing.
_ACTIVITIES: Final[Mapping[str, Callable[[Record], str | None]]] = {
    "agent_start": lambda _: texts.WORKING,
    "agent_end": lambda _: texts.TURN_FINISHED,
    "tool_execution_start": lambda record: texts.tool_running(record.get("toolName")),
    "tool_execution_update": lambda record: texts.tool_running(record.get("toolName")),
    "tool_execution_end": lambda record: (
        texts.tool_failed(record.get("toolName"))
        if record.get("isError") is True
        else texts.tool_finished(record.get("toolName"))
    ),
    "compaction_start": lambda _: texts.COMPACTING,
    "compaction_end": _compaction_result,
    "auto_retry_start": lambda record: texts.retrying(record.get("attempt"), record.get("maxAttempts")),
    "auto_retry_end": lambda record: None if record.get("success") is False else texts.WORKING,
}

# What it means for the run.
_MEANINGS: Final[Mapping[str, Callable[[Run, Record, float], None]]] = {
    "agent_start": Run._loop_began,
    "agent_end": Run._loop_ended,
    "agent_settled": Run._settled,
    "auto_retry_start": Run._retry_began,
    "auto_retry_end": Run._retry_ended,
    "compaction_start": Run._compaction_began,
    "compaction_end": Run._compaction_ended,
    "message_start": Run._message_began,
    "message_update": Run._message_grew,
    "message_end": Run._message_ended,
}
