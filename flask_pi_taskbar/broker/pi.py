"""One Pi child: its command line, its three pipes, its end.

The engine makes one for every `Spawn` and feeds the session with what it reports. It decides nothing about tasks. The
leader is not reaped before its whole tree is gone, so its number, which is its group's number too, cannot be given to
anybody else while signals are sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker.daemons import left_on_purpose
from flask_pi_taskbar.broker.reception import Settings
from flask_pi_taskbar.broker.records import Fault, RecordReader
from flask_pi_taskbar.osdep import processes
from flask_pi_taskbar.osdep.types import Process

POLICY: Final = (
    "You were handed one task from a web page and nobody can answer you while you work on it. "
    "Bring it to an end without asking the user anything. "
    "Read the repository and use the page context that comes with the task. "
    "Where something is not said, choose the most cautious assumption that works. "
    "When asked to change something, change it; when asked only to plan, explain or look, change nothing. "
    "Do not try the same failing step again unchanged. "
    "If the task cannot be done safely, stop and say what stands in the way."
)
"""Appended to Pi's system prompt. Pi would read a file of this name instead; no file name is that long."""

WRITE_SECONDS: Final = 10.0
"""Pi has stopped reading when it has taken nothing for this long. Node may compute for seconds, not for ten."""

TERM_SECONDS: Final = 1.0
"""From SIGTERM to SIGKILL; real Pi needs 15 ms."""

READ_BYTES: Final = 262_144
_EXIT_POLL: Final = 0.1
_TREE_POLL: Final = 0.02
_DRAIN_READS: Final = 256

Run = Callable[..., Awaitable[Any]]
"""Runs a blocking function with its arguments on the file thread."""


class Events(NamedTuple):
    """Whom a child tells what has happened, on the loop's thread."""

    records: Callable[[Sequence[dict[str, Any] | Fault]], None]
    exited: Callable[[], None]
    stalled: Callable[[], None]


