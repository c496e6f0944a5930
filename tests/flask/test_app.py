"""The routes of Contract v1, on the inner app alone: statuses, codes, bodies, headers, and the order of the checks."""

from __future__ import annotations

import io
import json
import logging
import time
from pathlib import Path
from typing import Any

import flask
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from flask_pi_taskbar.app import create_app
from flask_pi_taskbar.broker.client import Unavailable
from flask_pi_taskbar.contract import parse_task
from flask_pi_taskbar.contract.bounds import REQUEST_BYTES
from flask_pi_taskbar.contract.snapshot import unavailable_snapshot
from flask_pi_taskbar.settings import Settings
from flask_pi_taskbar.version import __version__
from flask_pi_taskbar.views import ASSETS
from tests.flask.fake_client import READY, FakeClient, gone

TASK = {
    "prompt": "Explain the cards page.",
    "context": {
        "contract_version": 1,
        "location": {"origin": "http://localhost:5000", "path": "/cards", "query_names": []},
        "route": None,
        "snapshot": {"tag": "body", "children": []},
        "focus_points": [],
        "truncation": [],
    },
}
BODY = json.dumps(TASK).encode()
SECRET = b"k" * 32


def app_of(project: Path, broker: FakeClient, **settings: Any) -> flask.Flask:
    return create_app(Settings(project_root=project, **settings), broker, secret=lambda: SECRET)


@pytest.fixture
def web(project: Path, broker: FakeClient) -> FlaskClient:
    return app_of(project, broker).test_client()


def token(web: FlaskClient) -> str:
    found = web.get("/bootstrap").get_json()["csrf_token"]
    assert isinstance(found, str)
    return found


def mutate(web: FlaskClient, method: str, path: str, **more: Any) -> TestResponse:
    headers = {"X-CSRF-Token": token(web), **more.pop("headers", {})}
    return web.open(path, method=method, headers=headers, **more)


def post_task(web: FlaskClient, body: bytes = BODY, **more: Any) -> TestResponse:
    return mutate(web, "POST", "/tasks", data=body, content_type=more.pop("content_type", "application/json"), **more)


def code_of(response: TestResponse) -> str:
    error = response.get_json()["error"]
    assert set(error) == {"code", "message"}
    return str(error["code"])


# ---- success and errors, by result ----


@pytest.mark.parametrize(
    ("call", "result", "status", "code"),
    [
        (("GET", "/state"), "ok", 200, None),
        (("POST", "/tasks"), "accepted", 202, None),
        (("POST", "/tasks"), "busy", 409, "busy"),
        (("POST", "/tasks"), "unavailable", 503, "unavailable"),
        (("DELETE", "/tasks/abc"), "accepted", 202, None),
        (("DELETE", "/tasks/abc"), "cancelled", 200, None),
        (("DELETE", "/tasks/abc"), "not_found", 404, "task_not_found"),
        (("DELETE", "/tasks/abc"), "not_cancellable", 409, "task_not_cancellable"),
        (("DELETE", "/tasks/abc"), "unavailable", 503, "unavailable"),
        (("POST", "/session/reset"), "accepted", 202, None),
        (("POST", "/session/reset"), "reset_while_busy", 409, "reset_while_busy"),
        (("POST", "/session/reset"), "session_reset_rejected", 409, "session_reset_rejected"),
        (("POST", "/session/reset"), "unavailable", 503, "unavailable"),
        (("POST", "/session/reset"), "a word of a later broker", 503, "unavailable"),
    ],
)
def test_each_result_has_its_status_and_brings_the_snapshot(
    web: FlaskClient, broker: FakeClient, call: tuple[str, str], result: str, status: int, code: str | None
) -> None:
    broker.result = result
    response = post_task(web) if call == ("POST", "/tasks") else mutate(web, *call)
    assert response.status_code == status
    if code is None:
        assert response.data == READY
    else:
        assert code_of(response) == code
        assert response.data.endswith(b',"snapshot":' + READY + b"}")


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", "/state"), ("POST", "/tasks"), ("DELETE", "/tasks/abc"), ("POST", "/session/reset")],
)
def test_without_a_broker_everything_is_unavailable_with_the_synthetic_snapshot(
    web: FlaskClient, broker: FakeClient, caplog: pytest.LogCaptureFixture, method: str, path: str
) -> None:
    broker.result = gone()
    for _ in range(2):
        response = post_task(web) if path == "/tasks" else mutate(web, method, path)
        assert (response.status_code, code_of(response)) == (503, "unavailable")
        assert response.get_json()["snapshot"] == json.loads(unavailable_snapshot())
        assert b"no broker in this test" not in response.data
    assert [record.getMessage() for record in caplog.records] == [
        "no connection to Pi's background process: no broker in this test"
    ]


