"""A real server for the length of a block: started, waited for, and ended with all its workers."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.support.waiting import until

ROOT = Path(__file__).parents[2]
START_SECONDS = 60.0


def free_port() -> int:
    """A port of the loopback that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(
    module: Sequence[str], port: int, log: Path, env: Mapping[str, str], *, cwd: Path = ROOT, path: str = "/"
) -> Iterator[None]:
    """`python -m module…`, which answers at `path` of the port. What it prints goes to `log`."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *module],
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            url = f"http://127.0.0.1:{port}{path}"
            until(lambda: _answers(process, url, log), f"{module[0]} answers", START_SECONDS)
            yield
        finally:
            _end(process)


def _answers(process: subprocess.Popen[bytes], url: str, log: Path) -> bool:
    assert process.poll() is None, log.read_text(errors="replace")
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the server's own group; SIGKILL to what does not end by that."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=10)