class PiChild:
    """One child from its spawn to the end of its tree. `spawn` first, `stop` last; both exactly once."""

    def __init__(self, settings: Settings, root: Path, marker: bytes, events: Events, run: Run) -> None:
        self.process: Process | None = None
        self.known: set[Process] = set()
        """Every member of the tree that a look has found so far."""
        self.spared: set[Process] = set()
        self.settings = settings
        self._root = root
        self.marker = marker
        self._events = events
        self._run = run
        self._loop = asyncio.get_running_loop()
        self._reader = RecordReader()
        self._queue = bytearray()
        self._stall: asyncio.TimerHandle | None = None
        self._gone = asyncio.Event()
        self._exit_fd: int | None = None
        self._drained = 0
        self._reported = False
        self._stopping = False

    async def spawn(self) -> None:
        """Start it. Raises `OSError` when there is no such program or it cannot be run."""
        self._popen: subprocess.Popen[bytes] = await self._run(_popen, self.settings, self._root, self.marker)
        pid = self._popen.pid
        self.process = Process(pid, osdep.start_of(pid) or "")
        self._stdin, self._stdout, self._errors = (
            pipe.fileno() for pipe in (self._popen.stdin, self._popen.stdout, self._popen.stderr) if pipe
        )
        for fd in (self._stdin, self._stdout, self._errors):
            os.set_blocking(fd, False)
        self._loop.add_reader(self._stdout, self._read)
        self._loop.add_reader(self._errors, self._read_errors)
        self._exit_fd = osdep.exit_descriptor(pid)
        if self._exit_fd is None:
            self._poll_exit()
        else:
            self._loop.add_reader(self._exit_fd, self._leader_ended)

    def send(self, message: dict[str, Any]) -> None:
        """Queue one record for its stdin."""
        if self._stopping:
            return
        waiting = bool(self._queue)
        self._queue += msgspec.json.encode(message) + b"\n"
        if not waiting:
            self._write()

    async def census(self) -> bool:
        """Look who belongs to the tree; True when somebody new was found."""
        found: set[Process] = await self._run(self._find)
        fresh = found - self.known
        self.known |= fresh
        return bool(fresh)

    async def dismiss(self) -> set[Process]:
        """`stop`, but what was left running on purpose is left alone; it is in `spared` afterwards.

        For one that is well and has no task: an orphaned tool of a task could not be told from a daemon.
        """
        assert self.process is not None
        self.spared = await self._run(lambda: left_on_purpose(self.process, self._find()))
        return await self.stop()

    async def stop(self) -> set[Process]:
        """End the whole tree: stdin closed, TERM to the group, a second, KILL to all. Returns what would not die.

        Members are looked for before the first signal: one whose parent is dead is no longer found by descent. Pi ends
        its own tools when it gets TERM; what outlives it has nobody else to be told by and gets TERM from us.
        """
        self._stopping = True
        await self.census()
        self._close_stdin()
        self._signal_group(signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TERM_SECONDS):
                await self._gone.wait()
                for process in self.known - self.spared:
                    osdep.send_signal(process, signal.SIGTERM)
                while any(processes.is_alive(process) for process in self.known - self.spared):  # noqa: ASYNC110 - nobody tells us
                    await asyncio.sleep(_TREE_POLL)
        left: set[Process] = await self._run(processes.end, self._find)
        self._close()
        return left

    def members(self) -> set[Process]:
        """The leader and all that a look has found below it."""
        return self.known if self.process is None else {self.process, *self.known}

    def _find(self) -> set[Process]:
        groups = [self.process.pid] if self.process else []
        found = processes.members(self.members(), groups=groups, marker=self.marker)
        return found - processes.members(self.spared) if self.spared else found

    def _signal_group(self, number: int) -> None:
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    # Its stdin.

    def _write(self) -> None:
        try:
            while self._queue:
                # A copy, since a bytearray cannot shrink while it is looked into; a pipe takes no more at once anyway.
                written = os.write(self._stdin, bytes(self._queue[:65_536]))
                del self._queue[:written]
                self._watch_progress()
        except BlockingIOError:
            self._loop.add_writer(self._stdin, self._write)
            if self._stall is None:
                self._watch_progress()
            return
        except OSError:
            self._queue.clear()  # it is gone; its exit is reported by itself
        self._loop.remove_writer(self._stdin)
        self._forget_stall()

    def _watch_progress(self) -> None:
        self._forget_stall()
        self._stall = self._loop.call_later(WRITE_SECONDS, self._report_stall)

    def _forget_stall(self) -> None:
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _report_stall(self) -> None:
        self._stall = None
        self._events.stalled()

    def _close_stdin(self) -> None:
        self._forget_stall()
        self._queue.clear()
        self._loop.remove_writer(self._stdin)
        if self._popen.stdin is not None:
            with contextlib.suppress(OSError):
                self._popen.stdin.close()

    # Its stdout and stderr.

    def _read(self) -> None:
        try:
            data = os.read(self._stdout, READ_BYTES)
        except BlockingIOError:
            if self._gone.is_set():
                self._finish()
            return
        except OSError:
            data = b""
        if not data:
            self._finish()
        elif not self._stopping:
            self._events.records(list(self._reader.feed(data)))

    def _finish(self) -> None:
        """Nothing more will come."""
        self._loop.remove_reader(self._stdout)
        if self._reported or self._stopping:
            return
        self._reported = True
        if rest := list(self._reader.finish()):
            self._events.records(rest)
        self._events.exited()

    def _read_errors(self) -> None:
        """Drained, or it would block; kept nowhere, since it may hold anything."""
        try:
            data = os.read(self._errors, READ_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._loop.remove_reader(self._errors)

    # Its end.

    def _leader_ended(self) -> None:
        if self._exit_fd is not None:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = None
        self._gone.set()
        self._drain()

    def _poll_exit(self) -> None:
        assert self.process is not None
        if processes.is_alive(self.process):
            self._loop.call_later(_EXIT_POLL, self._poll_exit)
        else:
            self._leader_ended()

    def _drain(self) -> None:
        """Read on until the pipe is empty, although somebody else may still hold its other end open."""
        self._drained += 1
        if self._drained > _DRAIN_READS:
            self._finish()
        elif not self._reported and not self._stopping:
            self._read()
            self._loop.call_soon(self._drain)

    def _close(self) -> None:
        self._loop.remove_reader(self._stdout)
        self._loop.remove_reader(self._errors)
        if self._exit_fd is not None:
            self._loop.remove_reader(self._exit_fd)
            os.close(self._exit_fd)
            self._exit_fd = None
        for pipe in (self._popen.stdout, self._popen.stderr):
            if pipe is not None:
                pipe.close()
        self._popen.poll()  # reaps it


def command(executable: str) -> list[str]:
    return [executable, "--mode", "rpc", "--append-system-prompt", POLICY]


def find_executable(name: str, search: str, root: Path) -> Path:
    """The program `name`: with a slash from the project root, else on `search`, whose relative entries start there too.

    Raises `FileNotFoundError`, or `PermissionError` when all that is there cannot be run.
    """
    problem: OSError = FileNotFoundError("no such program")
    for place in [""] if "/" in name else search.split(os.pathsep):
        candidate = root / place / name
        if candidate.is_file():
            if os.access(candidate, os.X_OK):
                return candidate
            problem = PermissionError("not executable")
    raise problem


def _popen(settings: Settings, root: Path, marker: bytes) -> subprocess.Popen[bytes]:
    name, _, value = marker.partition(b"=")
    environment = {**settings.environment, name: value}
    search = os.fsdecode(environment.get(b"PATH", os.fsencode(os.defpath)))
    program = find_executable(settings.executable, search, root)
    return subprocess.Popen(
        command(str(program)),
        cwd=root,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        start_new_session=True,
    )
