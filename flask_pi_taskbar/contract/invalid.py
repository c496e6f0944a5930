"""The one way in which a task request is refused. Raised by everything that looks into a request, caught by views."""

from __future__ import annotations

from flask_pi_taskbar.contract.codes import Code


class InvalidTask(ValueError):  # noqa: N818 - the name that callers hold on to
    """The request is not a task. It does not say why: the reason would repeat what the page holds."""

    def __init__(self) -> None:
        super().__init__(Code.INVALID_TASK.message)
