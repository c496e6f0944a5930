"""Our own small app inside the host's: how a request for one of our routes gets there, and its answer back out.

The extension owns one `Mount` for each host app. Where nothing lies between the injection wrapper and the host's Flask,
the wrapper asks `answer` and the host has no part in it. Where it does (a ProxyFix that was there before us), the
environment must be the one that the host app sees: a receiver of `request_started` calls `enter`, which leaves the
host's dispatch by a private exception before any of the host's guards, routes and handlers has a say; the handler of
that exception calls `leave`.

Then the host's functions see a response pass (`after_request`, signals, the session interface). What they get is a
stand-in: it cannot set cookies, and changing it changes nothing, because the wrapper sends the true answer.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import flask

from flask_pi_taskbar.contract.codes import Code, error_body
from flask_pi_taskbar.contract.snapshot import unavailable_snapshot
from flask_pi_taskbar.inject import PAGE, Headers, Page
from flask_pi_taskbar.notices import Notices

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class Mounted(Exception):  # noqa: N818 - it is no error
    """Leaves the host's dispatch. Not an HTTP exception, so that no setting and no handler of the host traps it."""

    def __init__(self, mount: Mount) -> None:
        super().__init__()
        self.mount = mount


class Answer:
    """What the inner app answered: a WSGI app of one response."""

    def __init__(self, status: str, headers: Headers, body: Iterable[bytes]) -> None:
        self.status = status
        self.headers = headers
        self.body = body

    def __call__(self, _environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        start_response(self.status, self.headers)
        return self.body


class _StandIn:
    """Mixed into the host's response class for what its functions look at. It cannot save anybody's session."""

    def set_cookie(self, *_arguments: Any, **_keywords: Any) -> None:
        pass

    def delete_cookie(self, *_arguments: Any, **_keywords: Any) -> None:
        pass


class Mount:
    """An inner app of a host app, at one path. It is made at the first request for it."""

    def __init__(self, path: str, make_app: Callable[[], WSGIApplication], notices: Notices) -> None:
        self._path = path
        self._make_app = make_app
        self._notices = notices
        self._app: WSGIApplication | None = None
        self._lock = threading.Lock()
        self._stand_in: type[flask.Response] | None = None

    def holds(self, path_info: str) -> bool:
        """Whether a path is one of ours."""
        return path_info.startswith(self._path) and path_info[len(self._path) :][:1] in ("", "/")

    def enter(self, environ: WSGIEnvironment, page: Page) -> None:
        """Leave the host's dispatch: raises `Mounted`, whose handler is `leave` of its mount."""
        page.mounted = environ
        # The host's catch-all may have matched; then its blueprint's handlers and functions would come first.
        flask.request.url_rule = None
        flask.request.view_args = None
        raise Mounted(self)

    def leave(self, _exception: Mounted) -> flask.Response:
        """The host's response to the request that `enter` took: the stand-in of our answer."""
        environ = flask.request.environ
        page: Page = environ[PAGE]
        answer = self.answer(environ)
        response_class = self._response_class(flask.current_app.response_class)
        if not page.wrapped:  # the wrapper is gone; this is the best that can be done
            return response_class(answer.body, answer.status, answer.headers)
        page.answer = answer
        body = answer.body[0] if isinstance(answer.body, list) else b""
        return response_class(body, answer.status, [item for item in answer.headers if item[0] != "Set-Cookie"])

    def answer(self, environ: WSGIEnvironment) -> Answer:
        """What the inner app answers to a request in the host app's environment. Never raises."""
        inner = {**environ, "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + self._path}
        inner["PATH_INFO"] = environ["PATH_INFO"][len(self._path) :]
        inner.pop("werkzeug.request", None)
        heads: list[tuple[str, Headers]] = []

        def start(status: str, headers: Headers, _exc_info: object = None, /) -> Callable[[bytes], object]:
            heads.append((status, headers))
            return lambda _data: None

        try:
            body = self._inner()(inner, start)
            status, headers = heads[-1]
            if any(name == "Content-Length" for name, _ in headers) and not _is_file(body, inner):
                body = _whole(body)
        except Exception as error:  # noqa: BLE001 - whatever it is, the page gets an answer that it can read
            self._notices.once(f"inner-{type(error).__name__}", "the taskbar failed with %s.", type(error).__name__)
            return _unavailable()
        return Answer(status, headers, body)

    def _inner(self) -> WSGIApplication:
        if self._app is None:
            with self._lock:
                if self._app is None:
                    self._app = self._make_app()
        return self._app

    def _response_class(self, host_class: type[flask.Response]) -> type[flask.Response]:
        """The stand-in as the host's own kind of response, which is what the host's functions expect."""
        if self._stand_in is None:
            self._stand_in = type("TaskbarResponse", (_StandIn, host_class), {})
        return self._stand_in


def _is_file(body: Iterable[bytes], environ: WSGIEnvironment) -> bool:
    wrapper = environ.get("wsgi.file_wrapper")
    return isinstance(wrapper, type) and isinstance(body, wrapper)


def _whole(body: Iterable[bytes]) -> list[bytes]:
    try:
        return [b"".join(body)]
    finally:
        if close := getattr(body, "close", None):
            close()


def _unavailable() -> Answer:
    body = error_body(Code.UNAVAILABLE, unavailable_snapshot())
    headers = [
        ("Content-Type", "application/json"),
        ("Content-Length", str(len(body))),
        ("Cache-Control", "no-store"),
        ("X-Content-Type-Options", "nosniff"),
    ]
    return Answer(f"{Code.UNAVAILABLE.status} SERVICE UNAVAILABLE", headers, [body])
