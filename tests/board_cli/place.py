"""A repository of a test's own with a board, and the two ways to call commands on it: in this process, or for real."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import select
import struct
import subprocess
import sys
import termios
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from flask_pi_taskbar.board.card import serialize
from flask_pi_taskbar.board.identity import repository, session, store_dir
from flask_pi_taskbar.board.model import Card
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.cli import group

SCRIPT = [sys.executable, "-c", "from flask_pi_taskbar.cli import main; main()"]


@dataclass(frozen=True)
class Said:
    """What a command printed, and its exit code."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> dict[str, Any]:
        lines = self.out.splitlines()
        assert len(lines) == 1, f"not one object: {self.out!r} {self.err!r}"
        said = json.loads(lines[0])
        assert isinstance(said, dict)
        return said

    @property
    def card(self) -> dict[str, Any]:
        card = self.data["card"]
        assert isinstance(card, dict)
        return card


@dataclass
class Place:
    """One repository, its store, and the environment that its commands run in."""

    root: Path
    agent: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def store(self) -> Store:
        return Store(store_dir(repository(self.root), {"PI_CODING_AGENT_DIR": str(self.agent)}))

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "PI_CODING_AGENT_DIR": str(self.agent), **self.environ}

    def do(self, action: str, who: str = "ann", /, ago: float = 0, **fields: object) -> dict[str, Any]:
        """A call by the core itself, to furnish the board; `ago` seconds earlier."""
        now = datetime.now(UTC) - timedelta(seconds=ago)
        return self.store.apply(action, fields, session(f"as:{who}", who), now=now)

    def call(self, *words: str, who: str | None = "ann", stdin: str | bytes | None = None) -> Said:
        """A command in this process. `who=None` calls as nobody in particular."""
        as_whom = () if who is None else ("--as", who)
        words = (*words[:2], *as_whom, *words[2:])
        result = CliRunner().invoke(group, words, prog_name="pi-taskbar", input=stdin, env=self.environ)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Said(result.exit_code, result.stdout, result.stderr)

    def json(self, *words: str, who: str | None = "ann", stdin: str | None = None) -> Said:
        """The same with --json, its stdout held to one object."""
        said = self.call(*words[:2], "--json", *words[2:], who=who, stdin=stdin)
        assert isinstance(said.data["ok"], bool)
        return said

    def run(self, *words: str, cwd: Path | None = None, stdin: str = "", **extra: str) -> Said:
        """A real process."""
        done = subprocess.run(
            [*SCRIPT, *words],
            cwd=cwd or self.root,
            env=self.env | extra,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def start(self, *words: str, cwd: Path | None = None, **extra: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*SCRIPT, *words],
            cwd=cwd or self.root,
            env=self.env | extra,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def plant(self, *cards: Card) -> None:
        """Files that nobody's rules have seen."""
        folder = Path(self.store.layout.cards)
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for card in cards:
            (folder / f"{card.id}.json").write_bytes(serialize(card))

    def terminal(self, *words: str, columns: int = 80, **extra: str) -> Terminal:
        return Terminal([*SCRIPT, *words], self.root, self.env | extra, columns)


# A terminal sends Ctrl-C to the session that it controls; whoever begins a session has to ask for it.
_IN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, command: list[str], cwd: Path, env: dict[str, str], columns: int) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        env = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES")} | {
            "TERM": "dumb" if env.get("TERM") == "dumb" else "xterm-256color"
        }
        self.process = subprocess.Popen(
            [sys.executable, "-c", _IN_TERMINAL, *command],
            cwd=cwd,
            env=env,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, text: str, seconds: float = 30) -> str:
        """Read until this was shown."""
        end = time.monotonic() + seconds
        while text not in self.shown:
            if not self._read(end):
                raise AssertionError(f"{text!r} was not shown, only {self.shown!r}")
        return self.shown

    def rest(self, seconds: float = 60) -> str:
        """All that is shown until the command ends."""
        end = time.monotonic() + seconds
        while self._read(end):
            pass
        self.process.wait(max(1, end - time.monotonic()))
        return self.shown

    def _read(self, end: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0, end - time.monotonic()))
        if not ready:
            return False
        try:
            data = os.read(self._ours, 65536)
        except OSError:  # the other end is closed
            return False
        self.shown += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)