def test_a_task_reaches_the_broker_normalized(web: FlaskClient, broker: FakeClient) -> None:
    broker.result = "accepted"
    post_task(web, json.dumps({**TASK, "prompt": " \r\nExplain\u202ethe page. \r"}).encode())
    assert broker.calls == [("submit", parse_task(json.dumps({**TASK, "prompt": "Explainthe page."}).encode()))]


@pytest.mark.parametrize("task_id", ["abc", "a%2Fb", "a/b", "..", "%00"])
def test_whatever_a_task_id_looks_like_it_is_only_a_name(web: FlaskClient, broker: FakeClient, task_id: str) -> None:
    broker.result = "not_found"
    assert code_of(mutate(web, "DELETE", f"/tasks/{task_id}")) in ("task_not_found", "not_found")


def test_an_encoded_slash_is_part_of_the_id(web: FlaskClient, broker: FakeClient) -> None:
    broker.result = "accepted"
    assert mutate(web, "DELETE", "/tasks/task%2Fid").status_code == 202
    assert broker.calls == [("cancel", "task/id")]


# ---- bodies that are no task ----


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"prompt":"x"}',
        b'{"prompt":"x","context":{},"more":1}',
        b"\xff\xfe{}",
        b'{"prompt":"\xff","context":{}}',
        BODY.replace(b"Explain", b"\\ud800"),
        BODY.replace(b"[]}", b"NaN}"),
        BODY.decode().encode("utf-16"),
        b"[" * 100_000,
        b"prompt=x&context=y",
        json.dumps({**TASK, "prompt": "é" * 2001}).encode(),
        b" " * (REQUEST_BYTES + 1) + BODY,
    ],
)
def test_a_body_that_is_no_task_is_422_invalid_task_without_detail_and_without_snapshot(
    web: FlaskClient, broker: FakeClient, body: bytes
) -> None:
    response = post_task(web, body)
    assert response.status_code == 422
    assert response.get_json() == {"error": {"code": "invalid_task", "message": "Task request is invalid"}}
    assert broker.calls == []


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "",
        "text/plain",
        "text/plain;charset=UTF-8",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/json; charset=latin-1",
        "application/jsonp",
        "nonsense",
    ],
)
def test_another_content_type_is_no_task(web: FlaskClient, broker: FakeClient, content_type: str | None) -> None:
    assert code_of(post_task(web, content_type=content_type)) == "invalid_task"
    assert broker.calls == []


@pytest.mark.parametrize("content_type", ["application/json", "application/json;charset=utf-8", "APPLICATION/JSON"])
def test_json_is_json_however_it_is_spelled(web: FlaskClient, broker: FakeClient, content_type: str) -> None:
    broker.result = "accepted"
    assert post_task(web, content_type=content_type).status_code == 202


class Endless(io.RawIOBase):
    """A body without an end that counts how much of it is read."""

    def __init__(self) -> None:
        self.given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        buffer[:] = b" " * len(buffer)
        self.given += len(buffer)
        return len(buffer)


def test_a_body_that_says_it_is_too_long_is_not_read(web: FlaskClient) -> None:
    body = Endless()
    response = post_task(web, environ_overrides={"wsgi.input": body, "CONTENT_LENGTH": str(REQUEST_BYTES + 1)})
    assert code_of(response) == "invalid_task"
    assert body.given == 0


def test_a_body_without_a_length_is_read_no_further_than_it_may_be_long(web: FlaskClient) -> None:
    body = Endless()
    chunked = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": body}
    response = post_task(web, environ_overrides={**chunked, "CONTENT_LENGTH": ""})
    assert code_of(response) == "invalid_task"
    assert body.given <= REQUEST_BYTES + 1 + io.DEFAULT_BUFFER_SIZE


