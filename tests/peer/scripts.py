"""What the scripted peer does with a prompt. The first phrase of `SCRIPTS` that stands in it decides.

A script is a function of the peer, the prompt command and the prompt's text. It answers the command and plays the run.
Scripts end by themselves or at the next wait after an abort.
"""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from runs import Run, Stopped

if TYPE_CHECKING:
    from scripted_pi import Pi

DEFAULT_TEXT = "Implemented the whole-page request."

Script = Callable[["Pi", dict[str, Any], str], None]


def played(play: Callable[[Run], None]) -> Script:
    """A script that is one ordinary run with `play` inside."""

    def script(pi: Pi, command: dict[str, Any], text: str) -> None:
        with Run(pi, command, text) as run:
            play(run)

    return script


def hold(run: Run) -> None:
    """Says a word and works until it is aborted."""
    run.delta("Working on it.")
    run.wait()


def tell(run: Run) -> None:
    run.say(DEFAULT_TEXT)


def edit_file(pi: Pi, command: dict[str, Any], text: str) -> None:
    found = re.search(r"edit file (\S+) => ([^\n]*)", text)
    path, content = found.groups() if found else ("edited.txt", "")

    def write() -> None:
        with open(path, "w", encoding="utf-8") as file:
            file.write(content + "\n")

    with Run(pi, command, text) as run:
        run.say("I will edit the file.", stop="toolUse")
        run.tool("edit", write)
        run.say("The file is edited.")


def work_for(pi: Pi, command: dict[str, Any], text: str) -> None:
    found = re.search(r"work for ([0-9.]+) seconds", text)
    with Run(pi, command, text) as run:
        run.delta("Working.")
        run.wait(float(found.group(1)) if found else 1.0)
        run.say(" Done.")


def two_messages(run: Run) -> None:
    run.say("I will look at ", "the file.", stop="toolUse")
    run.tool("read")
    run.say("The file says hi.")


def failing_tool(run: Run) -> None:
    run.say("Trying.", stop="toolUse")
    run.tool("bash", fails=True)
    run.say("It failed.")


def retry(run: Run, *, succeeds: bool) -> None:
    """Every attempt of an older Pi leaves a loop behind; it does not stream in the pause."""
    for attempt in (1, 2):
        run.fail("500 Internal server error")
        run.end_loop(willRetry=attempt == 1 or succeeds)
        if attempt == 2 and not succeeds:
            run.pi.send("auto_retry_end", success=False, attempt=2, finalError="500 Internal server error")
            return
        run.pi.send("auto_retry_start", attempt=attempt, maxAttempts=2, delayMs=50, errorMessage="500")
        run.wait(0.05)
        run.begin_loop()
    run.say("It worked after all.")
    run.pi.send("auto_retry_end", success=True, attempt=2)


def retry_script(*, succeeds: bool) -> Script:
    def script(pi: Pi, command: dict[str, Any], text: str) -> None:
        run = Run(pi, command, text).__enter__()
        try:
            retry(run, succeeds=succeeds)
        except Stopped:
            pi.send("auto_retry_end", success=False, attempt=1, finalError="Retry cancelled")
        else:
            if succeeds:
                run.end_loop()
        run.settle()

    return script


def compaction(run: Run, *, error: str | None = None) -> None:
    """After a loop, as for a long conversation; the next loop follows a moment later."""
    run.say("Too long.")
    run.end_loop()
    run.pi.compacting = True
    run.pi.send("compaction_start", reason="threshold")
    run.wait(0.05)
    run.pi.compacting = False
    fields = {"errorMessage": error} if error else {"result": {"summary": "…", "tokensBefore": 1}}
    run.pi.send("compaction_end", reason="threshold", aborted=False, willRetry=error is None, **fields)
    if error is None:
        run.wait(0.1)
        run.begin_loop()
        run.say("Short again.")


def compaction_script(*, error: str | None) -> Script:
    def script(pi: Pi, command: dict[str, Any], text: str) -> None:
        run = Run(pi, command, text).__enter__()
        compaction(run, error=error)
        if error is None:
            run.end_loop()
        run.settle()

    return script


