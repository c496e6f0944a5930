"""The locks: one writer at a time on every level, a holder that is named, and the dead that keep nobody waiting."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from flask_pi_taskbar.board.directory_lock import DirectoryLock
from flask_pi_taskbar.board.faults import NoFlock, WatchedDisk
from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.holder import Holder, Lost, here, polls
from flask_pi_taskbar.board.lock import Held, LifetimeLock, StoreLock, is_held
from flask_pi_taskbar.board.races import environment
from flask_pi_taskbar.board.refusal import Code
from flask_pi_taskbar.board.store import Store
from tests.board_store.boards import ANN, BOB, Board, FakeClock, everything
from tests.support.waiting import until

SINCE = "2026-11-30T20:00:00.000Z"
DISKS = {"flock": Disk, "folder": NoFlock}


@pytest.fixture(params=sorted(DISKS))
def disk(request: pytest.FixtureRequest) -> Disk:
    return DISKS[request.param]()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tmp").mkdir()
    return tmp_path


def store_lock(folder: Path, disk: Disk, clock: FakeClock | None = None) -> StoreLock:
    return StoreLock(disk, f"{folder}/lock", f"{folder}/tmp", clock=clock or FakeClock(), wait=0.5)


def folder_lock(folder: Path, disk: Disk | None = None, clock: FakeClock | None = None) -> DirectoryLock:
    return DirectoryLock(disk or Disk(), f"{folder}/lock.d", f"{folder}/tmp", clock or FakeClock())


def holder_process(store: Path, kind: str) -> subprocess.Popen[bytes]:
    """A process that takes the lock of a store, says so, and holds it."""
    program = (
        "import sys\n"
        "from flask_pi_taskbar.board.faults import NoFlock\n"
        "from flask_pi_taskbar.board.filesystem import Disk\n"
        "from flask_pi_taskbar.board.identity import session\n"
        "from flask_pi_taskbar.board.store import Store\n"
        "from datetime import UTC, datetime\n"
        f"store = Store({str(store)!r}, disk={'Disk()' if kind == 'flock' else 'NoFlock()'})\n"
        "with store.writing(session('s-slow', 'slow'), datetime(2026, 11, 30, 20, tzinfo=UTC)):\n"
        "    print('held', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    process = python(program)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def python(program: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", program]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())


def kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


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


def test_a_lock_file_that_the_server_forgot_is_opened_again_once(folder: Path) -> None:
    answers = [OSError(errno.ESTALE, "stale")]

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "flock" and answers:
            raise answers.pop()
        return call()  # type: ignore[operator]

    with store_lock(folder, WatchedDisk(watch)).held("ann", SINCE) as hold:
        assert not hold.by_directory
    assert not answers


# The folder lock


def dead() -> Holder:
    """A process of this host that is gone for certain."""
    return msgspec.structs.replace(here("gone", SINCE), pid=2**22 + 1, start="0:0", nonce="dead")


def from_another_host(nonce: str = "far") -> Holder:
    return msgspec.structs.replace(here("far", SINCE), host="another", nonce=nonce)


def left_by(folder: Path, holder: Holder) -> None:
    (folder / "lock.d").mkdir()
    (folder / "lock.d" / "owner.json").write_bytes(msgspec.json.encode(holder))


def age(path: Path, seconds: float) -> None:
    then = path.stat().st_mtime - seconds
    os.utime(path, (then, then))


def test_a_living_holder_of_this_host_is_never_given_up(folder: Path) -> None:
    assert folder_lock(folder).take(here("ann", SINCE)) is not None
    age(folder / "lock.d", 3600)
    assert folder_lock(folder).take(here("bob", SINCE)) is None


def test_a_dead_holder_of_this_host_is_given_up_at_once(folder: Path) -> None:
    left_by(folder, dead())
    assert folder_lock(folder).take(here("bob", SINCE)) is not None
    assert (folder / "tmp" / "lock.d.dead" / "owner.json").exists()


def test_a_holder_of_another_host_is_given_up_after_thirty_seconds_of_the_file_systems_clock(folder: Path) -> None:
    left_by(folder, from_another_host())
    age(folder / "lock.d", 29)
    assert folder_lock(folder).take(here("bob", SINCE)) is None
    age(folder / "lock.d", 2)
    assert folder_lock(folder).take(here("bob", SINCE)) is not None


@pytest.mark.parametrize("content", [None, b"", b"{"])
def test_a_folder_whose_owner_never_wrote_itself_down_is_given_up_after_thirty_seconds(
    content: bytes | None, folder: Path
) -> None:
    (folder / "lock.d").mkdir()
    if content is not None:
        (folder / "lock.d" / "owner.json").write_bytes(content)
    assert folder_lock(folder).take(here("bob", SINCE)) is None
    age(folder / "lock.d", 31)
    assert folder_lock(folder).take(here("bob", SINCE)) is not None


def test_the_second_to_give_up_a_holder_does_not_take_the_lock_of_the_first(folder: Path) -> None:
    """The one dangerous moment: it read that the holder is dead, and then somebody else was quicker."""
    left_by(folder, dead())
    first = folder_lock(folder)
    taken = []

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "touch" and not taken:
            taken.append(first.take(here("first", SINCE)))
        return call()  # type: ignore[operator]

    assert folder_lock(folder, WatchedDisk(watch)).take(here("second", SINCE)) is None
    assert taken[0] is not None
    taken[0].check()


def test_a_slow_maker_of_the_folder_does_not_own_what_another_took_over(folder: Path) -> None:
    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        result = call()  # type: ignore[operator]
        if name == "mkdir":
            (folder / "lock.d" / "owner.json").write_bytes(msgspec.json.encode(from_another_host()))
        return result

    assert folder_lock(folder, WatchedDisk(watch)).take(here("slow", SINCE)) is None
    assert (folder / "lock.d" / "owner.json").exists()


def test_a_holder_that_was_given_up_notices_before_it_writes_and_takes_nothing_with_it(folder: Path) -> None:
    clock = FakeClock()
    hold = folder_lock(folder, clock=clock).take(here("slow", SINCE))
    assert hold is not None
    os.rename(folder / "lock.d", folder / "tmp" / "lock.d.taken")
    left_by(folder, from_another_host("next"))
    with pytest.raises(Lost):
        hold.check()
    clock.now = 60.0
    with pytest.raises(Lost):
        hold.check()


def test_a_lost_lock_makes_a_write_busy_and_leaves_the_board(tmp_path: Path) -> None:
    board = Board(tmp_path, disk=NoFlock())
    board.add()
    before = everything(board.path / "cards")

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "sync":  # the temporary file is written; now somebody gives us up
            owner = msgspec.json.decode((board.path / "lock.d" / "owner.json").read_bytes())
            os.rename(board.path / "lock.d", board.path / "tmp" / f"lock.d.{owner['nonce']}")
            left_by(board.path, from_another_host())
        return call()  # type: ignore[operator]

    slow = Board(tmp_path, disk=WatchedDisk(watch, NoFlock()))
    refusal = slow.refused(BOB, "claim", 1)
    assert refusal.code is Code.BUSY
    assert everything(board.path / "cards") == before
    assert (board.path / "lock.d" / "owner.json").exists(), "the lock of the other one was left alone"


def test_the_holder_shows_every_five_seconds_that_it_lives(folder: Path) -> None:
    clock = FakeClock()
    hold = folder_lock(folder, clock=clock).take(here("ann", SINCE))
    assert hold is not None
    age(folder / "lock.d", 20)
    before = (folder / "lock.d").stat().st_mtime
    hold.check()
    assert (folder / "lock.d").stat().st_mtime == before
    clock.now += 5.0
    hold.check()
    assert (folder / "lock.d").stat().st_mtime > before


def test_a_holder_that_slept_for_an_hour_takes_nobodys_lock_with_it(folder: Path) -> None:
    """Its tomb was swept long ago, so that only its nonce can tell."""
    clock = FakeClock()
    hold = folder_lock(folder, clock=clock).take(here("asleep", SINCE))
    assert hold is not None
    (folder / "lock.d" / "owner.json").write_bytes(msgspec.json.encode(from_another_host()))
    clock.now = 3600.0
    hold.release()
    assert (folder / "lock.d" / "owner.json").exists()


@pytest.mark.parametrize(("seconds", "stays"), [(9.9, False), (10.0, True)])
def test_a_holder_that_was_slow_leaves_a_tomb(seconds: float, stays: bool, folder: Path) -> None:
    clock = FakeClock()
    hold = folder_lock(folder, clock=clock).take(here("ann", SINCE))
    assert hold is not None
    clock.now += seconds
    hold.release()
    assert bool(list((folder / "tmp").iterdir())) is stays
    assert not (folder / "lock.d").exists()


def test_a_lock_that_could_not_be_given_back_does_not_stop_its_own_process(folder: Path) -> None:
    failing = [True]

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "rename" and failing:
            raise OSError(errno.EIO, "broken")
        return call()  # type: ignore[operator]

    lock = folder_lock(folder, WatchedDisk(watch))
    hold = lock.take(here("ann", SINCE))
    assert hold is not None
    hold.release()
    failing.clear()
    assert lock.take(here("ann", SINCE)) is not None


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
