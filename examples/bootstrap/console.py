"""What the set-up says in the terminal while it works, and how it runs the commands that take long.

On a terminal a step is one line with a spinner and the seconds so far; anywhere else it is plain lines. The output of a
command goes to a log file and is shown only through the explanation of a failure.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from examples.bootstrap.explain import SetupError, explain

SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PLAIN_EVERY = 15.0  # seconds between signs of life where there is no terminal


class Console:
    """Prints steps. One at a time; `stream` is standard error unless a test says otherwise."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        encoding = (getattr(self.stream, "encoding", None) or "ascii").lower().replace("-", "")
        fancy = encoding == "utf8"
        self.live = self.stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self.frames = SPINNER if fancy else "|/-\\"
        self.done, self.failed = ("✓", "✗") if fancy else ("ok:", "failed:")

    def say(self, text: str = "") -> None:
        print(text, file=self.stream, flush=True)

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[None]:
        """Show that `title` is going on until the block ends."""
        began = time.monotonic()
        over = threading.Event()
        ticker = threading.Thread(target=self._tick, args=(title, began, over), daemon=True)
        if not self.live:
            self.say(f"{title} ...")
        ticker.start()
        mark = self.failed
        try:
            yield
            mark = self.done
        finally:
            over.set()
            ticker.join()
            if self.live:
                self.stream.write("\r\x1b[K")
            self.say(f"{mark} {title} ({_seconds(began)})")

    def _tick(self, title: str, began: float, over: threading.Event) -> None:
        beats = 0
        while not over.wait(0.1 if self.live else PLAIN_EVERY):
            if self.live:
                width = shutil.get_terminal_size().columns
                line = f"{self.frames[beats % len(self.frames)]} {title} · {_seconds(began)}"
                self.stream.write("\r\x1b[K" + line[: max(10, width - 1)])
                self.stream.flush()
            else:
                self.say(f"  still at it, {_seconds(began)}")
            beats += 1


def _seconds(began: float) -> str:
    spent = time.monotonic() - began
    return f"{spent:.0f} s" if spent < 60 else f"{spent // 60:.0f} min {spent % 60:.0f} s"


def run(
    command: Sequence[str | Path], *, log: Path, cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> None:
    """Run a command of the set-up to its end. A failure is a `SetupError` that says what happened and what to do."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        try:
            ended = subprocess.run(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=cwd,
                env=None if env is None else dict(env),
            )
        except OSError as problem:
            raise SetupError(
                f"{command[0]} could not be started: {problem.strerror}", "Run the same command again."
            ) from None
    if ended.returncode:
        raise explain(log.read_text(errors="replace"), log)
