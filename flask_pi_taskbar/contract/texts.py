"""The texts that a snapshot may carry: activities, task errors, session errors.

The session picks them; clients only show them and branch on the enums and codes instead. All are fixed, so that no
provider error, path, command line or value of the environment can reach the browser. The one thing that comes from
outside is the name of a tool, cleaned and cut.
"""

from __future__ import annotations

from typing import Final

from flask_pi_taskbar.contract.bounds import RETRY_COUNT_MAX, TOOL_BYTES
from flask_pi_taskbar.contract.text import clean_label

# Activities of a task.
STARTING: Final = "Starting Pi"
ACCEPTED: Final = "Pi accepted the task"
WORKING: Final = "Pi is working"
TURN_FINISHED: Final = "Pi finished a turn"
COMPACTING: Final = "Compacting conversation"
COMPACTED: Final = "Conversation compacted"
COMPACTED_RETRYING: Final = "Retrying after compaction"
STOPPING: Final = "Stopping Pi"
TASK_COMPLETED: Final = "Task completed"
TASK_STOPPED: Final = "Task stopped"
TASK_FAILED: Final = "Task failed"


def tool_running(tool: object) -> str:
    return f"Running {_tool_label(tool)}"


def tool_finished(tool: object) -> str:
    return f"Finished {_tool_label(tool)}"


def tool_failed(tool: object) -> str:
    return f"Tool failed {_tool_label(tool)}"


def retrying(attempt: object, maximum: object) -> str:
    """The activity while Pi repeats a request; the counts are shown only where both make sense."""
    if _is_count(attempt) and _is_count(maximum):
        return f"Retrying request ({attempt}/{maximum})"
    return "Retrying request"


def _tool_label(tool: object) -> str:
    return (clean_label(tool, TOOL_BYTES) if isinstance(tool, str) else "") or "a tool"


def _is_count(value: object) -> bool:
    return type(value) is int and 1 <= value <= RETRY_COUNT_MAX


# Why a task failed, or ended otherwise than asked.
REJECTED_TASK: Final = "Pi rejected the task"
REJECTED_CANCELLATION: Final = "Pi rejected cancellation"
UNEXPECTED_RESPONSE: Final = "Pi returned an unexpected RPC response"
MALFORMED_EVENT: Final = "Pi sent a malformed RPC event"
MESSAGE_ERROR: Final = "Pi reported a message error"
COMPACTION_FAILED: Final = "Pi could not compact the conversation"
RETRIES_FAILED: Final = "Pi could not complete the task after retries"
TIME_LIMIT: Final = "Pi task exceeded the configured time limit"
CANCELLATION_DEADLINE: Final = "Pi did not stop before the cancellation deadline"
STOPPED_UNEXPECTEDLY: Final = "Pi stopped unexpectedly"
MALFORMED_RECORD: Final = "Pi sent a malformed RPC record"
OVERSIZED_RECORD: Final = "Pi sent an oversized RPC record"
NON_OBJECT_RECORD: Final = "Pi sent a non-object RPC record"
UNTERMINATED_RECORD: Final = "Pi sent an unterminated RPC record"
PROVIDER_ERROR: Final = "The model provider reported an error"
INTERRUPTED: Final = "The task was interrupted when its background process stopped"
NOT_RECORDED: Final = "The task could not be recorded on disk and was not sent to Pi"
WRITE_STALLED: Final = "Pi stopped reading its input"
STOPPED_BY_PI: Final = "Pi stopped the task before it was finished"
END_UNCONFIRMED: Final = "Pi did not confirm that the task has ended"

# Why the session is not ready.
NOT_STARTED: Final = "Pi executable was not found or could not be started"
STARTUP_REJECTED: Final = "Pi rejected its startup handshake"
STARTUP_INVALID: Final = "Pi returned invalid startup state"
STARTUP_STOPPED: Final = "Pi stopped during startup"
START_TIMEOUT: Final = "Pi did not answer its startup handshake in time"
PROTOCOL_FAILED: Final = "Pi protocol failed"
RESTARTING: Final = "Pi is restarting"
LOST_BEFORE_TASK: Final = "Pi became unavailable before accepting the task"
LOST_BEFORE_CANCELLATION: Final = "Pi became unavailable before accepting the cancellation"
RESTART_FAILED: Final = "Pi could not be restarted"
NO_MODEL: Final = "No model is configured for Pi: run pi in a terminal, log in with /login, then run the task again"
RESET_TIMEOUT: Final = "Pi did not start a new conversation in time"
RESET_FAILED: Final = "Pi could not start a new conversation and is restarting"
BROKER_UNAVAILABLE: Final = "The project broker is unavailable"
