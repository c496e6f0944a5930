"""A WSGI server in miniature, with the injection wrapper around the app that it serves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from flask_pi_taskbar.inject import PAGE, Injector, Page
from flask_pi_taskbar.notices import Notices
from flask_pi_taskbar.tag import script_tag

TAG = script_tag("/pi").encode()
HTML = ("Content-Type", "text/html; charset=utf-8")
NAVIGATION = {"HTTP_SEC_FETCH_DEST": "document"}


class Server:
    """A WSGI server that runs one request of `app` through the wrapper and keeps everything that comes out."""

    def __init__(self, app: Callable[..., Iterable[bytes]], *, exempt: bool = False, inject: bool = True) -> None:
        self.status = ""
        self.headers: list[tuple[str, str]] = []
        self.heads = 0
        self.written: list[bytes] = []
        self.page: Page | None = None

        def taken_up(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
            self.seen_by_app = dict(environ)
            self.page = environ[PAGE]
            self.page.tag = lambda nonce, after_base: script_tag("/pi", None, nonce, "http://own" if after_base else "")
            self.page.exempt = exempt
            return app(environ, start_response)

        def answer(_environ: dict[str, Any]) -> Any:
            raise AssertionError("no route of ours in this test")

        self.wrapper = Injector(
            taken_up,
            innermost=False,
            active=lambda: True,
            inject=inject,
            exempt_path=lambda path: path.startswith("/quiet"),
            answer=answer,
            is_ours=lambda _path: False,
            notices=Notices(),
        )

    def start_response(self, status: str, headers: list[tuple[str, str]], exc_info: Any = None) -> Callable[..., None]:
        if exc_info and self.written:
            raise exc_info[1].with_traceback(exc_info[2])
        self.heads += 1
        self.status, self.headers = status, headers
        return self.written.append

    def call(self, headers: dict[str, str] = NAVIGATION, **environ: Any) -> Iterable[bytes]:
        return self.wrapper(
            {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "SCRIPT_NAME": "", **headers, **environ}, self.start_response
        )

    def get(self, headers: dict[str, str] = NAVIGATION, **environ: Any) -> bytes:
        body = self.call(headers, **environ)
        for chunk in body:
            assert self.heads == 1, "a chunk before the head"
            self.written.append(chunk)
        if close := getattr(body, "close", None):
            close()
        return b"".join(self.written)


def page_of(*chunks: bytes, status: str = "200 OK", headers: Iterable[tuple[str, str]] = (HTML,)) -> Any:
    def app(_environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        start_response(status, list(headers))
        return list(chunks)

    return app
