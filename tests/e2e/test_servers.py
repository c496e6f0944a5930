"""However the app is served, all workers and all servers on one checkout meet one broker and one Pi."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

import psutil
import pytest

from tests.e2e.world import Server, World
from tests.support.waiting import until

pytestmark = pytest.mark.pi

GUNICORNS = {
    "sync": ("--workers", "2"),
    "sync with preload": ("--workers", "2", "--preload"),
    "gthread": ("--workers", "2", "--threads", "4"),
    "gevent": ("--workers", "2", "--worker-class", "gevent"),
}


def agree(*servers: Server, times: int = 10) -> None:
    """However often they are asked, all tell the same session and task."""
    told = {str(server.another_client().state()) for server in servers for _ in range(times)}
    assert len(told) == 1, told


def workers(server: Server) -> set[int]:
    with contextlib.suppress(psutil.NoSuchProcess):
        return {child.pid for child in psutil.Process(server.process.pid).children()}
    return set()


@pytest.mark.parametrize("kind", GUNICORNS)
def test_the_workers_of_gunicorn_share_one_broker_and_one_pi(new_world: World, kind: str) -> None:
    server = new_world.gunicorn(*GUNICORNS[kind])
    until(lambda: len(workers(server)) == 2, "two workers run")
    task = server.do("SCENE:write path=made.txt content=made")
    assert (task["status"], new_world.file("made.txt").read_text()) == ("completed", "made")
    agree(server, times=20)
    assert len(new_world.brokers()) == len(new_world.pi_starts()) == 1


def test_gunicorn_sync_does_the_same_with_the_older_pi(world: World) -> None:
    server = world.gunicorn(*GUNICORNS["sync"])
    task = server.do("SCENE:write path=made.txt content=made")
    assert (task["status"], world.file("made.txt").read_text()) == ("completed", "made")


def test_two_servers_on_one_checkout_show_the_same_task(new_world: World) -> None:
    first, second = new_world.flask(), new_world.gunicorn("--workers", "1")
    task_id = first.start("SCENE:forever delay=0.05")
    assert second.saying("tick3")["task"]["id"] == task_id
    assert second.taskbar.cancel(task_id)["task"]["status"] in ("cancelling", "cancelled")
    assert first.finish(task_id)["status"] == "cancelled"
    second.finish(task_id)
    agree(first, second)
    assert len(new_world.brokers()) == len(new_world.pi_starts()) == 1


def test_two_servers_that_start_at_once_elect_one_broker(new_world: World) -> None:
    servers = [new_world.gunicorn("--workers", "2"), new_world.gunicorn("--workers", "2")]
    clients = [server.another_client() for server in servers for _ in range(4)]
    states = [client.state() for client in clients]
    assert all(state["session"]["status"] in ("starting", "ready") for state in states)
    for server in servers:
        server.ready()
    agree(*servers)
    assert len(new_world.brokers()) == len(new_world.pi_starts()) == 1


def _hup(_world: World, server: Server) -> None:
    os.kill(server.process.pid, signal.SIGHUP)


def _usr2(world: World, server: Server) -> None:
    """gunicorn's own upgrade: a second master takes over, the first one is told to go."""
    os.kill(server.process.pid, signal.SIGUSR2)
    until(lambda: any("gunicorn" in " ".join(_argv(p)) for p in _newer_masters(world, server)), "a second master runs")
    os.kill(server.process.pid, signal.SIGTERM)


def _newer_masters(world: World, server: Server) -> list[psutil.Process]:
    with contextlib.suppress(psutil.NoSuchProcess):
        children = psutil.Process(server.process.pid).children()
        return [child for child in children if child.children()]
    return []


def _argv(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:
        return []


@pytest.mark.parametrize("renew", [_hup, _usr2], ids=["HUP", "USR2"])
def test_renewing_the_workers_leaves_the_running_task_alone(
    new_world: World, renew: Callable[[World, Server], None]
) -> None:
    server = new_world.gunicorn("--workers", "2", "--graceful-timeout", "3")
    task_id = server.start("SCENE:slow chunks=60 delay=0.1")
    server.saying("token0003")
    before = workers(server)
    renew(new_world, server)
    until(lambda: not before & workers(server), "the old workers are gone", seconds=20)
    task = server.finish(task_id, 30)
    assert (task["status"], task["error"]) == ("completed", None)
    assert task["output"].split() == [f"token{number:04d}" for number in range(60)]
    agree(server)
    assert len(new_world.brokers()) == len(new_world.pi_starts()) == 1


def test_the_broker_outlives_its_servers_and_the_next_one_finds_the_task(new_world: World) -> None:
    first = new_world.gunicorn("--workers", "1")
    task_id = first.start("SCENE:slow chunks=30 delay=0.1")
    first.saying("token0003")
    first.process.send_signal(signal.SIGTERM)
    first.process.wait(10)
    second = new_world.gunicorn("--workers", "1")
    assert second.finish(task_id)["output"].endswith("token0029 ")
    assert len(new_world.brokers()) == len(new_world.pi_starts()) == 1


def test_an_idle_broker_ends_after_its_grace(new_world: World) -> None:
    new_world.env["PI_BROWSER_TASKBAR_BROKER_GRACE"] = "0.5"
    server = new_world.gunicorn("--workers", "1")
    server.ready()
    assert len(new_world.pis()) == 1
    server.process.send_signal(signal.SIGTERM)
    server.process.wait(10)
    until(lambda: not new_world.processes(), "broker and Pi have ended by themselves")


def test_the_page_answers_while_two_streams_are_open_under_sync_workers(new_world: World) -> None:
    server = new_world.gunicorn("--workers", "1")
    server.ready()
    began = time.monotonic()
    with contextlib.ExitStack() as streams:
        for _ in range(2):
            streams.enter_context(server.another_client().stream())
        assert "Kiln" in server.taskbar.page()
    # A held stream would hold the only worker for good; the bound is only to tell the two apart.
    assert time.monotonic() - began < 10
