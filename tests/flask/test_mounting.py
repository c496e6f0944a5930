"""Our routes inside host apps of every kind: nothing of the host's stands in their way, and the host stays as it is."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import flask
import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.test import TestResponse

from flask_pi_taskbar import PiTaskbar
from tests.flask.fake_client import READY, FakeClient
from tests.flask.host import MOUNT, browse, host, tags
from tests.flask.hostile import HOSTILE, Hostile, a_csrf_protection


def add_middleware(app: Flask) -> None:
    """Something between Flask and us, so that requests for our routes must pass through the host app."""
    inner = app.wsgi_app
    app.wsgi_app = lambda environ, start_response: inner(environ, start_response)  # type: ignore[method-assign]


@pytest.fixture(params=HOSTILE)
def change(request: pytest.FixtureRequest) -> Hostile:
    return HOSTILE[request.param]


@pytest.fixture(params=["before us", "after us", "behind a middleware"])
def web(request: pytest.FixtureRequest, change: Hostile, project: Path, broker: FakeClient) -> FlaskClient:
    app = host(project)
    if request.param == "behind a middleware":
        add_middleware(app)
    if request.param != "after us":
        change(app)
        PiTaskbar(app)
    else:
        PiTaskbar(app)
        change(app)
    return app.test_client()


def is_ours(response: TestResponse) -> bool:
    names = [name for name, _ in response.headers]
    return (
        response.headers["Cache-Control"] == "no-store"
        and response.headers["Content-Security-Policy"].startswith("default-src 'none'; base-uri")
        and not [name for name in names if name.startswith("Access-Control") or name in ("ETag", "Content-Encoding")]
        and len(names) == len(set(names))
    )


def test_every_route_keeps_its_meaning_in_every_host(web: FlaskClient, broker: FakeClient) -> None:
    # A name of our own in the Host header: the test client would take the app's SERVER_NAME.
    ask = functools.partial(web.open, base_url="http://localhost")
    asking = {"Accept-Encoding": "gzip, br", "Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}
    state = ask(f"{MOUNT}/state", headers=asking)
    assert (state.status_code, state.data, state.headers["Content-Type"]) == (200, READY, "application/json")
    assert is_ours(state)
    assert "Set-Cookie" not in state.headers

    bootstrap = ask(f"{MOUNT}/bootstrap", headers=asking)
    assert bootstrap.status_code == 200
    assert is_ours(bootstrap)
    (cookie,) = bootstrap.headers.getlist("Set-Cookie")
    assert cookie.startswith("pi_taskbar_")
    assert f"Path={MOUNT};" in cookie
    token = bootstrap.get_json()["csrf_token"]

    refused = ask(f"{MOUNT}/session/reset", method="POST", headers=asking)
    assert (refused.status_code, refused.get_json()["error"]["code"]) == (422, "invalid_csrf")
    broker.result = "accepted"
    taken = ask(f"{MOUNT}/session/reset", method="POST", headers={**asking, "X-CSRF-Token": token})
    assert (taken.status_code, taken.data) == (202, READY)
    assert broker.calls.count(("reset", None)) == 1

    for method, path, status in [
        ("GET", f"{MOUNT}/nothing", 404),
        ("GET", MOUNT, 404),
        ("POST", f"{MOUNT}/state", 405),
    ]:
        response = ask(path, method=method, headers=asking)
        assert response.status_code == status
        assert response.headers["Content-Type"] == "application/json"
        assert is_ours(response)

    broker.result = "ok"
    stream = ask(f"{MOUNT}/events", headers=asking)
    assert stream.headers["Content-Type"].startswith("text/event-stream")
    assert stream.data.endswith(b"data: " + READY + b"\n\n")
    assert "Content-Encoding" not in stream.headers


def test_a_foreign_host_is_refused_in_every_host(web: FlaskClient, broker: FakeClient) -> None:
    response = web.get(f"{MOUNT}/state", base_url="http://evil.test:5000")
    assert (response.status_code, response.get_json()["error"]["code"]) == (403, "forbidden")
    assert broker.calls == []


def test_a_path_beside_ours_is_the_hosts(project: Path, broker: FakeClient) -> None:
    app = host(project)
    PiTaskbar(app)
    app.add_url_rule("/<path:rest>", "all", lambda rest: rest)
    for path in (f"{MOUNT}x/state", "/dev", "/x" + MOUNT, MOUNT.upper() + "/state"):
        assert app.test_client().get(path).text == path[1:]


def test_the_hosts_session_is_neither_saved_nor_extended_by_polls(project: Path, broker: FakeClient) -> None:
    app = host(project)
    app.secret_key = "host"
    PiTaskbar(app)
    app.add_url_rule("/", "home", lambda: "<p>")
    web = app.test_client()
    with web.session_transaction() as held:
        held.permanent = True
        held["cart"] = 1
    assert "session=" in web.get("/").headers["Set-Cookie"], "the host does extend it on its own pages"
    for name in ("state", "events", "nothing"):
        assert "Set-Cookie" not in web.get(f"{MOUNT}/{name}").headers
    (cookie,) = web.get(f"{MOUNT}/bootstrap").headers.getlist("Set-Cookie")
    assert cookie.startswith("pi_taskbar_")


def test_the_host_keeps_its_csrf_protection(project: Path, broker: FakeClient) -> None:
    app = host(project)
    a_csrf_protection(app)
    PiTaskbar(app)
    app.add_url_rule("/form", "form", lambda: "<p>", methods=["POST"])
    web = app.test_client()
    token = web.get(f"{MOUNT}/bootstrap").get_json()["csrf_token"]
    assert web.post("/form", headers={"X-CSRF-Token": token}).status_code == 400


def test_the_host_needs_no_secret_key(project: Path, broker: FakeClient) -> None:
    app = host(project)
    PiTaskbar(app)
    assert app.secret_key is None
    assert app.test_client().get(f"{MOUNT}/bootstrap").get_json()["csrf_token"]


def test_with_nothing_in_between_the_host_has_no_part_in_our_routes(project: Path, broker: FakeClient) -> None:
    app, seen = host(project), []
    PiTaskbar(app)
    app.wsgi_app = ProxyFix(app.wsgi_app)  # type: ignore[method-assign]
    app.before_request(lambda: seen.append("before"))
    app.teardown_request(lambda _error: seen.append("teardown"))
    assert app.test_client().get(f"{MOUNT}/state").data == READY
    assert seen == []


def test_functions_of_the_host_see_an_answer_with_the_true_status_and_body(project: Path, broker: FakeClient) -> None:
    app, seen = host(project), []
    add_middleware(app)
    PiTaskbar(app)

    @app.after_request
    def look(response: flask.Response) -> flask.Response:
        response.call_on_close(lambda: seen.append("closed"))
        seen.append((response.status_code, response.data, isinstance(response, app.response_class)))
        return response

    app.test_client().get(f"{MOUNT}/state").close()
    assert seen == [(200, READY, True), "closed"]


def test_what_a_stream_would_do_to_a_function_that_reads_it_all_does_not_happen(
    project: Path, broker: FakeClient
) -> None:
    app, lengths = host(project), []
    add_middleware(app)
    PiTaskbar(app)

    @app.after_request
    def measure(response: flask.Response) -> flask.Response:
        lengths.append(len(response.get_data()))
        return response

    broker.frames.put(StopIteration)
    assert app.test_client().get(f"{MOUNT}/events", multithread=True).data == b"retry: 100\n\n"
    assert lengths == [0]


def test_a_lost_wrapper_costs_the_tag_but_not_the_routes(project: Path, broker: FakeClient) -> None:
    app = host(project)
    app.add_url_rule("/", "home", lambda: "<p>")
    original = app.wsgi_app
    PiTaskbar(app)
    app.wsgi_app = original  # type: ignore[method-assign]
    web = app.test_client()
    assert web.get(f"{MOUNT}/state").data == READY
    token = web.get(f"{MOUNT}/bootstrap").get_json()["csrf_token"]
    broker.result = "accepted"
    assert web.post(f"{MOUNT}/session/reset", headers={"X-CSRF-Token": token}).status_code == 202
    assert tags(browse(web)) == 0


def test_a_broken_inner_app_is_unavailable_and_tried_again(
    project: Path, broker: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    import flask_pi_taskbar.app

    def broken(*_: Any, **__: Any) -> Any:
        raise ImportError("flask_wtf")

    app = host(project)
    PiTaskbar(app)
    with monkeypatch.context() as patched:
        patched.setattr(flask_pi_taskbar.app, "create_app", broken)
        response = app.test_client().get(f"{MOUNT}/state")
        assert (response.status_code, response.get_json()["error"]["code"]) == (503, "unavailable")
    assert app.test_client().get(f"{MOUNT}/state").status_code == 200
