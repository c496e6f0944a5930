"""What the board's page answers besides its files: JSON as the command line gives it, for refusals and failures too."""

from __future__ import annotations

import msgspec
from flask import Response
from werkzeug.exceptions import HTTPException

from flask_pi_taskbar.board.refusal import Code, Refusal


def json_response(data: object, status: int = 200) -> Response:
    """An answer as JSON."""
    return Response(msgspec.json.encode(data), status, content_type="application/json")


def answer_refusal(refusal: Refusal) -> Response:
    """A refusal as page, command line and tool answer it."""
    response = json_response(refusal.as_dict(), refusal.code.http)
    if refusal.retry:
        response.headers["Retry-After"] = "1"
    return response


def answer_http_error(error: HTTPException) -> Response:
    """An unknown route, a wrong method and the like."""
    status = error.code or 500
    response = json_response(_plain(f"http_{status}", error.name), status)
    for name, value in error.get_headers():
        if name in ("Allow", "Retry-After"):
            response.headers[name] = value
    return response


def answer_failure(error: Exception) -> Response:
    """The answer to what no view expected."""
    if isinstance(error, OSError):
        refusal = Refusal(Code.STORE_UNWRITABLE, f"The board cannot be read: {error.strerror or error}.")
        return answer_refusal(refusal)
    return json_response(
        _plain(
            "defect",
            f"The page failed with {type(error).__name__}. Look whether a change was made before you repeat it.",
        ),
        500,
    )


def _plain(code: str, message: str) -> dict[str, object]:
    return {"ok": False, "code": code, "message": message, "details": {}, "next": [], "retry": False}
