"""Pages and snapshots that browser tests are made of.

Every page carries the tag as the server injects it and, unless a test says otherwise, the strictest policy a page can
have: no styles, no inline script, no connection elsewhere, trusted types. What works here works everywhere.
"""

from __future__ import annotations

import html
import json
from datetime import UTC, datetime, timedelta
from typing import Any

MOUNT = "/dev/pi-browser-taskbar"
STRICT = (
    "default-src 'none'; script-src 'nonce-page'; connect-src 'self'; base-uri 'none'; "
    "require-trusted-types-for 'script'"
)
BODY = """
<main id="shop" class="wide shop"><h1>Cards</h1>
<p>Twelve cards for every occasion.</p>
<form action="/search"><label>Search <input name="q"></label> <button>Go</button></form>
<a class="btn" href="/cards/42?page=2">Birthday</a></main>
"""


def tag(*, route: dict[str, Any] | None = None, extra: str = "") -> str:
    data = f" data-route='{html.escape(json.dumps(route))}'" if route else ""
    return (
        f'<script type="module" src="{MOUNT}/assets/pi_browser_taskbar.js" data-pi-browser-taskbar '
        f'data-mount-base="{MOUNT}"{data} nonce="page" {extra}></script>'
    )


def page(
    body: str = BODY,
    *,
    head: str = "",
    root: str = "",
    route: dict[str, Any] | None = None,
    tag_extra: str = "",
    tags: str | None = None,
) -> str:
    injected = tag(route=route, extra=tag_extra) if tags is None else tags
    return (
        f"<!doctype html><html lang=en {root}><head><meta charset=utf-8><title>Acme</title>"
        f'<meta name="viewport" content="width=device-width">{head}</head><body>{body}{injected}</body></html>'
    )


def script(source: str) -> str:
    return f'<script nonce="page">{source}</script>'


def stamp(ago: float = 0.0) -> str:
    moment = datetime.now(UTC) - timedelta(seconds=ago)
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def session(status: str, **fields: Any) -> dict[str, Any]:
    return {"id": "session-1", "status": status, "model": "anthropic/claude-sonnet-4-5", "error": None} | fields


def snapshot(state: dict[str, Any], task: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"contract_version": 1, "session": state, "task": task}


def task(prompt: str, status: str, **fields: Any) -> dict[str, Any]:
    return {
        "id": "task-1",
        "prompt": prompt,
        "status": status,
        "output": "",
        "output_truncated": False,
        "activity": "Starting Pi",
        "error": None,
        "started_at": stamp(0),
        "finished_at": None,
    } | fields


def ready(*, session_id: str = "session-1") -> dict[str, Any]:
    return snapshot(session("ready", id=session_id))


def starting() -> dict[str, Any]:
    return snapshot(session("starting", id=None, model=None))


def unavailable(error: str = "Pi could not be restarted") -> dict[str, Any]:
    return snapshot(session("unavailable", id=None, model=None, error=error))


def running(
    prompt: str = "Make the checkout button larger",
    *,
    task_id: str = "task-1",
    session_id: str = "session-1",
    **fields: Any,
) -> dict[str, Any]:
    return snapshot(session("busy", id=session_id), task(prompt, "running", id=task_id, **fields))


def ended(status: str, prompt: str = "Make the checkout button larger", **fields: Any) -> dict[str, Any]:
    activity = {"completed": "Task completed", "failed": "Task failed", "cancelled": "Task stopped"}[status]
    return snapshot(
        session("ready"), task(prompt, status, **({"activity": activity, "finished_at": stamp(0)} | fields))
    )
