"""Our routes inside host apps of every kind: nothing of the host's stands in their way, and the host stays as it is."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import flask
import pytest
from flask import Flask, abort, redirect, request, session
from flask.testing import FlaskClient
from flask_compress import Compress
from flask_wtf import CSRFProtect
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.test import Client, TestResponse

from flask_pi_taskbar import PiTaskbar
from tests.flask.fake_client import READY, FakeClient
from tests.flask.host import MOUNT, browse, host, tags

Hostile = Callable[[Flask], None]
HOSTILE: dict[str, Hostile] = {}


def hostile(change: Hostile) -> Hostile:
    HOSTILE[change.__name__.replace("_", " ")] = change
    return change


@hostile
def a_plain_app(app: Flask) -> None:
    pass


@hostile
def a_login_guard(app: Flask) -> None:
    app.before_request(lambda: redirect("/login"))


@hostile
def a_guard_that_aborts(app: Flask) -> None:
    app.before_request(lambda: abort(401))


@hostile
def a_csrf_protection(app: Flask) -> None:
    app.secret_key = "host"
    CSRFProtect(app)


@hostile
def a_catch_all(app: Flask) -> None:
    app.add_url_rule("/<path:rest>", "all", lambda rest: f"<p>{rest}", methods=["GET", "POST", "DELETE"])


@hostile
def a_catch_all_in_a_blueprint_that_handles_everything(app: Flask) -> None:
    everything = flask.Blueprint("everything", __name__)
    everything.add_url_rule("/<path:rest>", "all", lambda rest: rest, methods=["GET", "POST", "DELETE"])
    everything.register_error_handler(Exception, lambda _error: ("<p>caught", 500))
    everything.before_request(lambda: redirect("/login"))
    everything.after_request(lambda _response: flask.Response("replaced", 418))
    app.register_blueprint(everything)


@hostile
def handlers_of_every_error(app: Flask) -> None:
    for error in (404, 405, 422, 500, Exception):
        app.register_error_handler(error, lambda _error: ("<p>handled", 200))


@hostile
def trapped_exceptions(app: Flask) -> None:
    app.config.update(TRAP_HTTP_EXCEPTIONS=True, TRAP_BAD_REQUEST_ERRORS=True, PROPAGATE_EXCEPTIONS=True)


@hostile
def exceptions_that_do_not_propagate(app: Flask) -> None:
    app.config.update(PROPAGATE_EXCEPTIONS=False)


@hostile
def an_error_router(app: Flask) -> None:
    """As Flask-RESTful replaces it."""
    app.handle_user_exception = lambda _error: app.make_response(("routed", 500))  # type: ignore[method-assign,assignment]


@hostile
def an_error_router_that_raises(app: Flask) -> None:
    def route(error: Exception) -> Any:
        raise error

    app.handle_user_exception = route  # type: ignore[method-assign,assignment]


@hostile
def headers_for_every_response(app: Flask) -> None:
    @app.after_request
    def change(response: flask.Response) -> flask.Response:
        response.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
        response.headers["Access-Control-Allow-Origin"] = "*"
        response.headers["Cache-Control"] = "public, max-age=3600"
        response.headers["Content-Type"] = "text/html"
        response.set_cookie("tracking", "1")
        response.headers.add("Set-Cookie", "sneaky=1")
        return response


@hostile
def another_body_and_status_for_every_response(app: Flask) -> None:
    @app.after_request
    def change(response: flask.Response) -> flask.Response:
        data = response.get_data()
        response.set_data(json.dumps({"wrapped": data.decode()}))
        response.add_etag()
        response.status_code = 299
        return response


@hostile
def another_response_for_every_response(app: Flask) -> None:
    app.after_request(lambda _response: flask.Response("<p>replaced", 418))


@hostile
def an_after_request_that_reads_json(app: Flask) -> None:
    @app.after_request
    def read(response: flask.Response) -> flask.Response:
        if response.is_json:
            response.get_json()["seen"] = True
        return response


@hostile
def an_after_request_that_fails(app: Flask) -> None:
    @app.after_request
    def fail(response: flask.Response) -> flask.Response:
        raise LookupError(request.endpoint)


@hostile
def a_teardown_that_fails(app: Flask) -> None:
    @app.teardown_request
    def fail(_error: BaseException | None) -> None:
        raise LookupError("no start time")


@hostile
def compression(app: Flask) -> None:
    app.config["COMPRESS_MIN_SIZE"] = 1
    Compress(app)


@hostile
def a_response_class_of_its_own(app: Flask) -> None:
    class Json(flask.Response):
        default_mimetype = "application/x-host"
        charset = "latin-1"

    app.response_class = Json


@hostile
def url_processors(app: Flask) -> None:
    app.url_value_preprocessor(lambda _endpoint, values: values.pop("lang"))
    app.url_defaults(lambda _endpoint, values: values.setdefault("lang", "en"))


@hostile
def host_matching(app: Flask) -> None:
    app.url_map.host_matching = True
    app.add_url_rule("/only", "only", lambda: "<p>", host="shop.example")


@hostile
def a_server_name_and_subdomains(app: Flask) -> None:
    app.config["SERVER_NAME"] = "shop.example:5000"
    app.subdomain_matching = True


@hostile
def trusted_hosts(app: Flask) -> None:
    app.config["TRUSTED_HOSTS"] = ["shop.example"]


@hostile
def a_session_for_everybody(app: Flask) -> None:
    app.secret_key = "host"
    app.config["SESSION_REFRESH_EACH_REQUEST"] = True

    @app.after_request
    def remember(response: flask.Response) -> flask.Response:
        session.permanent = True
        session["seen"] = True
        return response


@hostile
def a_session_store_that_is_down(app: Flask) -> None:
    class Down(flask.sessions.SessionInterface):
        def open_session(self, app: Flask, request: flask.Request) -> Any:
            raise ConnectionError("no such server")

    app.session_interface = Down()


@hostile
def a_receiver_that_expects_its_start(app: Flask) -> None:
    def finished(_app: Flask, **_: Any) -> None:
        raise KeyError("started")

    flask.request_finished.connect(finished, app)
    app.extensions["keep"] = finished


@hostile
def a_receiver_that_fails(app: Flask) -> None:
    def started(_app: Flask, **_: Any) -> None:
        raise KeyError("no")

    flask.request_started.connect(started, app)
    app.extensions["keep"] = started


@hostile
def proxy_fix(app: Flask) -> None:
    app.wsgi_app = ProxyFix(app.wsgi_app)  # type: ignore[method-assign]


@hostile
def an_async_guard(app: Flask) -> None:
    @app.before_request
    async def guard() -> Any:
        return redirect("/login")


@hostile
def a_body_limit(app: Flask) -> None:
    app.config["MAX_CONTENT_LENGTH"] = 1


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


# ---- prefixes, proxies, several apps ----


def visitor(wsgi: Any) -> Client:
    """A browser on this machine."""

    def served(environ: dict[str, Any], start_response: Any) -> Any:
        environ.setdefault("REMOTE_ADDR", "127.0.0.1")
        return wsgi(environ, start_response)

    return Client(served, flask.Response)


def pages_and_routes_below(prefix: str, wsgi: Any, environ: dict[str, Any] | None = None) -> None:
    web = visitor(wsgi)
    page = web.get(f"{prefix}/", headers={"Sec-Fetch-Dest": "document"}, environ_overrides=environ)
    base = page.text.split('data-mount-base="')[1].split('"')[0]
    assert f'src="{base}/assets/pi_browser_taskbar.js"' in page.text
    assert base.endswith(MOUNT)
    asked = prefix + MOUNT if environ is None else MOUNT
    found = web.get(f"{asked}/bootstrap", environ_overrides=environ)
    assert f"Path={base};" in found.headers["Set-Cookie"]
    assert web.get(f"{asked}/state", environ_overrides=environ).data == READY


def one_page(project: Path) -> Flask:
    app = host(project)
    app.add_url_rule("/", "home", lambda: "<p>")
    return app


def test_below_a_dispatcher(project: Path, broker: FakeClient) -> None:
    app = one_page(project)
    PiTaskbar(app)
    pages_and_routes_below("/app", DispatcherMiddleware(Flask("other"), {"/app": app}))


def test_below_a_dispatcher_inside_of_the_app(project: Path, broker: FakeClient) -> None:
    app, other = one_page(project), Flask("other")
    other.add_url_rule("/", "home", lambda: "<p>")
    app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/other": other})  # type: ignore[method-assign]
    PiTaskbar(app)
    assert tags(browse(app)) == 1
    assert tags(browse(app, "/other/")) == 0


@pytest.mark.parametrize("first", ["the proxy", "the taskbar"])
def test_below_a_prefix_that_proxy_fix_reads(project: Path, broker: FakeClient, first: str) -> None:
    app = one_page(project)
    if first == "the taskbar":
        PiTaskbar(app)
    app.wsgi_app = ProxyFix(app.wsgi_app, x_prefix=1)  # type: ignore[method-assign]
    if first == "the proxy":
        PiTaskbar(app)
    environ = {"HTTP_X_FORWARDED_PREFIX": "/pre", "HTTP_X_FORWARDED_FOR": "127.0.0.1"}
    pages_and_routes_below("", app, environ)
    assert 'data-mount-base="/pre' in browse(app, environ_overrides=environ).text


@pytest.mark.parametrize("first", ["the proxy", "the taskbar"])
def test_behind_proxy_fix_the_real_sender_counts_in_any_order(project: Path, broker: FakeClient, first: str) -> None:
    app = one_page(project)
    if first == "the taskbar":
        PiTaskbar(app)
    app.wsgi_app = ProxyFix(app.wsgi_app)  # type: ignore[method-assign]
    if first == "the proxy":
        PiTaskbar(app)
    web = app.test_client()
    lan, here = {"REMOTE_ADDR": "192.168.0.7"}, {"REMOTE_ADDR": "127.0.0.1"}
    for peer, forwarded, status in [
        (here, None, 200),
        (here, "127.0.0.1", 200),
        (here, "8.8.8.8", 403),
        (lan, None, 403),
        (lan, "127.0.0.1", 403),
    ]:
        headers = {} if forwarded is None else {"X-Forwarded-For": forwarded}
        assert web.get(f"{MOUNT}/state", headers=headers, environ_overrides=peer).status_code == status


def test_a_tunnel_without_proxy_fix_is_refused(project: Path, broker: FakeClient) -> None:
    app = one_page(project)
    PiTaskbar(app)
    response = app.test_client().get(f"{MOUNT}/state", headers={"X-Forwarded-For": "8.8.8.8"})
    assert response.get_json()["error"]["code"] == "forbidden"


def test_application_root_does_not_confuse_us(project: Path, broker: FakeClient) -> None:
    app = one_page(project)
    app.config["APPLICATION_ROOT"] = "/app"
    PiTaskbar(app)
    pages_and_routes_below("", app)
    pages_and_routes_below("/app", DispatcherMiddleware(Flask("other"), {"/app": app}))


def test_two_apps_in_one_process_have_each_their_own(tmp_path: Path, broker: FakeClient) -> None:
    apps = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pyproject.toml").touch()
        app = one_page(tmp_path / name)
        PiTaskbar(app, mount_path=f"/{name}-pi")
        apps.append(app)
    both = DispatcherMiddleware(apps[0], {"/two": apps[1]})
    web = visitor(both)
    assert web.get("/one-pi/bootstrap").get_json()["project"] == "one"
    assert web.get("/two/two-pi/bootstrap").get_json()["project"] == "two"
    assert web.get("/two-pi/state").status_code == 404
    assert 'data-mount-base="/two/two-pi"' in web.get("/two/", headers={"Sec-Fetch-Dest": "document"}).text
