"""Boards on disk for tests: stores, actors, clocks and hand-made files in one line each."""

from __future__ import annotations

import json
import os
import stat
from datetime import UTC, datetime, timedelta
from pathlib import Path

from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.model import Actor, Card
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.store import Store

NOW = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
ANN = session("s-ann", "ann")
BOB = session("s-bob", "bob")


def later(**span: float) -> datetime:
    """So long after NOW."""
    return NOW + timedelta(**span)


class FakeClock:
    """Time that passes only when somebody sleeps. `at_sleep` is called first, with what it is to be called with."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.slept.append(seconds)
        self.now += seconds


class CoarseTimes(Disk):
    """A file system that stamps folders with the last tick of a slow clock."""

    def __init__(self, tick_ns: int) -> None:
        self._tick = tick_ns

    def stat(self, path: str) -> os.stat_result:
        found = super().stat(path)
        if not stat.S_ISDIR(found.st_mode):
            return found
        coarse = found.st_mtime_ns - found.st_mtime_ns % self._tick
        return os.stat_result(tuple(found), {"st_mtime_ns": coarse})


class Board:
    """A store in a folder, spoken to in words: `board.ann("claim", 4)`."""

    def __init__(
        self, folder: Path, disk: Disk | None = None, clock: FakeClock | None = None, wait: float = 5.0
    ) -> None:
        self.path = folder / "board"
        self.clock = clock or FakeClock()
        self.store = Store(self.path, disk=disk, clock=self.clock, wait=wait)

    def call(self, actor: Actor, action: str, card: int | None = None, /, **fields: object) -> dict[str, object]:
        """Do it and give the answer back."""
        given = fields if card is None else {"card": card, **fields}
        return self.store.apply(action, given, actor, now=NOW)

    def ann(self, action: str, card: int | None = None, /, **fields: object) -> dict[str, object]:
        return self.call(ANN, action, card, **fields)

    def bob(self, action: str, card: int | None = None, /, **fields: object) -> dict[str, object]:
        return self.call(BOB, action, card, **fields)

    def add(self, title: str = "A card", **fields: object) -> int:
        """A new card's number."""
        return number_of(self.ann("add", title=title, **fields))

    def refused(self, actor: Actor, action: str, card: int | None = None, /, **fields: object) -> Refusal:
        """The refusal of a call that must not be accepted."""
        try:
            answer = self.call(actor, action, card, **fields)
        except Refusal as refusal:
            return refusal
        raise AssertionError(f"accepted: {answer}")

    def code(self, actor: Actor, action: str, card: int | None = None, /, **fields: object) -> Code:
        return self.refused(actor, action, card, **fields).code

    def card(self, number: int) -> Card:
        """A card that is there and readable."""
        found = self.store.read(number)
        assert found is not None
        entry, _ = found
        assert isinstance(entry, Card), entry
        return entry

    def ids(self) -> list[int]:
        return sorted(card.id for card in self.store.read_all(NOW).cards())

    def file(self, name: str) -> Path:
        return self.path / "cards" / name

    def by_hand(self, name: str, content: bytes | dict[str, object]) -> Path:
        """A file among the cards that we did not write."""
        path = self.file(name)
        path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        return path


def number_of(answer: dict[str, object]) -> int:
    card = answer["card"]
    assert isinstance(card, dict)
    return int(card["id"])


def everything(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Every file and folder below: inode, time, mode and content. Two equal ones mean that nothing was written."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        status = os.lstat(path)
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (status.st_ino, status.st_mtime_ns, status.st_mode, content)
    return found
