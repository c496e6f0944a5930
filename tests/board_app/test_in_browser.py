"""The page in the app's own server, looked at in a browser, on every kind of server: live, written on, revoked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from tests.board_app.test_servers import ANN, SERVERS, Site, serving, site
from tests.support.waiting import until

__all__ = ["site"]  # the fixture

pytestmark = pytest.mark.browser

KINDS = """
window.kinds = new Set();
new MutationObserver(() => window.kinds.add(document.querySelector('#live').dataset.live))
  .observe(document.querySelector('#live'), { attributes: true });
"""


class Tab:
    """One tab of the browser."""

    def __init__(self, browser: Chrome, handle: str) -> None:
        self._browser = browser
        self._handle = handle

    def js(self, source: str, *arguments: object) -> object:
        self._browser.switch_to.window(self._handle)
        return self._browser.execute_script(source, *arguments)  # type: ignore[no-untyped-call]

    def get(self, address: str) -> None:
        self._browser.switch_to.window(self._handle)
        self._browser.get(address)

    def shows(self, selector: str, text: str = "") -> None:
        found = (
            "return [...document.querySelectorAll(arguments[0])].some((one) => one.textContent.includes(arguments[1]))"
        )
        until(lambda: self.js(found, selector, text), f"{selector} {text}")

    def click(self, selector: str) -> None:
        self.shows(selector)
        self.js("document.querySelector(arguments[0]).click()", selector)


@pytest.fixture
def tabs(chromium_session: Chrome) -> Iterator[list[Tab]]:
    """Two tabs of one browser."""
    home = chromium_session.current_window_handle
    opened = []
    for _ in range(2):
        chromium_session.switch_to.new_window("tab")
        opened.append(chromium_session.current_window_handle)
    yield [Tab(chromium_session, handle) for handle in opened]
    for handle in opened:
        chromium_session.switch_to.window(handle)
        chromium_session.execute_script("localStorage.clear(); sessionStorage.clear()")
        chromium_session.close()
    chromium_session.switch_to.window(home)


@contextmanager
def looked_at(site: Site, kind: str, tabs: list[Tab]) -> Iterator[Site]:
    with serving(site, kind) as server:
        address = f"http://127.0.0.1:{server.port}"
        # The first goes in without a key, as somebody does who types the address.
        tabs[0].get(f"{address}/board")
        tabs[0].click("#open-lead")
        tabs[0].shows('[data-card="1"]', "One")
        tabs[1].get(f"{address}/board#k={server.lead()}")
        tabs[1].shows('[data-card="1"]', "One")
        for tab in tabs:
            tab.shows("#live[data-live=live]")
            tab.js(KINDS)
        yield server


@pytest.mark.parametrize("kind", SERVERS)
def test_the_page_is_live_and_can_be_written_on(site: Site, kind: str, tabs: list[Tab]) -> None:
    with looked_at(site, kind, tabs) as server:
        server.store.apply("add", {"title": "From a terminal"}, ANN, now=datetime.now(UTC))
        for tab in tabs:
            tab.shows('[data-lane="todo"] [data-card="2"]', "From a terminal")
        tabs[0].click('[data-card="1"] [data-action="claim"]')
        tabs[0].click("dialog[data-dialog=confirm] [data-submit]")
        for tab in tabs:
            tab.shows('[data-lane="doing"] [data-card="1"]', "team-lead")
        for number in range(12):  # some seconds of streams that end and come back, at whichever worker
            server.store.apply("note", {"card": 2, "text": f"note {number}"}, ANN, now=datetime.now(UTC))
            tabs[1].shows('[data-card="2"] [data-reason]', f"note {number}")
        for tab in tabs:
            assert set(tab.js("return [...window.kinds]")) <= {"live"}, "the badge never flickered"  # type: ignore[call-overload]
        tabs[0].click("#more")
        tabs[0].click("#revoke")
        tabs[0].click("dialog[data-dialog=confirm] [data-submit]")
        tabs[0].shows("#toast", "Lead links revoked")
        tabs[0].click('[data-card="2"] [data-action="claim"]')
        tabs[0].click("dialog[data-dialog=confirm] [data-submit]")
        tabs[0].shows('[data-lane="doing"] [data-card="2"]')
        tabs[1].js("location.reload()")
        tabs[1].shows("#refused", "no longer good")


def test_the_taskbars_button_opens_the_board_as_the_lead(site: Site, chromium_session: Chrome) -> None:
    home = chromium_session.current_window_handle
    chromium_session.switch_to.new_window("tab")
    page = chromium_session.current_window_handle
    with serving(site, "flask run") as server:
        try:
            chromium_session.get(f"http://127.0.0.1:{server.port}/")
            host = until(
                lambda: chromium_session.find_elements(By.CSS_SELECTOR, "[data-pi-browser-taskbar-host]"),
                "the taskbar",
            )[0]
            root = host.shadow_root
            until(lambda: root.find_elements(By.CSS_SELECTOR, "[data-toggle]"), "the launcher")[0].click()
            before = set(chromium_session.window_handles)
            until(lambda: root.find_element(By.CSS_SELECTOR, "[data-board]").is_displayed(), "the button")
            root.find_element(By.CSS_SELECTOR, "[data-board]").click()
            (opened,) = until(lambda: set(chromium_session.window_handles) - before, "another tab")
            tab = Tab(chromium_session, opened)
            tab.shows('[data-card="1"]', "One")
            tab.shows("#seat", "team-lead")
            assert chromium_session.current_url == f"http://127.0.0.1:{server.port}/board/"
            assert tab.js("return window.opener") is None
            chromium_session.close()
        finally:
            chromium_session.switch_to.window(page)
            chromium_session.close()
            chromium_session.switch_to.window(home)
