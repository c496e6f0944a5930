"""The real Pi of both lines under our broker: what it leaves running when it or the broker is killed."""

from __future__ import annotations

import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from examples.bootstrap import agent
from flask_pi_taskbar.broker.client import BrokerClient
from flask_pi_taskbar.contract import texts
from tests.broker.place import Place, gone, look, over, ready, task
from tests.support import pi_lines
from tests.support.waiting import until

if TYPE_CHECKING:
    from examples.model_server import ModelServer

pytestmark = pytest.mark.pi
MINUTES = 543


@pytest.fixture(params=pi_lines.VERSIONS)
def client(
    request: pytest.FixtureRequest, place: Place, pi_commands: dict[str, Path], model: ModelServer
) -> BrokerClient:
    os.environ.update(agent.private_setup(place.base, model.url))
    client = place.client(executable=str(pi_commands[request.param]))
    ready(client)
    return client


def sleeping_tools(place: Place) -> list[int]:
    """What Pi's bash tool runs."""
    found = []
    for process in place.processes():
        try:
            if process.cmdline() == ["sleep", str(MINUTES)]:
                found.append(process.pid)
        except psutil.Error:
            continue
    return found


def start_tool(place: Place, client: BrokerClient) -> int:
    assert client.submit(task(f"SCENE:bash cmd={shlex.quote(f'sleep {MINUTES}')}")).result == "accepted"
    tool = until(lambda: sleeping_tools(place), "the tool runs", seconds=30)[0]
    assert os.getsid(tool) != os.getsid(real_pi(place))
    return tool


def real_pi(place: Place) -> int:
    (pi,) = [child.pid for child in psutil.Process(place.broker()).children()]
    return pi


def kill_broker(place: Place, client: BrokerClient) -> None:
    place.kill_broker()
    assert over(client)["error"] == texts.INTERRUPTED


def kill_pi(place: Place, client: BrokerClient) -> None:
    os.kill(real_pi(place), signal.SIGKILL)
    assert over(client)["error"] == texts.STOPPED_UNEXPECTEDLY


def stop_task(_: Place, client: BrokerClient) -> None:
    assert client.cancel(look(client)["task"]["id"]).result == "accepted"
    assert over(client)["status"] == "cancelled"


@pytest.mark.parametrize("end", [kill_broker, kill_pi, stop_task])
def test_a_running_tool_does_not_outlive_what_it_was_for(
    place: Place, client: BrokerClient, end: Callable[[Place, BrokerClient], None]
) -> None:
    tool = start_tool(place, client)
    end(place, client)
    until(lambda: gone(tool), "the tool is gone")
    assert client.submit(task("SCENE:text")).result == "accepted"
    assert over(client)["status"] == "completed"


def test_stopping_the_broker_ends_a_busy_pi_and_its_tool(place: Place, client: BrokerClient) -> None:
    tool, pi = start_tool(place, client), real_pi(place)
    os.kill(place.broker(), signal.SIGTERM)
    until(lambda: gone(tool) and gone(pi), "everything is gone")


def test_a_stopped_task_keeps_pi_and_its_session(place: Place, client: BrokerClient) -> None:
    before, pi = look(client)["session"]["id"], real_pi(place)
    for _ in range(3):
        assert client.submit(task("SCENE:forever")).result == "accepted"
        until(lambda: look(client)["task"]["output"], "it says something", seconds=30)
        stop_task(place, client)
    assert look(client)["session"]["id"] == before
    assert real_pi(place) == pi
