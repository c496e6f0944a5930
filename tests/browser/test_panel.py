"""The panel: opening and closing, what it says in each state, what may be pressed."""

from __future__ import annotations

import pytest

from tests.browser.stub_server import Stub
from tests.browser.taskbar_page import TaskbarPage

pytestmark = pytest.mark.browser


def test_the_launcher_opens_the_panel_on_its_instruction_and_escape_gives_the_focus_back(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.wait("ready")
    assert not taskbar.shown("[data-panel]")
    taskbar.click("[data-toggle]")
    assert taskbar.focused("[data-prompt]")
    taskbar.escape()
    assert not taskbar.shown("[data-panel]")
    assert taskbar.focused("[data-toggle]")
    assert taskbar.errors() == []
