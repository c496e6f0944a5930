"""On the servers that people run: Werkzeug's with and without threads, gunicorn's sync, gthread and gevent."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.flask.fake_client import READY
from tests.flask.host import BROWSER, MOUNT
from tests.flask.running import ROOT, free_port, running
from tests.flask.web import BODY
from tests.support.waiting import until

FLASK = ["flask", "--app", "tests.flask.served", "run", "--debug", "--no-reload", "--port", "{port}"]
GUNICORN = ["gunicorn", "--bind", "127.0.0.1:{port}", "tests.flask.served:app"]
SERVERS = {
    "werkzeug": FLASK,
    "werkzeug without threads": [*FLASK, "--without-threads"],
    "sync": GUNICORN,
    "gthread": [*GUNICORN, "--threads", "4"],
    "gevent": [*GUNICORN, "--worker-class", "gevent"],
}
THREADED = ("werkzeug", "gthread", "gevent")


class Served:
    """A running server."""

    def __init__(self, kind: str, port: int) -> None:
        self.kind, self.port = kind, port

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)

    def ask(self, path: str, method: str = "GET", **more: Any) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self.connect()
        try:
            connection.request(method, path, **more)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def numbers(self) -> dict[str, int]:
        found: dict[str, int] = json.loads(self.ask("/numbers")[1])
        return found


def start(kind: str, log: Path, **env: str) -> tuple[AbstractContextManager[None], Served]:
    port = free_port()
    module = [part.format(port=port) for part in SERVERS[kind]]
    environ = {**os.environ, "FLASK_DEBUG": "1", "FLASK_SKIP_DOTENV": "1", "PYTHONUNBUFFERED": "1", **env}
    return running(module, port, log, environ), Served(kind, port)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], Served]]:
    """Each kind of server, started when it is first asked for."""
    started: dict[str, Served] = {}
    with ExitStack() as stack:

        def get(kind: str) -> Served:
            if kind not in started:
                server_running, server = start(kind, tmp_path_factory.mktemp("log") / "server.log")
                stack.enter_context(server_running)
                started[kind] = server
            return started[kind]

        yield get


@pytest.fixture
def served(request: pytest.FixtureRequest, servers: Callable[[str], Served]) -> Served:
    return servers(request.param)


def on(*kinds: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("served", kinds, indirect=True)


@on(*SERVERS)
def test_pages_routes_and_assets_work(served: Served) -> None:
    response, page = served.ask("/", headers=BROWSER)
    assert response.status == 200
    assert page.count(b" data-pi-browser-taskbar ") == 1
    assert page.endswith(b"</body></html>")
    response, state = served.ask(f"{MOUNT}/state")
    assert (response.status, state) == (200, READY)
    response, bootstrap = served.ask(f"{MOUNT}/bootstrap")
    assert json.loads(bootstrap)["live"] is (served.kind in THREADED)
    response, script = served.ask(f"{MOUNT}/assets/pi_browser_taskbar.js")
    assert response.status == 200
    assert script == (ROOT / "static/taskbar/pi_browser_taskbar.js").read_bytes()
    tag = response.headers["ETag"]
    response, script = served.ask(f"{MOUNT}/assets/pi_browser_taskbar.js", headers={"If-None-Match": tag})
    assert (response.status, script) == (304, b"")


@on(*SERVERS)
def test_a_connection_goes_on_after_a_page_with_the_tag(served: Served) -> None:
    connection = served.connect()
    for _ in range(3):
        connection.request("GET", "/", headers=BROWSER)
        assert connection.getresponse().read().endswith(b"</html>")
        connection.request("GET", f"{MOUNT}/state")
        assert connection.getresponse().read() == READY
    connection.close()


@on(*SERVERS)
def test_the_first_bytes_of_a_page_do_not_wait_for_the_rest(served: Served, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    connection = served.connect()
    connection.request("GET", f"/slow?gate={gate}", headers=BROWSER)
    response = connection.getresponse()
    first = b""
    while not first.endswith(b"</head>"):
        first += response.read1()
    assert first.startswith(b"<html><head><title>Slow</title><script ")
    gate.touch()
    assert response.read() == b"<body>the rest</body></html>"
    connection.close()


@on(*SERVERS)
def test_a_task_in_chunks_and_one_that_is_too_long(served: Served) -> None:
    response, bootstrap = served.ask(f"{MOUNT}/bootstrap")
    headers = {
        "X-CSRF-Token": json.loads(bootstrap)["csrf_token"],
        "Cookie": response.headers["Set-Cookie"].split(";")[0],
        "Content-Type": "application/json",
    }
    chunks = iter([BODY[:100], BODY[100:]])
    response, answer = served.ask(f"{MOUNT}/tasks", "POST", headers=headers, body=chunks, encode_chunked=True)
    assert (response.status, answer) == (202, READY)
    response, answer = served.ask(f"{MOUNT}/tasks", "POST", headers=headers, body=b" " * 150_000 + BODY)
    assert (response.status, json.loads(answer)["error"]["code"]) == (422, "invalid_task")
    long = iter([b" " * 70_000, b" " * 70_000, BODY])
    response, answer = served.ask(f"{MOUNT}/tasks", "POST", headers=headers, body=long, encode_chunked=True)
    assert (response.status, json.loads(answer)["error"]["code"]) == (422, "invalid_task")


class Stream:
    """An open event stream."""

    def __init__(self, served: Served, query: str = "") -> None:
        self.connection = served.connect()
        self.connection.request("GET", f"{MOUNT}/events{query}", headers={"Accept": "text/event-stream"})
        self.response = self.connection.getresponse()
        assert self.response.status == 200

    def event(self) -> bytes:
        lines = [self.response.readline()]
        while lines[-1] not in (b"\n", b""):
            lines.append(self.response.readline())
        return b"".join(lines)

    def close(self) -> None:
        self.response.close()
        self.connection.close()


@on(*SERVERS)
def test_a_stream_says_the_state_at_once(served: Served) -> None:
    stream = Stream(served)
    assert stream.event().startswith(b"retry: ")
    assert stream.event() == b"id: 1\nevent: snapshot\ndata: " + READY + b"\n\n"
    stream.close()


@on("sync", "werkzeug without threads")
def test_a_server_without_threads_ends_a_stream_at_once_and_serves_on(served: Served) -> None:
    for _ in range(2):
        _, events = served.ask(f"{MOUNT}/events")
        assert events == b"retry: 2000\n\nid: 1\nevent: snapshot\ndata: " + READY + b"\n\n"
        assert served.ask("/", headers=BROWSER)[0].status == 200


@on(*THREADED)
def test_pages_are_served_while_streams_are_open(served: Served) -> None:
    streams = [Stream(served) for _ in range(3)]
    assert served.ask("/", headers=BROWSER)[0].status == 200
    for stream in streams:
        stream.close()


@on("gthread", "gevent")
def test_under_gunicorn_a_stream_ends_by_itself_and_a_second_one_is_not_held(served: Served) -> None:
    until(lambda: served.numbers()["following"] == 0, "earlier streams have ended")
    first = Stream(served)
    assert first.event() == b"retry: 100\n\n"
    assert first.event().startswith(b"id: 1\n")
    _, second = served.ask(f"{MOUNT}/events")
    assert second.startswith(b"retry: 2000\n\nid: 1\n")
    assert first.response.read() == b""
    first.close()
    again = Stream(served, "?after=1")
    assert again.response.read() == b"retry: 100\n\n"
    again.close()


@on("werkzeug")
def test_streams_that_browsers_have_left_give_their_threads_back(served: Served) -> None:
    before = served.numbers()
    streams = [Stream(served) for _ in range(20)]
    for stream in streams:
        stream.event()
        stream.event()
    until(lambda: served.numbers()["following"] >= 20, "twenty streams are open")
    for stream in streams:
        stream.close()
    until(lambda: served.numbers()["following"] == 0, "no stream is open")
    until(lambda: served.numbers()["threads"] <= before["threads"] + 1, "the threads have ended")


def test_max_streams_lets_a_worker_hold_more(tmp_path: Path) -> None:
    server_running, served = start("gthread", tmp_path / "server.log", MAX_STREAMS="2")
    with server_running:
        streams = [Stream(served) for _ in range(2)]
        assert [stream.event() for stream in streams] == [b"retry: 100\n\n"] * 2
        assert served.ask(f"{MOUNT}/events")[1].startswith(b"retry: 2000\n\n")
        for stream in streams:
            stream.close()


def test_on_a_unix_socket_nobody_is_known_and_the_reason_is_said_once(tmp_path: Path) -> None:
    log, address = tmp_path / "server.log", Path(os.environ["TMPDIR"]) / "unix"
    port = free_port()
    module = ["gunicorn", "--bind", f"unix:{address}", "--bind", f"127.0.0.1:{port}", "tests.flask.served:app"]
    environ = {**os.environ, "FLASK_DEBUG": "1", "PYTHONUNBUFFERED": "1"}
    with running(module, port, log, environ):
        for _ in range(2):
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(address))
                connection.sendall(
                    f"GET {MOUNT}/state HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
                )
                answer = b"".join(iter(lambda: connection.recv(65536), b""))
            assert answer.startswith((b"HTTP/1.0 403 ", b"HTTP/1.1 403 "))
        assert Served("sync", port).ask(f"{MOUNT}/state")[0].status == 200
    address.unlink(missing_ok=True)
    assert log.read_text().count("does not say which address it comes from") == 1
