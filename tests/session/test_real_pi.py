"""The session over pipes to the real Pi of both lines, with a scripted model behind it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from examples.bootstrap.agent import private_setup
from examples.model_server import ModelServer
from flask_pi_taskbar.broker.effects import Result
from flask_pi_taskbar.contract import texts
from flask_pi_taskbar.contract.snapshot import Snapshot
from tests.session.shell import Shell
from tests.support import pi_lines

pytestmark = pytest.mark.pi


@pytest.fixture
def model() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture(params=pi_lines.VERSIONS)
def shell(request: pytest.FixtureRequest, tmp_path: Path, model: ModelServer) -> Iterator[Shell]:
    command = pi_lines.command(request.param)
    assert command is not None
    (tmp_path / "project").mkdir()
    shell = Shell([str(command)], cwd=tmp_path / "project", env=private_setup(tmp_path, model.url))
    try:
        shell.until(ready)
        yield shell
    finally:
        shell.close()


def ready(snapshot: Snapshot) -> bool:
    return snapshot.session.status.value == "ready"


def at_work(word: str) -> Callable[[Snapshot], bool]:
    """Something was said, or a tool or a retry has begun."""

    def holds(snapshot: Snapshot) -> bool:
        task = snapshot.task
        return task is not None and (task.activity.startswith(word) if word else task.output != "")

    return holds


def ended(snapshot: Snapshot) -> bool:
    return snapshot.task is not None and snapshot.task.finished_at is not None


def test_tasks_end_as_their_runs_do_and_one_pi_does_them_all(shell: Shell) -> None:
    for scene, status, error in (
        ("text", "completed", None),
        ("tools steps=3", "completed", None),
        ("think", "completed", None),
        ("error status=401 times=-1", "failed", texts.PROVIDER_ERROR),
        ("error status=500 times=1", "completed", None),
        ("error status=500 times=-1", "failed", texts.RETRIES_FAILED),
        ("long", "completed", None),
        ("text", "completed", None),
    ):
        task = shell.run(f"SCENE:{scene}").task
        assert task is not None
        assert (scene, task.status.value, task.error) == (scene, status, error)
    assert shell.starts == 1


def test_stops_keep_pi_whatever_it_is_doing(shell: Shell) -> None:
    session = shell.snapshot.session.id
    for scene, word in (
        ("forever", ""),
        ('bash command="sleep 40"', "Running"),
        ("error status=500 times=-1", "Retrying"),
        ("hang", "Pi is working"),
    ):
        shell.submit(f"SCENE:{scene}")
        shell.until(at_work(word))
        assert shell.cancel() is Result.ACCEPTED
        task = shell.until(ended).task
        assert task is not None
        assert (scene, task.status.value, task.error) == (scene, "cancelled", None)
    assert (shell.starts, shell.snapshot.session.id) == (1, session)


def test_a_reset_begins_a_new_conversation_in_the_same_pi(shell: Shell) -> None:
    shell.run("SCENE:text")
    session = shell.snapshot.session.id
    assert shell.reset() is Result.ACCEPTED
    assert shell.snapshot.session.id != session
    assert (shell.snapshot.task, shell.starts) == (None, 1)


@pytest.mark.parametrize("version", pi_lines.VERSIONS)
def test_a_login_is_noticed_by_the_next_task(version: str, tmp_path: Path, model: ModelServer) -> None:
    command = pi_lines.command(version)
    assert command is not None
    env = private_setup(tmp_path, model.url)
    agent = tmp_path / "agent"
    login = {name: (agent / name).read_bytes() for name in ("models.json", "settings.json")}
    for name in login:
        (agent / name).unlink()
    shell = Shell([str(command)], cwd=tmp_path, env=env)
    try:
        shell.until(ready)
        assert (shell.snapshot.session.model, shell.snapshot.session.error) == (None, texts.NO_MODEL)
        task = shell.run("SCENE:text").task
        assert task is not None
        assert (task.status.value, task.error) == ("failed", texts.REJECTED_TASK)
        for name, data in login.items():
            (agent / name).write_bytes(data)
        task = shell.run("SCENE:text").task
        assert task is not None
        assert (task.status.value, shell.snapshot.session.error, shell.starts) == ("completed", None, 1)
    finally:
        shell.close()
