"""The routes with the real client, a real broker and the scripted Pi behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from flask.testing import FlaskClient

from flask_pi_taskbar import PiTaskbar
from flask_pi_taskbar.app import create_app
from flask_pi_taskbar.broker.client import BrokerClient, BrokerConfig
from flask_pi_taskbar.settings import Settings
from tests.broker.place import PEER, Place, new_place
from tests.flask.host import MOUNT, browse, host, tags
from tests.flask.web import TASK
from tests.support.waiting import until


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A project with a broker to come; everything in it is ended afterwards."""
    with new_place(monkeypatch) as made:
        yield made


def worker(place: Place) -> FlaskClient:
    """A browser at one worker of the project's app."""
    settings = Settings(project_root=place.root, executable=str(PEER), task_timeout=600)
    client = place.client()
    return create_app(settings, client).test_client()


def look(web: FlaskClient) -> dict[str, Any]:
    found: dict[str, Any] = web.get("/state").get_json()
    return found


def ready(web: FlaskClient) -> dict[str, Any]:
    return until(lambda: (seen := look(web)).get("session", {}).get("status") == "ready" and seen, "Pi is ready")


def mutate(web: FlaskClient, method: str, path: str, **more: Any) -> tuple[int, dict[str, Any]]:
    token = web.get("/bootstrap").get_json()["csrf_token"]
    response = web.open(path, method=method, headers={"X-CSRF-Token": token}, **more)
    return response.status_code, response.get_json()


def submit(web: FlaskClient, prompt: str) -> tuple[int, dict[str, Any]]:
    return mutate(web, "POST", "/tasks", json={**TASK, "prompt": prompt})


def events(data: bytes) -> list[tuple[int, dict[str, Any]]]:
    found = re.findall(rb"id: (\d+)\nevent: snapshot\ndata: (.*)\n\n", data)
    return [(int(number), json.loads(snapshot)) for number, snapshot in found]


def test_a_task_runs_from_the_request_to_its_end(place: Place) -> None:
    web = worker(place)
    session = ready(web)["session"]
    status, snapshot = submit(web, "Explain the cards page.")
    assert status == 202
    assert (snapshot["session"]["status"], snapshot["task"]["status"]) == ("busy", "running")
    done = until(lambda: (seen := ready(web))["task"]["status"] == "completed" and seen, "the task is done")
    assert done["task"]["id"] == snapshot["task"]["id"]
    assert done["task"]["output"]
    assert done["session"]["id"] == session["id"]
    status, error = mutate(web, "DELETE", f"/tasks/{done['task']['id']}")
    assert (status, error["error"]["code"]) == (409, "task_not_cancellable")
    status, fresh = mutate(web, "POST", "/session/reset")
    assert (status, fresh["task"]) == (202, None)
    assert fresh["session"]["id"] != session["id"]


def test_a_second_task_is_busy_and_the_first_can_be_stopped(place: Place) -> None:
    web = worker(place)
    ready(web)
    _, running = submit(web, "hold this task")
    status, error = submit(web, "another")
    assert (status, error["error"]["code"]) == (409, "busy")
    assert error["snapshot"]["task"]["id"] == running["task"]["id"]
    status, error = mutate(web, "POST", "/session/reset")
    assert (status, error["error"]["code"]) == (409, "reset_while_busy")
    assert mutate(web, "DELETE", "/tasks/unknown")[0] == 404
    assert mutate(web, "DELETE", f"/tasks/{running['task']['id']}")[0] == 202
    until(lambda: ready(web)["task"]["status"] == "cancelled", "the task is stopped")
    assert mutate(web, "DELETE", f"/tasks/{running['task']['id']}")[0] == 200


def test_every_worker_says_the_same_and_takes_the_tokens_of_the_others(place: Place) -> None:
    one, other = worker(place), worker(place)
    ready(one)
    assert one.get("/state").data == other.get("/state").data
    response = one.get("/bootstrap")
    name, value = response.headers["Set-Cookie"].split(";")[0].split("=", 1)
    other.set_cookie(name, value)
    headers = {"X-CSRF-Token": response.get_json()["csrf_token"]}
    assert other.post("/session/reset", headers=headers).status_code == 202
    assert one.get("/state").data == other.get("/state").data
    assert len(place.brokers()) == 1


def test_a_stream_tells_a_task_to_its_end_and_goes_on_after_the_last_id(place: Place) -> None:
    web = worker(place)
    ready(web)
    submit(web, "Explain the cards page.")
    told, after = [], ""
    while not told or told[-1][1]["task"]["status"] != "completed":
        new = events(web.get(f"/events{after}", multithread=True).data)
        told += new
        after = f"?after={told[-1][0]}"
    numbers = [number for number, _ in told]
    assert numbers == sorted(set(numbers)), "no state twice, none out of order"
    assert told[-1][1] == look(web)
    assert events(web.get(f"/events{after}", multithread=True).data) == []


def test_a_killed_broker_is_followed_by_another_with_the_same_secret(place: Place) -> None:
    web = worker(place)
    ready(web)
    token = web.get("/bootstrap").get_json()["csrf_token"]
    place.kill_broker()
    ready(web)
    assert web.post("/session/reset", headers={"X-CSRF-Token": token}).status_code == 202


def test_a_missing_pi_is_an_unavailable_session_and_no_error_of_the_app(place: Place) -> None:
    settings = Settings(project_root=place.root, executable="no-such-pi")
    web = create_app(settings, place.client(executable="no-such-pi")).test_client()
    seen = until(lambda: (now := look(web))["session"]["status"] == "unavailable" and now, "Pi is unavailable")
    assert seen["session"]["error"]
    assert web.get("/state").status_code == 200


def test_a_host_app_starts_a_broker_with_its_first_read_and_not_before(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(config: BrokerConfig) -> BrokerClient:
        place.clients.append(BrokerClient(config))
        return place.clients[-1]

    monkeypatch.setattr("flask_pi_taskbar.app.BrokerClient", made)
    (place.root / "pyproject.toml").touch()
    app = host(place.root)
    PiTaskbar(app, executable=str(PEER))
    app.add_url_rule("/", "home", lambda: "<p>")
    web = app.test_client()
    assert tags(browse(web)) == 1
    web.get(f"{MOUNT}/bootstrap")
    web.get(f"{MOUNT}/assets/pi_browser_taskbar.js", buffered=True)
    assert place.brokers() == []
    until(lambda: web.get(f"{MOUNT}/state").get_json()["session"]["status"] == "ready", "Pi is ready")
    assert len(place.brokers()) == 1
