"""What clients see of the session, numbered: the four facts beside the phase, the retained task, and the revision."""

from __future__ import annotations

from flask_pi_taskbar.broker.phases import STATUS, Phase
from flask_pi_taskbar.broker.retained import RetainedTask
from flask_pi_taskbar.contract.snapshot import SessionView, Snapshot


class View:
    """The session writes the fields while it handles an input and calls `commit` at the input's end."""

    def __init__(self) -> None:
        self.phase = Phase.COLD
        self.id: str | None = None
        self.model: str | None = None
        self.error: str | None = None
        self.task: RetainedTask | None = None
        self.revision = 0
        self._mark = self._look()
        self._snapshot: Snapshot | None = None

    def commit(self) -> None:
        """A new revision if, and only if, clients would see a difference."""
        mark = self._look()
        if mark != self._mark:
            self._mark = mark
            self._snapshot = None
            self.revision += 1

    def snapshot(self) -> Snapshot:
        """The state at the last commit."""
        if self._snapshot is None:
            self._snapshot = Snapshot(
                session=SessionView(id=self.id, status=STATUS[self.phase], model=self.model, error=self.error),
                task=self.task.view() if self.task else None,
            )
        return self._snapshot

    def forget_session(self, error: str) -> None:
        """There is no Pi that has answered."""
        self.id = self.model = None
        self.error = error

    def _look(self) -> tuple[object, ...]:
        return (STATUS[self.phase], self.id, self.model, self.error, self.task.mark() if self.task else None)
