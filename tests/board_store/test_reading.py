"""Reading: without a lock, without a write, and never an old board after a write has ended."""

from __future__ import annotations

import errno
import os
import threading
from pathlib import Path

import pytest

from flask_pi_taskbar.board.bus import Bus
from flask_pi_taskbar.board.card import etag
from flask_pi_taskbar.board.explain import explain
from flask_pi_taskbar.board.facts import facts
from flask_pi_taskbar.board.faults import Counted, WatchedDisk
from flask_pi_taskbar.board.reader import FRESH_NS
from flask_pi_taskbar.board.request import Action, read_request
from flask_pi_taskbar.board.rollup import take_round
from flask_pi_taskbar.board.store import Store
from tests.board_store.boards import ANN, BOB, NOW, Board, CoarseTimes, everything
from tests.support.waiting import until

WRITES = {"write", "write_at", "sync", "link", "rename", "unlink", "mkdir", "rmdir", "touch"}


def furnished(board: Board) -> Board:
    board.add("One", note="words")
    board.add("Two", dependsOn=[1])
    board.bob("claim", 1)
    board.ann("handoff", 2, label="bob")
    board.by_hand("9.json", b"\0")
    return board


def test_no_read_writes_anything(board: Board) -> None:
    """Reads that write, notes dropped -> `list`, `round`, page reads change no mtime or inode under the store."""
    furnished(board)
    before = everything(board.path)
    fresh = Store(board.path)
    world = fresh.read_all(NOW)
    take_round(world, NOW)
    list(world.roster())
    fresh.glance(NOW)
    fresh.live(NOW).get(1)
    fresh.read(1)
    explain(read_request(Action.WHY, {"card": 2}), ANN, fresh.live(NOW), NOW)
    Bus(fresh).roster(NOW)
    Bus(fresh).unread(BOB.id)
    Bus(fresh).inbox(ANN, now=NOW)
    assert fresh.size() > 0
    assert fresh.holder() is None
    assert everything(board.path) == before


def test_a_store_that_was_never_written_to_is_an_empty_board_and_stays_unmade(board: Board) -> None:
    assert board.ids() == []
    assert board.store.read(1) is None
    assert board.store.live(NOW).get(1) is None
    assert Bus(board.store).inbox(ANN, now=NOW)["mail"] == []
    assert facts(board.store, NOW)["cards"] == 0
    assert not board.path.exists()


def test_a_store_that_is_removed_while_it_is_open_is_an_empty_board_and_can_be_written_again(board: Board) -> None:
    board.add()
    assert board.ids() == [1]
    for path in sorted(board.path.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    board.path.rmdir()
    assert board.ids() == []
    assert board.add() == 1


def test_one_source_only_a_new_process_reads_the_same_board(board: Board) -> None:
    """DB and mirror diverge -> delete every cache, restart: same board byte for byte."""
    furnished(board)
    warm = board.store.read_all(NOW)
    for derived in ("journal.jsonl", "seq", "lock"):
        (board.path / derived).unlink()
    cold = Store(board.path).read_all(NOW)
    assert sorted(warm.entries(), key=str) == sorted(cold.entries(), key=str)
    assert not [path for path in board.path.iterdir() if "index" in path.name], "no index file in the store"


def test_a_warm_list_opens_only_what_moved(board: Board, tmp_path: Path) -> None:
    for _ in range(20):
        board.add()
    watcher = Counted()
    reading = Board(tmp_path, disk=WatchedDisk(watcher))
    reading.store.read_all(NOW)
    watcher.steps.clear()
    board.ann("claim", 7)
    assert reading.store.read_all(NOW).get(7) == board.card(7)
    assert [str(arguments[0]) for name, arguments in watcher.steps if name == "open"] == [str(board.file("7.json"))]


def test_a_glance_at_a_board_that_rests_costs_one_look_at_the_folder(board: Board, tmp_path: Path) -> None:
    for _ in range(5):
        board.add()
    os.utime(board.path / "cards", ns=(0, board.store.disk.now_ns() - 2 * FRESH_NS))
    watcher = Counted()
    reading = Board(tmp_path, disk=WatchedDisk(watcher))
    reading.store.glance(NOW)
    watcher.steps.clear()
    reading.store.glance(NOW)
    assert [name for name, _ in watcher.steps] == ["stat"]


@pytest.mark.parametrize("tick", [1, 4_000_000, 10_000_000, 1_000_000_000])
def test_a_write_shows_at_once_however_coarse_the_file_systems_clock(tick: int, board: Board, tmp_path: Path) -> None:
    board.add()
    reading = Board(tmp_path, disk=CoarseTimes(tick))
    for number in range(25):
        assert reading.store.glance(NOW).get(1) == board.card(1)
        board.ann("note", 1, text=f"{number}")
        assert reading.store.glance(NOW).get(1) == board.card(1)
        reading.bob("note", 1, text=f"{number}")


def test_an_edit_in_place_is_seen_by_every_exact_look(board: Board) -> None:
    board.add("Before")
    board.store.read_all(NOW)
    text = board.file("1.json").read_text()
    with open(board.file("1.json"), "w") as file:
        file.write(text.replace("Before", "Behind"))
    assert board.store.live(NOW).get(1) == board.card(1)
    assert board.card(1).title == "Behind"
    assert next(board.store.read_all(NOW).cards()).title == "Behind"


def test_an_etag_tells_a_hand_edit_that_forgot_the_rev(board: Board) -> None:
    board.add("Before")
    first = board.store.read(1)
    assert first is not None
    assert first[1] == etag(1, 1, board.file("1.json").read_bytes())
    board.file("1.json").write_text(board.file("1.json").read_text().replace("Before", "Behind"))
    second = board.store.read(1)
    assert second is not None
    assert second[1] != first[1]
    assert second[1].startswith("1.1.")


def test_what_keeps_us_from_reading_at_all_is_no_damage(board: Board, tmp_path: Path) -> None:
    board.add()

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "open" and str(arguments[0]).endswith("/1.json"):
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))
        return call()  # type: ignore[operator]

    with pytest.raises(OSError, match="Too many open files"):
        Board(tmp_path, disk=WatchedDisk(watch)).ids()


def test_threads_share_a_store(board: Board) -> None:
    board.add()
    problems: list[BaseException] = []

    def work(who: int) -> None:
        try:
            for number in range(15):
                board.store.apply("note", {"card": 1, "text": f"{who}.{number}"}, ANN, now=NOW)
                assert board.store.glance(NOW).get(1) is not None
        except BaseException as problem:  # noqa: BLE001 - told by the test
            problems.append(problem)

    board.store = Store(board.path, wait=60)
    threads = [threading.Thread(target=work, args=(who,)) for who in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert board.card(1).rev == 61


def test_no_descriptor_is_left_open(board: Board) -> None:
    furnished(board)
    before = len(os.listdir("/dev/fd"))
    for _ in range(20):
        board.ids()
        board.ann("note", 1, text="x")
        board.refused(ANN, "claim", 1)
        board.refused(ANN, "claim", 9)
        Bus(board.store).roster(NOW)
    assert until(lambda: len(os.listdir("/dev/fd")) == before, "no more descriptors than before")
