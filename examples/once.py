"""`python3 examples --once`: the demo task through the whole stack, from an HTTP request to a changed file."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from examples.bootstrap.project import fingerprint
from examples.client import OVER, Refused, Snapshot, Taskbar

READY_SECONDS = 60.0
UNAVAILABLE_SECONDS = 15.0  # a busy machine may need a second try to start the broker
TASK_SECONDS = 600.0
TAG = "data-pi-browser-taskbar"


def once(url: str, project: Path, prompt: str, say: Callable[[str], None]) -> str | None:
    """Do the task; None when it has changed a file, else the reason why it counts as failed."""
    before = fingerprint(project)
    taskbar = Taskbar(url)
    try:
        if TAG not in taskbar.page():
            return "the page came without the taskbar's tag"
        taskbar.bootstrap()
        session = _ready(taskbar)
        if session["status"] != "ready":
            return f"Pi is {session['status']}: {session['error'] or 'no reason given'}"
        say(f"Pi is ready, model {session['model']}")
        say(f"task: {prompt}")
        task = _finished(taskbar, taskbar.submit(prompt)["task"]["id"], say)
    except Refused as refused:
        return f"the taskbar refused: {refused}"
    except (OSError, TimeoutError) as problem:
        return str(problem)
    if task["status"] != "completed":
        return f"the task {task['status']}: {task['error'] or 'no reason given'}"
    changed = sorted(name for name, digest in fingerprint(project).items() if before.get(name) != digest)
    if not changed:
        return "the task completed, yet no file of the example has changed"
    say(f"changed: {', '.join(changed)}")
    return None


def _ready(taskbar: Taskbar) -> Snapshot:
    """The session once it is ready, or has been unavailable for so long that it will stay so."""
    began = time.monotonic()
    while True:
        session: Snapshot = _session(taskbar)
        waited = time.monotonic() - began
        if session["status"] == "ready" or waited > READY_SECONDS:
            return session
        if session["status"] == "unavailable" and waited > UNAVAILABLE_SECONDS:
            return session
        time.sleep(0.2)


def _session(taskbar: Taskbar) -> Snapshot:
    try:
        return dict(taskbar.state()["session"])
    except OSError:
        return {"status": "out of reach", "error": "the server did not answer"}


def _finished(taskbar: Taskbar, task_id: str, say: Callable[[str], None]) -> Snapshot:
    """The task once it is over; what it does and says is told meanwhile."""
    activity, told = "", 0
    for snapshot in taskbar.follow(TASK_SECONDS):
        task = snapshot["task"]
        if task is None or task["id"] != task_id:
            return {"status": "failed", "error": "another client has taken its place"}
        if task["activity"] != activity:
            activity = task["activity"]
            say(f"  {activity}")
        if task["status"] in OVER:
            for line in task["output"].strip().splitlines()[told:]:
                say(f"  | {line}")
            return dict(task)
    raise AssertionError("unreachable: following ends by a result or by TimeoutError")
