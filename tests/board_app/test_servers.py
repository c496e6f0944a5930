"""The board in an app's own server, on every kind of server: one page, the same keys in every worker, gone with it."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import pytest

from flask_pi_taskbar.board.identity import repository, session, store_dir
from flask_pi_taskbar.board.serving.finding import Serving, find
from flask_pi_taskbar.board.store import Store
from tests.board_cli.conftest import make_repository
from tests.support.waiting import until

ANN = session("as:ann", "ann")
MOUNT = "/dev/pi-browser-taskbar"
APP = """
from flask import Flask
from flask_pi_taskbar import PiTaskbar

app = Flask(__name__)
app.debug = {debug}
PiTaskbar(app, executable="/bin/false")


@app.route("/")
@app.route("/<path:anything>")
def page(anything=""):
    return "<!doctype html><title>app</title>the app's own: " + anything
"""
SERVERS = {
    "flask run": ["-m", "flask", "--app", "app", "--debug", "run", "--port", "{port}"],
    "sync": ["-m", "gunicorn", "app:app", "-w", "2", "-b", "127.0.0.1:{port}"],
    "sync --preload": ["-m", "gunicorn", "app:app", "-w", "2", "--preload", "-b", "127.0.0.1:{port}"],
    "gthread": ["-m", "gunicorn", "app:app", "-w", "2", "-k", "gthread", "--threads", "4", "-b", "127.0.0.1:{port}"],
    "gevent": ["-m", "gunicorn", "app:app", "-w", "2", "-k", "gevent", "-b", "127.0.0.1:{port}"],
}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Site:
    """A project with an app, and the servers that were started on it."""

    root: Path
    environ: dict[str, str]
    port: int = 0
    process: subprocess.Popen[bytes] | None = None
    log: Path = field(default_factory=Path)

    @property
    def store(self) -> Store:
        return Store(store_dir(repository(self.root), self.environ))

    def ask(
        self, path: str, method: str = "GET", body: object = None, **headers: str
    ) -> tuple[int, Any, dict[str, str]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            connection.request(method, path, None if body is None else json.dumps(body), sent)
            answer = connection.getresponse()
            data = answer.read()
            kind = answer.headers.get("Content-Type", "")
            said = json.loads(data) if kind == "application/json" else data.decode()
            return answer.status, said, dict(answer.getheaders())
        finally:
            connection.close()

    def lead(self) -> str:
        """The lead's key, as the taskbar of a page gets it."""
        status, said, _ = self.link()
        assert status == 200, said
        return str(said["url"]).partition("#k=")[2]

    def link(self) -> tuple[int, Any, dict[str, str]]:
        _, said, headers = self.ask(f"{MOUNT}/bootstrap")
        cookie = headers["Set-Cookie"].partition(";")[0]
        return self.ask(f"{MOUNT}/lead", "POST", {}, X_CSRF_Token=said["csrf_token"], Cookie=cookie)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    root = tmp_path / "shop"
    make_repository(root)
    (root / "app.py").write_text(APP.format(debug=True))
    run = tmp_path / "run"
    run.mkdir(mode=0o700)
    own = {
        "PI_CODING_AGENT_DIR": str(tmp_path / "agent"),
        "XDG_RUNTIME_DIR": str(run),
        "XDG_STATE_HOME": str(tmp_path / "state"),
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    made = Site(root, {**os.environ, **own})
    made.store.apply("add", {"title": "One"}, ANN, now=datetime.now(UTC))
    yield made
    command = [sys.executable, "-c", "from flask_pi_taskbar.cli import main; main()", "broker", "stop"]
    subprocess.run(command, cwd=root, env=made.environ, check=True, capture_output=True)


@contextmanager
def serving(site: Site, kind: str) -> Iterator[Site]:
    site.port = free_port()
    site.log = site.root.parent / "server.log"
    words = [word.format(port=site.port) for word in SERVERS[kind]]
    with site.log.open("ab") as log:
        site.process = subprocess.Popen(
            [sys.executable, *words], cwd=site.root, env=site.environ, stdout=log, stderr=log, start_new_session=True
        )
    try:
        until(lambda: answers(site), f"{kind} answers", seconds=40)
        yield site
    finally:
        os.killpg(site.process.pid, signal.SIGTERM)
        site.process.wait(30)


def answers(site: Site) -> bool:
    assert site.process is not None
    assert site.process.poll() is None, site.log.read_text()
    try:
        return site.ask("/")[0] == 200
    except OSError:
        return False


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest, site: Site) -> Iterator[Site]:
    with serving(site, request.param):
        yield site


def test_the_page_is_the_same_on_every_server(server: Site) -> None:
    status, shell, headers = server.ask("/board")
    assert (status, headers["Referrer-Policy"]) == (200, "no-referrer")
    assert 'data-base="/board"' in shell
    assert f'data-taskbar="{MOUNT}"' in shell
    assert "pi_browser_taskbar.js" not in shell, "no taskbar on the board"
    assert server.ask("/board/app.js")[0] == 200
    assert server.ask("/board/")[0] == 200
    assert "the app's own: boards" in server.ask("/boards")[1]
    assert server.ask("/board/api/board")[0] == 401

    key = server.lead()
    for _ in range(6):  # several workers
        status, board, _ = server.ask("/board/api/board", X_Board_Key=key)
        assert (status, board["rows"]["1"]["title"], board["can"]) == (200, "One", {"write": True})
        assert board["board"]["where"] == "app"
    status, said, _ = server.ask("/board/api/cards/1/claim", "POST", {}, X_Board_Key=key)
    assert (status, said["card"]["owner"]["label"]) == (200, "team-lead")
    for _ in range(6):
        assert server.ask("/board/api/board", X_Board_Key=key)[1]["rows"]["1"]["status"] == "doing"

    viewer = server.ask("/board/api/links", X_Board_Key=key)[1]["viewer"].partition("#k=")[2]
    for _ in range(4):
        assert server.ask("/board/api/cards/1/release", "POST", {}, X_Board_Key=viewer)[0] == 403

    found = find(server.store)
    assert isinstance(found, Serving)
    assert found.note.url == f"http://127.0.0.1:{server.port}/board/#k={viewer}"

    fresh = server.ask("/board/api/lead/revoke", "POST", {}, X_Board_Key=key)[1]["key"]
    for _ in range(8):
        assert server.ask("/board/api/board", X_Board_Key=key)[0] == 401
        assert server.ask("/board/api/board", X_Board_Key=fresh)[0] == 200
    log = server.log.read_text()
    assert len(re.findall(r"^Board: http://127\.0\.0\.1:\d+/board/$", log, re.MULTILINE)) == 1
    assert key not in log, "a log may be read by others"
    assert fresh not in log
    assert viewer not in log


