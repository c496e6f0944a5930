"""`board torture`: the race and crash suite, on the disk that the user's own board lies on.

Whoever wonders whether a file system (a network share, a container's volume, a synchronised folder) can carry a board
gets a verdict by trying, in a folder that is removed afterwards. The same races and the same fault loop are the tests
of the store. It is bounded in time, and it never touches a board in service.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from flask_pi_taskbar.board.filesystem import kind_of, notice_of
from flask_pi_taskbar.board.races import END_SECONDS, Race, command, environment, faults_of, unfair_claims
from flask_pi_taskbar.board.refusal import Refusal

SECONDS: Final = 30.0
WORKERS: Final = 8
SHOWN: Final = 5
"""So many faults of one check are told; the first ones say it."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One part of the suite: what was tried, how much of it, and what was wrong."""

    name: str
    done: str
    faults: list[str]
    seconds: float


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What came out. `level` is None where nothing could be written at all."""

    ok: bool
    folder: str
    filesystem: str | None
    notice: str | None
    level: int | None
    checks: list[Check]

    @property
    def text(self) -> str:
        """The verdict for people, a line for each check."""
        lines: list[str] = []
        for check in self.checks:
            lines.append(f"{'FAIL' if check.faults else 'ok  '} {check.name}: {check.done}")
            lines += [f"     {fault}" for fault in check.faults]
        kind = self.filesystem or "this file system"
        said = f"{kind}, level {self.level}: " + ("a board is safe here" if self.ok else "do not keep a board here")
        return "\n".join([*lines, *([self.notice] if self.notice else []), said])


def torture(
    folder: Path,
    *,
    seconds: float = SECONDS,
    workers: int = WORKERS,
    level: str = "0",
    tell: Callable[[Check], None] = lambda _: None,
) -> Verdict:
    """Run the suite in a new folder below `folder`, for about `seconds`. `tell` hears of each check as it ends.

    `level` takes away what a file system of that level lacks; "0" is the disk as it is.
    """
    checks: list[Check] = []
    place = Path(tempfile.mkdtemp(prefix="torture-", dir=folder))
    try:
        found: int | None = None
        for name, share, run in _SUITE:
            began = time.monotonic()
            faults: list[str] = []
            done = "not at all"
            try:
                with Race(_fresh(place), level) as race:
                    found = race.store.level(datetime.now(UTC))
                    done = run(race, seconds * share, workers, level, faults)
            except (Refusal, OSError, AssertionError, subprocess.SubprocessError) as error:
                faults.append(str(error))
            shown = faults[:SHOWN] + ([f"… and {len(faults) - SHOWN} more"] if len(faults) > SHOWN else [])
            check = Check(name=name, done=done, faults=shown, seconds=round(time.monotonic() - began, 2))
            checks.append(check)
            tell(check)
        kind = kind_of(str(place))
    finally:
        shutil.rmtree(place, ignore_errors=True)
    ok = found is not None and not any(check.faults for check in checks)
    return Verdict(ok=ok, folder=str(folder), filesystem=kind, notice=notice_of(kind), level=found, checks=checks)


def _fresh(place: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=place))


def _mixed(race: Race, seconds: float, workers: int, level: str, faults: list[str]) -> str:  # noqa: ARG001
    cards = race.cards(20)
    told = race.run("mixed", workers=workers, cards=cards, count=100_000, seconds=seconds, kills=workers // 4)
    faults += faults_of(race)
    return f"{len(told)} operations by {workers} processes, {race.killed} of them killed"


def _claims(race: Race, seconds: float, workers: int, level: str, faults: list[str]) -> str:  # noqa: ARG001
    contested = 0
    for cards in _until(seconds, lambda: race.cards(50)):
        told = race.run("claims", workers=workers, cards=cards, seconds=seconds * 10)
        faults += unfair_claims(race, told, cards)
        contested += len(cards)
    faults += faults_of(race)
    return f"{contested} cards, each claimed by {workers} processes"


def _notes(race: Race, seconds: float, workers: int, level: str, faults: list[str]) -> str:  # noqa: ARG001
    cards = race.cards(1)
    told = race.run("notes", workers=workers, cards=cards, count=400 // workers, seconds=seconds * 10)
    faults += faults_of(race)
    return f"{sum(not line.code for line in told)} notes to one card"


def _rings(race: Race, seconds: float, workers: int, level: str, faults: list[str]) -> str:  # noqa: ARG001
    cards = race.cards(40)
    told = race.run("rings", workers=2, cards=cards, seconds=seconds * 10)
    faults += faults_of(race)
    return f"{len(told)} links that would make {len(cards) // 2} rings"


def _crashes(race: Race, seconds: float, workers: int, level: str, faults: list[str]) -> str:  # noqa: ARG001
    run = subprocess.run(
        command("crashes", str(race.folder), level, str(seconds)),
        env=environment(),
        capture_output=True,
        text=True,
        timeout=seconds * 5 + END_SECONDS,
        process_group=0,
    )
    *lines, done = run.stdout.splitlines() or [""]
    faults += lines
    if run.returncode not in (0, 1):
        faults.append(run.stderr.strip().splitlines()[-1] if run.stderr else f"ended with status {run.returncode}")
    return done


def _until(seconds: float, make: Callable[[], list[int]]) -> Iterator[list[int]]:
    end = time.monotonic() + seconds
    yield make()
    while time.monotonic() < end:
        yield make()


_SUITE: Final[tuple[tuple[str, float, Callable[[Race, float, int, str, list[str]], str]], ...]] = (
    ("mixed writes", 0.3, _mixed),
    ("claims", 0.2, _claims),
    ("notes", 0.1, _notes),
    ("rings", 0.1, _rings),
    ("crashes", 0.3, _crashes),
)
