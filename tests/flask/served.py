"""The app that the tests of real servers serve: a few pages, the taskbar, and a fake broker in the same process."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import flask

import flask_pi_taskbar.app
from flask_pi_taskbar import PiTaskbar
from flask_pi_taskbar.broker.client import Frame
from tests.flask.fake_client import READY, FakeClient
from tests.support.waiting import until


class LiveClient(FakeClient):
    """Gives a stream the state at once, as the real feed does."""

    @contextmanager
    def follow(self, after: int | None, heartbeat: float) -> Iterator[Iterator[Frame | None]]:
        with super().follow(after, heartbeat) as frames:
            yield self._from_now(frames, after)

    def _from_now(self, frames: Iterator[Frame | None], after: int | None) -> Iterator[Frame | None]:
        if after != self.revision:
            yield Frame(self.revision, READY)
        yield from frames


broker = LiveClient("accepted")
flask_pi_taskbar.app.BrokerClient = lambda _config: broker  # type: ignore[assignment,misc]

app = flask.Flask(__name__)
PiTaskbar(app, max_streams=int(os.environ["MAX_STREAMS"]) if "MAX_STREAMS" in os.environ else None)


@app.get("/")
def home() -> str:
    return "<!doctype html><html><head><title>Served</title></head><body>home</body></html>"


@app.get("/slow")
def slow() -> flask.Response:
    """A page whose body comes only when the file that the request names is there."""
    gate = Path(flask.request.args["gate"])

    def body() -> Iterator[str]:
        yield "<html><head><title>Slow</title></head>"
        until(gate.exists, "the gate is open", seconds=30)
        yield "<body>the rest</body></html>"

    return flask.Response(body())


@app.get("/numbers")
def numbers() -> dict[str, int]:
    return {"threads": threading.active_count(), "following": broker.following}
