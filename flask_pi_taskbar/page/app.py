"""The board's page as a small Flask app, served alone or mounted inside a host's.

Every answer but the page's own files is JSON as the command line gives it, refusals included; every answer carries the
same strict headers. Whatever goes wrong is an answer too, and no line of a log holds anything of a request.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from flask import Flask, Response, g, render_template, request
from werkzeug.exceptions import HTTPException

from flask_pi_taskbar import web
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.page import guards
from flask_pi_taskbar.page.answers import answer_failure, answer_http_error, answer_refusal, json_response
from flask_pi_taskbar.page.api import api_blueprint
from flask_pi_taskbar.page.board import PageBoard

PACKAGE: Final = Path(__file__).parents[1]
ASSETS: Final = PACKAGE / "static" / "board"
OPEN_ENDPOINTS: Final = frozenset({guards.DOCUMENT, "icon", "asset", "ping"})
"""What needs no key."""

CONTENT_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
)
HEADERS: Final = {
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def create_page(board: PageBoard) -> Flask:
    """The app of one board. Nothing is opened or read before its first request."""
    app = _App("flask_pi_taskbar.page", static_folder=None, template_folder=str(PACKAGE / "templates"))
    app.config.update(PROPAGATE_EXCEPTIONS=False)

    @app.before_request
    def check() -> None:
        guards.check_sender(request, board.port)
        endpoint = request.endpoint
        guards.check_page(request, is_document=endpoint == guards.DOCUMENT)
        if request.routing_exception is None and endpoint not in OPEN_ENDPOINTS:
            g.role = guards.role_of(request, board.keys)

    @app.after_request
    def strict(response: Response) -> Response:
        response.headers.extend(HEADERS)
        response.headers.setdefault("Cache-Control", "no-store")
        return response

    @app.get("/", endpoint=guards.DOCUMENT)
    def document() -> str:
        base = request.script_root
        taskbar = base.removesuffix(board.path) + board.taskbar if board.taskbar else ""
        return render_template("board/page.html", base=base, taskbar=taskbar, alone=board.alone)

    @app.get("/favicon.ico")
    def icon() -> tuple[str, int]:
        return "", 204

    @app.get("/<name>")
    def asset(name: str) -> Response:
        return web.asset(ASSETS, name)

    @app.get("/api/ping")
    def ping() -> Response:
        epoch = board.keys.epoch
        if request.args.get("epoch") != epoch:
            raise Refusal(Code.NO_TOKEN, "This page has another epoch.")
        return json_response({"ok": True, "epoch": epoch, "watching": board.hub.viewers})

    app.register_blueprint(api_blueprint(board))
    app.register_error_handler(Refusal, answer_refusal)
    app.register_error_handler(HTTPException, answer_http_error)
    app.register_error_handler(Exception, answer_failure)
    return app


class _App(Flask):
    def log_exception(self, exc_info: Any) -> None:
        """Say nothing: a traceback may quote the request."""
