"""A task request: the user's instruction and the page it is about, checked and normalized.

Workers parse what the browser posts, the broker parses what workers hand on; nobody else looks into a raw request.
"""

from __future__ import annotations

import json
from typing import Any

import msgspec

from flask_pi_taskbar.contract.bounds import PROMPT_BYTES, REQUEST_BYTES
from flask_pi_taskbar.contract.compact import compact
from flask_pi_taskbar.contract.context import context
from flask_pi_taskbar.contract.invalid import InvalidTask
from flask_pi_taskbar.contract.rules import fitting
from flask_pi_taskbar.contract.text import without_controls


class TaskRequest(msgspec.Struct, frozen=True):
    """A valid request. `context` holds plain JSON values, normalized; nobody changes them."""

    prompt: str
    context: dict[str, Any]

    def __repr__(self) -> str:
        """Nothing of what it holds: an instruction or a page must not reach a log by way of an error message."""
        return f"<TaskRequest with a prompt of {len(self.prompt)} characters>"


def parse_task(body: bytes) -> TaskRequest:
    """The task in `body`; raises `InvalidTask`, and nothing else, for all that is not one."""
    if len(body) > REQUEST_BYTES:
        raise InvalidTask
    value = _decoded(body)
    if type(value) is not dict or value.keys() != {"prompt", "context"}:
        raise InvalidTask
    return TaskRequest(_prompt(value["prompt"]), context(value["context"]))


def encode_task(task: TaskRequest) -> bytes:
    """The task as compact JSON; `parse_task` gives the same task back."""
    return compact(task)


def _prompt(value: Any) -> str:
    if type(value) is not str:
        raise InvalidTask
    prompt = fitting(without_controls(value).strip(), PROMPT_BYTES)
    if not prompt:
        raise InvalidTask
    return prompt


def _decoded(body: bytes) -> Any:
    """The JSON value in `body`, or None, which is no task either, for everything that is not clean JSON.

    Writing the value back refuses lone surrogates, and bounds a request whose text grows when it is spelled out.
    """
    try:
        value = json.loads(body.decode(), object_pairs_hook=_object, parse_constant=_refuse)
        return value if len(compact(value)) <= REQUEST_BYTES else None
    except (ValueError, RecursionError):
        return None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A repeated name is refused: two readers of the same request could take different values for it."""
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise InvalidTask
    return fields


def _refuse(_constant: str) -> Any:
    """NaN and the infinities, which Python reads and JSON does not have."""
    raise InvalidTask
