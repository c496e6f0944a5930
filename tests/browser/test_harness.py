"""What the other tests here rely on: no test meets what an earlier one has left, and none ends with another's page."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome

from tests.browser.stub_server import Stub
from tests.browser.taskbar_page import TaskbarPage

pytestmark = pytest.mark.browser


def test_a_test_on_the_port_of_an_earlier_one_finds_nothing_remembered(browser: Chrome) -> None:
    with Stub() as stub:
        page = TaskbarPage(browser, stub)
        page.reset()
        page.visit()
        page.open()
        page.type("A draft")
        page.click("[data-move]")
        page.leave()
    with Stub(urlsplit(stub.url).port or 0) as again:
        assert again.url == stub.url
        page = TaskbarPage(browser, again)
        page.reset()
        assert again.seen == []
        page.visit()
        assert page.shown("[data-toggle]")
        assert not page.shown("[data-panel]")
        assert page.prop("[data-prompt]", "value") == ""
        assert page.js("return document.querySelector('[data-pi-browser-taskbar-host]').dataset.corner") == "left"
        page.leave()


def test_after_a_page_that_died_the_next_test_has_a_tab_of_its_own(browser: Chrome, stub: Stub) -> None:
    page = TaskbarPage(browser, stub)
    page.reset()
    page.visit()
    with pytest.raises(WebDriverException):
        browser.get("chrome://crash")
    page.leave()
    page = TaskbarPage(browser, stub)
    page.reset()
    page.visit()
    assert page.shown("[data-toggle]")
    page.leave()
