"""The fault loop: every operation of the store, ended or failed at every single step it takes on the disk.

After each, the board must be as it was before or as it would have been after, nothing in between; the next writer finds
everything in order. `torture` runs it on the user's own disk and the tests on every level. It forks, so that it runs in
a process of its own: `python -m flask_pi_taskbar.board.crashes FOLDER LEVEL SECONDS`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

from flask_pi_taskbar.board.bus import Bus
from flask_pi_taskbar.board.faults import CRASHED, LEVELS, CrashAt, FailAt, WatchedDisk, unsynced
from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.model import Damaged
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.store import Store

NOW: Final = datetime(2026, 11, 30, 20, 0, tzinfo=UTC)
ANN: Final = session("ann", "ann")
BOB: Final = session("bob", "bob")
NEWCOMER: Final = session("newcomer", "cyd")

MakeDisk = Callable[[], Disk]
Contents = dict[str, bytes]

_CONTENT: Final = ("cards", "dropped", "damaged", "inbox")
_UNWRITABLE: Final = frozenset({Code.STORE_UNWRITABLE, Code.BUSY})
_READING: Final = frozenset({"open", "read", "read_at", "fstat", "stat", "names", "scan", "close"})


class Operation(NamedTuple):
    """One thing that can be done to the store of `furnish`."""

    name: str
    run: Callable[[Store], object]


class Finding(NamedTuple):
    """A rule that was broken, and where."""

    operation: str
    step: int
    what: str


def _call(name: str, action: str, actor: object = ANN, **fields: object) -> Operation:
    return Operation(name, lambda store: store.apply(action, fields, actor, now=NOW))  # type: ignore[arg-type]


OPERATIONS: Final[Sequence[Operation]] = (
    _call("add", "add", title="Another", dependsOn=[1], note="first words", key="k-1"),
    _call("add and join", "add", NEWCOMER, title="From somebody new"),
    _call("claim", "claim", card=1),
    _call("release", "release", card=2),
    _call("reclaim", "reclaim", BOB, card=2),
    _call("park", "move", card=2, status="blocked"),
    _call("finish", "move", card=2, status="done"),
    _call("assign", "assign", card=1, label="bob"),
    _call("note", "note", BOB, card=4, text="Seen."),
    _call("plan", "plan", card=2, path="docs/plan.md"),
    _call("edit", "edit", card=1, title="Renamed", dependsOn=[4], paths=["src"]),
    _call("drop", "drop", card=1),
    _call("next", "next", BOB),
    _call("undo", "undo"),
    _call("reopen", "reopen", BOB, card=4),
    _call("handoff", "handoff", card=1, label="bob", text="Please take it."),
    _call("offer", "offer", card=1),
    Operation("inbox", lambda store: Bus(store).inbox(BOB, now=NOW)),
    Operation("join", lambda store: Bus(store).join(NEWCOMER, mode="rpc", cwd="/src", now=NOW).close()),
    Operation("set aside", lambda store: store.set_aside("8.json", ANN, now=NOW)),
)
FIRST: Final = _call("first add", "add", title="The first")
"""On a store that does not exist."""


def furnish(folder: str) -> None:
    """A store with a card in every lane, a dropped one, a damaged one, two live sessions and a letter."""
    store = Store(folder)
    earlier = NOW - timedelta(seconds=5)
    for action, fields in (
        ("add", {"title": "Free", "paths": ["a", "b"], "note": "why"}),
        ("add", {"title": "Held"}),
        ("add", {"title": "Parked"}),
        ("add", {"title": "Finished"}),
        ("add", {"title": "Waiting", "dependsOn": [2]}),
        ("add", {"title": "Dropped"}),
        ("claim", {"card": 2}),
        ("move", {"card": 3, "status": "blocked"}),
        ("claim", {"card": 4}),
        ("move", {"card": 4, "status": "done"}),
        ("drop", {"card": 6}),
    ):
        store.apply(action, fields, ANN, now=earlier)
    store.apply("note", {"card": 3, "text": "Waits for the vendor."}, BOB, now=earlier)
    store.apply("handoff", {"card": 1, "label": "bob"}, ANN, now=earlier)
    Path(folder, "cards", "8.json").write_bytes(b"\0" * 4096)


def contents(folder: str) -> Contents:
    """Every file that means something to people, with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for part in _CONTENT
        for path in sorted(Path(folder, part).rglob("*"))
        if path.is_file()
    }


class Loop:
    """The fault loop on one folder, with the disks that `make_disk` gives."""

    def __init__(self, folder: str, make_disk: MakeDisk = Disk) -> None:
        self._make_disk = make_disk
        self._template = f"{folder}/template/board"
        self._store = f"{folder}/trial/board"
        os.makedirs(f"{folder}/template")  # noqa: PTH103
        furnish(self._template)
        self.steps = 0
        """How many runs were ended or failed so far."""

    def crash(self, operation: Operation) -> Iterator[Finding]:
        """End the process at each step of the operation, one after another."""
        before, after = self._expected(operation)
        step = 0
        while True:
            self._restore(operation)
            acknowledged, crashed = self._run_and_crash(operation, step)
            now = contents(self._store)
            if acknowledged and now != after:
                yield Finding(operation.name, step, "acknowledged, but it is not on the disk")
            for what in _between(before, after, now):
                yield Finding(operation.name, step, what)
            for what in self._next_writer():
                yield Finding(operation.name, step, what)
            self.steps += 1
            if not crashed:
                if not acknowledged:
                    yield Finding(operation.name, step, "the operation failed without a crash")
                return
            step += 1

    def fail(self, operation: Operation, number: int, *, lasting: bool = False) -> Iterator[Finding]:
        """Answer each step of the operation with the error `number`, one after another."""
        before, after = self._expected(operation)
        step = 0
        while True:
            self._restore(operation)
            watcher = FailAt(step, number, lasting=lasting)
            store = Store(self._store, disk=WatchedDisk(watcher, self._make_disk()), clock=_Impatient(), wait=0.05)
            allowed, refusal, uncertain = before, None, False
            try:
                operation.run(store)
                allowed = after
            except Refusal as refused:
                refusal = refused
                uncertain = refused.code is Code.STORE_UNWRITABLE and "nothing was changed" not in refused.message
                if uncertain and not lasting:
                    yield Finding(operation.name, step, "one error is enough to leave it uncertain")
            except OSError as error:
                yield Finding(operation.name, step, f"{watcher.hit}: raised {error!r} instead of a refusal")
            chose_without = (
                operation.name == "next" and watcher.hit in _READING
            )  # a card that cannot be read is passed over
            now = contents(self._store)
            for what in _between(before, after, now):
                if not chose_without:
                    yield Finding(operation.name, step, f"{watcher.hit}: {what}")
            if now != allowed and not uncertain and not chose_without:
                yield Finding(operation.name, step, f"{watcher.hit}: neither the old board nor the new one: {refusal}")
            if refusal is not None and refusal.code not in _UNWRITABLE and watcher.hit not in _READING:
                yield Finding(operation.name, step, f"{watcher.hit}: refused as {refusal.code}")
            for what in self._next_writer():
                yield Finding(operation.name, step, f"{watcher.hit}: {what}")
            self.steps += 1
            if watcher.hit is None:
                return
            step += 1

    def _expected(self, operation: Operation) -> tuple[Contents, Contents]:
        self._restore(operation)
        before = contents(self._store)
        operation.run(Store(self._store, disk=self._quick_disk()))
        return before, contents(self._store)

    def _restore(self, operation: Operation) -> None:
        shutil.rmtree(os.path.dirname(self._store), ignore_errors=True)  # noqa: PTH120
        if operation is not FIRST:
            shutil.copytree(self._template, self._store)

    def _let_time_pass(self) -> None:
        """Where a folder is the lock, what the dead left counts as dead after a while."""
        for path in Path(self._store, "tmp").rglob("*"):
            os.utime(path, (0, 0))
        with contextlib.suppress(FileNotFoundError):
            os.utime(f"{self._store}/lock.d", (0, 0))

    def _quick_disk(self) -> Disk:
        return WatchedDisk(unsynced, self._make_disk())

    def _run_and_crash(self, operation: Operation, step: int) -> tuple[bool, bool]:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                operation.run(Store(self._store, disk=WatchedDisk(CrashAt(step), self._make_disk())))
                os.write(writing, b"done")
            os._exit(0)
        os.close(writing)
        acknowledged = os.read(reading, 16) == b"done"
        os.close(reading)
        return acknowledged, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == CRASHED

    def _next_writer(self) -> Iterator[str]:
        """Whoever comes next can write, sweeps what was left, and reads every card."""
        self._let_time_pass()
        store = Store(self._store, disk=self._quick_disk())
        try:
            store.apply("add", {"title": "Afterwards"}, ANN, now=NOW)
        except Refusal as refusal:
            yield f"the next writer is refused: {refusal.message}"
            return
        left = [entry.name for entry in os.scandir(store.layout.temporary) if entry.is_file()]
        if left:
            yield f"left in tmp/: {left}"
        damaged = [entry.name for entry in store.read_all(NOW).entries() if isinstance(entry, Damaged)]
        if damaged not in ([], ["8.json"]):
            yield f"damaged: {damaged}"


class _Impatient:
    """A clock by which every wait is over soon."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        return self._now

    def sleep(self, seconds: float, /) -> None:
        self._now += seconds


def _between(before: Contents, after: Contents, now: Contents) -> Iterator[str]:
    """What is neither as it was nor as it becomes. Of a card that moves between folders one copy is always there."""
    for path in before.keys() | after.keys() | now.keys():
        if now.get(path) not in (before.get(path), after.get(path)):
            yield f"{path} is neither the old file nor the new one"
    for path in before:
        gone = path not in now
        name = path.rpartition("/")[2]
        if gone and not any(
            other.endswith(f"/{name}") or other.startswith("damaged/") for other in now.keys() - before.keys()
        ):
            yield f"{path} is lost"


def main(folder: str, level: str, seconds: float) -> int:
    """Crash at every step of one operation after another until the time is over; one line for each fault."""
    end = time.monotonic() + seconds
    loop = Loop(folder, LEVELS[level])
    wrong = 0
    for operation in (FIRST, *OPERATIONS):
        for finding in loop.crash(operation):
            wrong += 1
            print(f"{finding.operation}, step {finding.step}: {finding.what}")  # noqa: T201
        if time.monotonic() > end:
            break
    print(f"{loop.steps} crashes")  # noqa: T201
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
