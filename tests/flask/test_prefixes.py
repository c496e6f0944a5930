"""Apps below prefixes, behind proxies, inside and beside other apps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flask
import pytest
from flask import Flask
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.middleware.proxy_fix import ProxyFix
from werkzeug.test import Client

from flask_pi_taskbar import PiTaskbar
from tests.flask.fake_client import READY, FakeClient
from tests.flask.host import MOUNT, browse, host, tags


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
