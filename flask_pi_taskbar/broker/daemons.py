"""What a Pi that ends in good order leaves running: programs that a task has started to outlive it.

`setsid -f`, a tmux server, `npm run dev &`: nobody waits for them, and whoever asked for them misses them if they end
with the broker. They can be told from a tool that is at work only where no tool can be at work, so `PiChild.dismiss`
alone asks here, for a Pi that is alive and idle. After a crash, a time limit or an abort that failed, an orphan is an
orphan and is ended. Nothing here sends a signal.
"""

from __future__ import annotations

import os

from flask_pi_taskbar import osdep
from flask_pi_taskbar.osdep import processes
from flask_pi_taskbar.osdep.types import Process


def left_on_purpose(leader: Process, tree: set[Process]) -> set[Process]:
    """Those of `tree`, with their descendants, that have a session of their own and were reparented out of the tree.

    None when the leader is not alive: what its end has orphaned looks the same.
    """
    rows = {row.process: row for row in osdep.process_table()}
    if leader not in rows:
        return set()
    insiders = {leader.pid, os.getpid(), *(process.pid for process in tree)}
    daemons = {
        process
        for process in tree
        if (row := rows.get(process)) and row.session != leader.pid and row.parent not in insiders
    }
    return processes.members(daemons) if daemons else daemons
