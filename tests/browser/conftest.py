"""Fixtures of the browser tests: a scripted server, a page object, a browser that is clean for every test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver import Chrome

from tests.browser.stub_server import Stub
from tests.browser.taskbar_page import TaskbarPage


@pytest.fixture
def stub() -> Iterator[Stub]:
    with Stub() as server:
        yield server


@pytest.fixture(scope="session")
def browser(chromium_session: Chrome) -> Chrome:
    return chromium_session


@pytest.fixture
def taskbar(browser: Chrome, stub: Stub) -> Iterator[TaskbarPage]:
    """A page of the scripted server, not yet opened, whose origin remembers nothing."""
    page = TaskbarPage(browser, stub)
    page.reset()
    yield page
    page.leave()