def silent_overflow(pi: Pi, command: dict[str, Any], text: str) -> None:
    """The compaction says that it will go on, and nothing follows."""
    run = Run(pi, command, text).__enter__()
    run.say("Said everything.")
    run.end_loop()
    pi.send("compaction_start", reason="overflow")
    pi.send("compaction_end", reason="overflow", aborted=False, willRetry=True, result={})
    run.settle()


def without_loop_end(pi: Pi, command: dict[str, Any], text: str) -> None:
    """Newer line: the session file cannot be written, so that there is no agent_end."""
    run = Run(pi, command, text).__enter__()
    run.end_message(stop="error", error="EACCES")
    if pi.is_old:
        run.end_loop()
    run.settle()


def odd_text(run: Run) -> None:
    """Separators of lines that end no record, and halves of characters."""
    run.delta("one\u2028two\u0085three \U0001f986 ")
    run.delta("\ud83e")
    run.say("\udd86 end")


def message_error(run: Run) -> None:
    run.delta("Hm.")
    run.update("error", reason="error", error="provider detail")
    run.end_message(stop="error", error="provider detail")
    run.turn_ends()


def bounded_output(run: Run) -> None:
    run.say("a" * 32_768, "\U0001f642z")


def flood(run: Run) -> None:
    """Some 30 MB on the older line, which repeats itself, and 2 MB on the newer."""
    line = "All work and no play makes Pi a dull agent.\n" * 20
    for _ in range(200 if run.pi.is_old else 2_000):
        run.delta(line)
    run.end_message(stop="stop")


def many_deltas(run: Run) -> None:
    run.say(*(f"{number} " for number in range(2_000)))


def huge_loop_end(pi: Pi, command: dict[str, Any], text: str) -> None:
    run = Run(pi, command, text).__enter__()
    run.say("Read it all.")
    run.messages.append({"role": "toolResult", "content": [{"type": "text", "text": 'read "it"\n' * 250_000}]})
    run.end_loop()
    run.settle()


def huge_message(pi: Pi, command: dict[str, Any], text: str) -> None:
    """… which also says that the provider failed."""
    run = Run(pi, command, text).__enter__()
    run.delta("Very long.")
    run.end_message(stop="error", error="boom", filler=1_200_000)
    run.end_loop()
    run.settle()


def dialog(run: Run) -> None:
    answered = run.pi.dialogs["dialog-1"] = threading.Event()
    run.pi.send("extension_ui_request", id="status-1", method="setStatus", statusKey="k", statusText="v")
    run.pi.send("extension_ui_request", id="dialog-1", method="confirm", title="Continue?", message="Continue?")
    while not answered.wait(0.02):
        run.wait(0.001)
    run.say("Nobody confirmed.")


def bad_dialog(run: Run) -> None:
    run.pi.send("extension_ui_request", id="", method="confirm", title="Continue?")
    run.wait()


def handled(pi: Pi, command: dict[str, Any], text: str) -> None:
    """An extension has consumed it: no run, and on the older line no sign of that."""
    pi.respond(command, **({} if pi.is_old else {"data": {"disposition": "handled"}}))


def refused(pi: Pi, command: dict[str, Any], text: str) -> None:
    pi.respond(command, success=False, error="provider detail")


def foreign_response(run: Run) -> None:
    run.pi.send("response", id="stale-response", success=True)
    run.wait()


def slow_acceptance(pi: Pi, command: dict[str, Any], text: str) -> None:
    """An extension thinks about the prompt; an abort meanwhile is answered and does nothing."""
    time.sleep(0.3)
    pi.abort.clear()
    with Run(pi, command, text) as run:
        run.wait(0.3)
        tell(run)


def queued_message(pi: Pi, command: dict[str, Any], text: str) -> None:
    """A message stays queued although nothing delivers it."""
    with Run(pi, command, text) as run:
        tell(run)
        pi.queued = 1


def activity(kind: str, **fields: object) -> Script:
    """One event, and then nothing until an abort."""

    def play(run: Run) -> None:
        if kind != "agent_start":
            run.pi.send(kind, **fields)
        run.wait()

    return played(play)


