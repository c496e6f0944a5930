"""The ways to lose a Pi, and what the snapshot says about each, as one table.

`starting` is the session's error while the next attempt runs, `ready` the one after an idle Pi was lost, `task` the
error of a task that was under way. After a task was lost the session only says that Pi is restarting: the task tells
the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flask_pi_taskbar.broker.records import FaultKind
from flask_pi_taskbar.contract import texts
from flask_pi_taskbar.contract.snapshot import TaskStatus


@dataclass(frozen=True, slots=True)
class Loss:
    starting: str
    ready: str
    task: str
    status: TaskStatus = TaskStatus.FAILED
    resetting: str = texts.RESET_FAILED


# fmt: off
#                       while starting                while ready                 of the task
EXITED: Final = Loss(   texts.STARTUP_STOPPED,        texts.STOPPED_UNEXPECTEDLY, texts.STOPPED_UNEXPECTEDLY)
STALLED: Final = Loss(  texts.WRITE_STALLED,          texts.WRITE_STALLED,        texts.WRITE_STALLED)
RESPONSE: Final = Loss( texts.UNEXPECTED_RESPONSE,    texts.PROTOCOL_FAILED,      texts.UNEXPECTED_RESPONSE)
EVENT: Final = Loss(    texts.MALFORMED_EVENT,        texts.MALFORMED_EVENT,      texts.MALFORMED_EVENT)
FAULTS: Final = {
    FaultKind.MALFORMED:
        Loss(           texts.PROTOCOL_FAILED,        texts.PROTOCOL_FAILED,      texts.MALFORMED_RECORD),
    FaultKind.OVERSIZED:
        Loss(           texts.PROTOCOL_FAILED,        texts.PROTOCOL_FAILED,      texts.OVERSIZED_RECORD),
    FaultKind.NON_OBJECT:
        Loss(           texts.PROTOCOL_FAILED,        texts.PROTOCOL_FAILED,      texts.NON_OBJECT_RECORD),
    FaultKind.UNTERMINATED:
        Loss(           texts.PROTOCOL_FAILED,        texts.PROTOCOL_FAILED,      texts.UNTERMINATED_RECORD),
}

# Only while starting.
NOT_SPAWNED: Final = Loss(texts.NOT_STARTED,      texts.RESTARTING, texts.LOST_BEFORE_TASK)
NO_ANSWER: Final = Loss(  texts.START_TIMEOUT,    texts.RESTARTING, texts.LOST_BEFORE_TASK)
REFUSED: Final = Loss(    texts.STARTUP_REJECTED, texts.RESTARTING, texts.LOST_BEFORE_TASK)
BAD_STATE: Final = Loss(  texts.STARTUP_INVALID,  texts.RESTARTING, texts.LOST_BEFORE_TASK)

# Only with a task, or while resetting. Pi is alive, but not as it should be.
TIME_LIMIT: Final = Loss(    texts.RESTARTING, texts.RESTARTING, texts.TIME_LIMIT)
NOT_ABORTED: Final = Loss(   texts.RESTARTING, texts.RESTARTING, texts.CANCELLATION_DEADLINE, TaskStatus.CANCELLED)
ABORT_REFUSED: Final = Loss( texts.RESTARTING, texts.RESTARTING, texts.REJECTED_CANCELLATION)
UNCONFIRMED: Final = Loss(   texts.RESTARTING, texts.RESTARTING, texts.END_UNCONFIRMED)
NOT_RESET: Final = Loss(     texts.RESTARTING, texts.RESTARTING, texts.LOST_BEFORE_TASK)
RESET_TIMEOUT: Final = Loss( texts.RESTARTING, texts.RESTARTING, texts.LOST_BEFORE_TASK, resetting=texts.RESET_TIMEOUT)
# fmt: on
