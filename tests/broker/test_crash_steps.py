"""Kill -9 at every step that the broker takes on the file system, one after the other, until there are no more.

After each of them a client that comes along must find a working broker, with exactly one Pi, and nothing that was
acknowledged may be lost.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flask_pi_taskbar.broker.client import Unavailable
from flask_pi_taskbar.contract import texts
from tests.broker.place import Place, gone, look, over, ready, task
from tests.support.waiting import until

SCRIPT = Path(__file__).with_name("crashing.py")
FEW = range(1, 60, 9)


def crashing(place: Place, begin: str, step: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, str(SCRIPT), str(place.root), begin, str(step), str(place.base / "steps")]
    return subprocess.Popen(command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, env=_environment())


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}


def steps_taken(place: Place) -> list[str]:
    return (place.base / "steps").read_text().split("\n")[:-1]


def finish(broker: subprocess.Popen[bytes]) -> None:
    if broker.poll() is None:
        broker.kill()
    broker.wait()
    assert broker.stdout
    broker.stdout.close()


def check_start(place: Place, step: int) -> bool:
    """Kill a broker at this step of its start. False when it got through before that."""
    broker = crashing(place, "start", step)
    try:
        assert broker.stdout
        said = broker.stdout.readline()
        crashed = said == b"" or broker.poll() is not None
        if not crashed:
            os.kill(broker.pid, signal.SIGTERM)
        assert broker.wait(20) in ((-signal.SIGKILL,) if crashed else (0, -signal.SIGKILL)), said
    finally:
        finish(broker)
    client = place.client()
    assert ready(client)["session"]["status"] == "ready"
    (place.base / "steps").unlink()
    os.kill(place.broker(), signal.SIGTERM)
    until(lambda: not place.processes(), "it has left")
    return crashed


def check_task(place: Place, step: int) -> bool:
    """Kill a broker at this step of a task. False when the task was over before that."""
    begin = place.base / "begin"
    broker = crashing(place, str(begin), step)
    try:
        assert broker.stdout
        assert broker.stdout.readline() == b"ready\n"
        client = place.client()
        ready(client)
        begin.touch()
        try:
            accepted = client.submit(task("a prompt to be kept")).result == "accepted"
        except Unavailable:
            accepted = False
            # A killed process closes its sockets before it can be collected.
            until(lambda: broker.poll() is not None, "it has crashed")
        if broker.poll() is None and accepted:
            until(
                lambda: broker.poll() is not None or _settled(place), "it has crashed, or the task is over", every=0.02
            )
        crashed = broker.poll() is not None
        settled = crashed and _settled(place)
        if not crashed:
            os.kill(broker.pid, signal.SIGKILL)
        broker.wait()
    finally:
        finish(broker)
        begin.unlink(missing_ok=True)
    prompts = len(place.commands("prompt"))
    retained = ready(client)["task"]
    if crashed and accepted and not settled:
        assert retained["prompt"] == "a prompt to be kept"
        assert retained["error"] == texts.INTERRUPTED
    assert client.submit(task("the next one")).result == "accepted"
    assert over(client)["status"] == "completed"
    assert len(place.commands("prompt")) == prompts + 1
    assert len([pid for pid in place.pi_starts() if not gone(pid)]) == 1
    client.close()
    os.kill(place.broker(), signal.SIGTERM)
    until(lambda: not place.processes(), "it has left")
    place.log.unlink()
    (place.base / "steps").unlink(missing_ok=True)
    return crashed


def _settled(place: Place) -> bool:
    journal = place.state / "journal"
    return journal.exists() and b'"ended"' in journal.read_bytes()


@pytest.mark.parametrize("step", FEW)
def test_a_start_killed_at_a_step_is_recovered_from(place: Place, step: int) -> None:
    check_start(place, step)


@pytest.mark.parametrize("step", [1, 4, 7])
def test_a_task_killed_at_a_step_is_recovered_from(place: Place, step: int) -> None:
    check_task(place, step)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_start_killed_at_any_step_is_recovered_from(place: Place) -> None:
    step = 1
    while check_start(place, step):
        step += 1
    assert step > 20


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_task_killed_at_any_step_is_recovered_from(place: Place) -> None:
    step = 1
    while check_task(place, step):
        step += 1
    assert step > 3


def test_the_steps_are_really_counted(place: Place) -> None:
    broker = crashing(place, "start", 10_000)
    try:
        assert broker.stdout
        assert broker.stdout.readline() == b"ready\n"
        assert {line.split()[1] for line in steps_taken(place)} >= {"open", "write", "rename", "fsync", "chmod"}
        assert look(place.client())["session"]["status"] == "starting"
        os.kill(broker.pid, signal.SIGTERM)
        assert broker.wait(20) == 0
    finally:
        finish(broker)
