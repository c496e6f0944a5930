"""The locks: one writer at a time on every level, a holder that is named, and the dead that keep nobody waiting."""

from __future__ import annotations

import errno
import os
import signal
from pathlib import Path

import msgspec
import pytest

from flask_pi_taskbar.board.faults import NoFlock, WatchedDisk
from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.holder import here, polls
from flask_pi_taskbar.board.lock import Held, LifetimeLock, is_held
from flask_pi_taskbar.board.refusal import Code
from flask_pi_taskbar.board.store import Store
from tests.board_store.boards import ANN, Board, FakeClock, everything
from tests.board_store.locks import (
    DISKS,
    SINCE,
    dead,
    holder_process,
    kill,
    python,
    store_lock,
)
from tests.support.waiting import until


@pytest.fixture(params=sorted(DISKS))
def disk(request: pytest.FixtureRequest) -> Disk:
    return DISKS[request.param]()


def test_while_one_holds_it_others_wait_and_are_told_by_whom(folder: Path, disk: Disk) -> None:
    clock = FakeClock()
    with store_lock(folder, disk).held("ann", SINCE), pytest.raises(Held) as caught:  # noqa: SIM117
        with store_lock(folder, disk, clock).held("bob", SINCE):
            raise AssertionError("two at once")
    holder = caught.value.holder
    assert holder is not None
    assert (holder.pid, holder.label, holder.since) == (os.getpid(), "ann", SINCE)
    assert 0.5 <= clock.now < 0.6, "it waits for as long as it was told to"
    with store_lock(folder, disk).held("bob", SINCE):
        pass


def test_the_pauses_grow_from_one_to_fifty_milliseconds() -> None:
    clock = FakeClock()
    assert sum(1 for _ in polls(clock, 5.0)) > 100
    assert clock.slept[0] <= 0.001
    assert max(clock.slept) <= 0.05
    assert all(pause > 0 for pause in clock.slept)


def test_the_lock_is_let_go_when_the_write_fails(folder: Path, disk: Disk) -> None:
    with pytest.raises(RuntimeError), store_lock(folder, disk).held("ann", SINCE):
        raise RuntimeError
    with store_lock(folder, disk).held("bob", SINCE):
        pass
    assert store_lock(folder, disk).holder() is None


@pytest.mark.parametrize("kind", sorted(DISKS))
def test_a_stopped_holder_is_named_and_reading_goes_on(kind: str, tmp_path: Path) -> None:
    """A hung holder keeps flock for hours -> SIGSTOP the holder: others get `busy` naming pid and label in time."""
    Board(tmp_path).add()
    process = holder_process(tmp_path / "board", kind)
    try:
        process.send_signal(signal.SIGSTOP)
        waiting = Store(tmp_path / "board", disk=DISKS[kind](), wait=0.3)
        board = Board(tmp_path)
        board.store = waiting
        refusal = board.refused(ANN, "claim", 1)
        assert (refusal.code, refusal.retry) == (Code.BUSY, True)
        assert refusal.details["holder"] == {
            "pid": process.pid,
            "label": "slow",
            "since": SINCE,
            "host": os.uname().nodename,
        }
        assert f"slow (pid {process.pid})" in refusal.message
        assert board.ids() == [1]
        process.send_signal(signal.SIGCONT)
    finally:
        kill(process)
    board.ann("claim", 1)


@pytest.mark.parametrize("kind", sorted(DISKS))
def test_a_killed_holder_keeps_nobody_waiting(kind: str, tmp_path: Path) -> None:
    Board(tmp_path).add()
    process = holder_process(tmp_path / "board", kind)
    kill(process)
    clock = FakeClock()
    board = Board(tmp_path, disk=DISKS[kind](), clock=clock)
    board.ann("claim", 1)
    assert clock.now < 0.5
    if kind == "folder":
        assert [path.name for path in (board.path / "tmp").iterdir() if path.is_dir()], "its tomb stays for a while"


@pytest.mark.parametrize(("first", "second"), [("flock", "folder"), ("folder", "flock")])
def test_the_two_kinds_of_lock_see_each_other(first: str, second: str, folder: Path) -> None:
    with store_lock(folder, DISKS[first]()).held("ann", SINCE):
        with pytest.raises(Held) as caught, store_lock(folder, DISKS[second]()).held("bob", SINCE):
            raise AssertionError("two at once")
        assert caught.value.holder is not None
        assert caught.value.holder.label == "ann"
    with store_lock(folder, DISKS[second]()).held("bob", SINCE):
        pass


