"""The way in, inside an app: without a key the page asks the taskbar for the lead's link, by its rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread

import pytest
from flask import Flask, Response, jsonify, request
from selenium.webdriver import Chrome
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.serving import WSGIRequestHandler, make_server

from flask_pi_taskbar.board.live.hub import Hub
from flask_pi_taskbar.board.serving.keys import Role
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page.app import create_page
from flask_pi_taskbar.page.board import PageBoard
from tests.support.waiting import until

pytestmark = pytest.mark.browser

TASKBAR = "/dev/taskbar"


class Ring:
    """Keys that never change."""

    epoch = "e1"

    def role_of(self, key: str) -> Role | None:
        return Role.LEAD if key == "lead" else None

    def viewer_address(self) -> str:
        return "/board/#k=viewer"

    def revoke(self) -> str:
        return "lead"


class Quiet(WSGIRequestHandler):
    def log(self, *_: object) -> None:
        pass


@dataclass
class App:
    """An app with a board below it, and what its taskbar was asked."""

    url: str = ""
    refuses: bool = False
    asked: list[str] = field(default_factory=list)


@pytest.fixture
def app(chromium_session: Chrome, tmp_path: Path) -> Iterator[App]:
    store = Store(tmp_path / "board")
    hub = Hub(store, epoch="e1")
    page = create_page(PageBoard(store=store, hub=hub, keys=Ring(), path="/board", taskbar=TASKBAR))
    host, state = Flask("host"), App()

    @host.get(f"{TASKBAR}/bootstrap")
    def bootstrap() -> Response:
        return jsonify(csrf_token="token")

    @host.post(f"{TASKBAR}/lead")
    def lead() -> tuple[Response, int]:
        state.asked.append(request.headers.get("X-CSRF-Token", ""))
        if state.refuses:
            return jsonify(message="Only this machine may have it."), 403
        return jsonify(url="/board/#k=lead"), 200

    both = DispatcherMiddleware(host.wsgi_app, {"/board": page.wsgi_app})
    server = make_server("127.0.0.1", 0, both, threaded=True, request_handler=Quiet)
    server.daemon_threads = True  # type: ignore[attr-defined]
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/board/"
    first = chromium_session.current_window_handle
    chromium_session.switch_to.new_window("tab")
    try:
        yield state
    finally:
        chromium_session.close()
        chromium_session.switch_to.window(first)
        hub.close("stopped")
        server.shutdown()
        server.server_close()
        thread.join(10)


def says(browser: Chrome, selector: str) -> str:
    source = "return document.querySelector(arguments[0])?.textContent ?? ''"
    return str(browser.execute_script(source, selector))


@pytest.mark.parametrize("path", ["", "?view=team"])
def test_the_page_in_an_app_opens_as_the_lead_when_asked(chromium_session: Chrome, app: App, path: str) -> None:
    chromium_session.get(app.url + path)
    until(lambda: says(chromium_session, "#open-lead") == "Open as team-lead", "the page says how to come in")
    assert app.asked == [], "it asks for nothing by itself"
    chromium_session.find_element("id", "open-lead").click()
    until(lambda: says(chromium_session, "#live") == "live", "the board is there")
    assert app.asked == ["token"]
    assert chromium_session.current_url == app.url
    assert chromium_session.execute_script("return document.documentElement.dataset.writes") == "1"


def test_a_taskbar_that_refuses_is_quoted_and_can_be_asked_again(chromium_session: Chrome, app: App) -> None:
    app.refuses = True
    chromium_session.get(app.url)
    until(lambda: says(chromium_session, "#open-lead"), "the page says how to come in")
    chromium_session.find_element("id", "open-lead").click()
    until(lambda: says(chromium_session, "#refused .problem") == "Only this machine may have it.", "its words")
    app.refuses = False
    chromium_session.find_element("id", "open-lead").click()
    until(lambda: says(chromium_session, "#live") == "live", "the board is there")
    chromium_session.get_log("browser")  # type: ignore[no-untyped-call]  # a browser writes down every 403 by itself
