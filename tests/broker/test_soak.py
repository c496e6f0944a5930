"""A long time of work leaves the broker as it was: memory, descriptors, threads, children, files."""

from __future__ import annotations

import os
import signal

import psutil
import pytest

from tests.broker.place import Place, look, over, ready, task
from tests.support.waiting import until

PROMPTS = ("quick", "bounded output", "rejected command", "provider error", "several messages", "edit file x => y")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_tasks_resets_and_followers_leave_nothing_behind(place: Place, slow: int) -> None:
    client = place.client()
    ready(client)
    broker = psutil.Process(place.broker())
    for prompt in PROMPTS:
        client.submit(task(prompt))
        over(client)
    client.reset()
    before = broker.memory_info().rss, broker.num_fds(), broker.num_threads()
    for number in range(300 * slow):
        assert client.submit(task(PROMPTS[number % len(PROMPTS)])).result == "accepted"
        with client.follow(None, heartbeat=5) as frames:
            next(frames)
        until(lambda: look(client)["session"]["status"] == "ready", "the task is over", every=0.002)
        if number % 10 == 0:
            assert client.reset().result == "accepted"
    until(lambda: (broker.num_fds(), broker.num_threads()) == before[1:], "descriptors and threads are as before")
    assert broker.memory_info().rss - before[0] < 5_000_000
    assert len(place.pi_starts()) == 1
    assert sum(path.stat().st_size for path in place.state.iterdir()) < 1_000_000


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_deaths_of_pi_leave_no_zombie_and_no_descriptor(place: Place, slow: int) -> None:
    client = place.client()
    ready(client)
    broker = psutil.Process(place.broker())
    descriptors = broker.num_fds()
    # Six in a minute stay within the budget of starts of a session.
    for _ in range(6):
        client.submit(task("spawn a sleeper"))
        until(lambda: look(client)["task"]["output"], "it works")
        os.kill(place.pi(), signal.SIGKILL)
        assert over(client)["status"] == "failed"
    assert broker.num_fds() == descriptors
    (pi,) = broker.children(recursive=True)
    assert pi.status() != psutil.STATUS_ZOMBIE
    assert pi.pid == place.pi()
