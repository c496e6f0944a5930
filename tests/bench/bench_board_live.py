"""What following a board costs: from a file's rename to the frame in a reader's hands, for one reader and for many.

    python -m tests.bench.bench_board_live [--save]

Real files in the temporary directory, a store of its own for the writer, so that the hub learns of nothing but the
files. Readers are threads of this process that parse nothing: what the network adds is the page's own benchmark.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from unittest import mock

from flask_pi_taskbar.board.card import serialize
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.live.hub import Hub
from flask_pi_taskbar.board.live.triggers import Events
from flask_pi_taskbar.board.store import Store
from tests.bench.measure import Figure, report
from tests.board_core.boards import many

ME = session("bench", "bench")
WRITES = 60
BROADCASTS = 10


class Readers:
    """So many followers of a hub, each in a thread; when each was told of the newest state is kept."""

    def __init__(self, hub: Hub, count: int) -> None:
        self._hub = hub
        self.count = count
        self.told: list[float] = []
        self._threads = [threading.Thread(target=self._follow) for _ in range(count)]
        for thread in self._threads:
            thread.start()
        self.until_told()

    def _follow(self) -> None:
        with self._hub.follow(can_write=False) as follower:
            while (chunks := follower.next(15)) is not None:
                if chunks:
                    self.told.append(time.perf_counter())

    def until_told(self, seconds: float = 20) -> list[float]:
        """When each was told; fewer than there are readers if the time is over."""
        end = time.perf_counter() + seconds
        while len(self.told) < self.count and time.perf_counter() < end:
            time.sleep(0.002)
        told, self.told = self.told, []
        return told

    def join(self) -> None:
        for thread in self._threads:
            thread.join()


@contextmanager
def following(store: Store, count: int) -> Iterator[Readers]:
    """A hub of its own with so many readers."""
    hub = Hub(Store(store.layout.root), epoch="b")
    readers = Readers(hub, count)
    try:
        yield readers
    finally:
        hub.close()
        readers.join()


def main() -> None:
    """Print the table."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (1_000, 10_000):
            store = filled(Path(folder, str(count)), count)
            figures += refreshed(store, count)
            with following(store, 1) as readers:
                figures += latency(store, readers, f"{count:,} cards, events", 100)
            with mock.patch.object(Events, "start"), following(store, 1) as readers:
                figures += latency(store, readers, f"{count:,} cards, polling", 350)
            for viewers, limit in ((200, 50), (1_000, None)):
                with following(store, viewers) as readers:
                    figures += broadcast(store, readers, f"{count:,} cards", limit)
                at_most = 120 if viewers == 200 else None
                figures.append(
                    Figure(f"{count:,} cards, {viewers:,} readers: memory", memory(store, viewers), "MB", at_most)
                )
    report("board_live", figures)


def filled(folder: Path, count: int) -> Store:
    """A board of so many cards."""
    store = Store(folder)
    store.apply("add", {"title": "The first"}, ME, now=datetime.now(UTC))
    for card in many(count):
        Path(store.layout.card(card.id)).write_bytes(serialize(card))
    os.sync()
    time.sleep(0.05)  # the folder's time must lie behind us, as on any board that is not being written to
    return store


def refreshed(store: Store, count: int) -> list[Figure]:
    """A first look, one after a card has changed, and one when nothing has."""
    hub = Hub(Store(store.layout.root), epoch="b")
    started = time.perf_counter()
    hub.nudge()
    first = time.perf_counter() - started
    changed, idle = [], []
    for number in range(15):
        edit(store, f"refresh {number}")
        started = time.perf_counter()
        hub.nudge()
        changed.append(time.perf_counter() - started)
        time.sleep(0.03)
        hub.nudge()
        started = time.perf_counter()
        hub.nudge()
        idle.append(time.perf_counter() - started)
    return [
        Figure(f"{count:,} cards: first look", first * 1000, "ms"),
        Figure(f"{count:,} cards: look after one change", statistics.median(changed) * 1000, "ms"),
        Figure(f"{count:,} cards: look when nothing moved", statistics.median(idle) * 1000, "ms"),
    ]


def latency(store: Store, readers: Readers, what: str, limit: float) -> list[Figure]:
    """From the write's return to the frame."""
    times = []
    for number in range(WRITES):
        time.sleep(0.11 + number % 10 / 100)
        readers.told = []
        edit(store, f"{what} {number}")
        written = time.perf_counter()
        told = readers.until_told()
        times.append(max(0.0, told[0] - written) * 1000)
    return [
        Figure(f"{what}: file to frame, p50", statistics.median(times), "ms"),
        Figure(f"{what}: file to frame, p95", statistics.quantiles(times, n=20)[-1], "ms", at_most=limit),
    ]


def broadcast(store: Store, readers: Readers, what: str, limit: float | None) -> list[Figure]:
    """From the write's return to the frame at the last of many readers, and how many got it at all."""
    spread, got = [], 0
    for number in range(BROADCASTS):
        time.sleep(0.3)
        readers.told = []
        edit(store, f"to all {number}")
        told = readers.until_told()
        got += len(told)
        spread.append((max(told) - min(told)) * 1000)
    all_of_them = f"{what}, {readers.count:,} readers"
    return [
        Figure(f"{all_of_them}: first to last, p50", statistics.median(spread), "ms", at_most=limit),
        Figure(f"{all_of_them}: frames that came", 100 * got / (BROADCASTS * readers.count), "%", at_least=100),
    ]


def memory(store: Store, viewers: int) -> float:
    """The megabytes of a process that does nothing but hold a hub and so many readers."""
    program = """
import sys, psutil
from flask_pi_taskbar.board.store import Store
from tests.bench.bench_board_live import following
with following(Store(sys.argv[1]), int(sys.argv[2])):
    print(psutil.Process().memory_info().rss / 1e6)
"""
    command = [sys.executable, "-c", program, store.layout.root, str(viewers)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def edit(store: Store, title: str) -> None:
    store.apply("edit", {"card": 1, "title": title}, ME, now=datetime.now(UTC))


if __name__ == "__main__":
    main()