def raw(data: bytes) -> Script:
    def play(run: Run) -> None:
        run.pi.write(data)
        run.wait()

    return played(play)


def dying(code: int, *, last: bytes = b"") -> Script:
    def play(run: Run) -> None:
        run.delta("About to")
        run.pi.write(last)
        run.pi.exit(code, "mid task")

    return played(play)


def sleeper(run: Run) -> None:
    """A tool of the real Pi runs in a session of its own and is not in Pi's process group."""
    child = subprocess.Popen(["sleep", "543"], start_new_session=True, stdin=subprocess.DEVNULL)
    run.pi.log("sleeper", sleeper=child.pid)
    try:
        hold(run)
    finally:
        child.kill()
        child.wait()


def deaf(run: Run) -> None:
    run.pi.is_deaf = True
    hold(run)


def stubborn(run: Run) -> None:
    """Answers no abort and ignores SIGTERM and the end of its stdin."""
    run.pi.behaviour |= {"never-abort": "", "ignore-term": ""}
    hold(run)


def loud(run: Run) -> None:
    sys.stderr.write("a secret on stderr\n" * 50_000)
    sys.stderr.flush()
    tell(run)


def reset_will(how: str) -> Script:
    def play(run: Run) -> None:
        run.pi.next_reset = how
        tell(run)

    return played(play)


TOOL = {"toolCallId": "tool-1", "toolName": "read", "args": {}}

SCRIPTS: dict[str, Script] = {
    "hold this task": played(hold),
    "edit file ": edit_file,
    "work for ": work_for,
    "reject reset": reset_will("reject"),
    "fail reset": reset_will("fail"),
    "stderr output": played(loud),
    "rejected command": refused,
    "unexpected response": played(foreign_response),
    "stale response": played(foreign_response),
    "activity agent_start": activity("agent_start"),
    "activity agent_end": activity("agent_end", messages=[], willRetry=True),
    "activity tool_start": activity("tool_execution_start", **TOOL),
    "activity tool_update": activity("tool_execution_update", **TOOL, partialResult={}),
    "activity tool_end": activity("tool_execution_end", **TOOL, result={}, isError=False),
    "activity compaction_start": activity("compaction_start", reason="threshold"),
    "activity compaction_end": activity(
        "compaction_end", reason="threshold", result={}, aborted=False, willRetry=False
    ),
    "activity retry_start": activity("auto_retry_start", attempt=2, maxAttempts=3, delayMs=1, errorMessage="detail"),
    "activity retry_end": activity("auto_retry_end", success=True, attempt=2),
    "malformed dialog": played(bad_dialog),
    "dialog request": played(dialog),
    "oversized record": raw(b"x" * 1_000_001 + b"\n"),
    "malformed record": raw(b"{not json}\n"),
    "non-object record": raw(b"[1, 2]\n"),
    "malformed delta": played(lambda run: (run.delta(42), run.wait())[1]),
    "message error": played(message_error),
    "provider error": played(lambda run: run.fail()),
    "stopped by an extension": played(lambda run: run.say("Half.", stop="aborted")),
    "retry failure": retry_script(succeeds=False),
    "retry success": retry_script(succeeds=True),
    "compaction failure": compaction_script(error="provider detail"),
    "compaction success": compaction_script(error=None),
    "silent overflow": silent_overflow,
    "without loop end": without_loop_end,
    "bounded output": played(bounded_output),
    "several messages": played(two_messages),
    "failing tool": played(failing_tool),
    "odd text": played(odd_text),
    "flood the output": played(flood),
    "many deltas": played(many_deltas),
    "huge loop end": huge_loop_end,
    "huge message": huge_message,
    "handled prompt": handled,
    "slow acceptance": slow_acceptance,
    "queued message": queued_message,
    "die in the task": dying(1),
    "exit without a word": dying(0),
    "half a record": dying(1, last=b'{"type":"message_upd'),
    "spawn a sleeper": played(sleeper),
    "stop reading": played(deaf),
    "stubborn task": played(stubborn),
}


def pick(text: str) -> Script:
    return next((script for phrase, script in SCRIPTS.items() if phrase in text), played(tell))
