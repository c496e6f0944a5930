"""The taskbar as a small Flask app of its own, mounted inside a host app or served alone.

Its checks come in one order, before any view and any byte of a body: access, then the address, then CSRF for what
changes something. Every answer is JSON with a code of the contract; an exception, whatever it is, is a 503 with a fixed
text, never a debugger and never a log line with something of the request in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Final

from flask import Flask, Response, request
from flask.sessions import SecureCookieSessionInterface, SessionMixin
from flask_wtf.csrf import ValidationError, validate_csrf
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.http import HTTP_STATUS_CODES
from werkzeug.routing import RequestRedirect
from werkzeug.wsgi import get_host

from flask_pi_taskbar.access import SAFE_METHODS, call_of, refusal
from flask_pi_taskbar.broker.client import BrokerClient, BrokerConfig, Unavailable, session_secret
from flask_pi_taskbar.contract import InvalidTask
from flask_pi_taskbar.contract.codes import Code, error_body
from flask_pi_taskbar.contract.snapshot import unavailable_snapshot
from flask_pi_taskbar.notices import Notices
from flask_pi_taskbar.project import project_key
from flask_pi_taskbar.settings import Settings
from flask_pi_taskbar.stream import BrokerLike
from flask_pi_taskbar.tag import mount_base
from flask_pi_taskbar.views import JSON_HEADERS, error_response, outcome, taskbar_blueprint

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment
    from flask.wrappers import Request

    from flask_pi_taskbar.page.mounted import MountedBoard

TOKEN_HEADER: Final = "X-CSRF-Token"  # noqa: S105 - the name of a header
STATE_PATH: Final = "/state"
TOKEN_PATH: Final = "/bootstrap"  # noqa: S105 - and the route that hands tokens out


def create_app(
    settings: Settings,
    client: BrokerLike | None = None,
    *,
    secret: Callable[[], bytes] | None = None,
    notices: Notices | None = None,
    board: MountedBoard | None = None,
) -> Flask:
    """The app of one project. Nothing is opened, read or started before its first request.

    `client` reaches the broker; `secret` gives the key of the session cookie, the same in every worker; `board` is the
    page that the taskbar opens.
    """
    root = settings.project_root
    if client is None:
        client = broker_client(settings)
    app = _App("flask_pi_taskbar", static_folder=None, template_folder=None)
    app.client = client
    app.allowed_hosts = frozenset(settings.allowed_hosts)
    app.notices = notices or Notices()
    app.session_interface = _TokenSession(secret or (lambda: session_secret(root)))
    app.config.update(
        SESSION_COOKIE_NAME=f"pi_taskbar_{project_key(root, os.getuid())}",
        SESSION_COOKIE_HTTPONLY=True,
        SESSION_COOKIE_SAMESITE="Strict",
        PERMANENT_SESSION_LIFETIME=timedelta(days=3650),  # how old a cookie may be; browsers drop it when they close
        WTF_CSRF_TIME_LIMIT=None,  # a page may stay open for days
        PROPAGATE_EXCEPTIONS=False,
    )

    @app.before_request
    def check_access() -> Response | None:
        return error_response(Code.FORBIDDEN) if app.refuses(request.environ) else None

    @app.before_request
    def check_token() -> Response | None:
        if isinstance(request.routing_exception, RequestRedirect):
            return error_response(Code.NOT_FOUND)  # a doubled slash; no address of ours is another's
        if request.routing_exception is not None or not needs_session(request):
            return None
        app.load_secret()
        if request.method in SAFE_METHODS:
            return None
        try:
            # Not `CSRFProtect`: it would read a form, and so a body, to look for the token there.
            validate_csrf(request.headers.get(TOKEN_HEADER))
        except ValidationError:
            return error_response(Code.INVALID_CSRF)
        return None

    app.register_blueprint(taskbar_blueprint(client, settings, app.notices, app.report, board))
    app.register_error_handler(InvalidTask, lambda _error: error_response(Code.INVALID_TASK))
    app.register_error_handler(HTTPException, _answer_http_error)
    app.register_error_handler(Exception, app.answer_failure)
    return app


def broker_client(settings: Settings) -> BrokerClient:
    """The way to the project's broker, with these settings."""
    root, executable = settings.project_root, settings.executable
    return BrokerClient(BrokerConfig(project_root=root, executable=executable, task_timeout=settings.task_timeout))


