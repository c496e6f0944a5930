"""`python3 examples`: with the demo model and with a Pi set-up of the user's own, until Ctrl-C has ended everything."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from examples.bootstrap import agent
from examples.bootstrap.project import SOURCE, fingerprint
from examples.client import Taskbar
from examples.model_server import ModelServer
from tests.e2e.world import CASE
from tests.support import hermetic
from tests.support.waiting import until

pytestmark = pytest.mark.pi


class Example:
    """A place to run the command in, which ends it and insists that nothing is left."""

    def __init__(self, place: Path, output: Path) -> None:
        self.place, self.output = place, output
        self.marker = secrets.token_hex(8)
        self.env = dict(os.environ) | {CASE: self.marker}
        self._started: list[subprocess.Popen[bytes]] = []

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tests.e2e.run_example", "--dir", str(self.place), *arguments]
        with self.output.open("wb") as output:
            process = subprocess.Popen(command, env=self.env | env, stdout=output, stderr=output)
        self._started.append(process)
        return process

    def once(self, *arguments: str, **env: str) -> int:
        return self.start("--once", *arguments, **env).wait(90)

    def told(self) -> str:
        """What the command has printed, then what its servers have."""
        return "\n".join(path.read_text() for path in (self.output, *self.place.glob("demo/*/server.log")))

    def url(self) -> str:
        found = until(lambda: re.search(r"page +(http://\S+)/\n", self.told()), "the address is told", 40)
        return found[1]

    def nothing_left(self) -> None:
        until(lambda: not list(hermetic.marked(self.marker, CASE)), "nothing runs any more", 10)

    def close(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()
        hermetic.leftovers(self.marker, CASE, seconds=0.1)


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Example]:
    with tempfile.TemporaryDirectory(prefix="x") as place:
        made = Example(Path(place), tmp_path / "output")
        yield made
        made.close()


@pytest.fixture(autouse=True)
def checkout_stays_clean() -> Iterator[None]:
    before = fingerprint(SOURCE)
    yield
    assert fingerprint(SOURCE) == before


@pytest.mark.parametrize("arguments", [(), ("--gunicorn",)], ids=["flask", "gunicorn"])
def test_once_does_the_demo_task_and_ends_with_0(example: Example, arguments: tuple[str, ...]) -> None:
    code = example.once("--demo", *arguments)
    told = example.told()
    assert code == 0, told
    assert "changed: templates/index.html" in told
    assert "the demo model, a script: you asked for it" in told
    assert "Fresh from the kiln" in (example.place / "demo/1/quickstart/templates/index.html").read_text()
    example.nothing_left()


def test_a_users_own_pi_is_used_and_a_task_that_changes_nothing_fails(
    example: Example, model: ModelServer, pi_commands: dict[str, Path]
) -> None:
    programs = example.place / "bin"
    programs.mkdir()
    (programs / "pi").symlink_to(pi_commands["1.6.0"])
    own = agent.private_setup(example.place / "own", model.url)
    code = example.once(PATH=f"{programs}:{os.environ['PATH']}", **own)
    told = example.told()
    assert code == 1
    assert "demo/scripted, from your own Pi set-up" in told
    assert "failed: the task completed, yet no file of the example has changed" in told, told
    assert "Fresh from the kiln" in model.requests[-1].ask.instruction
    example.nothing_left()


def test_a_pi_without_a_model_is_told_and_the_demo_model_answers(
    example: Example, pi_commands: dict[str, Path]
) -> None:
    programs = example.place / "bin"
    programs.mkdir()
    (programs / "pi").symlink_to(pi_commands["1.6.0"])
    assert example.once(PATH=f"{programs}:{os.environ['PATH']}") == 0, example.told()
    assert "your Pi has no model chosen yet" in example.told()


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_end_of_the_command_is_the_end_of_everything(example: Example, sign: signal.Signals) -> None:
    process = example.start("--demo")
    taskbar = Taskbar(example.url())
    page = taskbar.page()
    assert "Demo model: you asked for it" in page
    assert "data-pi-browser-taskbar" in page
    until(lambda: taskbar.state()["session"]["status"] == "ready", "Pi is ready", 30)
    process.send_signal(sign)
    assert process.wait(30) == 130
    example.nothing_left()


def test_a_start_after_a_kill_clears_what_is_left_and_begins_anew(example: Example) -> None:
    process = example.start("--demo")
    taskbar = Taskbar(example.url())
    until(lambda: taskbar.state()["session"]["status"] == "ready", "Pi is ready", 30)
    process.kill()
    process.wait()
    left = [process.pid for process in hermetic.marked(example.marker, CASE)]
    assert left
    assert example.once("--demo") == 0, example.told()
    assert not [pid for pid in left if psutil.pid_exists(pid)]
    example.nothing_left()


def test_two_examples_at_once_have_ports_and_projects_of_their_own(example: Example, tmp_path: Path) -> None:
    example.start("--demo")
    first = example.url()
    example.output = tmp_path / "second"
    example.start("--demo")
    assert example.url() != first
    assert (example.place / "demo/2/quickstart/app.py").exists()
