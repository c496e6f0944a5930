"""One world for one end-to-end test: a project, a model server, a Pi set-up, and the servers that a test starts in it.

Everything is real but the model. What a world starts carries its own marker in the environment; `World.close` ends it
in the way a user would and then insists that nothing is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from examples.bootstrap import agent, serve
from examples.bootstrap.project import copy_example
from examples.client import OVER, Snapshot, Taskbar
from examples.model_server import ModelServer
from tests.support import hermetic, pi_lines
from tests.support.waiting import until

CASE = "PI_TASKBAR_TEST_CASE"
BROKER_SCRIPT = "flask_pi_taskbar/broker/__main__.py"
PROGRAMS = Path(sys.executable).parent


class World:
    """See the module. `project` is a copy of the quickstart app."""

    def __init__(self, pi: Path, model: ModelServer, logs: Path) -> None:
        self.marker = secrets.token_hex(8)
        self.root = Path(tempfile.mkdtemp(prefix="w"))  # short: sockets lie below it
        self.model = model
        self.logs = logs
        self.project = copy_example(self.root / "shop")
        self._starts = self.root / "pi-starts"
        self.env = self._environment(pi)
        self._servers = contextlib.ExitStack()

    def _environment(self, pi: Path) -> dict[str, str]:
        command = self.root / "pi"
        command.write_text(f'#!/bin/sh\necho $$ >> {self._starts}\nexec {pi} "$@"\n')
        command.chmod(0o755)
        for name in ("home", "run", "state", "tmp"):
            (self.root / name).mkdir(mode=0o700)
        moved = {
            "HOME": self.root / "home",
            "XDG_RUNTIME_DIR": self.root / "run",
            "XDG_STATE_HOME": self.root / "state",
            "TMPDIR": self.root / "tmp",
            "PI_BROWSER_TASKBAR_EXECUTABLE": command,
        }
        if pi == pi_lines.command(pi_lines.NEW_LINE.version):
            # One cache of compiled code for all worlds: this line starts in half the time. The older one has no use for
            # a cache and takes a second more to end with one.
            moved["NODE_COMPILE_CACHE"] = Path(tempfile.gettempdir()) / "node-compile-cache"
        return (
            dict(os.environ)
            | {name: str(path) for name, path in moved.items()}
            | agent.private_setup(self.root, self.model.url)
            | {CASE: self.marker, "FLASK_SKIP_DOTENV": "1", "FLASK_DEBUG": "1", "PYTHONUNBUFFERED": "1"}
        )

    # ---- servers ----

    def flask(self, *arguments: str, **env: str) -> Server:
        """`flask run --debug` on a free port."""
        port = _free_port()
        return self._start(
            [PROGRAMS / "flask", "--app", "app", "run", "--debug", "--port", port, *arguments], port, env
        )

    def gunicorn(self, *arguments: str, **env: str) -> Server:
        """gunicorn with these arguments on a free port."""
        port = _free_port()
        return self._start([PROGRAMS / "gunicorn", "--bind", f"127.0.0.1:{port}", *arguments, "app:app"], port, env)

    def _start(self, command: list[object], port: int, env: dict[str, str]) -> Server:
        log = self.logs / f"server-{port}.log"
        url = f"http://127.0.0.1:{port}"
        argv = [str(word) for word in command]
        running = serve.serving(
            argv,
            cwd=self.project,
            env=self.env | env,
            url=f"{url}/static/style.css",
            record=self.root / f"server-{port}.pid",
            log=log,
        )
        return Server(url, log, self._servers.enter_context(running))

    def run(self, *arguments: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        """A command of the environment's Python, to its end, in the project."""
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.project,
            env=self.env | env,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )

    # ---- processes ----

    def processes(self) -> list[psutil.Process]:
        return list(hermetic.marked(self.marker, CASE))

    def brokers(self) -> list[int]:
        """The brokers that live now."""
        return sorted(process.pid for process in self.processes() if BROKER_SCRIPT in " ".join(_command(process)))

    def broker(self) -> int:
        """The one broker."""
        (pid,) = until(lambda: self.brokers(), "a broker runs")
        return pid

    def pi_starts(self) -> list[int]:
        """The pid of each Pi that was ever started in this world."""
        return [int(pid) for pid in self._starts.read_text().split()] if self._starts.exists() else []

    def pis(self) -> list[int]:
        """The Pi processes that live now."""
        return [pid for pid in self.pi_starts() if _alive(pid)]

    # ---- files ----

    def file(self, name: str) -> Path:
        return self.project / name

    def content(self, name: str) -> str:
        """What a file of the project holds; nothing if it is not there."""
        try:
            return self.file(name).read_text()
        except FileNotFoundError:
            return ""

    # ---- the end ----

    def close(self) -> None:
        self._servers.close()
        for pid in self.brokers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        running = hermetic.leftovers(self.marker, CASE, seconds=10)
        shutil.rmtree(self.root, ignore_errors=True)
        assert not running, "still running after the servers and the broker were asked to end:\n" + "\n".join(running)


class Server:
    """A running server of a world, and its taskbar as one client sees it."""

    def __init__(self, url: str, log: Path, process: subprocess.Popen[bytes]) -> None:
        self.url, self.log, self.process = url, log, process
        self.taskbar = Taskbar(url)

    def another_client(self) -> Taskbar:
        return Taskbar(self.url)

    # ---- the session ----

    def ready(self, seconds: float = 30) -> Snapshot:
        """The snapshot once the session is ready."""
        return self.wait(lambda snapshot: snapshot["session"]["status"] == "ready", "ready", seconds)

    def wait(self, wanted: Any, what: str, seconds: float = 40) -> Snapshot:
        """The first snapshot that is as `wanted` says."""
        last: Snapshot | None = None
        with contextlib.suppress(TimeoutError):
            for last in self.taskbar.follow(seconds, every=0.05):
                if wanted(last):
                    return last
        raise AssertionError(f"after {seconds} s the state is still not “{what}”: {json.dumps(last)[-2000:]}")

    def do(self, prompt: str, seconds: float = 60) -> dict[str, Any]:
        """Submit a task and follow it to its end: the task as it was then."""
        return self.finish(self.start(prompt), seconds)

    def start(self, prompt: str) -> str:
        """Submit a task: its id."""
        self.ready()
        return str(self.taskbar.submit(prompt)["task"]["id"])

    def finish(self, task_id: str, seconds: float = 60) -> dict[str, Any]:
        def over(snapshot: Snapshot) -> bool:
            task = snapshot["task"]
            return task is not None and task["id"] == task_id and task["status"] in OVER

        return dict(self.wait(over, f"task {task_id} is over", seconds)["task"])

    def saying(self, words: str) -> Snapshot:
        """The snapshot once the running task has said something that holds `words`."""
        return self.wait(lambda snapshot: words in ((snapshot["task"] or {}).get("output") or ""), f"says {words}")


def identical(*servers: Server) -> Iterator[tuple[Snapshot, ...]]:
    """The state as each of these servers tells it, again and again."""
    while True:
        yield tuple(server.taskbar.state() for server in servers)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []
