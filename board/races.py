"""Races between real processes on one store, and what must be true of the board afterwards.

`torture` runs them on the user's own disk and the tests on every level. A race starts its workers at one instant, may
kill some of them in the middle, and then holds what every worker was told against what is on the disk: nothing
acknowledged may be lost, no two writes may have passed each other.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

import flask_pi_taskbar
from flask_pi_taskbar.board import journal
from flask_pi_taskbar.board.directory_lock import DEAD_AFTER_SECONDS
from flask_pi_taskbar.board.faults import LEVELS
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.links import arrow, graph
from flask_pi_taskbar.board.model import MAX_NOTES, Card, Lane, NoteKind
from flask_pi_taskbar.board.reading import Reading
from flask_pi_taskbar.board.refusal import Code
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.board.torment import Task, Told

START_SECONDS: Final = 60.0
END_SECONDS: Final = 60.0
"""Beyond its own time a worker waits for the lock at most; anything longer is a fault of its own."""

PATIENCE_SECONDS: Final = 2 * DEAD_AFTER_SECONDS
"""Where a folder is the lock, a worker killed in its very first moment of holding it is given up only after a while."""

_REFEREE: Final = session("referee", "referee")
_TOLD: Final = msgspec.json.Decoder(Told)


class Race:
    """One store, and the processes that race on it. As a context manager it leaves no process behind."""

    def __init__(self, folder: Path, level: str = "0", *, synced: bool = True) -> None:
        self.folder = folder
        self.store = Store(folder / "board", disk=LEVELS[level](), wait=PATIENCE_SECONDS)
        self.told: list[Told] = []
        """Every answer that anybody got, the preparations' too."""
        self.killed = 0
        self._level = level
        self._synced = synced
        self._running: list[subprocess.Popen[bytes]] = []
        self._round = 0

    def __enter__(self) -> Race:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running:
            process.kill()
            process.wait()

    def cards(self, count: int) -> list[int]:
        """So many new cards to race for."""
        return [self._add(number) for number in range(count)]

    def run(
        self,
        job: str,
        *,
        workers: int,
        cards: Sequence[int] = (),
        count: int = 0,
        seconds: float = 60.0,
        kills: int = 0,
        seed: int = 0,
    ) -> list[Told]:
        """Let `workers` processes do a job at once; what they were told. `kills` of them die in the middle."""
        self._round += 1
        go = self.folder / f"go.{self._round}"
        records = [self.folder / f"told.{self._round}.{worker}" for worker in range(workers)]
        for worker, record in enumerate(records):
            task = Task(
                store=self.store.layout.root,
                record=str(record),
                go=str(go),
                worker=worker,
                job=job,
                count=count,
                seconds=seconds,
                cards=list(cards),
                level=self._level,
                seed=seed,
                synced=self._synced,
            )
            self._running.append(_start(task))
        _wait_for(lambda: all(record.exists() for record in records), START_SECONDS)
        go.touch()
        self._kill(kills, seconds, seed)
        wrong = [process.pid for process in self._running[kills:] if process.wait(seconds + END_SECONDS) != 0]
        self._running.clear()
        told = [told for record in records for told in _read(record)]
        self.told += told
        self.killed += kills
        if wrong:
            raise AssertionError(f"{len(wrong)} of {workers} workers failed; see what they printed")
        return told

    def board(self) -> Reading:
        """What is there now, after one more write that sweeps what the dead left."""
        self._add(-1)
        return self.store.read_all(datetime.now(UTC))

    def _add(self, number: int) -> int:
        answer = self.store.apply("add", {"title": f"Card {number}"}, _REFEREE, now=datetime.now(UTC))
        card = msgspec.convert(answer["card"], dict[str, object])
        told = Told(worker=-1, action="add", card=int(str(card["id"])), rev=1)
        self.told.append(told)
        return int(str(card["id"]))

    def _kill(self, kills: int, seconds: float, seed: int) -> None:
        chance = random.Random(seed)  # noqa: S311
        for process in self._running[:kills]:
            time.sleep(min(seconds, 1.0) * chance.random())
            process.kill()
            process.wait()


