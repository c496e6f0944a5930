"""What the benchmarks share: medians that two programs can be compared by, and a small table of the figures.

A benchmark is a module with a `main` that prints its table; none of them is a test, and none fails a build. With
`--save` the table is also written to `tests/bench/results/`, where the last figures that were looked at are kept.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Figure:
    """One line of the table. Without a limit it only says how things stand."""

    what: str
    value: float
    unit: str
    at_most: float | None = None
    at_least: float | None = None

    @property
    def holds(self) -> bool:
        return not (
            (self.at_most is not None and self.value > self.at_most)
            or (self.at_least is not None and self.value < self.at_least)
        )


def medians(actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median seconds of each action. They take turns, so that a busy moment of the machine meets all of them."""
    taken: dict[str, list[float]] = {name: [] for name in actions}
    for action in actions.values():
        action()
    for _ in range(rounds):
        for name, action in actions.items():
            started = time.perf_counter()
            action()
            taken[name].append(time.perf_counter() - started)
    return {name: statistics.median(times) for name, times in taken.items()}


def report(name: str, figures: list[Figure], arguments: list[str] | None = None) -> None:
    """Print the table; with `--save` among the arguments, keep it as well."""
    table = _table(name, figures)
    print(table)
    if "--save" in (sys.argv[1:] if arguments is None else arguments):
        RESULTS.mkdir(exist_ok=True)
        (RESULTS / f"{name}.txt").write_text(table + "\n", encoding="utf-8")


def _table(name: str, figures: list[Figure]) -> str:
    rows = [(figure.what, f"{figure.value:.3g} {figure.unit}", _limit(figure), _verdict(figure)) for figure in figures]
    rows = [("figure", "measured", "limit", ""), *rows]
    what, measured, limit = (max(len(row[column]) for row in rows) for column in range(3))
    lines = [f"{row[0]:{what}}  {row[1]:{measured}}  {row[2]:{limit}}  {row[3]}".rstrip() for row in rows]
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return "\n".join([f"{name} ({python}, {platform.system()}, {os.cpu_count()} CPUs)", "", *lines])


def _limit(figure: Figure) -> str:
    if figure.at_most is not None:
        return f"at most {figure.at_most:g} {figure.unit}"
    return "" if figure.at_least is None else f"at least {figure.at_least:g} {figure.unit}"


def _verdict(figure: Figure) -> str:
    if figure.at_most is None and figure.at_least is None:
        return ""
    return "ok" if figure.holds else "MISSED"
