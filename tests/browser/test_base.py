"""A page with a `<base>` of a stranger: what the taskbar asks and tells goes to the app all the same."""

from __future__ import annotations

import pytest

from tests.browser import pages
from tests.browser.stub_server import Stub
from tests.browser.taskbar_page import TaskbarPage

pytestmark = pytest.mark.browser


def test_a_base_in_the_body_leads_nothing_astray(taskbar: TaskbarPage, stub: Stub) -> None:
    # The browser reads a base wherever it stands; nothing answers on the port that this one names.
    taskbar.visit("/base", pages.page().replace("</body>", "<base href='http://127.0.0.1:1/'></body>"), csp=None)
    assert taskbar.js("return document.baseURI").startswith("http://127.0.0.1:1/")
    taskbar.wait("ready")
    taskbar.run("Make the heading larger.")
    taskbar.wait("running")
    addresses = taskbar.js("return performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert addresses
    assert [address for address in addresses if not address.startswith(stub.url)] == []
