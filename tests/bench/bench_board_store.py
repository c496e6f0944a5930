"""What the store costs on a disk: reading all cards, and the durable writes, at 1,000 and 10,000 cards.

    python -m tests.bench.bench_board_store [--save]

Everything is real: the lock, the fsyncs, the files in the temporary directory (name another with TMPDIR). The writes'
time is mostly the disk's, so it is told how long a bare fsync took in between.
"""

from __future__ import annotations

import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from flask_pi_taskbar.board.card import serialize
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.index import Index
from flask_pi_taskbar.board.store import Store
from tests.bench.measure import Figure, report
from tests.board_core.boards import many

NOW = datetime.now(UTC)
ME = session("bench", "bench")
READS = 7
WRITES = 100


def main() -> None:
    """Print the table."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in (1_000, 10_000):
            figures += _at(Path(folder, str(count)), count)
    report("board_store", figures)


def _at(folder: Path, count: int) -> list[Figure]:
    store = _filled(folder, count)
    large = count > 1_000
    cold = _times(READS, lambda _: Index(store.disk, store.clock, store.layout).sweep())
    store.read_all(NOW)
    warm = _times(READS, lambda _: store.read_all(NOW))
    glance = _times(READS, lambda _: store.glance(NOW))
    ids = [_id_of(store.apply("add", {"title": "Warm up"}, ME, now=NOW)) for _ in range(4)]
    add = _times(WRITES, lambda number: ids.append(_id_of(_add(store, number))))
    keyed = _times(READS * 3, lambda number: store.apply("add", {"title": "Keyed"}, ME, now=NOW, key=f"key-{number}"))
    claims, finishes, drops = iter(ids), iter(ids), iter(ids)
    claim = _times(WRITES, lambda _: store.apply("claim", {"card": next(claims)}, ME, now=NOW))
    note = _times(WRITES, lambda number: store.apply("note", {"card": ids[number], "text": "A note."}, ME, now=NOW))
    finish = _times(WRITES, lambda _: store.apply("move", {"card": next(finishes), "status": "done"}, ME, now=NOW))
    drop = _times(WRITES, lambda _: store.apply("drop", {"card": next(drops)}, ME, now=NOW))
    pull = _times(READS * 3, lambda _: store.apply("next", {}, ME, now=NOW))
    sync = _times(WRITES, lambda number: _bare_write(folder, number))
    at = f"at {count:,}"
    return [
        _median(f"cold list {at}", cold, at_most=250 if large else None),
        _median(f"warm list {at}, every file looked at", warm),
        _median(f"warm list {at}, folder looked at", glance),
        _p95(f"add {at}", add, at_most=15 if large else 5),
        _p95(f"add with a key {at}", keyed),
        _p95(f"claim {at}", claim, at_most=3),
        _p95(f"note {at}", note, at_most=None if large else 3),
        _p95(f"move to done {at}", finish, at_most=None if large else 3),
        _p95(f"drop {at}", drop, at_most=None if large else 30),
        _p95(f"next {at}", pull),
        _median(f"median of add {at}", add),
        _median(f"median of claim {at}", claim),
        _median(f"a bare write with fsync, beside {count:,}", sync),
    ]


def _filled(folder: Path, count: int) -> Store:
    store = Store(folder)
    store.apply("add", {"title": "The first"}, ME, now=NOW)
    for card in many(count):
        Path(store.layout.card(card.id)).write_bytes(serialize(card))
    os.sync()
    time.sleep(0.05)  # the folder's time must lie behind us, as on any board that is not being written to
    return store


def _add(store: Store, number: int) -> dict[str, object]:
    return store.apply("add", {"title": f"Card {number}", "paths": ["src/a"], "note": "why"}, ME, now=NOW)


def _id_of(answer: dict[str, object]) -> int:
    card = answer["card"]
    assert isinstance(card, dict)
    return int(card["id"])


def _bare_write(folder: Path, number: int) -> None:
    with open(folder / f"bare.{number}", "wb") as file:
        file.write(b"x" * 900)
        file.flush()
        os.fsync(file.fileno())


def _times(rounds: int, action: Callable[[int], object]) -> list[float]:
    return list(_timed(rounds, action))


def _timed(rounds: int, action: Callable[[int], object]) -> Iterator[float]:
    gc.collect()
    for number in range(rounds):
        started = time.perf_counter()
        action(number)
        yield time.perf_counter() - started


def _median(what: str, times: list[float], at_most: float | None = None) -> Figure:
    return Figure(what, statistics.median(times) * 1000, "ms", at_most=at_most)


def _p95(what: str, times: list[float], at_most: float | None = None) -> Figure:
    return Figure(f"{what}, p95", statistics.quantiles(times, n=20)[-1] * 1000, "ms", at_most=at_most)


if __name__ == "__main__":
    main()
