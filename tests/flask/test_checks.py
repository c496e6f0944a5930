"""The checks before every route: who may call, the token of what changes something, and in which order."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from flask_pi_taskbar.app import create_app
from flask_pi_taskbar.broker.client import Unavailable
from flask_pi_taskbar.contract.bounds import REQUEST_BYTES
from flask_pi_taskbar.settings import Settings
from tests.flask.fake_client import FakeClient
from tests.flask.web import BODY, Endless, app_of, code_of, post_task, token

# ---- CSRF ----

MUTATIONS = [("POST", "/tasks"), ("DELETE", "/tasks/abc"), ("POST", "/session/reset")]


@pytest.mark.parametrize(("method", "path"), MUTATIONS)
def test_every_mutation_needs_the_token_of_its_session(
    project: Path, broker: FakeClient, method: str, path: str
) -> None:
    app = app_of(project, broker)
    mine, other = app.test_client(), app.test_client()
    good, foreign = token(mine), token(other)
    for bad in [
        {},
        {"X-CSRF-Token": ""},
        {"X-CSRF-Token": "x"},
        {"X-CSRF-Token": good + "x"},
        {"X-CSRF-Token": foreign},
    ]:
        response = mine.open(path, method=method, headers=bad, data=BODY, content_type="application/json")
        assert (response.status_code, code_of(response)) == (422, "invalid_csrf")
        assert "snapshot" not in response.get_json()
        assert response.headers["Cache-Control"] == "no-store"
    without_cookie = app.test_client().open(path, method=method, headers={"X-CSRF-Token": good})
    assert code_of(without_cookie) == "invalid_csrf"
    assert broker.calls == []


def test_a_token_in_a_form_or_in_the_address_does_not_count(web: FlaskClient, broker: FakeClient) -> None:
    good = token(web)
    assert code_of(web.post("/session/reset", data={"csrf_token": good})) == "invalid_csrf"
    assert code_of(web.post(f"/session/reset?csrf_token={good}")) == "invalid_csrf"
    assert broker.calls == []


def test_a_token_lives_as_long_as_its_page(
    web: FlaskClient, broker: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker.result = "accepted"
    good = token(web)
    later = time.time() + 7 * 24 * 3600
    monkeypatch.setattr("itsdangerous.timed.time.time", lambda: later)
    assert web.post("/session/reset", headers={"X-CSRF-Token": good}).status_code == 202


def test_one_worker_takes_the_token_of_another(project: Path, broker: FakeClient) -> None:
    broker.result = "accepted"
    one, other = app_of(project, broker).test_client(), app_of(project, broker).test_client()
    good = token(one)
    cookie = one.get_cookie(cookie_name(project), path="/")
    assert cookie is not None
    other.set_cookie(cookie.key, cookie.value)
    assert other.post("/session/reset", headers={"X-CSRF-Token": good}).status_code == 202


def cookie_name(project: Path) -> str:
    return str(app_of(project, FakeClient()).config["SESSION_COOKIE_NAME"])


def test_the_cookie_is_named_after_the_project_and_closed_to_scripts_and_other_sites(
    web: FlaskClient, project: Path
) -> None:
    (cookie,) = web.get("/bootstrap", base_url="http://localhost/dev/pi").headers.getlist("Set-Cookie")
    name, _, rest = cookie.partition("=")
    assert name == cookie_name(project)
    assert name.startswith("pi_taskbar_")
    attributes = {part.strip() for part in rest.split(";")[1:]}
    assert attributes == {"HttpOnly", "Path=/dev/pi", "SameSite=Strict"}


def test_two_projects_on_one_host_do_not_share_a_cookie(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    assert cookie_name(tmp_path / "a") != cookie_name(tmp_path / "b")


def test_polls_touch_no_cookie(web: FlaskClient) -> None:
    token(web)
    for path in ("/state", "/events", "/nothing", "/assets/x.js"):
        response = web.get(path)
        assert "Set-Cookie" not in response.headers
        assert "Cookie" not in response.headers.get("Vary", "")
    assert "Set-Cookie" not in web.get("/bootstrap").headers, "a token for a session that is there needs no new cookie"


def test_over_https_a_missing_referrer_is_no_obstacle(web: FlaskClient, broker: FakeClient) -> None:
    broker.result = "accepted"
    good = web.get("/bootstrap", base_url="https://localhost").get_json()["csrf_token"]
    headers = {"X-CSRF-Token": good, "Origin": "https://localhost"}
    assert web.post("/session/reset", base_url="https://localhost", headers=headers).status_code == 202


def test_without_a_secret_tokens_are_unavailable_and_reading_goes_on(project: Path, broker: FakeClient) -> None:
    def no_secret() -> bytes:
        raise Unavailable("no private folder")

    web = create_app(Settings(project_root=project), broker, secret=no_secret).test_client()
    assert web.get("/state").status_code == 200
    assert code_of(web.get("/bootstrap")) == "unavailable"
    assert code_of(web.post("/session/reset")) == "unavailable"


# ---- the order of the checks ----


@pytest.mark.parametrize(
    ("path", "method"),
    [
        ("/state", "GET"),
        ("/tasks", "POST"),
        ("/tasks/abc", "DELETE"),
        ("/session/reset", "POST"),
        ("/events", "GET"),
        ("/bootstrap", "GET"),
        ("/assets/pi_browser_taskbar.js", "GET"),
        ("/nothing", "GET"),
        ("/state", "POST"),
        ("/state", "OPTIONS"),
        ("/state", "HEAD"),
    ],
)
def test_access_comes_first_on_every_route_and_reads_no_body(
    web: FlaskClient, broker: FakeClient, caplog: pytest.LogCaptureFixture, path: str, method: str
) -> None:
    body = Endless()
    for _ in range(2):
        endless = {"wsgi.input": body, "CONTENT_LENGTH": str(10**9)}
        response = web.open(path, method=method, base_url="http://evil.test:5000", environ_overrides=endless)
        assert response.status_code == 403
        assert "Set-Cookie" not in response.headers
        assert not [name for name, _ in response.headers if name.startswith("Access-Control")]
        if method != "HEAD":
            assert code_of(response) == "forbidden"
            assert "snapshot" not in response.get_json()
            assert "evil" not in response.text
    assert body.given == 0
    assert broker.calls == []
    (record,) = caplog.records
    assert "host" in record.getMessage()
    assert "PI_BROWSER_TASKBAR_ALLOWED_HOSTS" in record.getMessage()


def test_then_the_token_then_the_size_then_the_task_then_the_broker(web: FlaskClient, broker: FakeClient) -> None:
    broker.result = "busy"
    long, broken = b" " * (REQUEST_BYTES + 1), b"{"
    assert code_of(web.post("/tasks", data=long, content_type="text/plain")) == "invalid_csrf"
    assert code_of(post_task(web, long)) == "invalid_task"
    assert code_of(post_task(web, broken)) == "invalid_task"
    assert broker.calls == []
    assert code_of(post_task(web)) == "busy"


def test_an_unknown_address_or_method_is_json_whatever_the_token(web: FlaskClient) -> None:
    for method, path, status, code in [
        ("GET", "/", 404, "not_found"),
        ("GET", "/state/", 404, "not_found"),
        ("POST", "/session//reset", 404, "not_found"),
        ("GET", "/nothing", 404, "not_found"),
        ("POST", "/nothing", 404, "not_found"),
        ("GET", "/assets/../app.py", 404, "not_found"),
        ("GET", "/assets/nothing.js", 404, "not_found"),
        ("GET", "/assets/", 404, "not_found"),
        ("POST", "/state", 405, "method_not_allowed"),
        ("GET", "/tasks", 405, "method_not_allowed"),
        ("PUT", "/tasks/abc", 405, "method_not_allowed"),
        ("OPTIONS", "/tasks", 405, "method_not_allowed"),
        ("TRACE", "/state", 405, "method_not_allowed"),
    ]:
        response = web.open(path, method=method)
        assert (method, path, response.status_code, code_of(response)) == (method, path, status, code)
        assert response.headers["Cache-Control"] == "no-store"
    assert web.post("/state").headers["Allow"] == "GET, HEAD"
