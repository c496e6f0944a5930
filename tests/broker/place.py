"""A project of a test's own with its broker: folders, environment, the scripted Pi, and the end of all of it.

Brokers, Pi and tools are real processes. What a place starts carries its marker in the environment; `close` ends the
broker as a user would and then insists that nothing is left.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psutil
import pytest

from flask_pi_taskbar.broker import client as client_module
from flask_pi_taskbar.broker import launch, reach
from flask_pi_taskbar.broker.client import BrokerClient, BrokerConfig, Reply
from flask_pi_taskbar.broker.election import is_held
from flask_pi_taskbar.broker.runtime import PrivateDirectory
from flask_pi_taskbar.contract import TaskRequest, parse_task
from flask_pi_taskbar.project import runtime_dir, state_dir
from tests.contract import samples
from tests.support import hermetic
from tests.support.waiting import until

CASE = "PI_TASKBAR_TEST_CASE"
PEER = Path(__file__).parents[1] / "peer" / "scripted_pi.py"
PATIENCE = 30.0
OVER = ("completed", "failed", "cancelled")


class Place:
    """See the module. `environ` is what its programs run in; the test's own process lives in it too."""

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self.marker = secrets.token_hex(8)
        self.base = Path(tempfile.mkdtemp(prefix="b"))  # short: sockets lie below it
        self.root = self.base / "project"
        for name in ("project", "run", "state"):
            (self.base / name).mkdir(mode=0o700)
        self.log = self.base / "peer.log"
        self.behaviour = self.base / "behaviour"
        self.clients: list[BrokerClient] = []
        self.environ = environ
        environ.update(
            {
                "XDG_RUNTIME_DIR": str(self.base / "run"),
                "XDG_STATE_HOME": str(self.base / "state"),
                "PI_PEER_LOG": str(self.log),
                "PI_PEER_BEHAVIOUR_FILE": str(self.behaviour),
                launch.GRACE_VARIABLE: "60",
                CASE: self.marker,
            }
        )
        self.runtime = runtime_dir(self.root)
        self.state = state_dir(self.root)

    # Clients.

    def client(self, executable: str = str(PEER), task_timeout: int = 600, **more: Any) -> BrokerClient:
        config = BrokerConfig(project_root=self.root, executable=executable, task_timeout=task_timeout)
        client = BrokerClient(config, **more)
        self.clients.append(client)
        return client

    def python(self, code: str, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Another program in this place."""
        return subprocess.Popen([sys.executable, "-c", code, str(self.root), *arguments], **options)

    # Processes.

    def processes(self) -> list[psutil.Process]:
        return list(hermetic.marked(self.marker, CASE))

    def brokers(self) -> list[int]:
        """The brokers that live now (not the short-lived process that a launch begins with)."""
        return sorted(process.pid for process in self.processes() if _is_broker(process))

    def broker(self) -> int:
        (pid,) = until(self.brokers, "a broker runs")
        return pid

    def kill_broker(self) -> int:
        """As the out-of-memory killer does it."""
        pid = self.broker()
        os.kill(pid, signal.SIGKILL)
        with PrivateDirectory.open(self.runtime) as directory:  # a zombie may have a thread that is still closing files
            until(lambda: gone(pid) and not is_held(directory), "the broker is dead", every=0.005)
        return pid

    def peer_events(self, event: str) -> list[dict[str, Any]]:
        whole, _, _ = (self.log.read_text() if self.log.exists() else "").rpartition("\n")
        lines = whole.splitlines()  # what is behind the last newline is still being written
        return [entry for entry in map(json.loads, lines) if entry["event"] == event]

    def pi_starts(self) -> list[int]:
        return [entry["pid"] for entry in self.peer_events("start")]

    def pi(self) -> int:
        """The newest Pi."""
        return until(self.pi_starts, "Pi has been started")[-1]

    def commands(self, kind: str) -> list[dict[str, Any]]:
        records = [entry["record"] for entry in self.peer_events("command")]
        return [record for record in records if record["type"] == kind]

    # The end.

    def close(self) -> None:
        for client in self.clients:
            client.close()
        for pid in self.brokers():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        try:
            until(lambda: not self.processes(), "everything has ended", every=0.02)
        finally:
            running = hermetic.leftovers(self.marker, CASE, seconds=0)
            shutil.rmtree(self.base, ignore_errors=True)
            assert not running, "still running after the broker was asked to end:\n" + "\n".join(running)


def gone(pid: int) -> bool:
    """It has ended; whether somebody has collected it does not matter."""
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _is_broker(process: psutil.Process) -> bool:
    try:
        line = process.cmdline()
        return "broker/__main__.py" in " ".join(line) and process.ppid() != os.getpid()
    except psutil.Error:
        return False


# What tests say about snapshots.


def look(reply: Reply | BrokerClient) -> dict[str, Any]:
    """The snapshot as the browser reads it."""
    snapshot = reply.state().snapshot if isinstance(reply, BrokerClient) else reply.snapshot
    seen: dict[str, Any] = json.loads(snapshot)
    return seen


@contextlib.contextmanager
def new_place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A place for one test. Its clients are patient: on a busy machine a start may take longer than users wait."""
    monkeypatch.setattr(reach, "CONNECT_SECONDS", PATIENCE)
    monkeypatch.setattr(client_module, "CALL_SECONDS", PATIENCE)
    before = dict(os.environ)
    place = Place(os.environ)
    try:
        yield place
    finally:
        try:
            place.close()
        finally:
            os.environ.clear()
            os.environ.update(before)


def ready(client: BrokerClient) -> dict[str, Any]:
    return until(lambda: (seen := look(client))["session"]["status"] == "ready" and seen, "Pi is ready", every=0.01)


def over(client: BrokerClient) -> dict[str, Any]:
    """The retained task, once it is final and Pi takes the next one."""
    return until(
        lambda: (task := ready(client)["task"]) and task["status"] in OVER and task, "the task is over", every=0.01
    )


def task(prompt: str) -> TaskRequest:
    """A valid request about a small page."""
    return parse_task(json.dumps({"prompt": prompt, "context": samples.minimal()}).encode())


def all_at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """The results of `work(0)`, …, started together in threads."""
    barrier = threading.Barrier(count)

    def one(number: int) -> Any:
        barrier.wait()
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))
