"""The stable error codes of the HTTP API, each with its status and its one fixed message.

Views answer with them, clients branch on them. A message never repeats what was asked: no field, value, path or host.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

import msgspec


class Code(StrEnum):
    """An error code; the member is the wire word itself."""

    status: int
    message: str

    def __new__(cls, code: str, status: int, message: str) -> Code:
        member = str.__new__(cls, code)
        member._value_ = code
        member.status = status
        member.message = message
        return member

    FORBIDDEN = (
        "forbidden",
        403,
        "Both the host in the address bar and the browser's own address must be local, "
        "or the host must be listed in PI_BROWSER_TASKBAR_ALLOWED_HOSTS",
    )
    INVALID_CSRF = "invalid_csrf", 422, "This page's security token is missing or too old; reload the page"
    INVALID_TASK = "invalid_task", 422, "Task request is invalid"
    BUSY = "busy", 409, "Pi is busy with another task"
    TASK_NOT_FOUND = "task_not_found", 404, "This task is no longer known"
    TASK_NOT_CANCELLABLE = "task_not_cancellable", 409, "This task has already ended"
    RESET_WHILE_BUSY = "reset_while_busy", 409, "A new conversation can start only when Pi is ready"
    SESSION_RESET_REJECTED = "session_reset_rejected", 409, "Pi kept its conversation"
    UNAVAILABLE = "unavailable", 503, "Pi is not available right now"
    NOT_FOUND = "not_found", 404, "There is nothing at this address"
    METHOD_NOT_ALLOWED = "method_not_allowed", 405, "This address does not take this method"


def error_body(code: Code, snapshot_json: bytes | None = None) -> bytes:
    """The JSON body of an error. `snapshot_json` is the snapshot as it is already encoded; it goes in byte for byte."""
    head = _HEADS[code]
    return head + b"}" if snapshot_json is None else b'%b,"snapshot":%b}' % (head, snapshot_json)


_HEADS: Final = {
    code: b'{"error":' + msgspec.json.encode({"code": code.value, "message": code.message}) for code in Code
}
