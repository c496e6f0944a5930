"""`PiTaskbar`: when there is a taskbar and when there is nothing, the helper in templates, what is exempt."""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import Any

import flask
import jinja2
import pytest
from flask import render_template_string

from flask_pi_taskbar import PiTaskbar
from flask_pi_taskbar.inject import Injector
from flask_pi_taskbar.mount import Mounted
from flask_pi_taskbar.settings import SettingError
from tests.flask.fake_client import FakeClient
from tests.flask.host import MOUNT, browse, host, tags, with_taskbar

# ---- active or not ----


def test_in_debug_mode_pages_have_the_tag_and_the_routes_answer(project: Path, broker: FakeClient) -> None:
    app = with_taskbar(project)
    assert tags(browse(app)) == 1
    assert app.test_client().get(f"{MOUNT}/state").data == broker.snapshot


def absent(app: flask.Flask) -> bool:
    """Whether nothing of the taskbar shows in an app."""
    web = app.test_client()
    pages = [browse(web), browse(web, "/template"), browse(web, "/nothing")]
    routes = [web.get(f"{MOUNT}/{name}") for name in ("state", "bootstrap", "events", "assets/pi_browser_taskbar.js")]
    return (
        all(tags(page) == 0 for page in pages)
        and pages[0].headers["ETag"] == '"home"'
        and pages[1].text == "[]"
        and all(route.status_code == 404 and "json" not in route.headers["Content-Type"] for route in routes)
    )


def app_with_pages(project: Path, *, debug: bool, testing: bool = False, **settings: Any) -> flask.Flask:
    app = host(project, debug=debug)
    app.testing = testing
    PiTaskbar(app, **settings)

    @app.get("/")
    def home() -> tuple[str, dict[str, str]]:
        return "home", {"ETag": '"home"'}

    @app.get("/template")
    def template() -> str:
        return render_template_string("[{{ pi_taskbar() }}{{ pi_taskbar(nonce='x') }}]")

    return app


def test_outside_debug_mode_under_test_and_disabled_there_is_nothing(project: Path, broker: FakeClient) -> None:
    assert absent(app_with_pages(project, debug=False))
    assert absent(app_with_pages(project, debug=False, enabled=True))
    assert absent(app_with_pages(project, debug=True, testing=True))
    assert absent(app_with_pages(project, debug=True, enabled=False))
    assert broker.calls == []


def test_debug_mode_may_come_after_init_app_as_with_app_run(project: Path, broker: FakeClient) -> None:
    app = app_with_pages(project, debug=False)
    app.debug = True
    assert tags(browse(app)) == 1


def test_what_the_first_request_found_stays(project: Path, broker: FakeClient) -> None:
    app = app_with_pages(project, debug=False)
    browse(app)
    app.debug = True
    assert absent(app)


def test_an_app_factory_may_set_everything_up_late(project: Path, broker: FakeClient) -> None:
    taskbar = PiTaskbar(mount_path="/pi")

    def create_app(name: str) -> flask.Flask:
        app = host(project)
        app.config["PI_BROWSER_TASKBAR_EXCLUDE"] = f"/{name}"
        taskbar.init_app(app)
        app.add_url_rule("/one", "one", lambda: "<p>")
        app.add_url_rule("/two", "two", lambda: "<p>")
        return app

    one, two = create_app("one"), create_app("two")
    assert [tags(browse(app, path)) for app in (one, two) for path in ("/one", "/two")] == [0, 1, 1, 0]
    for app in (one, two):
        assert app.test_client().get("/pi/state").status_code == 200
    assert one.extensions["pi-taskbar"] is not two.extensions["pi-taskbar"]


# ---- init_app ----


