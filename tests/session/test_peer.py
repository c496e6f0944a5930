"""The session over real pipes and processes, with the scripted peer as Pi, on both lines.

What a whole broker adds is tested with it; here it is shown that session, reader and peer speak the same language.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from flask_pi_taskbar.broker.effects import Result
from flask_pi_taskbar.broker.timing import Timing
from flask_pi_taskbar.contract import texts
from flask_pi_taskbar.contract.snapshot import Snapshot
from tests.session.shell import PEER, Shell

LINES = ("0.73", "1")
QUICK = Timing(patience=0.2, queued=0.2, ask_first=0.02, ask_last=0.1, abort=1.0, retry=0.01)

Start = Callable[..., Shell]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    shells: list[Shell] = []

    def begin(line: str, behaviour: str = "", timing: Timing = QUICK, **more: float) -> Shell:
        env = {"PI_PEER_LINE": line, "PI_PEER_BEHAVIOUR": behaviour, "PI_PEER_LOG": str(tmp_path / "log")}
        env["PI_PEER_MODEL_FILE"] = str(tmp_path / "login")
        shells.append(Shell([str(PEER)], cwd=tmp_path, env=env, timing=timing, **more))
        return shells[-1]

    yield begin
    for shell in shells:
        shell.close()


def ready(snapshot: Snapshot) -> bool:
    return snapshot.session.status.value == "ready"


def unavailable(snapshot: Snapshot) -> bool:
    return snapshot.session.status.value == "unavailable"


def said_something(snapshot: Snapshot) -> bool:
    return snapshot.task is not None and snapshot.task.output != ""


def ended(snapshot: Snapshot) -> bool:
    return snapshot.task is not None and snapshot.task.finished_at is not None


@pytest.mark.parametrize("line", LINES)
def test_one_pi_does_everything_that_leaves_it_well(start: Start, tmp_path: Path, line: str) -> None:
    shell = start(line)
    shell.until(ready)
    session = shell.snapshot.session.id
    for prompt, status, error, output in (
        ("Do something.", "completed", None, "Implemented the whole-page request."),
        ("edit file notes.txt => hello", "completed", None, "I will edit the file.\n\nThe file is edited."),
        ("several messages", "completed", None, "I will look at the file.\n\nThe file says hi."),
        ("failing tool", "completed", None, "Trying.\n\nIt failed."),
        ("rejected command", "failed", texts.REJECTED_TASK, ""),
        ("handled prompt", "completed", None, ""),
        ("provider error", "failed", texts.PROVIDER_ERROR, ""),
        ("message error", "failed", texts.MESSAGE_ERROR, "Hm."),
        ("stopped by an extension", "failed", texts.STOPPED_BY_PI, "Half."),
        ("retry success", "completed", None, "It worked after all."),
        ("retry failure", "failed", texts.RETRIES_FAILED, ""),
        ("compaction success", "completed", None, "Too long.\n\nShort again."),
        ("compaction failure", "failed", texts.COMPACTION_FAILED, "Too long."),
        ("silent overflow", "completed", None, "Said everything."),
        ("without loop end", "failed", texts.PROVIDER_ERROR, ""),
        ("dialog request", "completed", None, "Nobody confirmed."),
        ("stderr output", "completed", None, "Implemented the whole-page request."),
        ("odd text", "completed", None, "one\u2028two\u0085three \U0001f986 \ufffd\ufffd end"),
        ("huge loop end", "completed", None, "Read it all."),
        ("huge message", "failed", texts.PROVIDER_ERROR, "Very long."),
        ("slow acceptance", "completed", None, "Implemented the whole-page request."),
        ("queued message", "completed", None, "Implemented the whole-page request."),
    ):
        task = shell.run(prompt).task
        assert task is not None
        assert (prompt, task.status.value, task.error, task.output) == (prompt, status, error, output)
    assert (tmp_path / "notes.txt").read_text() == "hello\n"
    assert (shell.starts, shell.snapshot.session.id) == (1, session)


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    ("prompt", "error"),
    [
        ("unexpected response", texts.UNEXPECTED_RESPONSE),
        ("malformed dialog", texts.MALFORMED_EVENT),
        ("malformed delta", texts.MALFORMED_EVENT),
        ("oversized record", texts.OVERSIZED_RECORD),
        ("malformed record", texts.MALFORMED_RECORD),
        ("non-object record", texts.NON_OBJECT_RECORD),
        ("half a record", texts.UNTERMINATED_RECORD),
        ("die in the task", texts.STOPPED_UNEXPECTEDLY),
        ("exit without a word", texts.STOPPED_UNEXPECTEDLY),
    ],
)
def test_what_breaks_pi_fails_the_task_and_the_next_one_works(start: Start, line: str, prompt: str, error: str) -> None:
    shell = start(line)
    shell.until(ready)
    task = shell.run(prompt).task
    assert task is not None
    assert (task.status.value, task.error) == ("failed", error)
    shell.until(ready)
    task = shell.run("again").task
    assert task is not None
    assert (task.status.value, shell.starts) == ("completed", 2)


@pytest.mark.parametrize("line", LINES)
def test_three_stops_in_a_row_keep_pi(start: Start, line: str) -> None:
    shell = start(line)
    shell.until(ready)
    for prompt in ("hold this task", "spawn a sleeper", "hold this task"):
        shell.submit(prompt)
        shell.until(said_something)
        assert shell.cancel() is Result.ACCEPTED
        task = shell.until(ended).task
        assert task is not None
        assert (task.status.value, task.error) == ("cancelled", None)
    assert shell.starts == 1


@pytest.mark.parametrize("line", LINES)
@pytest.mark.parametrize(
    ("prompt", "behaviour"), [("stop reading", ""), ("stubborn task", ""), ("hold this task", "never-abort")]
)
def test_a_pi_that_cannot_be_stopped_is_replaced(start: Start, line: str, prompt: str, behaviour: str) -> None:
    shell = start(line, behaviour)
    shell.until(ready)
    shell.submit(prompt)
    shell.until(said_something)
    shell.cancel()
    task = shell.until(ended).task
    assert task is not None
    assert (task.status.value, task.error) == ("cancelled", texts.CANCELLATION_DEADLINE)
    shell.until(ready)
    assert shell.starts == 2


@pytest.mark.parametrize("line", LINES)
def test_a_stop_during_the_acceptance_is_not_lost(start: Start, line: str) -> None:
    shell = start(line)
    shell.until(ready)
    shell.submit("slow acceptance")
    shell.cancel()
    task = shell.until(ended).task
    assert task is not None
    assert (task.status.value, task.error, task.output) == ("cancelled", None, "")


def test_an_abort_that_is_answered_first_works_as_well(start: Start) -> None:
    """As the contract's own fake does it."""
    shell = start("1", "abort-first")
    shell.until(ready)
    shell.submit("hold this task")
    shell.until(said_something)
    shell.cancel()
    task = shell.until(ended).task
    assert task is not None
    assert (task.status.value, task.error, shell.starts) == ("cancelled", None, 1)