def test_a_line_that_a_dead_process_left_is_not_believed(folder: Path) -> None:
    (folder / "lock").write_bytes(msgspec.json.encode(dead()) + b"\n")
    with store_lock(folder, NoFlock()).held("bob", SINCE):
        pass


def test_a_store_removed_and_made_anew_has_a_new_lock(folder: Path) -> None:
    lock = store_lock(folder, Disk())
    with lock.held("ann", SINCE):
        (folder / "lock").unlink()
        with lock.held("bob", SINCE):
            pass


def test_a_lock_on_a_file_that_was_removed_in_this_moment_is_not_believed(folder: Path) -> None:
    removed = []

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "flock" and not removed:
            removed.append((folder / "lock").unlink())
        return call()  # type: ignore[operator]

    with store_lock(folder, WatchedDisk(watch)).held("ann", SINCE), pytest.raises(Held):  # noqa: SIM117
        with store_lock(folder, Disk()).held("bob", SINCE):
            raise AssertionError("two at once")


def test_a_lock_file_that_the_server_forgot_is_opened_again_once(folder: Path) -> None:
    answers = [OSError(errno.ESTALE, "stale")]

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "flock" and answers:
            raise answers.pop()
        return call()  # type: ignore[operator]

    with store_lock(folder, WatchedDisk(watch)).held("ann", SINCE) as hold:
        assert not hold.by_directory
    assert not answers


# Locks for life


def test_a_lifetime_lock_is_held_by_one_and_seen_by_all(folder: Path, disk: Disk) -> None:
    path, tombs = f"{folder}/s.lock", f"{folder}/tmp"
    assert not is_held(disk, path)
    lock = LifetimeLock.take(disk, path, tombs, here("ann", SINCE), clock=FakeClock())
    assert lock is not None
    assert is_held(disk, path)
    assert LifetimeLock.take(disk, path, tombs, here("bob", SINCE), clock=FakeClock()) is None
    lock.renew()
    lock.release()
    assert not is_held(disk, path)


def test_looking_whether_a_lock_is_held_changes_nothing(folder: Path, disk: Disk) -> None:
    lock = LifetimeLock.take(disk, f"{folder}/s.lock", f"{folder}/tmp", here("ann", SINCE), clock=FakeClock())
    before = everything(folder)
    assert is_held(disk, f"{folder}/s.lock")
    assert not is_held(disk, f"{folder}/other.lock")
    assert everything(folder) == before
    assert lock is not None
    lock.release()


def test_a_lifetime_lock_ends_with_its_process(tmp_path: Path) -> None:
    path = f"{tmp_path}/s.lock"
    program = (
        "import sys\n"
        "from flask_pi_taskbar.board.filesystem import Disk\n"
        "from flask_pi_taskbar.board.holder import here\n"
        "from flask_pi_taskbar.board.lock import LifetimeLock\n"
        f"lock = LifetimeLock.take(Disk(), {path!r}, {str(tmp_path)!r}, here('x', ''))\n"
        "print('held', flush=True)\n"
        "sys.stdin.read()\n"
    )
    process = python(program)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        assert is_held(Disk(), path)
    finally:
        kill(process)
    until(lambda: not is_held(Disk(), path), "the lock of a killed process is free")


def test_a_child_forked_under_the_lock_does_not_keep_it(folder: Path) -> None:
    """It has the descriptor too, and lives on; the lock is let go of by name, not only by closing."""
    program = (
        "import os, sys\n"
        "from flask_pi_taskbar.board.filesystem import Disk\n"
        "from flask_pi_taskbar.board.lock import StoreLock\n"
        f"lock = StoreLock(Disk(), {str(folder / 'lock')!r}, {str(folder / 'tmp')!r}, wait=0.2)\n"
        "reading, writing = os.pipe()\n"
        "with lock.held('ann', ''):\n"
        "    child = os.fork()\n"
        "    if child == 0:\n"
        "        os.close(writing)\n"
        "        os._exit(len(os.read(reading, 1)))\n"
        "with lock.held('bob', ''):\n"
        "    print('held', flush=True)\n"
        "os.close(writing)\n"
        "os.waitpid(child, 0)\n"
    )
    process = python(program)
    assert process.communicate()[0] == b"held\n"