def faults_of(race: Race) -> Iterator[str]:
    """Whatever is wrong with the board after any race: lost, doubled, torn, stranded or left behind."""
    board = race.board()
    for entry in board.damaged():
        yield f"{entry.name} is damaged: {entry.why}"
    dropped = {card.id: card for card in board.dropped()}
    revs: dict[int, Counter[int]] = defaultdict(Counter)
    unwritable = 0
    for told in race.told:
        if told.code == Code.STORE_UNWRITABLE:
            unwritable += 1
        if told.code or told.unchanged or told.card is None or told.rev is None:
            continue
        if told.action != "drop":
            revs[told.card][told.rev] += 1
        card = board.get(told.card) or dropped.get(told.card)
        if not isinstance(card, Card):
            yield f"#{told.card} was acknowledged ({told.action}) and is not there"
        elif told.rev > card.rev:
            yield f"#{told.card} was acknowledged at rev {told.rev} and is at {card.rev}"
        elif told.text and len(card.notes) < MAX_NOTES and not any(note.text == told.text for note in card.notes):
            yield f"#{told.card} lost the note {told.text!r}"
    if unwritable:
        yield f"{unwritable} writes were refused by the disk, or the lock did not keep others away"
    unheard = 0
    for card_id, counted in revs.items():
        card = board.get(card_id) or dropped.get(card_id)
        twice = [rev for rev, times in counted.items() if times > 1]
        if twice:
            yield f"#{card_id}: two writes were given the same rev {twice}"
        if isinstance(card, Card):
            unheard += card.rev - len(counted)
    if unheard > race.killed:
        yield f"{unheard} writes happened that nobody was told of; only {race.killed} workers were killed"
    yield from _links_of(board)
    left = [entry.name for entry in os.scandir(race.store.layout.temporary) if entry.is_file()]
    if left and race.store.known_level != 2:
        yield f"left in tmp/: {left}"
    if not any(True for _ in journal.lines(race.store.disk, race.store.layout)):
        yield "the journal is empty"


def unfair_claims(race: Race, told: Sequence[Told], cards: Sequence[int]) -> Iterator[str]:
    """Each card was won by exactly one claim, and every loser was told by whom."""
    board = race.store.read_all(datetime.now(UTC))
    winners: dict[int, list[int]] = defaultdict(list)
    for line in told:
        if not line.code and not line.unchanged and line.card is not None:
            winners[line.card].append(line.worker)
    for card_id in cards:
        card = board.get(card_id)
        owner = card.owner.id if isinstance(card, Card) and card.owner is not None else None
        if len(winners[card_id]) != 1 or owner != f"worker-{winners[card_id][0]}":
            yield f"#{card_id}: won by {winners[card_id]}, held by {owner}"
        losers = [line for line in told if line.card == card_id and line.code]
        if any(line.code not in {Code.HELD, Code.BUSY} or line.owner not in {owner, ""} for line in losers):
            yield f"#{card_id}: a loser was not told who holds it: {losers}"


def _links_of(board: Reading) -> Iterator[str]:
    cards = list(board.cards())
    for ring in graph(cards).rings:
        yield f"a ring: {arrow(ring)}"
    for card in cards:
        lost = [other for other in card.depends_on if board.get(other) is None]
        brought_back = any(note.kind is NoteKind.UNDO for note in card.notes)
        if lost and not brought_back:  # what a dropped card waited for may have gone before it came back
            yield f"#{card.id} waits for {lost}, which are not there"
        if card.status is Lane.DOING and card.owner is None:
            yield f"#{card.id} is being done by nobody"


def command(module: str, *arguments: str) -> list[str]:
    """How to run a module of the board in a process of its own."""
    return [sys.executable, "-m", f"flask_pi_taskbar.board.{module}", *arguments]


def environment() -> dict[str, str]:
    """The environment in which that finds this very package, installed or not."""
    source = str(Path(flask_pi_taskbar.__file__).parent.parent)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))}


def _start(task: Task) -> subprocess.Popen[bytes]:
    # A group of its own: Ctrl-C is the referee's to hear, who ends the workers.
    process = subprocess.Popen(command("torment"), stdin=subprocess.PIPE, env=environment(), process_group=0)
    if process.stdin is not None:
        process.stdin.write(msgspec.json.encode(task))
        process.stdin.close()
    return process


def _read(record: Path) -> list[Told]:
    lines = record.read_bytes().split(b"\n")[:-1]
    return [told for told in map(_TOLD.decode, lines) if told.action != "ready"]


def _wait_for(condition: Callable[[], bool], seconds: float) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the workers did not start")
        time.sleep(0.01)