@pytest.mark.parametrize("line", LINES)
def test_resets(start: Start, line: str) -> None:
    shell = start(line)
    shell.until(ready)
    shell.run("reject reset")
    before = shell.snapshot
    assert shell.reset() is Result.SESSION_RESET_REJECTED
    assert shell.snapshot == before
    assert shell.reset() is Result.ACCEPTED
    assert (shell.snapshot.task, shell.starts) == (None, 1)
    shell.run("fail reset")
    assert shell.reset() is Result.ACCEPTED
    assert (shell.snapshot.task, shell.starts) == (None, 2)


@pytest.mark.parametrize("behaviour", ["die-mid-reset", "same-session", "never-reset"])
def test_a_reset_that_pi_cannot_do_is_done_by_a_new_one(start: Start, behaviour: str) -> None:
    shell = start("1", behaviour, Timing(reset=0.3, retry=0.01))
    shell.until(ready)
    session = shell.snapshot.session.id
    assert shell.reset() is Result.ACCEPTED
    assert shell.snapshot.session.id != session
    assert shell.starts == 2


@pytest.mark.parametrize("behaviour", ["die-at-start", "never-start", "refuse-start", "bad-state"])
def test_a_pi_that_does_not_start_is_unavailable_after_three_attempts(start: Start, behaviour: str) -> None:
    shell = start("1", behaviour, Timing(start=0.3, retry=0.01))
    shell.until(unavailable)
    assert (shell.starts, shell.snapshot.session.error) == (3, texts.RESTART_FAILED)


