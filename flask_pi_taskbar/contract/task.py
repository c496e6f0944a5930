"""A task request: the user's instruction and the page it is about, checked and normalized.

Workers parse what the browser posts, the broker parses what workers hand on; nobody else looks at raw requests.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from flask_pi_taskbar.contract.bounds import PROMPT_BYTES, REQUEST_BYTES
from flask_pi_taskbar.contract.codes import Code


class InvalidTask(ValueError):  # noqa: N818 - the name that callers hold on to
    """The request is not a task. Which rule it broke is not said: details would echo what the page holds."""

    def __init__(self) -> None:
        super().__init__(Code.INVALID_TASK.message)


class TaskRequest(msgspec.Struct, frozen=True):
    """A valid request. `context` holds plain JSON values, normalized; nobody changes them."""

    prompt: str
    context: dict[str, Any]


def parse_task(body: bytes) -> TaskRequest:
    """The task in `body`; raises `InvalidTask`, and nothing else, for everything that is not one."""
    if len(body) > REQUEST_BYTES:
        raise InvalidTask
    try:
        task = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise InvalidTask from None
    if not task.prompt or len(task.prompt.encode()) > PROMPT_BYTES:
        raise InvalidTask
    return task


def encode_task(task: TaskRequest) -> bytes:
    """The task as compact JSON; `parse_task` gives the same task back."""
    return msgspec.json.encode(task)


_DECODER: Final = msgspec.json.Decoder(TaskRequest)
