"""The real Pi as a session at the board: started with the extension, driven over rpc, its records kept."""

from __future__ import annotations

import json
import os
import select
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flask_pi_taskbar.pi_extension import extension_path

Record = dict[str, Any]
SECONDS = 40.0


class Pi:
    """One Pi process. Its stdout is read whenever something is waited for, in the order of its lines."""

    def __init__(self, command: Path, cwd: Path, env: dict[str, str], *arguments: str, extension: Path | None = None):
        words = [str(command), "--mode", "rpc", "--extension", str(extension or extension_path()), *arguments]
        self.process = subprocess.Popen(words, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.records: list[Record] = []
        self._heard = b""
        self._count = 0
        self.id = str(self.state()["sessionId"])

    # ---- what a user does ----

    def prompt(self, text: str) -> list[Record]:
        """A prompt and its run to the end: the records that came meanwhile."""
        start = len(self.records)
        assert self.command("prompt", message=text)["success"], self.records[-1]
        self.until(lambda record: record["type"] == "agent_end", "the run ends", start)
        while self.state()["isStreaming"]:
            continue  # each answer is waited for, so that this is no busy loop
        return self.records[start:]

    def tool(self, **arguments: object) -> Record:
        """The agent calls the board once: how that call ended."""
        return tool_end(self.prompt(calling(**arguments)))

    def typed(self, command: str) -> list[Record]:
        """A slash command; what the extension showed: its notices, as records."""
        start = len(self.records)
        assert self.command("prompt", message=command)["success"]
        return [record for record in self.records[start:] if record.get("method") == "notify"]

    def chip(self) -> str | None:
        """The status that was shown last."""
        shown = [record for record in self.records if record.get("method") == "setStatus"]
        return shown[-1].get("statusText") if shown else None

    # ---- records ----

    def command(self, kind: str, **fields: object) -> Record:
        """Send a command and wait for its response."""
        self._count += 1
        name, start = f"c{self._count}", len(self.records)
        self.send(type=kind, id=name, **fields)
        return self.until(
            lambda record: record["type"] == "response" and record.get("id") == name, f"an answer to {kind}", start
        )

    def state(self) -> Record:
        return dict(self.command("get_state")["data"])

    def send(self, **fields: object) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(fields).encode() + b"\n")
        self.process.stdin.flush()

    def until(self, wanted: Callable[[Record], bool], what: str, start: int = 0) -> Record:
        """The first record from `start` on that is as wanted."""
        deadline = time.monotonic() + SECONDS
        while True:
            for record in self.records[start:]:
                start += 1
                if wanted(record):
                    return record
            self._read(deadline, what)

    def _read(self, deadline: float, what: str) -> None:
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], max(0.0, deadline - time.monotonic()))
        data = os.read(self.process.stdout.fileno(), 1 << 20) if ready else b""
        assert data, f"Pi ended or was silent before {what}; its last records: {self.records[-3:]}"
        *lines, self._heard = (self._heard + data).split(b"\n")
        self.records += [json.loads(line) for line in lines if line]

    # ---- the end ----

    def kill(self) -> None:
        """As a crash does it."""
        self.process.send_signal(signal.SIGKILL)
        self.close()

    def close(self) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()


def calling(**arguments: object) -> str:
    """A prompt that makes the scripted model call the board."""
    return f"SCENE:tool name=board args={shlex.quote(json.dumps(arguments))}"


def tool_end(records: list[Record]) -> Record:
    (end,) = [record for record in records if record["type"] == "tool_execution_end"]
    return end


def words(end: Record) -> str:
    """What the agent reads of a call."""
    (part,) = end["result"]["content"]
    return str(part["text"])
