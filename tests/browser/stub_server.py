"""A scripted server for the Browser Client: pages, the client's own files, the taskbar's HTTP API as a test wants it.

A test sets the snapshot, says what a route does next (answer, refuse, drop the connection, hold), and reads what the
client asked for. Tasks are checked by the project's own contract, so that a task the real server would refuse fails the
test that sent it. It starts no process and knows neither Flask nor Pi.
"""

from __future__ import annotations

import copy
import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

from flask_pi_taskbar.contract import InvalidTask, TaskRequest, parse_task
from tests.browser import pages

STATIC = Path(__file__).resolve().parents[2] / "static" / "taskbar"
MOUNT = pages.MOUNT

Live = Literal["long", "short", "one-frame", "off"]
Act = Callable[["Answer"], None]


@dataclass
class Answer:
    """One exchange: what was asked, and the means to answer it."""

    stub: Stub
    handler: BaseHTTPRequestHandler
    body: bytes

    def json(self, status: int, value: object) -> None:
        self.raw(status, json.dumps(value).encode(), "application/json")

    def raw(self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None) -> None:
        self.handler.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
            self.handler.send_header(name, value)
        self.handler.end_headers()
        self.handler.wfile.write(body)


@dataclass
class Seen:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]
    body: bytes = field(repr=False)


def refuse(status: int, code: str, message: str = "Refused for a test", **extra: object) -> Act:
    return lambda answer: answer.json(status, {"error": {"code": code, "message": message}, **extra})


def drop(answer: Answer) -> None:
    """Close the connection without an answer: the client cannot know what happened."""
    answer.handler.close_connection = True
    answer.handler.connection.shutdown(2)


