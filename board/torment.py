"""One process of a race: a worker that writes to a board as fast as it can and remembers what it was told.

`torture` and the tests start several at once, on one store; each appends a line to its own record for every answer that
it got, so that afterwards (or after a kill) what was acknowledged can be held against what is on the disk.
`python -m flask_pi_taskbar.board.torment` reads its task from stdin.
"""

from __future__ import annotations

import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Final

import msgspec

from flask_pi_taskbar.board.faults import LEVELS, WatchedDisk, unsynced
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.store import Store


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """What one worker does: which `job`, how often, for how long at most."""

    store: str
    record: str
    """Where its lines go."""
    go: str
    """It begins when this file is there."""
    worker: int
    job: str
    count: int
    seconds: float
    cards: list[int] = []
    level: str = "0"
    seed: int = 0
    synced: bool = True


class Told(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One answer that the worker got. `code` is empty where the call was accepted."""

    worker: int
    action: str
    code: str = ""
    card: int | None = None
    rev: int | None = None
    unchanged: bool = False
    text: str = ""
    owner: str = ""


class Worker:
    """Carries out one task."""

    def __init__(self, task: Task) -> None:
        disk = LEVELS[task.level]()
        self._task = task
        self._store = Store(task.store, disk=disk if task.synced else WatchedDisk(unsynced, disk))
        self._me = session(f"worker-{task.worker}", "worker")  # all ask for one label
        self._random = random.Random(f"{task.seed}.{task.worker}")  # noqa: S311
        self._record = os.open(task.record, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._own: list[int] = []

    def work(self) -> None:
        """Wait for the start, then do the job until it is done or the time is over."""
        self._tell(Told(worker=self._task.worker, action="ready"))
        while not os.path.exists(self._task.go):  # noqa: PTH110
            time.sleep(0.001)
        end = time.monotonic() + self._task.seconds
        for step in _JOBS[self._task.job](self):
            step()
            if time.monotonic() > end:
                return

    def mixed(self) -> Iterator[Callable[[], object]]:
        """Everything that can be done, in random order, on shared cards and on its own."""
        for number in range(self._task.count):
            yield lambda number=number: self._anything(number)  # type: ignore[misc]

    def claims(self) -> Iterator[Callable[[], object]]:
        """Claim every card once, each worker in its own order."""
        for card in self._random.sample(self._task.cards, len(self._task.cards)):
            yield lambda card=card: self._call("claim", card=card)  # type: ignore[misc]

    def pulls(self) -> Iterator[Callable[[], object]]:
        """Take whatever is next, until nothing is left."""
        for _ in self._task.cards:
            yield lambda: self._call("next")

    def notes(self) -> Iterator[Callable[[], object]]:
        """Append to one card."""
        for number in range(self._task.count):
            text = f"{self._task.worker}.{number}"
            yield lambda text=text: self._call("note", card=self._task.cards[0], text=text)  # type: ignore[misc]

    def rings(self) -> Iterator[Callable[[], object]]:
        """Of each pair of cards, make one wait for the other; another worker does it the other way round."""
        pairs = [self._task.cards[at : at + 2] for at in range(0, len(self._task.cards), 2)]
        for pair in pairs:
            one, other = pair if self._task.worker % 2 else pair[::-1]
            yield lambda one=one, other=other: self._call("edit", card=one, dependsOn=[other])  # type: ignore[misc]

    def adds(self) -> Iterator[Callable[[], object]]:
        """Add cards, each with a key of its own."""
        for number in range(self._task.count):
            key = f"{self._task.worker}.{number}"
            yield lambda key=key: self._call("add", title=f"Card {key}", key=key)  # type: ignore[misc]

    def _anything(self, number: int) -> None:
        pick = self._random.choice
        card = pick(self._own) if self._own and self._random.random() < 0.3 else pick(self._task.cards)
        words = f"{self._task.worker}.{number}"
        action = self._random.choices(_ACTIONS, _WEIGHTS)[0]
        match action:
            case "add":
                self._call("add", title=f"Card {words}", dependsOn=[card] if self._random.random() < 0.2 else [])
            case "note":
                self._call("note", card=card, text=words)
            case "move":
                self._call("move", card=card, status=pick(("todo", "doing", "blocked", "done")))
            case "edit":
                self._call("edit", card=card, title=f"Retitled {words}", dependsOn=[pick(self._task.cards)])
            case "plan":
                self._call("plan", card=card, path=f"plans/{words}.md")
            case "next" | "undo":
                self._call(action)
            case _:
                self._call(action, card=card)

    def _call(self, action: str, **fields: object) -> None:
        text = str(fields.get("text", ""))
        try:
            answer = self._store.apply(action, fields, self._me, now=datetime.now(UTC))
        except Refusal as refusal:
            holder = getattr(refusal.card, "owner", None)
            owner = "" if holder is None else holder.id
            card = getattr(refusal.card, "id", None)
            self._tell(
                Told(worker=self._task.worker, action=action, code=refusal.code, card=card, owner=owner, text=text)
            )
            return
        card = msgspec.convert(answer["card"], _Brief)
        if action == "add":
            self._own.append(card.id)
        self._tell(
            Told(
                worker=self._task.worker,
                action=action,
                card=card.id,
                rev=card.rev,
                unchanged=bool(answer["unchanged"]),
                text=text,
            )
        )

    def _tell(self, told: Told) -> None:
        os.write(self._record, msgspec.json.encode(told) + b"\n")


class _Brief(msgspec.Struct):
    id: int
    rev: int


_ACTIONS: Final = ("add", "claim", "note", "move", "release", "reclaim", "edit", "plan", "drop", "undo", "next")
_WEIGHTS: Final = (20, 14, 16, 16, 6, 6, 8, 4, 4, 2, 4)
_JOBS: Final[dict[str, Callable[[Worker], Iterator[Callable[[], object]]]]] = {
    "mixed": Worker.mixed,
    "claims": Worker.claims,
    "pulls": Worker.pulls,
    "notes": Worker.notes,
    "rings": Worker.rings,
    "adds": Worker.adds,
}


if __name__ == "__main__":
    Worker(msgspec.json.decode(sys.stdin.buffer.read(), type=Task)).work()
