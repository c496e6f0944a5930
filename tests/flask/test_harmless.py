"""What the taskbar must not do to the app around it, however strange the app is."""

from __future__ import annotations

import logging
import logging.config
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flask
import pytest

from flask_pi_taskbar import PiTaskbar
from flask_pi_taskbar.markup import PlaceFinder
from flask_pi_taskbar.notices import LOGGER, Notices
from tests.flask.fake_client import FakeClient
from tests.flask.host import browse, host, tags, with_taskbar

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment


class Shy:
    """A view that raises when somebody asks it for what Flask does not ask for."""

    def __call__(self) -> str:
        return "<head></head><body>shy</body>"

    def __getattr__(self, name: str) -> Any:
        if name in ("view_class", "func", "__qualname__", "_pi_taskbar_exempt"):
            raise RuntimeError("do not look at me")
        raise AttributeError(name)


def test_a_view_that_cannot_be_looked_at_has_its_page_and_the_taskbar(project: Path, broker: FakeClient) -> None:
    app = host(project)
    PiTaskbar(app)
    app.add_url_rule("/", endpoint="shy", methods=["GET"], view_func=lambda: "")
    app.view_functions["shy"] = Shy()
    answer = browse(app)
    assert answer.status_code == 200
    assert "shy" in answer.text
    assert tags(answer) == 1
    assert "data-route" not in answer.text


def test_a_page_that_cannot_be_read_passes_as_it_is(
    project: Path, broker: FakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: PlaceFinder, data: bytes) -> int | None:
        raise IndexError

    app = with_taskbar(project)
    plain = app.test_client().get("/", headers={"Accept": "application/json"}).data
    monkeypatch.setattr(PlaceFinder, "feed", broken)
    assert browse(app).data == plain


@pytest.mark.parametrize("asks", [{}, {"If-None-Match": '"x"', "Accept-Encoding": "gzip"}])
def test_what_the_app_writes_into_the_environment_is_seen_around_it(
    project: Path, broker: FakeClient, asks: dict[str, str]
) -> None:
    app = host(project)
    PiTaskbar(app)
    seen: dict[str, Any] = {}

    @app.get("/")
    def home() -> str:
        flask.request.environ["app.user"] = "u"
        seen["inside"] = "HTTP_IF_NONE_MATCH" in flask.request.environ
        return "<head></head>"

    inner = app.wsgi_app

    def around(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        before = {name: value for name, value in environ.items() if name.startswith("HTTP_")}
        body = inner(environ, start_response)
        seen["user"] = environ.get("app.user")
        seen["restored"] = before == {name: value for name, value in environ.items() if name.startswith("HTTP_")}
        return body

    app.wsgi_app = around  # type: ignore[method-assign]
    assert tags(browse(app, headers=asks)) == 1
    assert seen == {"inside": False, "user": "u", "restored": True}


def test_a_logging_set_up_that_comes_later_does_not_silence_us(caplog: pytest.LogCaptureFixture) -> None:
    try:
        logging.config.dictConfig({"version": 1})
        assert LOGGER.disabled
        Notices().once("key", "something to know")
        assert not LOGGER.disabled
    finally:
        for name in list(logging.root.manager.loggerDict):
            logging.getLogger(name).disabled = False
    assert "something to know" in caplog.text


def test_our_script_comes_from_the_app_whatever_base_a_page_has(project: Path, broker: FakeClient) -> None:
    app = host(project)
    PiTaskbar(app)
    app.add_url_rule("/", "page", lambda: "<head><base href='https://cdn.example/'></head><body>")
    app.add_url_rule("/own", "own", lambda: flask.render_template_string("<base href=/x/>{{ pi_taskbar() }}"))
    for path in ("/", "/own"):
        found = browse(app, path, base_url="http://localhost:5000").text
        assert found.count('src="http://localhost:5000/dev/pi-browser-taskbar/assets/') == 1