class Stub:
    """The scripted server. Use it as a context manager; `url` is its origin."""

    def __init__(self, port: int = 0) -> None:
        self.lock = threading.Condition()
        self.pages: dict[str, Callable[[Answer], None]] = {}
        self.seen: list[Seen] = []
        self.tasks: list[TaskRequest] = []
        self.refused_tasks: list[bytes] = []
        self.scripts: defaultdict[str, deque[Act]] = defaultdict(deque)
        self.always: dict[str, Act] = {}
        self.live: Live = "off"
        self.streams = 0
        self.revision = 1
        self.closing = False
        self.state: dict[str, Any] = pages.ready()
        self.bootstrap: dict[str, Any] = {
            "contract_version": 1,
            "product_version": "0.1.0",
            "csrf_token": "token-from-bootstrap",
            "remote_access": False,
            "project": "acme-shop",
        }
        stub = self

        class Handler(BaseHTTPRequestHandler):
            # As development servers do: one request a connection. On a kept one Chromium itself repeats a request whose
            # answer never began.
            protocol_version = "HTTP/1.0"

            def log_message(self, *args: object) -> None:
                pass

            def do_GET(self) -> None:
                stub.handle(self)

            do_POST = do_DELETE = do_GET

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Stub:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.closing = True
            self.lock.notify_all()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()

    # What a test says

    def page(self, path: str, html: str, **headers: str) -> str:
        """Serves `html` at `path`; returns its address."""
        self.pages[path] = lambda answer: answer.raw(200, html.encode(), "text/html; charset=utf-8", headers)
        return self.url + path

    def show(self, state: dict[str, Any]) -> None:
        """The snapshot from now on; streams pass it on."""
        with self.lock:
            self.state = copy.deepcopy(state)
            self.revision += 1
            self.lock.notify_all()

    def task(self, **changes: Any) -> None:
        """Changes fields of the current task, and the session's status with it."""
        state = copy.deepcopy(self.state)
        state["task"] |= changes
        if "status" in changes:
            ended = changes["status"] not in ("running", "cancelling")
            state["session"]["status"] = "ready" if ended else "busy"
            if ended:
                state["task"]["finished_at"] = pages.stamp()
        self.show(state)

    def next(self, route: str, *acts: Act) -> None:
        """What the next requests of `route` (as in "POST /tasks") get, one each."""
        self.scripts[route].extend(acts)

    @contextmanager
    def held(self, route: str, act: Act | None = None) -> Iterator[threading.Event]:
        """Holds the next request of `route` until the block ends; the event is set once it is there."""
        arrived, release = threading.Event(), threading.Event()

        def hold(answer: Answer) -> None:
            arrived.set()
            release.wait(30)
            (act or (lambda each: self.default(route, each)))(answer)

        self.next(route, hold)
        try:
            yield arrived
        finally:
            release.set()

    def requests(self, route: str) -> list[Seen]:
        method, path = route.split(" ", 1)
        with self.lock:
            return [one for one in self.seen if one.method == method and one.path == path]

    # What the client gets

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        url = urlsplit(handler.path)
        body = handler.rfile.read(int(handler.headers.get("Content-Length") or 0))
        path = url.path.removeprefix(MOUNT) if url.path.startswith(MOUNT) else url.path
        headers = {name.lower(): value for name, value in handler.headers.items()}
        with self.lock:
            self.seen.append(Seen(handler.command, path, parse_qs(url.query), headers, body))
            self.lock.notify_all()
        answer = Answer(self, handler, body)
        route = f"{handler.command} {path}"
        try:
            if url.path in self.pages:
                self.pages[url.path](answer)
            elif self.scripts[route]:
                self.scripts[route].popleft()(answer)
            elif route in self.always:
                self.always[route](answer)
            else:
                self.default(route, answer)
        except OSError:
            handler.close_connection = True

    def default(self, route: str, answer: Answer) -> None:
        if route == "GET /bootstrap":
            answer.json(200, self.bootstrap | {"live": self.live != "off"})
        elif route == "GET /state":
            answer.json(200, self.state)
        elif route == "GET /events":
            self.stream(answer)
        elif route == "POST /tasks":
            self.accept(answer)
        elif route.startswith("DELETE /tasks/"):
            self.task(status="cancelling", activity="Stopping Pi")
            answer.json(202, self.state)
        elif route == "POST /session/reset":
            self.show(pages.ready(session_id=f"session-{self.revision}"))
            answer.json(202, self.state)
        elif route.startswith("GET /assets/"):
            self.asset(answer, route.removeprefix("GET /assets/"))
        else:
            answer.json(404, {"error": {"code": "not_found", "message": "There is nothing at this address"}})

    def accept(self, answer: Answer) -> None:
        try:
            task = parse_task(answer.body)
        except InvalidTask:
            self.refused_tasks.append(answer.body)
            answer.json(422, {"error": {"code": "invalid_task", "message": "Task request is invalid"}})
            return
        self.tasks.append(task)
        session = self.state["session"]["id"]
        self.show(pages.running(task.prompt, task_id=f"task-{len(self.tasks)}", session_id=session))
        answer.json(202, self.state)

    def asset(self, answer: Answer, name: str) -> None:
        file = STATIC / name
        if not file.is_file():
            answer.json(404, {"error": {"code": "not_found", "message": "There is nothing at this address"}})
            return
        answer.raw(200, file.read_bytes(), "text/javascript; charset=utf-8", {"Cache-Control": "no-cache"})

    def stream(self, answer: Answer) -> None:
        """An event stream of the kind that `live` says; it resumes after the revision in the query."""
        handler = answer.handler
        handler.close_connection = True
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.send_header("Connection", "close")
        handler.end_headers()
        self.streams += 1
        try:
            self.frames(handler, parse_qs(urlsplit(handler.path).query).get("after", [None])[0])
        finally:
            self.streams -= 1

    def frames(self, handler: BaseHTTPRequestHandler, after: str | None) -> None:
        lifetime = {"long": 1000, "short": 8, "one-frame": 0, "off": 0}[self.live]  # quarters of a second
        handler.wfile.write(b"retry: 100\n\n")
        for _ in range(lifetime + 1):
            with self.lock:
                revision, state = self.revision, self.state
            if after == str(revision):
                handler.wfile.write(b": still here\n\n")
            else:
                data = f"id: {revision}\nevent: snapshot\ndata: {json.dumps(state)}\n\n"
                handler.wfile.write(data.encode())
                after = str(revision)
            if not lifetime:
                return
            with self.lock:
                self.lock.wait_for(lambda: self.closing or self.revision != revision, 0.25)  # noqa: B023
                if self.closing:
                    return