def needs_session(request: Request) -> bool:
    """Whether this request hands out a token or has to show one."""
    return request.method not in SAFE_METHODS or request.path == TOKEN_PATH


class _App(Flask):
    """Flask that keeps what it is asked to itself, and knows a short way for what it is asked most."""

    client: BrokerLike
    allowed_hosts: frozenset[str]
    notices: Notices
    session_interface: _TokenSession

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Flask's own, but for the state: every open page asks for it again and again, and it needs no context."""
        if environ["PATH_INFO"] != STATE_PATH or environ["REQUEST_METHOD"] != "GET":
            return super().wsgi_app(environ, start_response)
        if self.refuses(environ):
            body, status = error_body(Code.FORBIDDEN), Code.FORBIDDEN.status
        else:
            try:
                body, status = outcome(self.client.state())
            except Exception as error:  # noqa: BLE001 - as `answer_failure` has it
                self.report(error)
                body, status = error_body(Code.UNAVAILABLE, unavailable_snapshot()), Code.UNAVAILABLE.status
        status_line = f"{status} {HTTP_STATUS_CODES[status].upper()}"
        start_response(status_line, [*JSON_HEADERS, ("Content-Length", str(len(body)))])
        return [body]

    def refuses(self, environ: WSGIEnvironment) -> bool:
        """Whether the sender of a request has no business here. The reason goes to the terminal."""
        refused = refusal(call_of(environ, get_host(environ)), self.allowed_hosts)
        if refused is not None:
            self.notices.once(refused.name, "%s", refused.value)
        return refused is not None

    def load_secret(self) -> None:
        """Make sure that there is a key for the session cookie. Raises `Unavailable`."""
        if not self.secret_key:
            self.session_interface.load_secret(self)

    def report(self, error: Exception) -> None:
        """Say once in the terminal what went wrong, without anything of the request in it."""
        if isinstance(error, Unavailable):
            self.notices.once(error.reason, "no connection to Pi's background process: %s", error.reason)
            return
        original = getattr(error, "original_exception", None) or error
        self.notices.once(type(original).__name__, "a route of the taskbar failed with %s", _where(original))

    def answer_failure(self, error: Exception) -> Response:
        """The answer to what no view expected."""
        self.report(error)
        return error_response(Code.UNAVAILABLE, unavailable_snapshot())

    def log_exception(self, exc_info: Any) -> None:
        """Say nothing: a traceback may quote the request."""


class _TokenSession(SecureCookieSessionInterface):
    """A session cookie that holds what a CSRF token is bound to, on the few routes that need one.

    Polls neither read nor write it. Its path is that of our routes, below whatever prefix the app is served.
    """

    def __init__(self, secret: Callable[[], bytes]) -> None:
        self._secret = secret

    def load_secret(self, app: Flask) -> None:
        app.secret_key = self._secret()

    def open_session(self, app: Flask, request: Request) -> SessionMixin | None:  # type: ignore[override]
        if not needs_session(request):
            return None
        if not app.secret_key:
            try:
                self.load_secret(app)
            except Unavailable:
                return None  # the view will find that out and say it
        return super().open_session(app, request)

    def get_cookie_path(self, app: Flask) -> str:  # noqa: ARG002 - Flask's signature
        return mount_base(request.environ.get("SCRIPT_NAME", ""), "") or "/"


def _answer_http_error(error: HTTPException) -> Response:
    if isinstance(error, MethodNotAllowed):
        response = error_response(Code.METHOD_NOT_ALLOWED)
        response.headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
        return response
    if isinstance(error, NotFound):
        return error_response(Code.NOT_FOUND)
    if error.code is not None and 400 <= error.code < 500:
        return error_response(Code.INVALID_TASK)
    return error_response(Code.UNAVAILABLE, unavailable_snapshot())


def _where(error: BaseException) -> str:
    """The kind of an exception and the line of code that raised it; not its text, which may quote a page."""
    frame = error.__traceback__
    while frame is not None and frame.tb_next is not None:
        frame = frame.tb_next
    if frame is None:
        return type(error).__name__
    return f"{type(error).__name__} in {frame.tb_frame.f_code.co_qualname}, line {frame.tb_lineno}"
