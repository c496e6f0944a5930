"""What the taskbar costs a Flask app: a read of the state beside an empty view, a page with the tag beside one without.

    python -m tests.bench.bench_flask [--save]

The reads go over HTTP to gunicorn with threads, through the real client to a real broker with a scripted Pi, from a few
kept connections at once; what counts is the best of several turns, since a third process takes part and a busy machine
lets it wait. The page is 100 KB, sent whole, through the app object itself.
"""

from __future__ import annotations

import email.parser
import json
import os
import selectors
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import flask

from flask_pi_taskbar import PiTaskbar
from tests.bench.measure import Figure, medians, report
from tests.flask.running import ROOT, free_port, running
from tests.support.waiting import until

PEER = ROOT / "tests" / "peer" / "scripted_pi.py"
MOUNT = "/dev/pi-browser-taskbar"
TIMES_EMPTY = 1.5
PAGE_MILLISECONDS = 0.5
PAGE_BYTES = 100_000
CONNECTIONS = 4
BLOCKS = 9
BLOCK_SECONDS = 0.7
PAGE_ROUNDS = 1_500

APP = """
import flask
from flask_pi_taskbar import PiTaskbar

app = flask.Flask(__name__)
app.add_url_rule("/empty", "empty", lambda: "")
PiTaskbar(app)
"""


class Load:
    """A handful of kept connections that ask for one path as often as the server answers."""

    def __init__(self, port: int, path: str) -> None:
        self._port = port
        self._request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        self._answer = 0

    def per_second(self, seconds: float) -> float:
        selector, answered = selectors.DefaultSelector(), 0
        connections = [socket.create_connection(("127.0.0.1", self._port)) for _ in range(CONNECTIONS)]
        size = self._answer or self._measure(connections[0])
        waiting = dict.fromkeys(connections, size)
        for connection in connections:
            selector.register(connection, selectors.EVENT_READ)
            connection.sendall(self._request)
        begun = time.perf_counter()
        while time.perf_counter() - begun < seconds:
            for key, _ in selector.select():
                connection = key.fileobj
                assert isinstance(connection, socket.socket)
                received = len(connection.recv(65536))
                if not received:
                    raise ConnectionError("the server closed a kept connection")
                waiting[connection] -= received
                if waiting[connection] == 0:
                    answered += 1
                    waiting[connection] = size
                    connection.sendall(self._request)
        taken = time.perf_counter() - begun
        for connection in connections:
            connection.close()
        selector.close()
        return answered / taken

    def _measure(self, connection: socket.socket) -> int:
        """The size of one answer; all of them have the same."""
        connection.sendall(self._request)
        data = b""
        while b"\r\n\r\n" not in data:
            data += connection.recv(65536)
        head, _, body = data.partition(b"\r\n\r\n")
        fields = email.parser.BytesHeaderParser().parsebytes(head.partition(b"\r\n")[2])
        length = int(fields["Content-Length"])
        while len(body) < length:
            body += connection.recv(65536)
        self._answer = len(head) + 4 + length
        return self._answer


def state_beside_an_empty_view() -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="pt-") as folder:
        root = Path(folder)
        for name in ("run", "state", "shop"):
            (root / name).mkdir(mode=0o700)
        (root / "shop" / "app.py").write_text(APP)
        (root / "shop" / "pyproject.toml").touch()
        env = {
            **os.environ,
            "FLASK_DEBUG": "1",
            "PI_BROWSER_TASKBAR_EXECUTABLE": str(PEER),
            "XDG_RUNTIME_DIR": str(root / "run"),
            "XDG_STATE_HOME": str(root / "state"),
            "PYTHONPATH": str(ROOT),
        }
        port = free_port()
        options = ["--threads", "4", "--keep-alive", "30", "--log-level", "error", "--bind", f"127.0.0.1:{port}"]
        server = ["gunicorn", *options, "app:app"]
        with ExitStack() as ends:
            ends.callback(stop_broker, root / "shop", env)
            ends.enter_context(running(server, port, root / "log", env, cwd=root / "shop", path="/empty"))
            loads = {name: Load(port, path) for name, path in [("empty", "/empty"), ("state", f"{MOUNT}/state")]}
            until(lambda: status(f"http://127.0.0.1:{port}{MOUNT}/state") == "ready", "Pi is ready")
            for load in loads.values():
                load.per_second(BLOCK_SECONDS)
            rates: dict[str, list[float]] = {name: [] for name in loads}
            for _ in range(BLOCKS):
                for name, load in loads.items():
                    rates[name].append(load.per_second(BLOCK_SECONDS))
    empty, state = (max(rates[name]) for name in ("empty", "state"))
    return [
        Figure("an empty view of the app", empty, "/s"),
        Figure("GET /state", state, "/s"),
        Figure("GET /state over the empty view", empty / state, "x", at_most=TIMES_EMPTY),
    ]


def status(url: str) -> str:
    with urllib.request.urlopen(url) as response:
        return str(json.load(response)["session"]["status"])


def stop_broker(project: Path, env: dict[str, str]) -> None:
    code = "from flask_pi_taskbar.cli import main; main()"
    subprocess.run(
        [sys.executable, "-c", code, "broker", "stop"], cwd=project, env=env, capture_output=True, timeout=30
    )


def page_with_and_without() -> list[Figure]:
    document = "<!doctype html><html><head><title>Bench</title></head><body>"
    document += "<p class='card'>A paragraph of the page.</p>\n" * ((PAGE_BYTES - len(document)) // 46)
    document += "</body></html>"

    def app(*, taskbar: bool, page: str) -> flask.Flask:
        made = flask.Flask(__name__)
        made.config["DEBUG"] = True
        if taskbar:
            PiTaskbar(made)
        made.add_url_rule("/", "home", lambda: page)
        return made

    headless = document.replace("</head><body>", "").replace("</body></html>", "")
    apps = {
        "without": app(taskbar=False, page=document),
        "with": app(taskbar=True, page=document),
        "headless without": app(taskbar=False, page=headless),
        "headless with": app(taskbar=True, page=headless),
    }
    actions = {name: partial(browse, made) for name, made in apps.items()}
    assert browse(apps["with"]) > browse(apps["without"])
    taken = {name: seconds * 1000 for name, seconds in medians(actions, PAGE_ROUNDS).items()}
    return [
        Figure("a page of 100 KB without us", taken["without"], "ms"),
        Figure("what the tag adds to it", taken["with"] - taken["without"], "ms", at_most=PAGE_MILLISECONDS),
        Figure(
            "what it adds to one that is read to its end",
            taken["headless with"] - taken["headless without"],
            "ms",
        ),
    ]


def browse(app: flask.Flask) -> int:
    """One request of a browser through the app object; gives how much came back."""
    environ = {
        "REQUEST_METHOD": "GET",
        "SCRIPT_NAME": "",
        "PATH_INFO": "/",
        "QUERY_STRING": "",
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "5000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "HTTP_HOST": "localhost:5000",
        "HTTP_SEC_FETCH_DEST": "document",
        "HTTP_ACCEPT": "text/html",
        "HTTP_ACCEPT_ENCODING": "gzip",
        "wsgi.url_scheme": "http",
    }
    body = app(environ, lambda _status, _headers, _exc_info=None: lambda _data: None)
    size = sum(map(len, body))
    body.close()  # type: ignore[attr-defined]
    return size


def main() -> None:
    """Print the figures."""
    report("flask", [*state_beside_an_empty_view(), *page_with_and_without()])


if __name__ == "__main__":
    main()
