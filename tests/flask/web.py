"""One worker's inner app, and what a browser asks it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from flask_pi_taskbar.app import create_app
from flask_pi_taskbar.settings import Settings
from tests.flask.fake_client import FakeClient

TASK = {
    "prompt": "Explain the cards page.",
    "context": {
        "contract_version": 1,
        "location": {"origin": "http://localhost:5000", "path": "/cards", "query_names": []},
        "route": None,
        "snapshot": {"tag": "body", "children": []},
        "focus_points": [],
        "truncation": [],
    },
}
BODY = json.dumps(TASK).encode()
SECRET = b"k" * 32


def app_of(project: Path, broker: FakeClient, **settings: Any) -> flask.Flask:
    """With a program that exists as its Pi, so that the terminal has nothing to say of that."""
    return create_app(Settings(project_root=project, **{"executable": "sh", **settings}), broker, secret=lambda: SECRET)


def token(web: FlaskClient) -> str:
    found = web.get("/bootstrap", multithread=True).get_json()["csrf_token"]
    assert isinstance(found, str)
    return found


def mutate(web: FlaskClient, method: str, path: str, **more: Any) -> TestResponse:
    headers = {"X-CSRF-Token": token(web), **more.pop("headers", {})}
    return web.open(path, method=method, headers=headers, **more)


def post_task(web: FlaskClient, body: bytes = BODY, **more: Any) -> TestResponse:
    return mutate(web, "POST", "/tasks", data=body, content_type=more.pop("content_type", "application/json"), **more)


def code_of(response: TestResponse) -> str:
    error = response.get_json()["error"]
    assert set(error) == {"code", "message"}
    return str(error["code"])


class Endless(io.RawIOBase):
    """A body without an end that counts how much of it is read."""

    def __init__(self) -> None:
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        buffer[:] = b" " * len(buffer)
        self.given += len(buffer)
        return len(buffer)
