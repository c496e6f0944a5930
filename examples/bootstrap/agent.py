"""Which Pi the example works with: the user's own when it has a model, else the real Pi with the scripted demo model.

A set-up counts as usable when Pi itself says that it has a model: it is started and asked. Nothing of the user's set-up
is read or written here.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from examples.model_server import SETTINGS_JSON, models_json

PROBE_SECONDS = 30.0


@dataclass(frozen=True)
class Agent:
    """A Pi to give to the taskbar: its command, what its environment needs on top, and what to tell the user."""

    command: str
    model: str
    environ: Mapping[str, str] = field(default_factory=dict)
    notice: str | None = None  # why the demo model answers; None for a real one


def own_command() -> str | None:
    """The user's own `pi`."""
    return shutil.which(os.environ.get("PI_BROWSER_TASKBAR_EXECUTABLE") or "pi")


def configured_model(command: str, cwd: Path, environ: Mapping[str, str] | None = None) -> str | None:
    """The model that this Pi would work with, `provider/id`; None when it has none or does not start."""
    try:
        process = subprocess.Popen(
            [command, "--mode", "rpc", "--no-session"],
            bufsize=0,  # nothing is left to be flushed into a pipe that nobody reads any more
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=None if environ is None else dict(environ),
            start_new_session=True,
        )
    except OSError:
        return None
    with process:
        try:
            return _model(_state(process))
        finally:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)


def _state(process: subprocess.Popen[bytes]) -> dict[str, object]:
    assert process.stdin is not None
    assert process.stdout is not None
    with contextlib.suppress(OSError):
        process.stdin.write(b'{"type":"get_state","id":"probe"}\n')
    heard = b""
    until = time.monotonic() + PROBE_SECONDS
    while (left := until - time.monotonic()) > 0:
        readable, _, _ = select.select([process.stdout], [], [], left)
        more = os.read(process.stdout.fileno(), 65536) if readable else b""
        if not more:
            break
        *lines, heard = (heard + more).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                record = json.loads(line)
                if isinstance(record, dict) and record.get("type") == "response" and record.get("id") == "probe":
                    data = record.get("data")
                    return data if isinstance(data, dict) else {}
    return {}


def _model(state: dict[str, object]) -> str | None:
    model = state.get("model")
    if isinstance(model, str):
        return model or None
    if not isinstance(model, dict):
        return None
    provider, name = model.get("provider"), model.get("id")
    return None if not name or "unknown" in (provider, name) else f"{provider}/{name}"


def private_setup(directory: Path, url: str) -> dict[str, str]:
    """A Pi set-up below `directory` that knows only the model server at `url`; the environment that makes Pi use it."""
    agent, sessions = directory / "agent", directory / "sessions"
    for folder in (agent, sessions):
        folder.mkdir(parents=True, exist_ok=True)
    (agent / "models.json").write_text(json.dumps(models_json(url), indent=1))
    (agent / "settings.json").write_text(json.dumps(SETTINGS_JSON, indent=1))
    (agent / "auth.json").write_text("{}")
    (agent / "auth.json").chmod(0o600)
    return {
        "PI_CODING_AGENT_DIR": str(agent),
        "PI_CODING_AGENT_SESSION_DIR": str(sessions),
        "PI_OFFLINE": "1",
        "PI_SKIP_VERSION_CHECK": "1",
        "PI_TELEMETRY": "0",
    }
