"""Host apps for tests: an app in debug mode with the taskbar, and what a browser asks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from flask_pi_taskbar import PiTaskbar

MOUNT = "/dev/pi-browser-taskbar"
BROWSER = {
    "Sec-Fetch-Dest": "document",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Site": "none",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate, br, zstd",
}


def host(project: Path, *, debug: bool = True, **options: Any) -> flask.Flask:
    """An app of the project without a taskbar, in debug mode as `flask run --debug` makes it."""
    app = flask.Flask("shop", root_path=str(project), **options)
    app.config["DEBUG"] = debug  # not `app.debug`, which would make the template environment
    return app


def with_taskbar(project: Path, **settings: Any) -> flask.Flask:
    """An app with the taskbar and one page."""
    app = host(project)
    PiTaskbar(app, **settings)

    @app.get("/")
    def home() -> str:
        return "<head></head><body>home</body>"

    return app


def browse(app: flask.Flask | FlaskClient, path: str = "/", **more: Any) -> TestResponse:
    """What a browser gets that opens an address."""
    web = app.test_client() if isinstance(app, flask.Flask) else app
    headers = {**BROWSER, **more.pop("headers", {})}
    return web.get(path, headers=headers, **more)


def tags(response: TestResponse) -> int:
    """How many of our tags are in a page."""
    return response.data.count(b" data-pi-browser-taskbar ")
