"""The one tag that the taskbar needs in a page, and the route that it tells.

The injection wrapper and the Jinja helper write it. It is ASCII, carries no token and nothing of the page, and differs
between pages only in its route and nonce.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html import escape
from typing import Final
from urllib.parse import quote

from flask_pi_taskbar.contract import bounds

ENTRY: Final = "pi_browser_taskbar.js"
_METHOD: Final = re.compile(r"[A-Z]+")


def mount_base(script_name: str, mount_path: str) -> str:
    """The path of our routes as a browser asks for it, below the prefix (WSGI's `SCRIPT_NAME`) that the app has."""
    return quote(script_name.encode("latin-1", "replace").rstrip(b"/"), safe="/~!$&'()*+,;=:@") + mount_path


def script_tag(base: str, route: str | None = None, nonce: str | None = None, origin: str = "") -> str:
    """The tag. `base` is a `mount_base`, `route` the JSON of `route_json`, `origin` the app's own, or nothing."""
    return "".join(
        [
            f'<script type="module" src="{escape(origin + base)}/assets/{ENTRY}" data-pi-browser-taskbar',
            f' data-mount-base="{escape(base)}"',
            f" data-route='{escape(route)}'" if route else "",
            f' nonce="{escape(nonce)}"' if nonce else "",
            "></script>",
        ]
    )


def route_json(method: str, pattern: str, view: Callable[..., object] | None, endpoint: str) -> str | None:
    """What handles the page, as the contract's `route`; None where it would not fit the contract's bounds."""
    handler = view_name(view) if view is not None else ""
    fits = (
        _METHOD.fullmatch(method)
        and len(method) <= bounds.METHOD_BYTES
        and _fits(pattern, bounds.PATTERN_BYTES)
        and _fits(handler, bounds.HANDLER_BYTES)
    )
    if not fits:
        return None
    action = endpoint if _fits(endpoint, bounds.ACTION_BYTES) else None
    return json.dumps(
        {"method": method, "pattern": pattern, "handler": handler, "action": action}, separators=(",", ":")
    )


def view_name(view: Callable[..., object]) -> str:
    """`module:qualified.name` of a view function, of the class behind it, or of what a partial calls."""
    target = getattr(view, "view_class", None) or getattr(view, "func", None) or view
    name = getattr(target, "__qualname__", None) or type(target).__qualname__
    return f"{getattr(target, '__module__', None) or type(target).__module__}:{name}"


def _fits(text: str, limit: int) -> bool:
    try:
        return bool(text.strip()) and len(text.encode()) <= limit
    except UnicodeEncodeError:
        return False
