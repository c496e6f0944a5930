"""The routes of Contract v1, on the inner app alone: statuses, codes, bodies and headers."""

from __future__ import annotations

import functools
import io
import json
import logging
from pathlib import Path

import flask
import pytest
from flask.testing import FlaskClient

from flask_pi_taskbar.app import create_app
from flask_pi_taskbar.contract import parse_task
from flask_pi_taskbar.contract.bounds import REQUEST_BYTES
from flask_pi_taskbar.contract.snapshot import unavailable_snapshot
from flask_pi_taskbar.settings import Settings
from flask_pi_taskbar.version import __version__
from flask_pi_taskbar.views import ASSETS
from tests.flask.fake_client import READY, FakeClient, gone
from tests.flask.web import BODY, TASK, Endless, app_of, code_of, mutate, post_task

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
        "pi-taskbar: no connection to Pi's background process: no broker in this test"
    ]


@pytest.mark.parametrize("result", ["ok", gone(), RuntimeError("of a page")])
@pytest.mark.parametrize("base_url", ["http://localhost", "http://evil.test"])
def test_the_short_way_to_the_state_says_what_the_long_one_says(
    project: Path, broker: FakeClient, result: str | Exception, base_url: str
) -> None:
    broker.result = result
    app = app_of(project, broker)
    answers = [app.test_client().get("/state", base_url=base_url)]
    app.wsgi_app = functools.partial(flask.Flask.wsgi_app, app)  # type: ignore[method-assign]
    answers.append(app.test_client().get("/state", base_url=base_url))
    short, long = [(answer.status, sorted(answer.headers), answer.data) for answer in answers]
    assert short == long


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


# ---- headers, bootstrap, assets ----


def test_every_json_answer_is_stored_sniffed_and_framed_by_nobody(web: FlaskClient) -> None:
    for response in [web.get("/state"), web.get("/bootstrap"), web.get("/nothing"), web.post("/tasks")]:
        assert response.headers["Content-Type"] == "application/json"
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in response.headers["Content-Security-Policy"]
        assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]
        assert not [name for name, _ in response.headers if name.startswith("Access-Control")]


@pytest.mark.parametrize(
    ("executable", "said"),
    [("no-such-program-at-all", "there is no program 'no-such-program-at-all'"), ("sh", "does not start")],
)
def test_the_terminal_says_why_there_is_no_pi(
    project: Path, broker: FakeClient, caplog: pytest.LogCaptureFixture, executable: str, said: str
) -> None:
    web = app_of(project, broker, executable=executable).test_client()
    broker.result = "unavailable"
    for _ in range(2):
        mutate(web, "POST", "/session/reset")
    assert caplog.text.count(said) == 1


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


def test_a_server_without_threads_is_said_once(web: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        assert web.get("/bootstrap").get_json()["live"] is False
    (record,) = caplog.records
    assert "--threads" in record.getMessage()
    assert web.get("/bootstrap", multithread=True).get_json()["live"] is True


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
