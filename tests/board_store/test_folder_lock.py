"""The lock where there is no `flock`: whom it gives up and when, and that a takeover never hits the living."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import msgspec
import pytest

from flask_pi_taskbar.board.faults import NoFlock, WatchedDisk
from flask_pi_taskbar.board.holder import Lost, here
from flask_pi_taskbar.board.refusal import Code
from tests.board_store.boards import BOB, Board, FakeClock, everything
from tests.board_store.locks import (
    SINCE,
    age,
    dead,
    folder_lock,
    from_another_host,
    left_by,
)


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


def test_a_lock_lost_after_the_card_was_written_costs_the_join_only(tmp_path: Path) -> None:
    board = Board(tmp_path, disk=NoFlock())
    board.add()
    syncs = []

    def watch(name: str, arguments: tuple[object, ...], call: object) -> object:
        if name == "sync":
            syncs.append(name)
            if len(syncs) == 3:  # the card, its folder, and now the record of the session
                (board.path / "lock.d" / "owner.json").write_bytes(msgspec.json.encode(from_another_host()))
        return call()  # type: ignore[operator]

    answer = Board(tmp_path, disk=WatchedDisk(watch, NoFlock())).bob("claim", 1)
    assert answer["team"] == {"label": "bob", "joined": False, "why": "the lock was lost"}
    assert board.card(1).rev == 2


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
