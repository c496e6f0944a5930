"""The host app's other lives: commands, its own tests, production. There the taskbar is nowhere."""

from __future__ import annotations

import urllib.error

import pytest

from examples.client import MOUNT
from tests.e2e.world import Server, World

pytestmark = pytest.mark.pi

OWN_TEST = """\
from app import app

def test_the_page():
    app.testing = True
    page = app.test_client().get("/")
    assert page.status_code == 200
    assert b"data-pi-browser-taskbar" not in page.data
    assert app.test_client().get("/dev/pi-browser-taskbar/state").status_code == 404
"""


def nothing_there(server: Server) -> None:
    """No tag and no route of ours."""
    assert "data-pi-browser-taskbar" not in server.taskbar.page()
    for path in ("/state", "/bootstrap", "/events", "/assets/pi_browser_taskbar.js"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            server.taskbar.page(MOUNT + path)
        assert refused.value.code == 404
        refused.value.close()


def nothing_started(world: World) -> None:
    assert (world.brokers(), world.pi_starts()) == ([], [])


@pytest.mark.parametrize(
    ("arguments", "stdin", "expected"),
    [
        (("-m", "flask", "--app", "app", "routes"), "", "/pots/<name>"),
        (("-m", "flask", "--app", "app", "--debug", "routes"), "", "/pots/<name>"),
        (("-m", "flask", "--app", "app", "--debug", "shell"), "print(app.url_map.bind('').match('/')[0])\n", "index"),
    ],
)
def test_commands_of_the_app_start_nothing(
    new_world: World, arguments: tuple[str, ...], stdin: str, expected: str
) -> None:
    done = new_world.run(*arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr
    assert expected in done.stdout
    assert "pi-browser-taskbar" not in done.stdout
    nothing_started(new_world)


def test_the_apps_own_tests_see_no_taskbar(new_world: World) -> None:
    new_world.file("test_app.py").write_text(OWN_TEST)
    done = new_world.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test_app.py", PYTEST_ADDOPTS="")
    assert done.returncode == 0, done.stdout
    nothing_started(new_world)


def test_a_request_that_does_not_need_the_broker_starts_none(new_world: World) -> None:
    server = new_world.flask()
    assert "data-pi-browser-taskbar" in server.taskbar.page()
    nothing_started(new_world)


@pytest.mark.parametrize(
    "env",
    [{"FLASK_DEBUG": "0"}, {"PI_BROWSER_TASKBAR_ENABLED": "false"}],
    ids=["production", "disabled"],
)
def test_outside_development_there_is_nothing(new_world: World, env: dict[str, str]) -> None:
    server = new_world.gunicorn("--workers", "1", **env)
    nothing_there(server)
    nothing_started(new_world)


def test_production_stays_closed_whatever_the_settings_say(new_world: World) -> None:
    server = new_world.gunicorn("--workers", "1", FLASK_DEBUG="0", PI_BROWSER_TASKBAR_ENABLED="true")
    nothing_there(server)
    nothing_started(new_world)


def test_a_missing_pi_leaves_the_app_working(new_world: World) -> None:
    server = new_world.flask(PI_BROWSER_TASKBAR_EXECUTABLE="no-such-pi")
    snapshot = server.wait(lambda snapshot: snapshot["session"]["status"] == "unavailable", "unavailable")
    assert snapshot["session"]["error"]
    assert "no-such-pi" not in str(snapshot)
    assert "Kiln" in server.taskbar.page()
