"""What the other tests here rely on: no test meets what an earlier one has left, and no page takes the machine down."""

from __future__ import annotations

import sys
from urllib.parse import urlsplit

import pytest
from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome

from tests.browser import memory
from tests.browser.stub_server import Stub
from tests.browser.taskbar_page import TaskbarPage
from tests.support import chromium

pytestmark = pytest.mark.browser

# Asks for up to 4 GiB, of which a machine gives nothing away before it is written to.
GREEDY = "const taken = []; for (let n = 0; n < 64; n++) taken.push(new Uint8Array(1 << 26)); return taken.length"


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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
def test_a_page_that_takes_ever_more_memory_is_refused_it(tmp_path_factory: pytest.TempPathFactory) -> None:
    wild = chromium.start(tmp_path_factory.mktemp("wild"))  # short: sockets live in it
    try:
        memory.limit(wild)
        wild.get("data:text/html,<p>Wild</p>")
        with pytest.raises(WebDriverException):
            wild.execute_script(GREEDY)
    finally:
        wild.quit()