def test_a_task_in_chunks_without_a_length_is_a_task(web: FlaskClient, broker: FakeClient) -> None:
    broker.result = "accepted"
    chunked = {"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input": io.BytesIO(BODY)}
    assert post_task(web, environ_overrides={**chunked, "CONTENT_LENGTH": ""}).status_code == 202


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


# ---- headers, bootstrap, assets ----


def test_every_json_answer_is_stored_sniffed_and_framed_by_nobody(web: FlaskClient) -> None:
    for response in [web.get("/state"), web.get("/bootstrap"), web.get("/nothing"), web.post("/tasks")]:
        assert response.headers["Content-Type"] == "application/json"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert not [name for name, _ in response.headers if name.startswith("Access-Control")]


def test_bootstrap_says_what_only_the_server_knows(project: Path, broker: FakeClient) -> None:
    web = app_of(project, broker).test_client()
    found = web.get("/bootstrap").get_json()
    assert found.pop("csrf_token")
    assert found == {
        "contract_version": 1,
        "product_version": __version__,
        "remote_access": False,
        "project": project.name,
        "live": False,
    }
    remote = app_of(project, broker, allowed_hosts=("box.example",)).test_client()
    response = remote.get("/bootstrap", multithread=True)
    assert response.get_json()["remote_access"] is True
    assert response.get_json()["live"] is True
    assert b"box.example" not in response.data
    assert str(project.parent).encode() not in response.data


@pytest.fixture
def assets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "assets"
    folder.mkdir()
    (folder / "pi_browser_taskbar.js").write_text("export {};\n")
    (folder / "style.css").write_text("p {}\n")
    (folder / "notes.txt").write_text("no\n")
    (tmp_path / "secret.js").write_text("no\n")
    monkeypatch.setattr("flask_pi_taskbar.views.ASSETS", folder)
    return folder


def test_assets_are_revalidated_and_typed(web: FlaskClient, assets: Path) -> None:
    response = web.get("/assets/pi_browser_taskbar.js", buffered=True)
    assert response.status_code == 200
    assert response.data == b"export {};\n"
    assert response.headers["Content-Type"] == "text/javascript; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-cache"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    again = web.get("/assets/pi_browser_taskbar.js", buffered=True, headers={"If-None-Match": response.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert web.get("/assets/style.css", buffered=True).headers["Content-Type"] == "text/css; charset=utf-8"
    assert web.head("/assets/style.css", buffered=True).headers["Content-Length"] == "5"


def test_assets_are_only_modules_and_styles_of_their_own_folder(web: FlaskClient, assets: Path) -> None:
    for name in ("notes.txt", "../secret.js", "%2e%2e/secret.js", "/etc/passwd", "nothing.js", "", ".", "..js"):
        assert code_of(web.get(f"/assets/{name}")) == "not_found"


def test_the_real_assets_are_there(web: FlaskClient) -> None:
    assert ASSETS.is_dir()


# ---- failures ----


def test_an_exception_is_a_503_with_a_fixed_text_and_a_notice_without_content(
    web: FlaskClient, broker: FakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    broker.result = RuntimeError("the prompt was: hunter2")
    for _ in range(2):
        response = post_task(web)
        assert (response.status_code, code_of(response)) == (503, "unavailable")
        assert response.get_json()["snapshot"] == json.loads(unavailable_snapshot())
    text = "\n".join(record.getMessage() + (record.exc_text or "") for record in caplog.records)
    assert "RuntimeError in FakeClient._reply" in text
    assert "hunter2" not in text
    assert "Explain" not in text
    assert len(caplog.records) == 1


def test_nothing_that_is_asked_reaches_the_log(
    web: FlaskClient, broker: FakeClient, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    broker.result = "accepted"
    post_task(web)
    post_task(web, b"{")
    web.post("/tasks", data=BODY)
    web.get("/state", headers={"Origin": "http://evil.test"})
    assert "Explain" not in caplog.text
    assert "evil" not in caplog.text


def test_making_the_app_starts_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError("a socket, a process or a thread")

    monkeypatch.setattr("socket.socket.__init__", never)
    monkeypatch.setattr("subprocess.Popen.__init__", never)
    monkeypatch.setattr("threading.Thread.start", never)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(project / "run"))
    monkeypatch.setenv("XDG_STATE_HOME", str(project / "state"))
    create_app(Settings(project_root=project))
    assert sorted(path.name for path in project.iterdir()) == ["pyproject.toml"]
