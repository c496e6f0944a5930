"""The routes of the taskbar: state, tasks, reset, events, bootstrap and assets, as Contract v1 has them.

A blueprint of the inner app (`app.create_app`), which has checked access and CSRF before anything here runs. A view
translates one HTTP request into one call of the broker client and back; nothing is kept, retried or logged here.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from flask import Blueprint, Response, request
from flask_wtf.csrf import generate_csrf

from flask_pi_taskbar import web
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.broker.client import Reply
from flask_pi_taskbar.contract import CONTRACT_VERSION, InvalidTask, parse_task
from flask_pi_taskbar.contract.bounds import REQUEST_BYTES
from flask_pi_taskbar.contract.codes import Code, error_body
from flask_pi_taskbar.notices import Notices
from flask_pi_taskbar.settings import Settings
from flask_pi_taskbar.stream import BrokerLike, Slots, carrier_of, events, has_gone
from flask_pi_taskbar.version import __version__

if TYPE_CHECKING:
    from flask_pi_taskbar.page.mounted import MountedBoard

ASSETS: Final = Path(__file__).parent / "static" / "taskbar"

SECURITY_HEADERS: Final = (
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
)
JSON_HEADERS: Final = [("Content-Type", "application/json"), ("Cache-Control", "no-store"), *SECURITY_HEADERS]
_STREAM_HEADERS: Final = [
    ("Content-Type", "text/event-stream; charset=utf-8"),
    ("Cache-Control", "no-store"),
    ("X-Accel-Buffering", "no"),
    *SECURITY_HEADERS,
]

NO_THREADS: Final = (
    "this server handles one request at a time, so pages ask for the state now and then instead of being told. "
    "With threads (gunicorn --threads 4, flask run without --without-threads) they follow live."
)

NO_PROGRAM: Final = (
    "there is no program %r on the PATH of this server, so no task can run. Install Pi (https://pi.dev) or name it "
    "with the setting executable (PI_BROWSER_TASKBAR_EXECUTABLE), restart this server and press New conversation."
)
NO_START: Final = (
    "%r does not start, or ends at once. Try `%s --mode rpc` in a terminal in the project's folder to see why; "
    "then press New conversation."
)

OUTCOMES: Final[Mapping[str, int | Code]] = {
    "ok": 200,
    "accepted": 202,
    "cancelled": 200,
    "busy": Code.BUSY,
    "unavailable": Code.UNAVAILABLE,
    "not_found": Code.TASK_NOT_FOUND,
    "not_cancellable": Code.TASK_NOT_CANCELLABLE,
    "reset_while_busy": Code.RESET_WHILE_BUSY,
    "session_reset_rejected": Code.SESSION_RESET_REJECTED,
}
"""What a result of the broker is over HTTP: a status, or an error."""


def json_response(body: bytes, status: int = 200) -> Response:
    """A JSON answer that nobody stores, sniffs, frames or reads from elsewhere."""
    return Response(body, status, JSON_HEADERS)


def error_response(code: Code, snapshot: bytes | None = None) -> Response:
    """The answer with a code of the contract, and the snapshot where there is one."""
    return json_response(error_body(code, snapshot), code.status)


def outcome(reply: Reply) -> tuple[bytes, int]:
    """The body and the status for a reply of the broker."""
    found = OUTCOMES.get(reply.result, Code.UNAVAILABLE)
    if isinstance(found, Code):
        return error_body(found, reply.snapshot), found.status
    return reply.snapshot, found


def taskbar_blueprint(
    client: BrokerLike,
    settings: Settings,
    notices: Notices,
    report: Callable[[Exception], None],
    board: MountedBoard | None = None,
) -> Blueprint:
    """The routes for one client. `report` is told why a stream had nothing to give."""
    blueprint = Blueprint("taskbar", __name__)
    route = partial(blueprint.route, provide_automatic_options=False)  # there is no CORS to ask about
    slots = Slots()
    known = {
        "contract_version": CONTRACT_VERSION,
        "product_version": __version__,
        "csrf_token": "",
        "remote_access": bool(settings.allowed_hosts),
        "project": settings.project_root.name,
        "live": False,
    }

    def has_program() -> bool:
        return bool(shutil.which(settings.executable)) or (settings.project_root / settings.executable).is_file()

    def explain() -> None:
        """Say in the terminal what the page can only hint at: why there is no Pi."""
        if has_program():
            notices.once("no-start", NO_START, settings.executable, settings.executable)
        else:
            notices.once("no-program", NO_PROGRAM, settings.executable)

    @route("/state", methods=["GET"])
    def state() -> Response:
        return json_response(*outcome(client.state()))

    @route("/tasks", methods=["POST"])
    def submit() -> Response:
        return json_response(*outcome(client.submit(parse_task(_body()))))

    @route("/tasks/<path:task_id>", methods=["DELETE"])
    def cancel(task_id: str) -> Response:
        return json_response(*outcome(client.cancel(task_id)))

    @route("/session/reset", methods=["POST"])
    def reset() -> Response:
        reply = client.reset()
        if reply.result == "unavailable":
            explain()
        return json_response(*outcome(reply))

    @route("/lead", methods=["POST"])
    def lead() -> Response:
        """The board's address, with the key that may change it: what the taskbar opens, for nobody but this machine."""
        if board is None:
            return error_response(Code.NOT_FOUND)
        try:
            return json_response(msgspec.json.encode(board.lead_link(request)))
        except Refusal as refusal:
            return json_response(msgspec.json.encode(refusal.as_dict()), refusal.code.http)

    @route("/bootstrap", methods=["GET"])
    def bootstrap() -> Response:
        live = carrier_of(request.environ, settings.max_streams).limit != 0
        if not live:
            notices.once("no-threads", NO_THREADS)
        if not has_program():
            explain()
        return json_response(msgspec.json.encode({**known, "csrf_token": generate_csrf(), "live": live}))

    @route("/events", methods=["GET"])
    def live_state() -> Response:
        environ = request.environ
        carrier = carrier_of(environ, settings.max_streams)
        return Response(events(client, _after(), carrier, slots, has_gone(environ), report), 200, _STREAM_HEADERS)

    @route("/assets/<path:name>", methods=["GET"])
    def asset(name: str) -> Response:
        response = web.asset(ASSETS, name)
        response.headers.extend(SECURITY_HEADERS)
        return response

    return blueprint


def _body() -> bytes:
    """The body of a task request, read no further than it may be long. Raises `InvalidTask`."""
    charset = request.mimetype_params.get("charset", "utf-8").lower()
    if request.mimetype != "application/json" or charset not in ("utf-8", "utf8"):
        raise InvalidTask
    try:
        return web.body_within(request, REQUEST_BYTES)
    except (web.BodyTooLong, OSError):
        raise InvalidTask from None


def _after() -> int | None:
    """The revision that the browser has, as it says; None if it has none or says something else."""
    given = request.headers.get("Last-Event-ID") or request.args.get("after", "")
    return int(given) if given.isascii() and given.isdigit() and len(given) <= 19 else None