def test_init_app_starts_nothing_and_opens_nothing(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("a socket, a process or a thread")

    monkeypatch.setattr("socket.socket.__init__", never)
    monkeypatch.setattr("subprocess.Popen.__init__", never)
    monkeypatch.setattr("threading.Thread.start", never)
    with_taskbar(project)
    assert sorted(path.name for path in project.iterdir()) == ["pyproject.toml"]


def test_init_app_leaves_the_app_as_it_was_but_for_four_things(project: Path) -> None:
    def picture(app: flask.Flask) -> dict[str, object]:
        return {
            "rules": sorted(map(repr, app.url_map.iter_rules())),
            "views": sorted(app.view_functions),
            "blueprints": dict(app.blueprints),
            "before": {key: list(value) for key, value in app.before_request_funcs.items()},
            "after": {key: list(value) for key, value in app.after_request_funcs.items()},
            "teardown": dict(app.teardown_request_funcs),
            "session": app.session_interface,
            "classes": (app.request_class, app.response_class, app.json_provider_class),
            "config": dict(app.config),
            "commands": sorted(app.cli.commands),
            "environment": "jinja_env" in app.__dict__,
            "secret": app.secret_key,
        }

    app = host(project)
    before, handlers, wsgi_app = picture(app), app.error_handler_spec, app.wsgi_app
    assert not handlers
    PiTaskbar(app)
    assert picture(app) == before
    # The four: a wrapper, the handler of a private exception, a name in templates, a receiver of a signal.
    assert isinstance(app.wsgi_app, Injector)
    assert app.wsgi_app._app == wsgi_app
    assert {key: list(codes[None]) for key, codes in app.error_handler_spec.items()} == {None: [Mounted]}
    assert len(app.template_context_processors[None]) == 2
    assert len(list(flask.request_started.receivers_for(app))) == 1


def test_without_a_taskbar_even_those_are_not_there(project: Path) -> None:
    app = host(project)
    PiTaskbar(app, enabled=False)
    assert not isinstance(app.wsgi_app, Injector)
    assert not app.error_handler_spec
    browse(app)
    assert list(flask.request_started.receivers_for(app)) == []


def test_a_bad_setting_stops_an_app_in_debug_mode(project: Path) -> None:
    with pytest.raises(SettingError, match=r"^allowed_hosts .*\*\.example"):
        PiTaskbar(host(project), allowed_hosts=["*.example"])


def test_a_bad_setting_outside_debug_mode_is_logged_once_and_the_app_works(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_with_pages(project, debug=False, mount_path="nowhere")
    app.debug = True
    assert absent(app)
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert "mount_path" in record.getMessage()


def test_a_second_set_up_with_the_same_settings_does_nothing_and_with_others_is_refused(
    project: Path, broker: FakeClient
) -> None:
    app = with_taskbar(project)
    PiTaskbar(app)
    PiTaskbar().init_app(app)
    assert tags(browse(app)) == 1
    with pytest.raises(RuntimeError, match="already"):
        PiTaskbar(app, mount_path="/elsewhere")


def test_keywords_of_init_app_count_more_than_those_of_the_constructor(project: Path) -> None:
    app = host(project)
    PiTaskbar(executable="one", task_timeout=60).init_app(app, executable="two")
    settings = app.extensions["pi-taskbar"].settings
    assert (settings.executable, settings.task_timeout) == ("two", 60)


def test_the_project_is_found_from_the_apps_own_folder(project: Path) -> None:
    (project / "src").mkdir()
    app = host(project / "src")
    PiTaskbar(app)
    assert app.extensions["pi-taskbar"].settings.project_root == project


# ---- the helper ----


def helper_app(project: Path, template: str, **settings: Any) -> flask.Flask:
    app = host(project)
    PiTaskbar(app, **settings)
    app.add_url_rule("/", "home", lambda: render_template_string(template))
    return app


def test_the_helper_writes_the_tag_where_the_template_wants_it(project: Path, broker: FakeClient) -> None:
    app = helper_app(project, "<head></head><body>{{ pi_taskbar(nonce='n') }}<p>")
    page = browse(app).text
    assert page.startswith("<head></head><body><script ")
    assert ' nonce="n"></script><p>' in page


def test_injection_and_helper_together_give_one_tag(project: Path, broker: FakeClient) -> None:
    for template in ("{{ pi_taskbar() }}", "{{ pi_taskbar() }}{{ pi_taskbar() }}</body>", "</head>{{ pi_taskbar() }}"):
        assert tags(browse(helper_app(project, template))) == 1


def test_without_injection_only_the_helper_writes(project: Path, broker: FakeClient) -> None:
    assert tags(browse(helper_app(project, "<head></head>", inject=False))) == 0
    assert tags(browse(helper_app(project, "<head>{{ pi_taskbar() }}</head>", inject=False))) == 1


def test_the_helper_works_in_a_streamed_template(project: Path, broker: FakeClient) -> None:
    app = host(project)
    PiTaskbar(app)

    @app.get("/")
    def home() -> Any:
        return flask.stream_template_string("<p>{% for n in range(3) %}{{ pi_taskbar() }}{% endfor %}</body>")

    assert tags(browse(app)) == 1


def test_the_helper_works_in_an_imported_macro(project: Path, broker: FakeClient) -> None:
    for settings in ({}, {"enabled": False}):
        app = host(project)
        app.jinja_loader = jinja2.DictLoader({"m.html": "{% macro end() %}[{{ pi_taskbar() }}]{% endmacro %}"})
        PiTaskbar(app, **settings)
        app.add_url_rule(
            "/", "home", lambda: render_template_string("{% from 'm.html' import end %}{{ end() }}"), methods=["GET"]
        )
        page = browse(app)
        assert page.status_code == 200
        assert tags(page) == (0 if settings else 1)


def test_the_helper_is_nothing_outside_of_a_request_and_in_a_mail(project: Path, broker: FakeClient) -> None:
    app = helper_app(project, "<p>")
    with app.app_context():
        assert render_template_string("[{{ pi_taskbar() }}]") == "[]"
    browse(app)
    with app.app_context():
        assert render_template_string("[{{ pi_taskbar() }}]") == "[]"
    with app.test_request_context("/"):
        assert render_template_string("[{{ pi_taskbar() }}]") == "[]"


def test_an_environment_that_was_made_before_knows_the_helper_at_once(project: Path) -> None:
    app = host(project)
    environment = app.jinja_env
    PiTaskbar(app)
    assert environment.from_string("[{{ pi_taskbar() }}]").render() == "[]"


def test_init_app_does_not_fix_the_options_of_templates(project: Path, broker: FakeClient) -> None:
    app = helper_app(project, "<% if true %>x<% endif %>{{ pi_taskbar() }}")
    app.jinja_options = {"block_start_string": "<%", "block_end_string": "%>"}
    assert browse(app).text.startswith("x<script")


# ---- exempt ----


def test_paths_endpoints_and_views_may_be_exempt(project: Path, broker: FakeClient) -> None:
    app = host(project)
    taskbar = PiTaskbar(app, exclude=["/login", "admin.index", "/deep/er/"])
    admin = flask.Blueprint("admin", __name__)
    for path in ("/login", "/login/again", "/logins", "/deep", "/deep/er", "/deep/er/x"):
        app.add_url_rule(path, path[1:].replace("/", "-"), lambda: "<p>")
    admin.add_url_rule("/admin", "index", lambda: render_template_string("<p>{{ pi_taskbar() }}"))
    app.register_blueprint(admin)

    @app.get("/quiet")
    @taskbar.exempt
    def quiet() -> str:
        return "<p>"

    @app.get("/wrapped")
    @PiTaskbar.exempt
    def wrapped() -> str:
        return render_template_string("<p>{{ pi_taskbar() }}")

    found = {path: tags(browse(app, path)) for path in ("/login", "/login/again", "/logins", "/deep", "/deep/er")}
    assert found == {"/login": 0, "/login/again": 0, "/logins": 1, "/deep": 1, "/deep/er": 0}
    assert [tags(browse(app, path)) for path in ("/deep/er/x", "/admin", "/quiet", "/wrapped")] == [0, 0, 0, 0]


# ---- the route in the tag ----


def test_the_tag_names_what_handled_the_page(project: Path, broker: FakeClient) -> None:
    app = host(project)
    PiTaskbar(app)

    @app.route("/cards/<int:card>", methods=["GET", "POST"])
    def show(card: int) -> str:
        return f"<p>{card}"

    route = (
        "data-route='{&quot;method&quot;:&quot;POST&quot;,&quot;pattern&quot;:&quot;/cards/&lt;int:card&gt;&quot;,"
        f"&quot;handler&quot;:&quot;{__name__}:{show.__qualname__.replace('<', '&lt;').replace('>', '&gt;')}&quot;,"
        "&quot;action&quot;:&quot;show&quot;}'"
    )
    response = app.test_client().post("/cards/7", headers={"Sec-Fetch-Dest": "document"})
    assert route in response.text
    missing = browse(app, "/nothing")
    assert missing.status_code == 404
    assert tags(missing) == 1
    assert "data-route" not in missing.text


# ---- many requests at once ----


def test_threads_that_come_first_together_share_one_inner_app(
    project: Path, broker: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    import flask_pi_taskbar.app

    made, create = [], flask_pi_taskbar.app.create_app
    monkeypatch.setattr(flask_pi_taskbar.app, "create_app", lambda *a, **k: made.append(1) or create(*a, **k))
    app = with_taskbar(project)
    threads = [threading.Thread(target=lambda: app.test_client().get(f"{MOUNT}/state")) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [1]
