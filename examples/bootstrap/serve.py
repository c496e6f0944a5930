"""Starts the example's server and ends everything that came of it: the server, the broker and the broker's Pi."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from examples.bootstrap.environment import Environment
from examples.bootstrap.explain import SetupError

DEFAULT_PORT = 5000
READY_SECONDS = 60.0
# Variables of the user's shell that would make the example's server another one.
LEFT_OUT = ("FLASK_", "PI_BROWSER_TASKBAR_", "QUICKSTART_", "WERKZEUG_", "GUNICORN_", "PYTHONHOME", "PYTHONPATH")


def port_for(wanted: int | None) -> int:
    """The port to serve on: the one that is wanted, or the first free one from 5000 on."""
    for port in (wanted,) if wanted is not None else (*range(DEFAULT_PORT, DEFAULT_PORT + 100), 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OverflowError:
                reason = "it is no port number, 0 to 65535"
            except OSError as problem:
                reason = problem.strerror
            else:
                return int(probe.getsockname()[1])
    raise SetupError(f"Port {wanted} cannot be used: {reason}", "Leave --port out, and the next free one is taken.")


def command(environment: Environment, port: int, *, workers: int) -> list[str]:
    """`flask run --debug`, or gunicorn with so many workers."""
    if workers:
        bind = ["--bind", f"127.0.0.1:{port}", "--workers", str(workers), "--threads", "4"]
        return [str(environment.python.parent / "gunicorn"), *bind, "app:app"]
    return [str(environment.python.parent / "flask"), "--app", "app", "run", "--debug", "--port", str(port)]


def environ(environment: Environment, extra: Mapping[str, str]) -> dict[str, str]:
    """The server's environment: the user's without what would change the example, our own programs first on PATH."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LEFT_OUT)}
    path = f"{environment.python.parent}{os.pathsep}{kept.get('PATH', os.defpath)}"
    return kept | {"PATH": path, "FLASK_DEBUG": "1", "FLASK_SKIP_DOTENV": "1", "PYTHONUNBUFFERED": "1"} | dict(extra)


@contextlib.contextmanager
def serving(
    argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], url: str, record: Path, log: Path | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """A server that answers at `url`; ended, with all its processes, when the block is left.

    It runs in a session of its own, so that Ctrl-C reaches only us and we can end things in their order. Its number
    goes into `record`, so that `end_leftover` finds it when we are killed first.
    """
    output = log.open("wb") if log else None
    with contextlib.ExitStack() as stack:
        if output:
            stack.enter_context(output)
        process = subprocess.Popen(
            argv, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
        record.write_text(str(process.pid))
        stack.callback(record.unlink, missing_ok=True)
        stack.callback(_end, process.pid, process.poll)
        _await(process, url, log)
        yield process


def _await(process: subprocess.Popen[bytes], url: str, log: Path | None) -> None:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    until = time.monotonic() + READY_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise SetupError(f"The example's server ended with {process.returncode}", _last_words(log), log)
        try:
            with opener.open(url, timeout=5):
                return
        except urllib.error.HTTPError as error:
            error.close()
            raise SetupError(f"The example's page answers with HTTP {error.code}", _last_words(log), log) from None
        except OSError:
            time.sleep(0.1)
    raise SetupError(f"The example's server did not answer within {READY_SECONDS:.0f} s", "Start it again.", log)


def _last_words(log: Path | None) -> str:
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()] if log else []
    return f"Its last words: {lines[-1]}" if lines else "What it printed above says why."


def end_leftover(record: Path, programs: Path) -> None:
    """End the server that an earlier start left, if it was killed: the one in `record`, if it is from `programs`."""
    try:
        pid = int(record.read_text())
    except (OSError, ValueError):
        return
    if str(programs) in _command_line(pid):
        _end(pid, lambda: None)
    record.unlink(missing_ok=True)


def _command_line(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        pass
    try:
        return subprocess.run(["ps", "-o", "args=", "-p", str(pid)], capture_output=True, text=True).stdout
    except OSError:
        return ""


def _end(group: int, reap: Callable[[], object]) -> None:
    """SIGTERM to the server's whole group, SIGKILL to what is left of it."""
    with undisturbed():
        for sign, seconds in ((signal.SIGTERM, 5.0), (signal.SIGKILL, 2.0)):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(group, sign)
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                reap()
                if not _group_lives(group):
                    return
                time.sleep(0.05)


def _group_lives(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def stop_broker(environment: Environment, project: Path, env: Mapping[str, str]) -> None:
    """End this project's broker and its Pi, if it has one."""
    with undisturbed(), contextlib.suppress(OSError, subprocess.TimeoutExpired):
        subprocess.run(
            [str(environment.python.parent / "pi-taskbar"), "broker", "stop"],
            cwd=project,
            env=dict(env),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=20,
        )


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """A second Ctrl-C must not leave an agent behind."""
    before = {sign: signal.signal(sign, signal.SIG_IGN) for sign in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for sign, handler in before.items():
            signal.signal(sign, handler)
