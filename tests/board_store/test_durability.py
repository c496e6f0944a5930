"""What is told is on the disk: the order of the calls of each write, recorded, and once seen from outside."""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from flask_pi_taskbar.board.faults import Counted, WatchedDisk
from flask_pi_taskbar.board.races import environment
from tests.board_store.boards import ANN, Board, everything

STRACE = shutil.which("strace")


def record(tmp_path: Path, *call: object, **fields: object) -> list[str]:
    """The steps of one write as words: `write tmp`, `sync tmp`, `rename tmp cards/1.json`, …"""
    watcher = Counted()
    board = Board(tmp_path, disk=WatchedDisk(watcher))
    Board(tmp_path).add()
    board.ann("note", 1, text="the probe is over")
    watcher.steps.clear()
    board.call(ANN, *call, **fields)  # type: ignore[arg-type]
    open_files: dict[object, str] = {}
    words = []
    descriptors = iter(_descriptors(watcher))
    for name, arguments in watcher.steps:
        if name == "open":
            open_files[next(descriptors)] = _short(board, arguments[0])
        elif name in {"write", "write_at", "sync"}:
            words.append(f"{name} {open_files[arguments[0]]}")
        elif name in {"link", "rename", "unlink"}:
            words.append(" ".join([name, *(_short(board, argument) for argument in arguments)]))
    return [word for word in words if not word.endswith(" lock")]


def _descriptors(watcher: Counted) -> list[object]:
    """The descriptor that each `open` gave, told by the first call that uses it."""
    given = []
    for at, (name, _) in enumerate(watcher.steps):
        if name == "open":
            users = (arguments[0] for later, arguments in watcher.steps[at + 1 :] if later in _BY_DESCRIPTOR)
            given.append(next(users))
    return given


_BY_DESCRIPTOR = {"close", "read", "read_at", "write", "write_at", "sync", "fstat", "flock"}


def _short(board: Board, path: object) -> str:
    inside = str(path).removeprefix(f"{board.path}/")
    return "temp" if inside.startswith("tmp/") else inside


UPDATE = ["write temp", "sync temp", "rename temp cards/1.json", "sync cards", "write journal.jsonl"]


def test_an_update_is_durable_before_it_is_seen_and_before_it_is_told(tmp_path: Path) -> None:
    assert record(tmp_path, "claim", 1) == UPDATE


def test_an_add_is_durable_before_it_has_a_name(tmp_path: Path) -> None:
    assert record(tmp_path, "add", title="Second") == [
        "write temp",
        "sync temp",
        "link temp cards/2.json",
        "unlink temp",
        "write temp",
        "rename temp seq",
        "sync cards",
        "write journal.jsonl",
    ]


def test_a_dropped_cards_copy_is_durable_before_the_card_goes(tmp_path: Path) -> None:
    assert record(tmp_path, "drop", 1) == [
        "write temp",
        "sync temp",
        "rename temp dropped/1.json",
        "sync dropped",
        "unlink cards/1.json",
        "sync cards",
        "write journal.jsonl",
    ]


def test_a_refused_call_writes_nothing_but_who_held_the_lock(tmp_path: Path) -> None:
    board = Board(tmp_path)
    board.add()
    board.ann("claim", 1)
    before = everything(board.path)
    board.refused(ANN, "drop", 9)
    board.refused(ANN, "edit", 1, title="")
    board.ann("claim", 1)
    after = everything(board.path)
    for path in ("lock", "tmp"):  # the probe of a new process, and the holder's line
        before.pop(path)
        after.pop(path)
    assert before == after


def test_a_new_store_is_private_and_its_folders_are_durable(tmp_path: Path) -> None:
    watcher = Counted()
    board = Board(tmp_path / "agent" / "pi-taskbar", disk=WatchedDisk(watcher))
    old = os.umask(0)
    try:
        board.add()
    finally:
        os.umask(old)
    for path in [board.path, *board.path.rglob("*")]:
        expected = 0o700 if path.is_dir() else 0o600
        assert stat.S_IMODE(path.stat().st_mode) == expected, path
    made = [str(arguments[0]) for name, arguments in watcher.steps if name == "mkdir"]
    opened = [str(arguments[0]) for name, arguments in watcher.steps if name == "open"]
    for path in made:
        assert str(Path(path).parent) in opened, f"the folder of {path} is synced"


@pytest.mark.skipif(STRACE is None, reason="strace is not installed")
def test_the_kernel_sees_fsync_before_rename_and_the_folders_fsync_after(tmp_path: Path) -> None:
    """Rename without fsync: empty or old file after power loss -> strace of one write."""
    Board(tmp_path).add()
    program = (
        "from datetime import UTC, datetime\n"
        "from flask_pi_taskbar.board.identity import session\n"
        "from flask_pi_taskbar.board.store import Store\n"
        f"Store({str(tmp_path / 'board')!r}).apply('claim', {{'card': 1}}, session('s-ann', 'ann'), "
        "now=datetime(2026, 11, 30, 20, tzinfo=UTC))\n"
    )
    trace = tmp_path / "trace"
    calls = "openat,fsync,rename,renameat,renameat2,close,flock"
    command = [str(STRACE), "-y", "-e", f"trace={calls}", "-o", str(trace), sys.executable, "-c", program]
    run = subprocess.run(command, env=environment(), capture_output=True, text=True)
    if "ptrace" in run.stderr and run.returncode != 0:
        pytest.skip("this system does not let a process be traced")
    assert run.returncode == 0, run.stderr
    lines = trace.read_text().splitlines()
    renamed = next(at for at, line in enumerate(lines) if line.startswith("rename") and "/cards/1.json" in line)
    temp = re.search(r'"([^"]*/tmp/[^"]+)"', lines[renamed])
    assert temp is not None
    synced = [at for at, line in enumerate(lines) if line.startswith("fsync") and f"<{temp[1]}>" in line]
    folder = [
        at
        for at, line in enumerate(lines)
        if line.startswith("fsync") and line.split("<")[1].startswith(f"{tmp_path}/board/cards>")
    ]
    locks = [at for at, line in enumerate(lines) if line.startswith("flock") and "board/lock>" in line]
    assert synced
    assert folder
    assert locks[0] < synced[0] < renamed < folder[-1] < locks[-1]
