"""A server that answers as a test tells it, and one tab that has the page's modules but not the page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from selenium.webdriver import Chrome

MODULES = Path(__file__).parents[2] / "static" / "board"
LANES = ("todo", "doing", "blocked", "done")
START = """
const [api, model, live] = await Promise.all(["api", "model", "live"].map((name) => import(`/m/${name}.js`)));
window.model = model.createModel();
window.kinds = [];
window.model.subscribe((change) => change.connection && window.kinds.push(window.model.state.connection.kind));
const parts = { api: api.createApi({ base: "/b", key: options.key }), model: window.model, base: "/b" };
window.live = live.createLive({ ...parts, times: { ...live.TIMES, ...options.times } });
await window.live.start();
"""
Write = Callable[[bytes], None]


def row(card: int, rev: int = 1, **more: Any) -> dict[str, Any]:
    said = {"id": card, "rev": rev, "title": f"card {card}", "status": "todo", "priority": "normal", "owner": None}
    return {**said, "paths": [], "dependsOn": [], "waits": [], "reason": "", "tone": "plain", **more}


def snapshot(rev: int = 1, *rows: dict[str, Any], epoch: str = "e", **more: Any) -> dict[str, Any]:
    order = {lane: [each["id"] for each in rows if each["status"] == lane] for lane in LANES}
    said = {"v": 1, "epoch": epoch, "rev": rev, "now": "2026-01-01T00:00:00.000Z", "digest": f"d{rev}", "order": order}
    return {**said, "can": {"write": True}, "rows": {str(each["id"]): each for each in rows}, **more}


def patch(before: int, *rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    said = {"from": before, "to": before + 1, "now": "2026-01-01T00:00:01.000Z", "digest": f"d{before + 1}"}
    return {**said, "rows": {str(each["id"]): each for each in rows}, **more}


def frame(event: str, data: object, *, epoch: str = "e", line: str = "\n") -> bytes:
    said: Any = data
    rev = said.get("to", said.get("rev", "")) if isinstance(said, dict) else ""
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return line.join([f"id: {epoch}.{rev}", f"event: {event}", f"data: {text}", "", ""]).encode()


class Scripted:
    """What the page's server is asked, and what it says. `streams` is used up, its last entry stays."""

    def __init__(self) -> None:
        self.board: dict[str, Any] = snapshot()
        self.status = 200
        self.stream_status = 200
        self.stream_type = "text/event-stream"
        self.streams: list[Callable[[Write, Event], None]] = [hold]
        self.asked: list[tuple[str, str, dict[str, str], str | None]] = []
        self.over = Event()
        self.lock = Lock()

    def paths(self, method: str, path: str) -> list[tuple[dict[str, str], str | None]]:
        with self.lock:
            return [(query, key) for how, where, query, key in self.asked if (how, where) == (method, path)]

    @property
    def opened(self) -> list[dict[str, str]]:
        return [query for query, _ in self.paths("GET", "/b/events")]


def hold(write: Write, over: Event) -> None:
    over.wait()


def says(*chunks: bytes, then: Callable[[Write, Event], None] | None = hold) -> Callable[[Write, Event], None]:
    """A stream of these pieces, each sent by itself; it stays open, or ends where `then` is None."""

    def stream(write: Write, over: Event) -> None:
        for chunk in chunks:
            write(chunk)
            over.wait(0.01)
        if then:
            then(write, over)

    return stream


def handler(script: Scripted) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = 2  # a browser opens connections ahead that it may never use; the server's end waits for each

        def do_GET(self) -> None:
            at = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(at.query).items()}
            with script.lock:
                script.asked.append(("GET", at.path, query, self.headers.get("X-Board-Key")))
            if at.path.startswith("/m/"):
                self.answer(200, (MODULES / at.path[3:]).read_bytes(), "text/javascript")
            elif at.path == "/b/api/board":
                tag = f'"{script.board["epoch"]}.{script.board["rev"]}"'
                if script.status == 200 and self.headers.get("If-None-Match") == tag:
                    self.answer(304, b"", "application/json", tag)
                else:
                    said = {**script.board, "can": {"write": self.headers.get("X-Board-Key") == "lead"}}
                    self.answer(script.status, json.dumps(said).encode(), "application/json", tag)
            elif at.path == "/b/events":
                self.stream()
            else:
                self.answer(200, b"<!doctype html><title>scripted</title><link rel=icon href=data:>", "text/html")

        def stream(self) -> None:
            if script.stream_status != 200:
                self.answer(script.stream_status, b"{}", "application/json")
                return
            with script.lock:
                play = script.streams.pop(0) if len(script.streams) > 1 else script.streams[0]
            self.send_response(200)
            self.send_header("Content-Type", script.stream_type)
            self.end_headers()
            try:
                self.wfile.write(b"retry: 50\n\n")
                play(self.send, script.over)
            except OSError:
                pass  # the tab has gone
            self.close_connection = True

        def send(self, chunk: bytes) -> None:
            self.wfile.write(chunk)
            self.wfile.flush()

        def answer(self, status: int, body: bytes, kind: str, tag: str = "") -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            if tag:
                self.send_header("ETag", tag)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


class Tab:
    """The tabs of one test, all of the scripted server's origin."""

    def __init__(self, browser: Chrome, script: Scripted, address: str) -> None:
        self.browser, self.script, self.address = browser, script, address
        self.opened: list[str] = []

    def new(self) -> str:
        self.browser.switch_to.new_window("tab")
        self.opened.append(self.browser.current_window_handle)
        self.browser.get(self.address)
        return self.opened[-1]

    def close(self, tab: str) -> None:
        self.browser.switch_to.window(tab)
        self.browser.close()
        self.opened.remove(tab)
        self.browser.switch_to.window(self.opened[-1])

    def at(self, tab: str) -> None:
        self.browser.switch_to.window(tab)

    def run(self, source: str, options: object = None) -> Any:
        """The value of a body that may await; what it throws is the test's failure."""
        wrapped = (
            "const [options, done] = arguments;"
            f"(async () => {{ {source} }})().then((value) => done([value ?? null]), (error) => done(String(error)))"
        )
        said = self.browser.execute_async_script(wrapped, options)
        assert isinstance(said, list), said
        return said[0]

    def start(self, key: str = "lead", **times: int) -> None:
        self.run(START, {"key": key, "times": times})

    def state(self, name: str) -> Any:
        return self.browser.execute_script(f"return window.model.state.{name}")

    def rows(self) -> dict[str, Any]:
        found: dict[str, Any] = self.browser.execute_script("return Object.fromEntries(window.model.state.rows)")
        return found

    @property
    def kind(self) -> str:
        return str(self.state("connection.kind"))


@contextmanager
def scripted(browser: Chrome) -> Iterator[Tab]:
    script = Scripted()
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler(script))
    server.daemon_threads = False
    thread = Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    first = browser.current_window_handle
    tab = Tab(browser, script, f"http://127.0.0.1:{server.server_address[1]}/")
    try:
        tab.new()
        yield tab
    finally:
        for handle in tab.opened:
            browser.switch_to.window(handle)
            browser.close()
        browser.switch_to.window(first)
        script.over.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
