"""Random actors and actions through several stores on one folder, against a model that is a page long.

Each store stands for a process with its own memory of the board; whichever is asked, the answer must be the model's,
and afterwards every one of them must read the model's board.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from flask_pi_taskbar.board.faults import LEVELS, WatchedDisk, unsynced
from flask_pi_taskbar.board.model import Actor, Card
from flask_pi_taskbar.board.reading import Reading
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.store import Store
from tests.board_store.boards import ANN, BOB, NOW, CoarseTimes, number_of
from tests.board_store.conftest import MEMORY

LANES = ("todo", "doing", "blocked", "done")
ACTORS = st.sampled_from([ANN, BOB])
NUMBERS = st.integers(1, 7)


@dataclass
class Modelled:
    """A card as the model knows it."""

    title: str
    lane: str = "todo"
    owner: str | None = None
    rev: int = 1
    depends_on: tuple[int, ...] = ()
    notes: list[str] = field(default_factory=list)


class Model:
    """The board by the table of section 5: each action answers a code, or None and changes itself."""

    def __init__(self) -> None:
        self.cards: dict[int, Modelled] = {}
        self.dropped: dict[int, tuple[int, str, Modelled]] = {}
        self.highest = 0
        self.drops = 0

    def waits(self, card: Modelled) -> bool:
        return any(other not in self.cards or self.cards[other].lane != "done" for other in card.depends_on)

    def add(self, title: str, depends_on: tuple[int, ...]) -> str | None:
        if any(other not in self.cards for other in depends_on):
            return "no_such_card"
        self.highest += 1
        self.cards[self.highest] = Modelled(title, depends_on=depends_on)
        return None

    def claim(self, me: str, card: Modelled) -> str | None:
        if card.lane == "done":
            return "finished"
        if card.owner not in (None, me):
            return "held"
        if card.lane == "doing":
            return None
        if card.lane == "blocked" and card.owner == me:
            return "wrong_lane"
        return "waiting" if self.waits(card) else self._become(card, "doing", me)

    def release(self, me: str, card: Modelled) -> str | None:
        if card.lane == "done":
            return "finished"
        if card.owner is None:
            return "not_held"
        return "not_holder" if card.owner != me else self._become(card, "todo", None)

    def reclaim(self, me: str, card: Modelled) -> str | None:
        if card.lane == "done":
            return "finished"
        if card.lane == "todo" and card.owner is None:
            return "not_held"
        return self._become(card, "todo", None)

    def move(self, me: str, card: Modelled, lane: str) -> str | None:
        if lane == card.lane:
            return None
        if card.lane == "done":
            return "finished"
        if card.owner not in (None, me):
            return "not_holder"
        if card.owner is None:
            return "not_held" if lane in ("doing", "done") else self._become(card, lane, None)
        if lane == "todo":
            return self._become(card, lane, None)
        if lane in ("doing", "done") and self.waits(card):
            return "waiting"
        if lane == "done" and card.lane == "todo":
            return "wrong_lane"
        return self._become(card, lane, me)

    def note(self, me: str, card: Modelled, text: str) -> str | None:
        card.notes.append(text)
        return self._become(card, card.lane, card.owner)

    def link(self, me: str, number: int, depends_on: tuple[int, ...]) -> str | None:
        card = self.cards[number]
        if card.lane == "done" and card.owner != me:
            return "finished"
        if card.lane != "done" and card.owner not in (None, me):
            return "not_holder"
        if depends_on == card.depends_on:
            return None
        new = [other for other in depends_on if other not in card.depends_on]
        if card.lane == "done" and new:
            return "finished"
        if number in new:
            return "self"
        if any(other not in self.cards for other in new):
            return "no_such_card"
        if any(self._reaches(other, number) for other in new):
            return "cycle"
        card.depends_on = depends_on
        return self._become(card, card.lane, card.owner)

    def drop(self, me: str, number: int) -> str | None:
        card = self.cards[number]
        if any(number in other.depends_on for at, other in self.cards.items() if at != number):
            return "waited_on"
        if card.lane in ("doing", "blocked") and card.owner not in (None, me):
            return "not_holder"
        self.drops += 1
        self.dropped[number] = (self.drops, me, self.cards.pop(number))
        return None

    def undo(self, me: str, number: int) -> str | None:
        if number not in self.dropped or self.dropped[number][1] != me:
            return "nothing_to_do"
        card = self.cards[number] = self.dropped.pop(number)[2]
        return self._become(card, card.lane, card.owner)

    def _reaches(self, start: int, end: int) -> bool:
        seen, todo = set(), [start]
        while todo:
            at = todo.pop()
            if at == end:
                return True
            if at not in seen and at in self.cards:
                seen.add(at)
                todo += self.cards[at].depends_on
        return False

    def _become(self, card: Modelled, lane: str, owner: str | None) -> None:
        card.lane, card.owner, card.rev = lane, owner, card.rev + 1


class Boards(RuleBasedStateMachine):
    """Four stores on one folder: on a disk as it is, on two that stamp folders with a slow clock, on one without
    links."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(dir=MEMORY if MEMORY.is_dir() else None)
        disks = (LEVELS["0"](), CoarseTimes(1_000_000_000), CoarseTimes(10_000_000), LEVELS["1"]())
        self.stores = [Store(Path(self.folder, "board"), disk=WatchedDisk(unsynced, disk)) for disk in disks]
        self.model = Model()

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @initialize()
    def begin(self) -> None:
        for title in ("one", "two", "three"):
            self._do(0, ANN, "add", None, None, title=title)
            self.model.add(title, ())

    @rule(store=st.integers(0, 3), me=ACTORS, links=st.lists(NUMBERS, max_size=2, unique=True))
    def add(self, store: int, me: Actor, links: list[int]) -> None:
        expected = self.model.add("more", tuple(links))
        answer = self._do(store, me, "add", None, expected, title="more", dependsOn=links)
        assert answer is None or number_of(answer) == self.model.highest

    @rule(store=st.integers(0, 3), me=ACTORS, number=NUMBERS, action=st.sampled_from(["claim", "release", "reclaim"]))
    def take_or_give(self, store: int, me: Actor, number: int, action: str) -> None:
        card = self.model.cards.get(number)
        expected = "no_such_card" if card is None else getattr(self.model, action)(me.id, card)
        self._do(store, me, action, number, expected)

    @rule(store=st.integers(0, 3), me=ACTORS, number=NUMBERS, lane=st.sampled_from(LANES))
    def move(self, store: int, me: Actor, number: int, lane: str) -> None:
        card = self.model.cards.get(number)
        expected = "no_such_card" if card is None else self.model.move(me.id, card, lane)
        self._do(store, me, "move", number, expected, status=lane)

    @rule(store=st.integers(0, 3), me=ACTORS, number=NUMBERS, words=st.text("ab \n\té日", min_size=1, max_size=9))
    def note(self, store: int, me: Actor, number: int, words: str) -> None:
        text = f"<{words}>"
        card = self.model.cards.get(number)
        expected = "no_such_card" if card is None else self.model.note(me.id, card, text)
        self._do(store, me, "note", number, expected, text=text)

    @rule(store=st.integers(0, 3), me=ACTORS, number=NUMBERS, links=st.lists(NUMBERS, max_size=3, unique=True))
    def link(self, store: int, me: Actor, number: int, links: list[int]) -> None:
        known = number in self.model.cards
        expected = self.model.link(me.id, number, tuple(links)) if known else "no_such_card"
        self._do(store, me, "edit", number, expected, dependsOn=links)

    @rule(store=st.integers(0, 3), me=ACTORS, number=NUMBERS)
    def drop(self, store: int, me: Actor, number: int) -> None:
        expected = self.model.drop(me.id, number) if number in self.model.cards else "no_such_card"
        self._do(store, me, "drop", number, expected)

    @rule(store=st.integers(0, 3), me=ACTORS, number=NUMBERS)
    def undo(self, store: int, me: Actor, number: int) -> None:
        self._do(store, me, "undo", number, self.model.undo(me.id, number))

    @rule(lost=st.sampled_from(["seq", "journal.jsonl", "lock"]))
    def lose_what_is_derived(self, lost: str) -> None:
        with contextlib.suppress(FileNotFoundError):
            Path(self.folder, "board", lost).unlink()

    @rule(store=st.integers(0, 3))
    def look_at_every_file(self, store: int) -> None:
        self._is_the_models(self.stores[store].read_all(NOW))

    @invariant()
    def every_store_reads_the_models_board(self) -> None:
        self._is_the_models(Store(self.stores[0].layout.root).read_all(NOW))
        for store in self.stores:
            self._is_the_models(store.glance(NOW))

    def _is_the_models(self, board: Reading) -> None:
        assert not list(board.damaged())
        assert {card.id: self._seen(card) for card in board.cards()} == {
            number: (card.title, card.lane, card.owner, card.rev, card.depends_on, card.notes)
            for number, card in self.model.cards.items()
        }

    def _seen(self, card: Card) -> tuple[object, ...]:
        said = [note.text for note in card.notes if note.kind == "note"]
        owner = card.owner.id if card.owner else None
        return (card.title, str(card.status), owner, card.rev, card.depends_on, said)

    def _do(
        self, store: int, me: Actor, action: str, number: int | None, expected: str | None, **fields: object
    ) -> dict[str, object] | None:
        given = fields if number is None else {"card": number, **fields}
        answer, code = None, None
        try:
            answer = self.stores[store].apply(action, given, me, now=NOW)
        except Refusal as refusal:
            code = refusal.code.value
        assert code == expected, f"{me.label}: {action} {given}"
        return answer


TestBoards = Boards.TestCase
TestBoards.settings = settings(
    max_examples=150,
    stateful_step_count=40,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
