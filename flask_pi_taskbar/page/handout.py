"""Giving the lead's address again to the session that started the page, and opening a browser at it.

The page's note carries the viewer's link only. The lead's lies in the private runtime directory beside the taskbar's
secret, with the name of the session that may have it, and goes when the page stops. A browser is sent to a private file
there that leads on to the page: what stands on a command line, every user of the machine can read in `ps`.
"""

from __future__ import annotations

import contextlib
import os
import sys
import webbrowser
from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Final

import msgspec

from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.broker.runtime import PrivateDirectory, Refused
from flask_pi_taskbar.project import NoHome, runtime_dir

LEAD_FILE: Final = "board-lead.json"
LEAD_OUT: Final = "board.html"
_DISPLAYS: Final = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


class Handout(msgspec.Struct, frozen=True):
    """The lead's address of one start of the page, and the session that may have it."""

    epoch: str
    session: str
    url: str


def keep(store: Store, handout: Handout) -> str | None:
    """Keep the lead's address for its session; what was wrong if it could not be kept."""
    try:
        with _directory(store) as directory:
            directory.write(LEAD_FILE, msgspec.json.encode(handout))
    except (Refused, NoHome, OSError) as error:
        return str(error)
    return None


def lead_url(store: Store, epoch: str, session_id: str) -> str | None:
    """The lead's address of the page with this epoch, if this session started it."""
    try:
        with _directory(store) as directory:
            data = directory.read(LEAD_FILE)
        found = msgspec.json.decode(data, type=Handout) if data else None
    except (Refused, NoHome, OSError, msgspec.DecodeError):
        return None
    if found is None or (found.epoch, found.session) != (epoch, session_id):
        return None
    return found.url


def forget(store: Store, epoch: str) -> None:
    """Take the address away, if it is that of this epoch."""
    with contextlib.suppress(Refused, NoHome, OSError, msgspec.DecodeError), _directory(store) as directory:
        data = directory.read(LEAD_FILE)
        if data and msgspec.json.decode(data, type=Handout).epoch == epoch:
            directory.remove(LEAD_FILE)
            directory.remove(LEAD_OUT)


def open_browser(store: Store, url: str, environ: Mapping[str, str] = os.environ) -> bool:
    """Open `url` in the user's browser; False where there is none, or none that has a window."""
    if sys.platform != "darwin" and not any(environ.get(name) for name in _DISPLAYS):
        return False  # what would be found is a text browser, which would take the terminal
    page = (
        '<!doctype html><meta charset="utf-8"><meta name="referrer" content="no-referrer"><title>Board</title>'
        f'<meta http-equiv="refresh" content="0;url={escape(url)}"><a href="{escape(url)}">Open the board</a>\n'
    )
    try:
        with _directory(store) as directory:
            directory.write(LEAD_OUT, page.encode())
            path = directory.path / LEAD_OUT
        return webbrowser.open(path.as_uri())
    except (Refused, NoHome, OSError, webbrowser.Error):
        return False


def _directory(store: Store) -> PrivateDirectory:
    return PrivateDirectory.open(runtime_dir(Path(store.layout.root)))
