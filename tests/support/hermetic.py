"""A world of the tests' own: home, XDG directories and temporary files, so that no test meets the user's Pi or state.

It is made when pytest starts and removed when it ends. Each process that a test starts inherits its marker, and by the
marker, never by name, what was left behind is found. A watchdog does the same if pytest dies first.
"""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil

MARKER = "PI_TASKBAR_TEST_SESSION"
# The user's variables that would change what is tested.
REMOVED = ("PI_", "FLASK_", "WERKZEUG_", "QUICKSTART_", "GUNICORN_", "XDG_", "SERVER_SOFTWARE")
KEPT = ("PI_TASKBAR_",)
# Node's and Pi's caches of compiled code are caches: they may stay until the world goes.
CACHES = ("node-compile-cache", "jiti")


@dataclass(frozen=True)
class World:
    """The directories of one test session; short, since sockets live in them."""

    root: Path
    marker: str
    before: dict[str, str]
    watchdog: subprocess.Popen[bytes]

    @property
    def temporary(self) -> Path:
        return self.root / "tmp"


def enter() -> World:
    """Make the world and let this process, and all that it starts, live in it."""
    outside = tempfile.gettempdir()
    root, marker = Path(tempfile.mkdtemp(prefix="pt-")), secrets.token_hex(8)
    world = World(root, marker, dict(os.environ), _watched(root, marker))
    for name in ("home", "run", "state", "config", "cache", "data", "tmp"):
        (root / name).mkdir(mode=0o700)
    for name in list(os.environ):
        if name.startswith(REMOVED) and not name.startswith(KEPT):
            del os.environ[name]
    os.environ.update(
        {
            "HOME": str(root / "home"),
            "XDG_RUNTIME_DIR": str(root / "run"),
            "XDG_STATE_HOME": str(root / "state"),
            "XDG_CONFIG_HOME": str(root / "config"),
            "XDG_CACHE_HOME": str(root / "cache"),
            "XDG_DATA_HOME": str(root / "data"),
            "TMPDIR": str(root / "tmp"),
            "PYTEST_DEBUG_TEMPROOT": outside,  # pytest's own tmp_path stays where it always is
            "PI_OFFLINE": "1",
            "PI_SKIP_VERSION_CHECK": "1",
            "PI_TELEMETRY": "0",
            "SE_OFFLINE": "true",  # selenium must not fetch a browser
            "SE_AVOID_STATS": "true",
            "BROWSER": "true",  # the program: no test opens a page in the browser of whoever runs it
            MARKER: world.marker,
        }
    )
    tempfile.tempdir = None
    return world


def _watched(root: Path, marker: str) -> subprocess.Popen[bytes]:
    """Start what cleans up if we cannot; see `tests.support.watchdog`."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.support.watchdog", marker, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )


def leave(world: World) -> None:
    """End what still runs, so that nothing writes into the world once it is gone, and remove it."""
    leftovers(world.marker)
    world.watchdog.communicate()
    os.environ.clear()
    os.environ.update(world.before)
    tempfile.tempdir = None
    shutil.rmtree(world.root, ignore_errors=True)


def marked(value: str, name: str = MARKER) -> Iterator[psutil.Process]:
    """Processes other than this one that inherited `name=value`."""
    own = os.getpid()
    for process in psutil.process_iter():
        try:
            if process.pid != own and process.environ().get(name) == value:
                yield process
        except (psutil.Error, OSError):
            continue


def leftovers(value: str, name: str = MARKER, seconds: float = 5.0) -> list[str]:
    """What still runs with the marker after so long; it is killed then, so that the next test starts clean."""
    found = list(marked(value, name))
    _, alive = psutil.wait_procs(found, timeout=seconds)
    alive += [process for process in marked(value, name) if process not in found]
    told = []
    for process in alive:
        try:
            told.append(f"{process.pid} {' '.join(process.cmdline())[:150]}")
            process.kill()
        except psutil.Error:
            continue
    psutil.wait_procs(alive, timeout=2)
    return told


def temporary_files(world: World) -> list[str]:
    """What tests left in the temporary directory."""
    return sorted(path.name for path in world.temporary.iterdir() if not path.name.startswith(CACHES))
