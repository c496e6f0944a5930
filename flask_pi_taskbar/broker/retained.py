"""The one retained task: its visible state from admission to the next admission or reset, whatever happens to Pi.

The session owns it. A task that has its final state never changes again.
"""

from __future__ import annotations

from typing import Final

from flask_pi_taskbar.broker.output import Output
from flask_pi_taskbar.contract import texts
from flask_pi_taskbar.contract.snapshot import TaskStatus, TaskView

ACTIVE: Final = frozenset({TaskStatus.RUNNING, TaskStatus.CANCELLING})

_LAST_ACTIVITY: Final = {
    TaskStatus.COMPLETED: texts.TASK_COMPLETED,
    TaskStatus.CANCELLED: texts.TASK_STOPPED,
    TaskStatus.FAILED: texts.TASK_FAILED,
}


class RetainedTask:
    """What clients see of a task. The prompt is the user's own words, not the envelope that Pi gets."""

    __slots__ = ("activity", "error", "finished_at", "id", "output", "prompt", "started_at", "status")

    def __init__(self, task_id: str, prompt: str, started_at: str) -> None:
        self.id = task_id
        self.prompt = prompt
        self.status = TaskStatus.RUNNING
        self.output = Output()
        self.activity: str = texts.STARTING
        self.error: str | None = None
        self.started_at = started_at
        self.finished_at: str | None = None

    @classmethod
    def restored(cls, view: TaskView) -> RetainedTask:
        """The task that an earlier broker left behind."""
        task = cls(view.id, view.prompt, view.started_at)
        task.status, task.activity, task.error = view.status, view.activity, view.error
        task.output = Output(view.output, truncated=view.output_truncated)
        task.finished_at = view.finished_at
        return task

    @property
    def is_active(self) -> bool:
        return self.status in ACTIVE

    def settle(self, status: TaskStatus, error: str | None, finished_at: str) -> None:
        self.status = status
        self.error = error
        self.activity = _LAST_ACTIVITY[status]
        self.finished_at = finished_at
        self.output.seal()

    def mark(self) -> tuple[object, ...]:
        """Equal for two moments exactly when clients would see no difference."""
        return (self.id, self.status, self.activity, self.error, self.output.version, self.output.truncated)

    def view(self) -> TaskView:
        return TaskView(
            id=self.id,
            prompt=self.prompt,
            status=self.status,
            output=self.output.text,
            output_truncated=self.output.truncated,
            activity=self.activity,
            error=self.error,
            started_at=self.started_at,
            finished_at=self.finished_at,
        )
