"""Times the board's core on 10,000 cards: `python -m tests.bench.bench_board_core`.

It prints medians in milliseconds and stores nothing; reading files is the store's own benchmark.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable

from flask_pi_taskbar.board.card import parse, serialize
from flask_pi_taskbar.board.model import evolve
from flask_pi_taskbar.board.view import build
from flask_pi_taskbar.board.world import Board
from tests.board_core.boards import NOW, SEAT, STRANGER, Table, many

COUNT = 10_000
ROUNDS = 7


def median_ms(run: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The median of several runs, in milliseconds of processor time (nothing here waits, and machines are shared)."""
    times = []
    for _ in range(rounds):
        gc.collect()
        start = time.process_time()
        run()
        times.append((time.process_time() - start) * 1000)
    return statistics.median(times)


def main() -> None:
    """Prints the figures."""
    cards = many(COUNT)
    files = [(serialize(card), card.id) for card in cards]
    foreign = [(data.replace(b"{\n", b'{\n "sprint": 7,\n', 1), card_id) for data, card_id in files]
    world = Board(cards)
    view = build(world, SEAT, NOW)
    moved = Board([evolve(cards[0], rev=cards[0].rev + 1), *cards[1:]])
    after = build(moved, SEAT, NOW, previous=view)
    shown = {"epoch": "k3f9", "rev": 1, "now": NOW, "can_write": True, "store": {"bytes": 0, "level": 0}}
    table = Table(*cards)
    figures = {
        "parse 10,000 files": lambda: [parse(*file) for file in files],
        "parse 10,000 files with an unknown field": lambda: [parse(*file) for file in foreign],
        "view of 10,000, cold": lambda: build(Board(cards), SEAT, NOW),
        "view of 10,000, one card moved": lambda: build(moved, SEAT, NOW, previous=view),
        "snapshot bytes": lambda: view.snapshot(**shown),  # type: ignore[arg-type]
        "content digest": lambda: build(world, SEAT, NOW, previous=view).content,
        "patch for one card": lambda: after.patch(view, from_rev=1, to_rev=2, now=NOW),
        "next (rank all, claim the best)": lambda: table.decide(STRANGER, "next"),
    }
    print(f"{COUNT:,} cards, {sum(len(data) for data, _ in files) / 1e6:.1f} MB of files")
    print(f"snapshot {len(view.snapshot(**shown)) / 1e6:.2f} MB")  # type: ignore[arg-type]
    for name, run in figures.items():
        print(f"{name:45} {median_ms(run):8.1f} ms")


if __name__ == "__main__":
    main()