def frames_of(server: Site, key: str, last: str = "", have: str = "") -> tuple[list[dict[str, Any]], str]:
    """One stream to its end."""
    _, text, headers = server.ask(f"/board/events?last={last}&have={have}", X_Board_Key=key)
    assert headers["Content-Type"].startswith("text/event-stream")
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            events.append({**fields, "data": json.loads(fields["data"])})
    return events, text


@pytest.mark.parametrize("kind", ["sync", "gthread", "gevent"])
def test_a_bounded_stream_ends_and_is_resumed_at_any_worker(site: Site, kind: str) -> None:
    with serving(site, kind) as server:
        key = server.lead()
        events, text = frames_of(server, key)
        assert [one["event"] for one in events] == ["snapshot"]
        assert text.startswith("retry: ")
        state = events[0]
        for _ in range(4):
            digest = state["data"]["digest"]
            events, _ = frames_of(server, key, state["id"], digest)
            assert {one["event"] for one in events} <= {"rebase"}, "nothing has moved"
        server.store.apply("claim", {"card": 1}, ANN, now=datetime.now(UTC))
        events, _ = frames_of(server, key, state["id"], digest)
        rows = [one["data"]["rows"] for one in events if one["event"] in ("patch", "snapshot")]
        assert rows[-1]["1"]["status"] == "doing"


def test_the_keys_outlive_a_reload_and_the_page_ends_with_its_server(site: Site) -> None:
    with serving(site, "flask run") as server:
        key = server.lead()
        assert server.process is not None
        worker = psutil.Process(server.process.pid).children()[0]
        (server.root / "app.py").write_text(APP.format(debug=True) + "\n# changed\n")
        until(lambda: not worker.is_running(), "the reloader has ended the worker", seconds=40)
        until(lambda: answers(server), "it answers again", seconds=40)
        assert server.ask("/board/api/board", X_Board_Key=key)[0] == 200
        assert server.log.read_text().count("Board: ") == 1
    until(lambda: find(site.store) is None, "the page is let go", seconds=30)


def test_a_new_broker_has_new_keys_and_the_page_goes_on(site: Site) -> None:
    with serving(site, "gthread") as server:
        key = server.lead()
        found = find(server.store)
        assert isinstance(found, Serving)
        psutil.Process(found.note.pid).kill()
        until(lambda: server.ask("/board/api/board", X_Board_Key=key)[0] == 401, "the old key is worthless")
        assert server.ask("/board/api/board", X_Board_Key=server.lead())[0] == 200


def test_a_worker_that_is_killed_takes_no_key_with_it(site: Site) -> None:
    with serving(site, "sync") as server:
        key = server.lead()
        assert server.process is not None
        master = psutil.Process(server.process.pid)
        before = {child.pid for child in master.children()}
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        until(lambda: not before & {child.pid for child in master.children()}, "the killed are gone", seconds=40)
        until(lambda: answers(server), "other workers answer", seconds=40)
        assert server.ask("/board/api/board", X_Board_Key=key)[0] == 200


def test_beside_a_page_that_is_served_already_the_app_hands_out_the_way_to_it(site: Site) -> None:
    command = [sys.executable, "-m", "flask_pi_taskbar.page", "--store", site.store.layout.root]
    with ExitStack() as ends:
        alone = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=site.environ)
        ends.callback(alone.communicate)
        ends.callback(alone.terminate)
        assert alone.stdout is not None
        lead = alone.stdout.readline().strip()
        viewer = alone.stdout.readline().strip()
        with serving(site, "gthread") as server:
            assert server.ask("/board")[0] == 200
            status, said, _ = server.link()
            assert (status, said) == (200, {"ok": True, "url": viewer, "lead": False})
            assert server.ask("/board/api/board", X_Board_Key=lead.partition("#k=")[2])[0] == 401


def test_without_debug_there_is_no_board(site: Site) -> None:
    (site.root / "app.py").write_text(APP.format(debug=False))
    with serving(site, "sync") as server:
        assert "the app's own: board" in server.ask("/board")[1]
        assert find(server.store) is None


def test_a_stream_never_keeps_a_reload_up(site: Site) -> None:
    """gunicorn waits for open requests when it is told to end its workers."""
    with serving(site, "gthread") as server:
        key = server.lead()
        assert server.process is not None
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("GET", "/board/events", headers={"X-Board-Key": key})
        answer = connection.getresponse()
        answer.readline()
        before = {child.pid for child in psutil.Process(server.process.pid).children()}
        server.process.send_signal(signal.SIGHUP)
        until(
            lambda: not before & {child.pid for child in psutil.Process(server.process.pid).children()}, "new workers"
        )
        connection.close()
        assert server.ask("/board/api/board", X_Board_Key=key)[0] == 200
