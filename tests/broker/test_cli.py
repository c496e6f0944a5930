"""`pi-taskbar broker …`: what it says to people and to programs, and what it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.broker.place import PEER, Place, gone, look, over, ready, task
from tests.support.waiting import until

SCRIPT = [sys.executable, "-c", "from flask_pi_taskbar.cli import main; main()"]


def pi_taskbar(place: Place, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SCRIPT, *words], cwd=cwd or place.root, capture_output=True, text=True, timeout=60)


def as_json(place: Place, *words: str) -> tuple[int, dict[str, Any]]:
    done = pi_taskbar(place, *words, "--json")
    assert done.stderr == ""
    said: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, said


@pytest.fixture
def running(place: Place) -> Place:
    (place.root / ".git").mkdir()
    ready(place.client())
    return place


class TestStatus:
    def test_without_a_broker_it_says_so_and_starts_none(self, place: Place) -> None:
        (place.root / ".git").mkdir()
        done = pi_taskbar(place, "broker", "status")
        assert (done.returncode, done.stdout) == (0, f"No broker runs for {place.root}\n")
        assert as_json(place, "broker", "status") == (
            0,
            {"ok": True, "broker": {"running": False, "project": str(place.root)}},
        )
        assert place.processes() == []
        assert not place.runtime.exists()

    def test_it_shows_the_broker(self, running: Place) -> None:
        code, said = as_json(running, "broker", "status")
        broker = said["broker"]
        assert (code, said["ok"], broker["running"]) == (0, True, True)
        assert broker["pid"] == running.broker()
        assert broker["pi_pid"] == running.pi()
        assert (broker["session"], broker["idle"], broker["connections"]) == ("ready", True, 1)
        text = pi_taskbar(running, "broker", "status").stdout
        assert f"process {running.broker()}" in text
        assert "Pi is ready" in text

    def test_it_works_from_a_folder_inside_and_with_the_project_named(self, running: Place) -> None:
        inside = running.root / "app" / "views"
        inside.mkdir(parents=True)
        assert "Pi is ready" in pi_taskbar(running, "broker", "status", cwd=inside).stdout
        named = ("broker", "status", "--project", str(running.root))
        assert "Pi is ready" in pi_taskbar(running, *named, cwd=running.base).stdout
        os.environ["PI_BROWSER_TASKBAR_PROJECT_ROOT"] = str(running.root)
        assert "Pi is ready" in pi_taskbar(running, "broker", "status", cwd=running.base).stdout

    @pytest.mark.parametrize("as_seen", ["../project", "{root}"])
    def test_it_finds_the_project_that_the_app_works_on(self, running: Place, as_seen: str) -> None:
        outer = running.base / "outer"
        (outer / "app").mkdir(parents=True)
        named = as_seen.format(root=running.root)
        (outer / "pyproject.toml").write_text(
            f'[tool.pi-taskbar]\nproject_root = "{named}"\ntask_timeout = "nonsense"\nunknown = 1\n'
        )
        done = pi_taskbar(running, "broker", "status", cwd=outer / "app")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"Broker of {running.root}" in done.stdout
        elsewhere = pi_taskbar(running, "broker", "status", "--project", str(outer), cwd=outer)
        assert elsewhere.stdout == f"No broker runs for {outer}\n"

    @pytest.mark.parametrize(
        "pyproject",
        [
            '[tool.pi-taskbar]\nproject_root = "missing"\n',
            "[tool.pi-taskbar]\nproject_root = 7\n",
            "[tool.pi-taskbar\nproject_root\n",
        ],
    )
    def test_a_project_root_that_cannot_be_used_is_named_and_passed_over(self, running: Place, pyproject: str) -> None:
        (running.root / "pyproject.toml").write_text(pyproject)
        done = pi_taskbar(running, "broker", "stop")
        assert "project_root" in done.stderr
        assert (done.returncode, done.stdout[:18]) == (0, "Stopped the broker")

    @pytest.mark.parametrize(
        "pyproject", ["[tool]\n# project_root\n", "tool = 7 # project_root\n", "project_root = 1\n"]
    )
    def test_another_tools_project_root_means_nothing(self, running: Place, pyproject: str) -> None:
        (running.root / "pyproject.toml").write_text(pyproject)
        assert pi_taskbar(running, "broker", "status").stderr == ""

    def test_looking_does_not_disturb(self, running: Place) -> None:
        for _ in range(3):
            pi_taskbar(running, "broker", "status")
        assert len(running.pi_starts()) == 1

    def test_a_hostile_folder_is_reported(self, running: Place) -> None:
        running.runtime.chmod(0o777)
        code, said = as_json(running, "broker", "status")
        assert (code, said["ok"], said["code"]) == (1, False, "unavailable")
        assert "may be used by others" in said["message"]
        done = pi_taskbar(running, "broker", "status")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith("Error: ")


class TestStop:
    def test_it_ends_broker_and_pi_before_it_returns(self, running: Place) -> None:
        broker, pi = running.broker(), running.pi()
        code, said = as_json(running, "broker", "stop")
        assert (code, said) == (0, {"ok": True, "stopped": True, "pid": broker})
        assert gone(pi)
        until(lambda: gone(broker), "the broker has left")

    def test_without_a_broker_it_succeeds(self, place: Place) -> None:
        assert as_json(place, "broker", "stop", "--project", str(place.root)) == (0, {"ok": True, "stopped": False})

    def test_its_help_says_what_goes_on(self, place: Place) -> None:
        assert "session of their own" in " ".join(pi_taskbar(place, "broker", "stop", "--help").stdout.split())

    def test_a_task_that_it_interrupts_is_shown_as_such(self, running: Place) -> None:
        client = running.clients[0]
        client.submit(task("hold this task"))
        assert pi_taskbar(running, "broker", "stop").returncode == 0
        assert over(client)["status"] == "failed"

    def test_a_broken_connection_of_a_server_comes_back(self, running: Place) -> None:
        pi_taskbar(running, "broker", "stop")
        assert ready(running.clients[0])["session"]["status"] == "ready"
        assert len(running.pi_starts()) == 2


class TestRestart:
    def test_it_starts_a_new_broker_with_the_same_settings(self, running: Place) -> None:
        before = running.broker()
        code, said = as_json(running, "broker", "restart")
        assert (code, said["ok"], said["stopped"]) == (0, True, before)
        assert said["pid"] == running.broker() != before
        assert as_json(running, "broker", "status")[1]["broker"]["executable"] == str(PEER)
        ready(running.clients[0])
        assert len(running.pi_starts()) == 2

    def test_pi_gets_the_environment_of_the_terminal(self, running: Place) -> None:
        os.environ["COLOUR"] = "green"
        pi_taskbar(running, "broker", "restart")
        ready(running.clients[0])
        assert running.peer_events("start")[-1]["env"]["COLOUR"] == "green"

    def test_without_a_broker_it_says_what_will_start_one(self, place: Place) -> None:
        code, said = as_json(place, "broker", "restart", "--project", str(place.root))
        assert (code, said["ok"], said["code"]) == (1, False, "not-running")
        assert "next request" in said["message"]


class TestTree:
    def test_wrong_usage_is_2_in_both_tongues(self, place: Place) -> None:
        assert pi_taskbar(place, "broker", "status", "--nonsense").returncode == 2
        code, said = as_json(place, "broker", "status", "--nonsense")
        assert (code, said["ok"], said["code"]) == (2, False, "usage")
        assert pi_taskbar(place, "nonsense").returncode == 2

    @pytest.mark.parametrize("words", [(), ("broker",), ("broker", "stop")])
    def test_help_is_there_at_every_level(self, place: Place, words: tuple[str, ...]) -> None:
        done = pi_taskbar(place, *words, "--help")
        assert done.returncode == 0
        assert "Usage: pi-taskbar" in done.stdout

    @pytest.mark.parametrize("command", ["status", "stop", "restart"])
    def test_every_command_has_examples(self, place: Place, command: str) -> None:
        assert f"pi-taskbar broker {command}" in pi_taskbar(place, "broker", command, "--help").stdout

    def test_it_imports_no_flask(self, place: Place) -> None:
        code = (
            "import sys, atexit\n"
            "heavy = ('flask', 'werkzeug', 'jinja2')\n"
            "atexit.register(lambda: print(sorted(m for m in sys.modules if m.split('.')[0] in heavy)))\n"
            "from flask_pi_taskbar.cli import main\nsys.argv = ['pi-taskbar', 'broker', 'status']\nmain()"
        )
        done = subprocess.run([sys.executable, "-c", code], cwd=place.root, capture_output=True, text=True)
        assert done.stdout.splitlines()[-1] == "[]"

    def test_flask_offers_the_same_tree(self, running: Place) -> None:
        flask = [sys.executable, "-m", "flask", "pi-taskbar", "broker", "status", "--json"]
        done = subprocess.run(flask, cwd=running.root, capture_output=True, text=True)
        assert json.loads(done.stdout)["broker"]["pid"] == running.broker()
        assert look(running.clients[0])["session"]["status"] == "ready"
