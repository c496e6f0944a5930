#!/usr/bin/env -S python3 -S -E
"""A scripted peer that plays `pi --mode rpc` over stdin and stdout, for tests that need no real Pi.

It behaves as the real one was measured to, for both lines: `PI_PEER_LINE=0.73` has no `agent_settled`, no
`disposition`, repeats the partial message in every update and refuses unknown commands without their id; `1` (the
default) has and does what newer Pi does. Both settle before they answer an abort, say nothing until they are asked,
and carry on for as long as stdin is open. It takes Pi's options, ignores their values, and refuses unknown ones.

What a prompt does is picked by the first of the phrases in `scripts.py` that stands in it. What the process does is
picked by words in `PI_PEER_BEHAVIOUR`, separated by commas, or in the file that `PI_PEER_BEHAVIOUR_FILE` names, read
at the start of each process, so that a test can change it between two of them:

    die-at-start          exits with 1 and a line on stderr before it answers anything
    die-after-ready       exits with 1 right after its first answer (`die-after-ready=0.5`: so many seconds after it)
    slow-start=SECONDS    answers its first command late
    never-start           reads and never answers anything
    refuse-start          answers its first command with success false
    bad-state             its first state has no session
    no-model              model unknown/unknown, prompts are refused; a file at `PI_PEER_MODEL_FILE` is a login, noticed
                          by the next new_session
    null-model            the same, with null for the model
    ignore-term           SIGTERM and the end of stdin do nothing
    stop-reading          reads no further command after its first answer
    never-abort           an abort is never answered and does nothing
    refuse-abort          an abort is answered with success false
    abort-first           an abort is answered first and settles 0.2 s later
    never-reset           new_session is never answered
    reject-reset          new_session is vetoed
    fail-reset            new_session is answered with success false
    same-session          new_session keeps the session's id
    die-mid-reset         exits when it is asked for a new session
    never-settle          no run is ever ended
    startup-dialog        asks a question before it answers the first command

With `PI_PEER_LOG` it appends JSON lines there: {"event": "start", pid, argv, env, cwd, line}, {"event": "command",
pid, record} for each line it reads, {"event": "sleeper", pid} for a grandchild, {"event": "exit", pid, how}.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import threading
import time
from typing import Any

from runs import Stopped
from scripts import pick

OPTIONS_WITH_VALUE = {
    *("--mode", "--provider", "--model", "--models", "--thinking", "--api-key", "--session", "--fork"),
    *("--session-dir", "--system-prompt", "--append-system-prompt", "--tools", "-t", "--extension", "-e", "--skill"),
    *("--prompt-template", "--theme"),
}
OPTIONS = {
    *("--no-session", "--no-tools", "-nt", "--no-builtin-tools", "-nbt", "--no-extensions", "-ne", "-ns", "-np"),
    *("--no-context-files", "-nc", "--no-themes", "--offline", "--verbose", "--continue", "-c"),
}
OPTIONS_OF_LINE_1 = {"--approve", "-a", "--no-approve", "-na", "--no-mcp"}
# Seconds. Some behaviours outlive the test that asked for them if that is killed; none outlives this.
LONGEST_LIFE = 900.0


class Pi:
    """The peer's state. One thread reads commands, one runs the current prompt, one waits for each abort."""

    def __init__(self) -> None:
        self.is_old = os.environ.get("PI_PEER_LINE", "1").startswith("0.")
        self.behaviour = _behaviour()
        self.session = 1
        self.streaming = False
        self.accepted = False
        self.compacting = False
        self.queued = 0
        self.messages: list[dict[str, Any]] = []
        self.next_reset: str | None = None
        self.abort = threading.Event()
        self.closing = threading.Event()
        self.dialogs: dict[str, threading.Event] = {}
        self.is_deaf = False
        self._run: threading.Thread | None = None
        self._out = threading.Lock()
        self._logged_in = "no-model" not in self.behaviour and "null-model" not in self.behaviour
        self._greeted = False

    # -- Output

    def send(self, kind: str, **fields: object) -> None:
        """As Node writes it: everything as it is, but half a character as an escape."""
        text = json.dumps({"type": kind, **fields}, ensure_ascii=False)
        self.write(text.encode("utf-8", "backslashreplace") + b"\n")

    def write(self, data: bytes) -> None:
        with self._out:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def respond(self, command: dict[str, Any], *, success: bool = True, **fields: object) -> None:
        record = {"type": "response", "command": command.get("type"), "success": success, **fields}
        self.write(json.dumps({"id": command["id"], **record} if "id" in command else record).encode() + b"\n")

    def log(self, event: str, **fields: object) -> None:
        if path := os.environ.get("PI_PEER_LOG"):
            line = json.dumps({"event": event, "pid": os.getpid(), **fields}) + "\n"
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(descriptor, line.encode())
            os.close(descriptor)

    def exit(self, code: int, how: str) -> None:
        self.log("exit", how=how)
        sys.stdout.flush()
        os._exit(code)

    # -- Commands

    def read_commands(self) -> None:
        buffer = b""
        while data := os.read(0, 65_536):
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                if self.is_deaf:
                    self.closing.wait()
                self._read_line(line.removesuffix(b"\r"))
        if "ignore-term" in self.behaviour:
            self.closing.wait()
        self.exit(0, "stdin closed")

    def on_term(self, *_: object) -> None:
        if "ignore-term" not in self.behaviour:
            self.exit(143, "SIGTERM")

    def _read_line(self, line: bytes) -> None:
        try:
            command = json.loads(line.decode("utf-8", "replace"))
        except ValueError as error:
            self.send("response", command="parse", success=False, error=f"Failed to parse command: {error}")
            return
        self.log("command", record=command)
        if command is None:
            sys.stderr.write("TypeError: Cannot read properties of null\n")
            self.exit(1, "null")
        if "never-start" in self.behaviour:
            return
        if not isinstance(command, dict):
            command = {}
        kind = str(command.get("type"))
        handler = getattr(self, f"_on_{kind}", None)
        if handler:
            handler(command)
        else:
            named = command if not self.is_old else {key: value for key, value in command.items() if key != "id"}
            self.respond(named, success=False, error=f"Unknown command: {command.get('type', 'undefined')}")

    def _on_get_state(self, command: dict[str, Any]) -> None:
        if not self._greeted:
            self._greet(command)
            return
        self.respond(command, data=self._state())

    def _greet(self, command: dict[str, Any]) -> None:
        self._greeted = True
        time.sleep(float(self.behaviour.get("slow-start") or 0))
        if "startup-dialog" in self.behaviour:
            self.send("extension_ui_request", id="startup", method="confirm", title="Sure?", message="Really?")
        if "refuse-start" in self.behaviour:
            self.respond(command, success=False, error="no")
        elif "bad-state" in self.behaviour:
            self.respond(command, data={**self._state(), "sessionId": ""})
        else:
            self.respond(command, data=self._state())
        if "stop-reading" in self.behaviour:
            self.is_deaf = True
        if "die-after-ready" in self.behaviour:
            delay = float(self.behaviour["die-after-ready"] or 0)
            threading.Timer(delay, self.exit, (1, "after ready")).start()

    def _state(self) -> dict[str, Any]:
        model: dict[str, Any] | None = {"provider": "test", "id": "scripted-pi", "name": "Scripted", "input": ["text"]}
        if not self._logged_in:
            model = None if "null-model" in self.behaviour else {"provider": "unknown", "id": "unknown"}
        return {
            "model": model,
            "thinkingLevel": "off",
            "isStreaming": self.streaming,
            "isCompacting": self.compacting,
            "steeringMode": "one-at-a-time",
            "followUpMode": "one-at-a-time",
            "sessionFile": f"/sandbox/{os.getpid()}-{self.session}.jsonl",
            "sessionId": f"peer-{os.getpid()}-{self.session}",
            "autoCompactionEnabled": True,
            "messageCount": len(self.messages),
            "pendingMessageCount": self.queued,
        }

    def _on_prompt(self, command: dict[str, Any]) -> None:
        text = str(command.get("message", ""))
        if self.streaming and "streamingBehavior" not in command:
            self.respond(command, success=False, error="Agent is already processing. Specify streamingBehavior.")
        elif self.compacting and not self.is_old:
            self.respond(command, success=False, error="Cannot submit a prompt while compaction is in progress.")
        elif not self._logged_in:
            self.respond(command, success=False, error="No API key found for the selected model.")
        else:
            self.abort.clear()
            self.accepted = False
            self._run = threading.Thread(target=self._perform, args=(command, text), daemon=True)
            self._run.start()

    def _perform(self, command: dict[str, Any], text: str) -> None:
        with contextlib.suppress(Stopped):
            pick(text)(self, command, text)

    def _on_abort(self, command: dict[str, Any]) -> None:
        if "never-abort" in self.behaviour:
            return
        if "refuse-abort" in self.behaviour:
            self.respond(command, success=False, error="no")
            return
        threading.Thread(target=self._abort, args=(command,), daemon=True).start()

    def _abort(self, command: dict[str, Any]) -> None:
        if "abort-first" in self.behaviour:
            self.respond(command)
            time.sleep(0.2)
        self.abort.set()
        if self._run and self.accepted:
            self._run.join()
        if "abort-first" not in self.behaviour:
            self.respond(command)

    def _on_new_session(self, command: dict[str, Any]) -> None:
        if "die-mid-reset" in self.behaviour:
            self.exit(1, "mid reset")
        if "never-reset" in self.behaviour:
            return
        how = self.next_reset or ("reject" if "reject-reset" in self.behaviour else None)
        how = how or ("fail" if "fail-reset" in self.behaviour else None)
        self.next_reset = None
        if how == "fail":
            self.respond(command, success=False, error="no")
        elif how == "reject":
            self.respond(command, data={"cancelled": True})
        else:
            self.session += "same-session" not in self.behaviour
            self.messages.clear()
            self._logged_in = self._logged_in or os.path.exists(os.environ.get("PI_PEER_MODEL_FILE", ""))
            self.respond(command, data={"cancelled": False})

    def _on_extension_ui_response(self, command: dict[str, Any]) -> None:
        if waiting := self.dialogs.pop(str(command.get("id")), None):
            waiting.set()


