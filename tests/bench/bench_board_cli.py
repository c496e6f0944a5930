"""Times the board's commands as real processes: `python -m tests.bench.bench_board_cli [--save]`.

The figures are the wall time of a whole call, Python's own start included, which is shown beside them; and of one
request to a tool that runs already, which is what an agent's call costs inside Pi.
"""

from __future__ import annotations

import compileall
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import flask_pi_taskbar
from flask_pi_taskbar.board.card import serialize
from flask_pi_taskbar.board.identity import repository, store_dir
from flask_pi_taskbar.board.model import Lane, evolve
from tests.bench.measure import Figure, medians, report
from tests.board_cli.conftest import make_repository
from tests.board_core.boards import many

ROUNDS = 15
REQUESTS = 300
SCRIPT = [sys.executable, "-c", "from flask_pi_taskbar.cli import main; main()"]


class Board:
    """A repository with so many cards, of which number 1 can be claimed."""

    def __init__(self, folder: Path, count: int) -> None:
        self.root = folder / f"shop-{count}"
        make_repository(self.root)
        self.environ = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | {
            "PI_CODING_AGENT_DIR": str(folder / f"agent-{count}")
        }
        cards = store_dir(repository(self.root), self.environ) / "cards"
        cards.mkdir(parents=True, mode=0o700)
        first, *others = many(count)
        for card in (evolve(first, status=Lane.TODO, owner=None, depends_on=()), *others):
            (cards / f"{card.id}.json").write_bytes(serialize(card))

    def call(self, *words: str, script: tuple[str, ...] = tuple(SCRIPT)) -> Callable[[], object]:
        """The whole call, as a function."""
        return lambda: subprocess.run(
            [*script, *words], cwd=self.root, env=self.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def requests(self, *requests: dict[str, object]) -> float:
        """The median seconds of requests to one tool that runs already; they take turns."""
        tool = subprocess.Popen(
            [*SCRIPT, "board", "tool", "--as", "ann", "--mode", "rpc"],
            cwd=self.root,
            env=self.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert tool.stdin is not None
        assert tool.stdout is not None
        taken = []
        for number in range(REQUESTS):
            started = time.perf_counter()
            tool.stdin.write(json.dumps(requests[number % len(requests)]).encode() + b"\n")
            tool.stdin.flush()
            answer = json.loads(tool.stdout.readline())
            taken.append(time.perf_counter() - started)
            assert answer["ok"], answer
        tool.communicate()
        return median(taken[len(requests) :])


def main() -> None:
    """Prints the table."""
    source = Path(flask_pi_taskbar.__file__).parent
    compileall.compile_dir(source, quiet=1)  # as an installer does
    with tempfile.TemporaryDirectory() as folder:
        small, large = Board(Path(folder), 1_000), Board(Path(folder), 10_000)
        one = Board(Path(folder), 1)
        times = medians(
            {
                "python": one.call("-c", "pass", script=(sys.executable,)),
                "click": one.call("-c", "import click", script=(sys.executable,)),
                "list": one.call("board", "list", "--json", "--as", "ann"),
                "note": one.call("board", "note", "1", "x", "--json", "--as", "ann"),
                "refused": one.call("board", "release", "1", "--json", "--as", "bob"),
                "claim 1,000": small.call("board", "claim", "1", "--json", "--as", "ann"),
                "card 10,000": large.call("board", "list", "1", "--json", "--as", "ann"),
                "list 1,000": small.call("board", "list", "--as", "ann"),
                "json 1,000": small.call("board", "list", "--json", "--as", "ann"),
                "team 1,000": small.call("team", "--as", "ann"),
                "list 10,000": large.call("board", "list", "--as", "ann"),
                "json 10,000": large.call("board", "list", "--json", "--as", "ann"),
                "team 10,000": large.call("team", "--as", "ann"),
            },
            ROUNDS,
        )
        note = {"action": "note", "card": 1, "text": "x"}
        asked = {
            "tool: list of 1,000": small.requests({"action": "list"}),
            "tool: one card of 1,000": small.requests({"action": "list", "card": 1}),
            "tool: note, 1,000 cards": small.requests(note),
        }
    limits = {"list": 80, "note": 80, "refused": 80, "claim 1,000": 80, "list 1,000": 150, "list 10,000": 600}
    figures = [Figure(name, seconds * 1000, "ms", at_most=limits.get(name)) for name, seconds in times.items()]
    figures += [Figure(name, seconds * 1000, "ms") for name, seconds in asked.items()]
    report("board_cli", figures)


if __name__ == "__main__":
    main()
