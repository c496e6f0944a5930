"""What the broker costs: reads, admissions, memory, a cold start. With the scripted Pi, whose own start is taken off.

    python -m tests.bench.bench_broker [--save]

Everything goes through the real socket and the client that workers use.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import psutil

from flask_pi_taskbar.broker.client import BrokerClient
from flask_pi_taskbar.contract import parse_task
from tests.bench.bench_contract import largest, whole_nodes
from tests.bench.measure import Figure, report
from tests.broker.place import PEER, Place, look, over, ready, task
from tests.support import hermetic
from tests.support.waiting import until

READS = 20_000
ADMISSIONS = 60
TASKS = 1_000
COLD_STARTS = 9

READS_PER_SECOND = 12_000
ADMISSION_MS = 12
IDLE_MB = 32
GROWTH_MB = 5
COLD_START_MS = 300


def with_output(client: BrokerClient) -> None:
    """Let the retained task hold as much output as one can."""
    client.submit(task("bounded output"))
    over(client)
    assert len(client.state().snapshot) > 32_768


def reads_per_second(read: Callable[[], object]) -> float:
    """The best of three rounds: what the code can do when the machine lets it."""
    rates = []
    for _ in range(3):
        began = time.perf_counter()
        for _ in range(READS // 3):
            read()
        rates.append(READS // 3 / (time.perf_counter() - began))
    return max(rates)


def reads(place: Place) -> list[Figure]:
    client = place.client()
    ready(client)
    with_output(client)

    def whole() -> None:
        client._latest = None  # as if the snapshot had changed: all of it is sent
        client.state()

    return [
        Figure(
            "state reads, 32 KiB of output retained", reads_per_second(client.state), "/s", at_least=READS_PER_SECOND
        ),
        Figure("  of which the snapshot is sent each time", reads_per_second(whole), "/s"),
    ]


def admissions(place: Place) -> list[Figure]:
    client = place.client()
    ready(client)
    request = parse_task(largest(whole_nodes))
    taken = []
    for _ in range(ADMISSIONS):
        began = time.perf_counter()
        reply = client.submit(request)
        taken.append(time.perf_counter() - began)
        assert reply.result == "accepted", reply.result
        over(client)
    return [
        Figure("largest request, to accepted, p50", statistics.median(taken) * 1e3, "ms", at_most=ADMISSION_MS),
        Figure("  p95", sorted(taken)[int(len(taken) * 0.95)] * 1e3, "ms"),
    ]


def memory(place: Place) -> list[Figure]:
    client = place.client()
    ready(client)
    broker = psutil.Process(place.broker())
    idle = broker.memory_info().rss / 1e6
    before = broker.num_fds(), broker.num_threads()
    began = time.perf_counter()
    for number in range(TASKS):
        assert client.submit(task(f"task {number}")).result == "accepted"
        until(lambda: look(client)["session"]["status"] == "ready", "the task is over", every=0.001)
    seconds = time.perf_counter() - began
    assert (broker.num_fds(), broker.num_threads()) == before
    return [
        Figure("RSS, idle", idle, "MB", at_most=IDLE_MB),
        Figure(f"RSS, more after {TASKS:,} tasks", broker.memory_info().rss / 1e6 - idle, "MB", at_most=GROWTH_MB),
        Figure("  tasks with the scripted Pi", TASKS / seconds, "/s"),
    ]


def cold_start() -> list[Figure]:
    alone, starts = [], []
    for _ in range(COLD_STARTS):
        alone.append(pi_alone())
        with a_place() as place:
            starts.append(start_of_all(place.client()))
    own = statistics.median(alone)
    answered, made_ready = (statistics.median(taken) for taken in zip(*starts, strict=True))
    beyond = (made_ready - own) * 1e3
    return [
        Figure("first request to ready, beyond Pi's own start, p50", beyond, "ms", at_most=COLD_START_MS),
        Figure("  first answer, p50", answered * 1e3, "ms"),
        Figure("  the scripted Pi alone, p50", own * 1e3, "ms"),
    ]


def start_of_all(client: BrokerClient) -> tuple[float, float]:
    """From the first request to its answer, and to a Pi that is ready."""
    began = time.perf_counter()
    client.state()
    answered = time.perf_counter() - began
    until(lambda: look(client)["session"]["status"] == "ready", "Pi is ready", every=0.001)
    return answered, time.perf_counter() - began


def pi_alone() -> float:
    """From the start of Pi to its first answer."""
    began = time.perf_counter()
    with subprocess.Popen([PEER, "--mode", "rpc"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as pi:
        assert pi.stdin
        assert pi.stdout
        pi.stdin.write(b'{"type":"get_state","id":"1"}\n')
        pi.stdin.flush()
        pi.stdout.readline()
        taken = time.perf_counter() - began
        pi.stdin.close()
    return taken


@contextmanager
def a_place() -> Iterator[Place]:
    before = dict(os.environ)
    place = Place(os.environ)
    try:
        yield place
    finally:
        place.close()
        os.environ.clear()
        os.environ.update(before)


def in_a_place(measure: Callable[[Place], list[Figure]]) -> list[Figure]:
    with a_place() as place:
        return measure(place)


def main() -> None:
    world = hermetic.enter()
    try:
        figures = [figure for measure in (reads, admissions, memory) for figure in in_a_place(measure)]
        figures += cold_start()
    finally:
        hermetic.leave(world)
    report("broker", figures)


if __name__ == "__main__":
    main()