def test_a_pi_that_is_not_there_is_unavailable(tmp_path: Path) -> None:
    shell = Shell([str(tmp_path / "missing")], cwd=tmp_path, timing=QUICK)
    shell.until(unavailable)
    shell.close()


def test_a_pi_that_dies_after_each_start_is_given_up(start: Start) -> None:
    timing = Timing(retry=0.001)
    shell = start("1", "die-after-ready", timing)
    shell.until(unavailable)
    assert shell.starts <= timing.window_starts


@pytest.mark.parametrize("line", LINES)
def test_a_login_is_noticed_by_the_next_task(start: Start, tmp_path: Path, line: str) -> None:
    shell = start(line, "no-model,startup-dialog")
    shell.until(ready)
    assert shell.snapshot.session.error == texts.NO_MODEL
    task = shell.run("Do something.").task
    assert task is not None
    assert (task.status.value, task.error) == ("failed", texts.REJECTED_TASK)
    assert shell.snapshot.session.error == texts.NO_MODEL
    (tmp_path / "login").touch()
    task = shell.run("Do something.").task
    assert task is not None
    assert (task.status.value, shell.snapshot.session.error, shell.starts) == ("completed", None, 1)


@pytest.mark.parametrize("line", LINES)
def test_a_flood_is_bounded(start: Start, line: str) -> None:
    shell = start(line)
    shell.until(ready)
    task = shell.run("flood the output").task
    assert task is not None
    assert (task.status.value, len(task.output), task.output_truncated) == ("completed", 32_768, True)


def test_a_task_has_a_time_limit(start: Start) -> None:
    shell = start("1", task_timeout=0.3)
    shell.until(ready)
    shell.submit("hold this task")
    task = shell.until(ended).task
    assert task is not None
    assert (task.status.value, task.error) == ("failed", texts.TIME_LIMIT)


# The peer itself


@pytest.mark.parametrize(("line", "stream", "version"), [("0.73", "stderr", "0.73.1"), ("1", "stdout", "1.6.0")])
def test_the_peer_tells_its_version_as_its_line_does(line: str, stream: str, version: str) -> None:
    result = subprocess.run(
        [PEER, "--version"], env={"PI_PEER_LINE": line, "PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert getattr(result, stream).strip() == version
    assert result.returncode == 0


@pytest.mark.parametrize(
    ("line", "option", "code"), [("0.73", "--approve", 1), ("1", "--approve", 0), ("1", "--what", 1)]
)
def test_the_peer_refuses_options_that_its_line_does_not_know(line: str, option: str, code: int) -> None:
    env = {"PI_PEER_LINE": line, "PATH": "/usr/bin:/bin"}
    result = subprocess.run([PEER, "--mode", "rpc", option], env=env, stdin=subprocess.DEVNULL, capture_output=True)
    assert result.returncode == code


def test_the_peer_keeps_a_log(start: Start, tmp_path: Path) -> None:
    shell = start("1")
    shell.until(ready)
    shell.run("Do something.")
    log = [json.loads(line) for line in (tmp_path / "log").read_text().splitlines()]
    assert log[0]["argv"][1:] == ["--mode", "rpc"]
    assert log[0]["env"]["PI_PEER_LINE"] == "1"
    assert [entry["record"]["type"] for entry in log if entry["event"] == "command"] == ["get_state", "prompt"]
