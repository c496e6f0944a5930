"""The fault loop: the process ends, or an error is answered, at every step of every operation on every level.

SQLite's way of testing: one step after another until the operation completes, and each time the board must be the old
one or the new one, the next writer must find everything in order, and what was acknowledged must be there.
"""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from flask_pi_taskbar.board.crashes import FIRST, NOW, OPERATIONS, Finding, Loop, Operation
from flask_pi_taskbar.board.faults import LEVELS
from flask_pi_taskbar.board.filesystem import Disk
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.races import command, environment
from flask_pi_taskbar.board.store import Store

ALL = (FIRST, *OPERATIONS)
WORKING = [level for level in LEVELS if level != "broken"]
OFTEN = ("ENOSPC", "EIO", "ESTALE", "ENOLCK")
SELDOM = ("EROFS", "EACCES", "EMFILE", "EDQUOT", "ENFILE", "EPERM", "EINVAL", "ENOMEM", "ETIMEDOUT", "EINTR", "ENOSYS")
VARIED = [operation for operation in OPERATIONS if operation.name in {"add and join", "drop", "handoff"}]
"""Between them they create, replace, remove, deliver and join."""


def findings(loop: Loop, number: int, operations: Sequence[Operation] = ALL, *, lasting: bool = False) -> list[Finding]:
    return [finding for operation in operations for finding in loop.fail(operation, number, lasting=lasting)]


@pytest.mark.timeout(900)
@pytest.mark.parametrize("level", ["0", "1", pytest.param("1 reserved", marks=pytest.mark.slow), "2"])
def test_a_crash_at_any_step_leaves_the_old_board_or_the_new_one(level: str, quick: Path) -> None:
    run = subprocess.run(
        command("crashes", str(quick), level, "3600"), env=environment(), capture_output=True, text=True
    )
    *wrong, done = run.stdout.splitlines()
    assert wrong == []
    assert run.returncode == 0, run.stderr
    assert int(done.split()[0]) > 1000


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", OFTEN)
def test_an_error_at_any_step_is_a_refusal_that_changed_nothing(name: str, quick: Path) -> None:
    loop = Loop(str(quick))
    assert findings(loop, getattr(errno, name)) == []
    assert loop.steps > 1000


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SELDOM)
def test_rarer_errors_are_refused_too(name: str, quick: Path) -> None:
    loop = Loop(str(quick))
    assert findings(loop, getattr(errno, name), VARIED) == []
    assert loop.steps > 200


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["ENOSPC", "EIO"])
def test_a_disk_that_fails_for_good_loses_nothing_that_was_there(name: str, quick: Path) -> None:
    assert findings(Loop(str(quick)), getattr(errno, name), lasting=True) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("level", WORKING[1:])
@pytest.mark.parametrize("name", ["ENOSPC", "EIO", "ESTALE", "ENOLCK"])
def test_the_same_errors_without_links_or_locks(name: str, level: str, quick: Path) -> None:
    assert findings(Loop(str(quick), LEVELS[level]), getattr(errno, name)) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SELDOM)
def test_rarer_errors_at_any_step_of_every_operation(name: str, quick: Path) -> None:
    assert findings(Loop(str(quick)), getattr(errno, name)) == []


# The loop itself: it has to find what is wrong


def in_place(store: Store) -> None:
    """How not to write a card."""
    path = f"{store.layout.cards}/1.json"
    data = Path(path).read_bytes().replace(b"Free", b"Renamed")
    fd = store.disk.open(path, 0o1001)  # write only, cut to nothing
    store.disk.write(fd, data)
    store.disk.close(fd)


def forgetful(store: Store) -> None:
    """How not to move one."""
    data = Path(f"{store.layout.cards}/1.json").read_bytes()
    store.disk.unlink(f"{store.layout.cards}/1.json")
    fd = store.disk.open(f"{store.layout.dropped}/1.json", 0o101)
    store.disk.write(fd, data)
    store.disk.close(fd)


@pytest.mark.parametrize("wrong", [in_place, forgetful])
def test_the_loop_finds_a_write_that_is_not_whole(wrong: object, quick: Path) -> None:
    program = (
        "import sys\n"
        "from flask_pi_taskbar.board.crashes import Loop, Operation\n"
        "from tests.board_store import test_faults\n"
        f"found = list(Loop({str(quick)!r}).crash(Operation('wrong', test_faults.{wrong.__name__})))\n"  # type: ignore[attr-defined]
        "sys.exit(len(found) > 0)\n"
    )
    assert subprocess.run([*command("")[:1], "-c", program], env=environment()).returncode == 1


def test_the_loop_finds_an_error_that_is_passed_over(quick: Path) -> None:
    def careless(store: Store) -> None:
        try:
            store.apply("claim", {"card": 1}, session("ann", "ann"), now=NOW)
        except Exception:  # noqa: BLE001
            return

    loop = Loop(str(quick), Disk)
    assert any("neither" in finding.what for finding in loop.fail(Operation("careless", careless), errno.ENOSPC))
