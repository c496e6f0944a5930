"""Process trees: which processes belong together, and how to end every one of them.

The broker finds with it what a Pi left behind and what a dead broker left behind; holders will do the same for tabs. A
tree is more than a process group: Pi's bash tool runs in a session of its own, and an orphan has lost its parent. So
members are found by descent, by group, by a marker in the environment and from earlier records, all at once.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable
from typing import Final

from flask_pi_taskbar import osdep
from flask_pi_taskbar.osdep.types import Process, Row

ROUNDS: Final = 20
"""A tree that forks faster than we look ends within a few rounds of stop, look again, kill; this only bounds it."""

POLL_SECONDS: Final = 0.01


def me() -> Process:
    pid = os.getpid()
    return Process(pid, osdep.start_of(pid) or "")


def is_alive(process: Process) -> bool:
    return osdep.start_of(process.pid) == process.start


def members(roots: Iterable[Process], *, groups: Iterable[int] = (), marker: bytes = b"") -> set[Process]:
    """The living processes that belong to a tree, never ourselves: the `roots`, what is in one of the process groups or
    sessions `groups`, what carries `marker`, and all descendants of these.

    The caller vouches for `groups`: a number is safe only while the leader, be it a zombie, has not been reaped.
    """
    table = osdep.process_table()
    children: dict[int, list[Row]] = {}
    for row in table:
        children.setdefault(row.parent, []).append(row)
    starts = dict(roots)
    numbers = set(groups)
    queue = [
        row
        for row in table
        if starts.get(row.pid) == row.start
        or row.group in numbers
        or row.session in numbers
        or (marker and carries(row.pid, marker))
    ]
    ours = os.getpid()
    found: set[Process] = set()
    while queue:
        row = queue.pop()
        if row.pid != ours and row.process not in found:
            found.add(row.process)
            queue.extend(children.get(row.pid, ()))
    return found


def carries(pid: int, marker: bytes) -> bool:
    """`pid` was started with a variable that begins with `marker` (`NAME=` and a value, or the beginning of one)."""
    return b"\0" + marker in b"\0" + osdep.environment_of(pid)


def end(find: Callable[[], set[Process]]) -> set[Process]:
    """Kill all that `find` finds, until it finds nothing; what is still there after `ROUNDS` is returned.

    Everything is stopped before anything is killed: a member that runs on could start another one in between, and one
    whose parent is killed first is no longer found by descent.
    """
    known: set[Process] = set()
    for _ in range(ROUNDS):
        found = find() | {process for process in known if is_alive(process)}
        if not found:
            return found
        while fresh := found - known:
            for process in fresh:
                osdep.send_signal(process, signal.SIGSTOP)
            known |= fresh
            found |= find()
        for process in found:
            osdep.send_signal(process, signal.SIGKILL)
        _wait_for_end(found)
    return {process for process in known if is_alive(process)}


def _wait_for_end(processes: set[Process]) -> None:
    for _ in range(10):
        if not any(is_alive(process) for process in processes):
            return
        time.sleep(POLL_SECONDS)
