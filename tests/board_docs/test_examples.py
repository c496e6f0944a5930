"""The document's reader and writer agree with the store, also when both are at work at once."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from flask_pi_taskbar.board import journal
from flask_pi_taskbar.board.card import parse, serialize
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.links import open_dependencies
from flask_pi_taskbar.board.model import Card
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.store import Store
from tests.board_docs.foreign import example

ANN = session("as:ann", "ann")
TOOL = {"id": "x-tool", "label": "tool"}
ROOT = Path(__file__).parents[2]


def now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "shop-59e6e4de8d35")
    made.apply("add", {"title": "The first", "note": "Some words."}, ANN, now=now())
    return made


def file_of(store: Store, number: int) -> Path:
    return Path(store.layout.card(number))


# The reader


def test_the_reader_finds_the_cards_that_the_store_finds(store: Store) -> None:
    store.apply("add", {"title": "Wörter 🎉", "dependsOn": [1]}, ANN, now=now())
    store.apply("claim", {"card": 1}, ANN, now=now())
    store.apply("add", {"title": "Third", "dependsOn": [1, 2]}, ANN, now=now())
    reader = example("reader")
    cards, damaged = reader["read_board"](store.layout.root)
    world = store.read_all(now())
    found = {card.id: card for card in world.cards()}
    assert {number: card["title"] for number, card in cards.items()} == {n: card.title for n, card in found.items()}
    assert damaged == {}
    assert {n: reader["waits"](card, cards) for n, card in cards.items()} == {
        n: list(open_dependencies(card, world)) for n, card in found.items()
    }


def test_the_reader_calls_damaged_what_the_store_calls_damaged(store: Store, tmp_path: Path) -> None:
    good = file_of(store, 1).read_text()
    (tmp_path / "elsewhere.json").write_text(good.replace('"id": 1', '"id": 20'))
    planted = {
        10: b"",
        11: b"\0" * 4096,
        12: b"[1]",
        13: b'{"id": 13, "title": "Unfinished',
        14: good.encode(),
        15: b'{"id": 15, "title": " ", "status": "todo"}',
        16: b'{"id": 16, "title": "Lost", "status": "later"}',
        17: b'{"id": 17, "title": "Large", "status": "todo"}' + b" " * 600_000,
        18: b"[" * 200_000,
    }
    for number, data in planted.items():
        file_of(store, number).write_bytes(data)
    file_of(store, 19).mkdir()
    file_of(store, 20).symlink_to(tmp_path / "elsewhere.json")
    os.mkfifo(file_of(store, 21))
    file_of(store, 22).write_text('{"id": 22, "title": "By hand", "status": "todo", "v": 2}')
    (file_of(store, 1).parent / "07.json").write_text(good)
    (file_of(store, 1).parent / "notes.txt").write_text("mine")
    cards, damaged = example("reader")["read_board"](store.layout.root)
    world = store.read_all(now())
    assert set(cards) == {card.id for card in world.cards()} == {1, 22}
    assert set(damaged) == {entry.id for entry in world.damaged() if entry.id is not None} == {*planted, 19, 20, 21}


def test_a_store_that_nobody_has_written_to_is_an_empty_board(tmp_path: Path) -> None:
    assert example("reader")["read_board"](str(tmp_path / "none")) == ({}, {})
    assert not list(Store(tmp_path / "none").read_all(now()).entries())
    assert not (tmp_path / "none").exists()


# The writer


def test_a_card_that_the_writer_adds_is_a_card_without_repairs(store: Store) -> None:
    card = example("writer")["add_card"](store.layout.root, TOOL, "Wörter 🎉")
    entry = store.read_all(now()).get(card["id"])
    assert isinstance(entry, Card)
    assert (entry.id, entry.title, entry.repaired) == (2, "Wörter 🎉", ())
    assert entry.created_by is not None
    assert entry.created_by.id == "x-tool"
    assert store.apply("claim", {"card": 2}, ANN, now=now())["rev"] == 2


@pytest.mark.parametrize(
    "name",
    ["seq", "cards/8.json", "cards/8 (1).json", "cards/08.JSON", "dropped/8.json", "damaged/8.20261130T200500.json"],
)
def test_the_writer_gives_no_number_that_any_one_place_tells_of(store: Store, name: str) -> None:
    Path(store.layout.seq).unlink()
    Path(store.layout.root, name).write_text("8\n")
    assert store.read_all(now()).next_id() == 9
    assert example("writer")["add_card"](store.layout.root, TOOL, "The next")["id"] == 9
    assert Path(store.layout.seq).read_text() == "9\n"
    assert store.read_all(now()).next_id() == 10


def test_a_name_that_is_taken_meanwhile_makes_the_writer_go_on_to_the_next(store: Store) -> None:
    writer = example("writer")
    link = os.link

    def taken_first(source: str, target: str) -> None:
        if target.endswith("/2.json"):
            Path(target).write_bytes(file_of(store, 1).read_bytes())
        link(source, target)

    writer["os"] = Recorded(link=taken_first)
    assert writer["add_card"](store.layout.root, TOOL, "The next")["id"] == 3
    assert [path.name for path in sorted(Path(store.layout.temporary).iterdir())] == []


class Recorded:
    """`os`, with the calls that others can see the effect of written down."""

    def __init__(self, **instead: Any) -> None:
        self.calls: list[str] = []
        self._instead = instead

    def __getattr__(self, name: str) -> Any:
        call = self._instead.get(name, getattr(os, name))
        if name not in ("fsync", "link", "rename", "unlink"):
            return call

        def recorded(*arguments: Any) -> Any:
            last = arguments[-1]
            path = os.readlink(f"/proc/self/fd/{last}") if isinstance(last, int) else last
            folder, _, file = path.rpartition("/")
            self.calls.append(f"{name} {'tmp/*' if folder.endswith('/tmp') else file}")
            return call(*arguments)

        return recorded


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the names of descriptors")
def test_the_writer_syncs_what_it_publishes_before_and_the_folder_after(store: Store) -> None:
    writer = example("writer")
    writer["os"] = add = Recorded()
    writer["add_card"](store.layout.root, TOOL, "New")
    assert add.calls == ["fsync tmp/*", "link 2.json", "unlink tmp/*", "rename seq", "fsync cards"]
    writer["os"] = note = Recorded()
    writer["add_note"](store.layout.root, TOOL, 1, "Words.")
    assert note.calls == ["fsync tmp/*", "rename 1.json", "fsync cards"]


def test_a_note_of_the_writer_keeps_all_that_it_does_not_know(store: Store) -> None:
    path = file_of(store, 1)
    path.write_text(path.read_text().replace('"v": 1', '"v": 1,\n "x-other": {\n  "a": 1\n }'))
    store.apply("claim", {"card": 1}, session("x-tool", "tool"), now=now() - timedelta(minutes=1))
    example("writer")["add_note"](store.layout.root, TOOL, 1, "Seen,\n\tand read.")
    data = path.read_bytes()
    card = parse(data, 1)
    assert isinstance(card, Card)
    assert card.repaired == ()
    assert card.unknown == {"x-other": {"a": 1}}
    assert (card.rev, card.notes[-1].n, card.notes[-1].text) == (3, 3, "Seen,\n\tand read.")
    assert card.held_touched_at == card.touched_at == card.notes[-1].at
    assert serialize(card) == data


def test_a_process_that_runs_sees_what_the_writer_wrote(store: Store) -> None:
    writer = example("writer")
    for number in range(2, 12):
        store.apply("note", {"card": 1, "text": "Between."}, ANN, now=now())
        assert writer["add_card"](store.layout.root, TOOL, "New")["id"] == number
        assert store.glance(now()).get(number) is not None


def test_the_writer_leaves_the_store_as_our_own_do(store: Store) -> None:
    writer = example("writer")
    writer["add_card"](store.layout.root, TOOL, "New")
    writer["add_note"](store.layout.root, TOOL, 1, "Words.")
    assert not os.listdir(store.layout.temporary)
    assert store.holder() is None
    assert store.layout.too_open(store.disk) == []
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in Path(store.layout.cards).iterdir())
    assert [(line.action, line.card, line.rev) for line in journal.lines(store.disk, store.layout)] == [
        ("add", 1, 1),
        ("add", 2, 1),
        ("note", 1, 2),
    ]


def test_a_line_that_a_crash_cut_short_takes_no_line_of_the_writer_with_it(store: Store) -> None:
    with Path(store.layout.journal).open("a") as file:
        file.write('{"at": "2026-')
    example("writer")["add_note"](store.layout.root, TOOL, 1, "Words.")
    assert [line.action for line in journal.lines(store.disk, store.layout)] == ["add", "note"]


def test_while_the_writer_holds_the_lock_ours_are_told_who_it_is(store: Store) -> None:
    writer = example("writer")
    impatient = Store(store.layout.root, wait=0.05)
    with writer["locked"](store.layout.root, "tool"), pytest.raises(Refusal) as refused:
        impatient.apply("note", {"card": 1, "text": "Words."}, ANN, now=now())
    assert refused.value.code is Code.BUSY
    assert "tool" in refused.value.message
    assert str(os.getpid()) in refused.value.message


def test_the_writer_waits_where_ours_hold_a_folder_lock(store: Store) -> None:
    os.mkdir(f"{store.layout.root}/lock.d")
    writer = example("writer")
    moments = iter([0.0, 0.0, 4.9, 5.1])
    slept: list[float] = []
    writer["time"] = SimpleNamespace(monotonic=lambda: next(moments), sleep=slept.append)
    with pytest.raises(TimeoutError):
        writer["add_card"](store.layout.root, TOOL, "Never")
    assert len(slept) == 2
    assert os.listdir(store.layout.cards) == ["1.json"]
    assert store.disk.stat(store.layout.lock).st_size == 501


def test_writers_of_both_kinds_at_once_lose_nothing(store: Store) -> None:
    count = 15
    command = [sys.executable, "-m", "tests.board_docs.foreign", store.layout.root]
    running = [
        subprocess.Popen([*command, label, str(count)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
        for label in ("one", "two")
    ]
    own = []
    for number in range(count):
        own.append(store.apply("add", {"title": f"Card {number}"}, ANN, now=now())["card"]["id"])  # type: ignore[index]
        store.apply("note", {"card": 1, "text": f"ann {number}"}, ANN, now=now())
    said = [process.communicate(timeout=60)[0] for process in running]
    assert [process.returncode for process in running] == [0, 0]
    numbers = own + [int(line) for text in said for line in text.split()]
    assert sorted(numbers) == list(range(2, 2 + 3 * count))
    world = store.read_all(now())
    assert not list(world.damaged())
    first = world.get(1)
    assert isinstance(first, Card)
    assert first.rev == 1 + 3 * count
    assert [note.n for note in first.notes] == list(range(1, 2 + 3 * count))
    for label in ("one", "two", "ann"):
        words = [note.text for note in first.notes if note.text.startswith(f"{label} ")]
        assert words == [f"{label} {number}" for number in range(count)]
