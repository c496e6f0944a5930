"""Starting a broker by exec, and hearing how that went.

A client calls `launch` when it found no broker. Nothing of the client's process goes along: no descriptor, no terminal,
no import path, no variable of ours. Many clients may do so at once; the election lets one of the brokers live.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flask_pi_taskbar.broker.runtime import PrivateDirectory
from flask_pi_taskbar.broker.unavailable import Unavailable

PRIVATE_PREFIX: Final = "PI_BROWSER_TASKBAR_BROKER_"
GRACE_VARIABLE: Final = PRIVATE_PREFIX + "GRACE"
"""Seconds that a broker waits for a client, for tests; handed over as an argument."""

_SCRUBBED: Final = frozenset({"WERKZEUG_SERVER_FD", "WERKZEUG_RUN_MAIN", "FLASK_RUN_FROM_CLI"})
"""They would make a server that Pi starts take itself for the reloader's child of ours."""

_FROM_CLI: Final = b"FLASK_RUN_FROM_CLI"
_DEBUG: Final = b"FLASK_DEBUG"
"""`flask run --debug` exports it as `1`, and says by the other one that it did. Handed on, it would put every app that
Pi starts, its tests and its scripts, into debug mode. One that the user has set in his shell cannot be told from it,
and goes as well.
"""

_MAIN: Final = str(Path(__file__).with_name("__main__.py"))
_NEEDED: Final = ("msgspec", "psutil")


def scrubbed_environment() -> dict[bytes, bytes]:
    """This process's environment without what would harm a broker, Pi, or a server that Pi starts."""
    private = os.fsencode(PRIVATE_PREFIX)
    scrubbed = {os.fsencode(name) for name in _SCRUBBED}
    if _FROM_CLI in os.environb:
        scrubbed.add(_DEBUG)
    return {name: value for name, value in os.environb.items() if name not in scrubbed and not name.startswith(private)}


def launch(root: Path, deadline: float) -> bool:
    """Start a broker for `root` and wait until it can be reached (True), or until it has lost the election (False).

    Raises `Unavailable` with its own words when it could not start, and when `deadline` (monotonic) passes.
    """
    ours, theirs = socket.socketpair()
    with ours, theirs:
        try:
            process = subprocess.Popen(
                command(root),
                cwd=root,
                env=scrubbed_environment(),
                stdin=subprocess.DEVNULL,
                stdout=theirs.fileno(),
                stderr=theirs.fileno(),
                close_fds=True,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise Unavailable(f"the broker could not be started: {error}") from error
        theirs.close()
        try:
            words = _listen(ours, deadline)
        finally:
            # What we started has passed the work on and ended; it only has to be collected.
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=1)
    return _understand(words)


def command(root: Path) -> list[str]:
    """How a broker is started; see `__main__` for why like this."""
    options = ["-I", "-S"]
    if sys.dont_write_bytecode:
        options.append("-B")
    if sys.pycache_prefix:
        options += ["-X", f"pycache_prefix={sys.pycache_prefix}"]
    paths = [part for folder in _import_folders() for part in ("--path", folder)]
    grace = os.environ.get(GRACE_VARIABLE)
    extra = ["--grace", grace] if grace else []
    return [_interpreter(), *options, _MAIN, "--detach", *paths, "--root", str(root), *extra]


def _interpreter() -> str:
    """The Python to run: this one, unless the program that embeds it (uWSGI) is what `sys.executable` names."""
    if Path(sys.executable).name.startswith(("python", "pypy")):
        return sys.executable
    return str(Path(sys.prefix, "bin", "python3"))


def _import_folders() -> list[str]:
    """Where the broker's modules are found: what it needs first, this package's folder, perhaps a source tree, last."""
    from importlib.util import find_spec

    folders: list[str] = []
    for name in (*_NEEDED, __package__.partition(".")[0]):
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            folders.append(str(Path(spec.origin).parent.parent))
    return list(dict.fromkeys(folders))


@contextlib.contextmanager
def turn(directory: PrivateDirectory) -> Iterator[bool]:
    """Take turns at launching: False when another process is at it. Sixteen workers need not start sixteen brokers.

    It only saves work. Who may be the broker is decided by the election.
    """
    lock = directory.open_lock("launch.lock")
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(lock)


def _listen(ours: socket.socket, deadline: float) -> str:
    """Everything up to and including the line that says how it went, or all there is."""
    heard = b""
    while True:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            raise Unavailable("the broker did not start in time")
        ours.settimeout(remaining)
        try:
            part = ours.recv(4096)
        except TimeoutError:
            continue
        heard = (heard + part)[-8192:]
        if not part or heard.endswith(b"\n"):
            text = heard.decode(errors="replace")
            if not part or _verdict(text):
                return text


def _verdict(text: str) -> str:
    """The last line that is one of the broker's three, or nothing."""
    for line in reversed(text.splitlines()):
        if line in ("ready", "lost") or line.startswith("failed: "):
            return line
    return ""


def _understand(words: str) -> bool:
    verdict = _verdict(words)
    if verdict == "ready":
        return True
    if verdict == "lost":
        return False
    if verdict:
        raise Unavailable(verdict.removeprefix("failed: "))
    lines = words.strip().splitlines()
    raise Unavailable(f"the broker ended before it was ready: {lines[-1] if lines else 'it said nothing'}")