def _behaviour() -> dict[str, str]:
    words = os.environ.get("PI_PEER_BEHAVIOUR", "")
    if path := os.environ.get("PI_PEER_BEHAVIOUR_FILE"):
        try:
            with open(path, encoding="utf-8") as file:
                words += "," + file.read()
        except FileNotFoundError:
            pass
    pairs = (word.strip().partition("=") for word in words.split(",") if word.strip())
    return {name: value for name, _, value in pairs}


def check_options(arguments: list[str], *, is_old: bool) -> None:
    rest = iter(arguments)
    for word in rest:
        if word in OPTIONS_WITH_VALUE:
            next(rest, None)
        elif word.startswith("-") and word not in OPTIONS and (is_old or word not in OPTIONS_OF_LINE_1):
            sys.stderr.write(f"Error: Unknown option: {word}\n")
            sys.exit(1)


def main() -> None:
    pi = Pi()
    if "--version" in sys.argv or "-v" in sys.argv:
        print("0.73.1" if pi.is_old else "1.6.0", file=sys.stderr if pi.is_old else sys.stdout)
        return
    pi.log("start", argv=sys.argv, env=dict(os.environ), cwd=os.getcwd(), line="0.73" if pi.is_old else "1")
    check_options(sys.argv[1:], is_old=pi.is_old)
    if "die-at-start" in pi.behaviour:
        sys.stderr.write("Error: Failed to load extension\n")
        pi.exit(1, "at start")
    signal.signal(signal.SIGTERM, pi.on_term)
    last_resort = threading.Timer(LONGEST_LIFE, pi.exit, (1, "too old"))
    last_resort.daemon = True
    last_resort.start()
    pi.read_commands()


if __name__ == "__main__":
    main()
