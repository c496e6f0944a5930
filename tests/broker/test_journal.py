"""The journal: what was admitted outlives a crash at any step, and nothing else comes back."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker.journal import COMPACT_BYTES, NAME, Begun, Journal


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "pi-taskbar" / "0123456789ab"


def begin(state: Path, number: int = 1) -> Begun:
    task = Begun(f"task-{number}", f"prompt {number} – with ünïcode\nand lines", "2026-01-01T00:00:00.000000Z")
    Journal(state).begin(task.id, task.prompt, task.started_at)
    return task


def test_an_empty_place_has_no_interrupted_task(state: Path) -> None:
    assert Journal(state).interrupted() is None


def test_an_unsettled_task_comes_back(state: Path) -> None:
    task = begin(state)
    assert Journal(state).interrupted() == task


def test_it_comes_back_again_until_something_else_happens(state: Path) -> None:
    task = begin(state)
    assert Journal(state).interrupted() == task
    assert Journal(state).interrupted() == task
    newer = begin(state, 2)
    assert Journal(state).interrupted() == newer


def test_a_settled_task_does_not_come_back_and_its_prompt_is_cleared_away(state: Path) -> None:
    task = begin(state)
    Journal(state).end(task.id, "completed")
    assert Journal(state).interrupted() is None
    assert (state / NAME).read_bytes() == b""


def test_a_mark_for_another_task_settles_nothing(state: Path) -> None:
    task = begin(state)
    Journal(state).end("another", "completed")
    assert Journal(state).interrupted() == task


def test_a_forgotten_task_does_not_come_back(state: Path) -> None:
    begin(state)
    Journal(state).forget()
    assert Journal(state).interrupted() is None


def test_the_file_is_private(state: Path) -> None:
    begin(state)
    assert (state / NAME).stat().st_mode & 0o777 == 0o600


def test_a_tail_torn_at_any_byte_is_tolerated(state: Path) -> None:
    first = begin(state, 1)
    size = (state / NAME).stat().st_size
    begin(state, 2)
    whole = (state / NAME).read_bytes()
    for cut in range(size, len(whole)):
        (state / NAME).write_bytes(whole[:cut])
        found = Journal(state).interrupted()
        assert found is not None
        # Only the final newline may be missing for the second one to be complete.
        assert found.id == ("task-2" if cut == len(whole) - 1 else first.id)


def test_what_follows_a_torn_tail_is_not_glued_to_it(state: Path) -> None:
    begin(state, 1)
    whole = (state / NAME).read_bytes()
    (state / NAME).write_bytes(whole + whole[:20])
    journal = Journal(state)
    journal.interrupted()
    journal.begin("task-3", "three", "now")
    assert Journal(state).interrupted() == Begun("task-3", "three", "now")


@pytest.mark.parametrize("junk", [b"\0" * 500, b"{}\n", b"[1]\n", b"\xff\xfe\n", b'{"type":"begun"}\n'])
def test_damage_hides_nothing_behind_it(state: Path, junk: bytes) -> None:
    task = begin(state)
    (state / NAME).write_bytes(junk + b"\n" + (state / NAME).read_bytes())
    assert Journal(state).interrupted() == task


@pytest.mark.parametrize("step", ["write", "durable_sync"])
def test_a_full_disk_is_reported_and_leaves_no_half_line(
    state: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    first = begin(state, 1)
    before = (state / NAME).read_bytes()
    real_write, calls = os.write, []

    def half(fd: int, data: memoryview) -> int:
        calls.append(1)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, "full")
        return real_write(fd, data[: len(data) // 2])

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "full")

    if step == "write":
        monkeypatch.setattr(os, "write", half)
    else:
        monkeypatch.setattr(osdep, "durable_sync", full)
    with pytest.raises(OSError, match="full"):
        begin(state, 2)
    monkeypatch.undo()
    assert (state / NAME).read_bytes() == before
    assert Journal(state).interrupted() == first


def test_it_is_on_the_disk_before_begin_returns(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[bytes] = []

    def sync(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").read_bytes() if Path("/proc").exists() else b"task-1")
        os.fsync(fd)

    monkeypatch.setattr(osdep, "durable_sync", sync)
    begin(state)
    assert b"task-1" in synced[-1]


def test_many_tasks_do_not_make_it_grow(state: Path) -> None:
    journal = Journal(state)
    for number in range(60):
        journal.begin(f"task-{number}", "x" * 4_000, "now")
        journal.end(f"task-{number}", "completed")
    assert (state / NAME).stat().st_size < COMPACT_BYTES + 10_000
    assert Journal(state).interrupted() is None
    journal.begin("last", "y", "now")
    assert Journal(state).interrupted() == Begun("last", "y", "now")


def test_a_state_folder_removed_meanwhile_is_made_anew(state: Path) -> None:
    journal = Journal(state)
    journal.begin("one", "x", "now")
    shutil.rmtree(state)
    journal.begin("two", "y", "now")
    assert Journal(state).interrupted() == Begun("two", "y", "now")
