"""`python3 examples --once`: the demo task through the whole stack, from an HTTP request to a changed file."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from examples.bootstrap.project import fingerprint
from examples.client import OVER, Refused, Snapshot, Taskbar

READY_SECONDS = 60.0
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
    return next(
        dict(snapshot["session"])
        for snapshot in taskbar.follow(READY_SECONDS)
        if snapshot["session"]["status"] in ("ready", "unavailable")
    )


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
