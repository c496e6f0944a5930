"""The tests' own world: nothing of it survives, whether pytest ends in order or is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from examples.bootstrap.console import Console
from examples.bootstrap.environment import REPOSITORY
from examples.bootstrap.explain import SetupError
from tests.support import chromium, debian, hermetic
from tests.support.waiting import until

HANGS = """\
import subprocess, sys, pathlib

def test_that_hangs():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
    pathlib.Path({told!r}).write_text(str(child.pid))
    child.wait()
"""


def sleeper(**env: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], env=os.environ | env)


def test_no_test_sees_the_users_home_or_pi() -> None:
    for name in ("HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", "TMPDIR"):
        assert "/pt-" in os.environ[name]
    assert not [name for name in os.environ if name.startswith("PI_CODING_AGENT")]
    assert tempfile.gettempdir() == os.environ["TMPDIR"]


def test_what_was_left_running_is_told_and_ended() -> None:
    process = sleeper(LEFT="here")
    try:
        until(lambda: list(hermetic.marked("here", "LEFT")), "it runs")
        (told,) = hermetic.leftovers("here", "LEFT", seconds=0)
        assert told.startswith(f"{process.pid} ")
        assert not psutil.pid_exists(process.pid)
        assert hermetic.leftovers("here", "LEFT", seconds=0) == []
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGTERM])
def test_a_pytest_that_is_killed_leaves_nothing(sign: signal.Signals, tmp_path: Path) -> None:
    told = tmp_path / "told"
    test = tmp_path / "test_it.py"
    test.write_text(HANGS.format(told=str(told)))
    env = {name: value for name, value in os.environ.items() if name != hermetic.MARKER}
    arguments = ["-q", "-p", "no:cacheprovider", "-p", "tests.conftest", "--rootdir", str(tmp_path), str(test)]
    pytest_process = subprocess.Popen(
        [sys.executable, "-m", "pytest", *arguments], cwd=REPOSITORY, env=env, stdout=subprocess.DEVNULL
    )
    try:
        until(lambda: told.exists() and told.read_text(), "the test hangs", 30)
        child = int(told.read_text())
        world = Path(psutil.Process(child).environ()["HOME"]).parent
        pytest_process.send_signal(sign)
        pytest_process.wait(20)
        until(lambda: not psutil.pid_exists(child), "what the test started has ended")
        until(lambda: not world.exists(), "its world is gone")
    finally:
        pytest_process.kill()
        pytest_process.wait()


# ---- the browser ----------------------------------------------------------------------------------------------


def test_chromium_is_installed_where_that_is_ours_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(chromium, "find", lambda: ("chromium", "chromedriver") if len(ran) == 2 else None)
    monkeypatch.setattr(debian, "may_install", lambda: True)
    monkeypatch.setattr(debian, "run", lambda command, **_: ran.append(list(command)))
    chromium.ensure(Console(), tmp_path)
    assert [command[:2] for command in ran] == [["apt-get", "update"], ["apt-get", "install"]]


def test_elsewhere_it_is_said_how_to_get_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium, "find", lambda: None)
    monkeypatch.setattr(debian, "may_install", lambda: False)
    with pytest.raises(SetupError) as told:
        chromium.ensure(Console(), tmp_path)
    assert "--without browser" in told.value.advice
