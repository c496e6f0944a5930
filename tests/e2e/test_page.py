"""The main job in a real browser: from the launcher to the changed page, and back from a crash."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flask_pi_taskbar.contract import texts
from tests.e2e.world import World
from tests.support.waiting import until

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from tests.e2e.page import Page

pytestmark = [pytest.mark.pi, pytest.mark.browser]

EDIT_OF_THE_CODE = (
    "SCENE:edit path=app.py old='Fired black, warm to the touch.' new='Written by Pi.' chunks=20 delay=0.1"
)


@pytest.fixture
def browser(chromium_session: Chrome) -> Iterator[Chrome]:
    """The shared browser, left on an empty page, so that no poll of one test meets the next one."""
    chromium_session.set_window_size(1280, 900)
    yield chromium_session
    for handle in chromium_session.window_handles[1:]:
        chromium_session.switch_to.window(handle)
        chromium_session.close()
    chromium_session.switch_to.window(chromium_session.window_handles[0])
    chromium_session.get("about:blank")
    chromium_session.get_log("browser")  # type: ignore[no-untyped-call]


def page_of(browser: Chrome, world: World, *gunicorn: str) -> Page:
    from tests.e2e.page import Page

    return Page(browser, world.gunicorn(*gunicorn) if gunicorn else world.flask())


def test_an_instruction_in_the_page_changes_the_page(world: World, browser: Chrome) -> None:
    page = page_of(browser, world).open()
    page.open_panel()
    page.status("Ready")
    assert page.look()["model"]["text"] == "Model: demo/scripted"
    page.run("SCENE:edit path=templates/index.html old='Welcome to our shop' new='New and fired' chunks=10 delay=0.05")
    page.status("Working")
    until(lambda: page.heading() == "New and fired", "the page shows the new heading")
    parts = page.status("Finished")
    assert parts["panel"]["shown"]
    assert parts["output"]["text"] == "I will change the file.\n\nDone: the file is changed."
    assert page.errors() == []
    assert '"tag":"h1"' in world.model.requests[0].ask.prompt


def test_stop_in_the_page_stops_pi(new_world: World, browser: Chrome) -> None:
    page = page_of(browser, new_world).open()
    page.open_panel()
    page.run("SCENE:forever delay=0.05")
    page.see(lambda parts: "tick5" in parts["output"]["text"], "output arrives while Pi works")
    page.click("run")
    parts = page.status("Stopped")
    assert parts["cancel-warning"]["shown"]
    until(lambda: new_world.model.requests[-1].outcome == "gone", "Pi no longer asks the model")
    assert page.heading() == "Welcome to our shop"


def test_after_a_crash_of_the_broker_the_instruction_can_be_used_again(new_world: World, browser: Chrome) -> None:
    page = page_of(browser, new_world).open()
    page.open_panel()
    page.run("My careful words. SCENE:forever delay=0.05")
    page.see(lambda parts: "tick5" in parts["output"]["text"], "output arrives")
    os.kill(new_world.broker(), signal.SIGKILL)
    page.see(lambda parts: texts.INTERRUPTED in parts["error"]["text"], "the page says what happened")
    page.click("again")
    parts = page.see(lambda parts: parts["prompt"]["value"], "the instruction is back in the composer")
    assert parts["prompt"]["value"] == "My careful words. SCENE:forever delay=0.05"
    assert [seen.ask.instruction for seen in new_world.model.requests] == ["My careful words. SCENE:forever delay=0.05"]
    page.status_is_free()
    page.run("SCENE:edit path=templates/index.html old='Welcome to our shop' new='After the crash'")
    until(lambda: page.heading() == "After the crash", "the next task runs")


def test_the_page_comes_back_when_the_reloader_restarts_the_server(new_world: World, browser: Chrome) -> None:
    page = page_of(browser, new_world).open()
    page.open_panel()
    page.run(EDIT_OF_THE_CODE)
    until(lambda: "Written by Pi." in browser.page_source, "the page shows the new code", 40)
    assert page.status("Finished")["output"]["text"].endswith("Done: the file is changed.")
    assert "Restarting with" in page.server.log.read_text()


def test_a_new_conversation_begins_from_the_page(new_world: World, browser: Chrome) -> None:
    page = page_of(browser, new_world).open()
    page.open_panel()
    page.run("Remember 4711. SCENE:text")
    page.status("Finished")
    page.click("new-conversation")
    parts = page.status("Ready")
    assert not parts["output"]["shown"]
    page.run("SCENE:text")
    page.status("Finished")
    assert "4711" not in str(new_world.model.requests[-1].ask)


@pytest.mark.parametrize(
    "arguments", [("--workers", "2"), ("--workers", "2", "--threads", "4")], ids=["sync", "gthread"]
)
def test_a_second_tab_shows_the_same_task(new_world: World, browser: Chrome, arguments: tuple[str, ...]) -> None:
    page = page_of(browser, new_world, *arguments).open()
    page.open_panel()
    page.status("Ready")
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    page.open("/pots/moss").open_panel()
    page.run("SCENE:forever delay=0.1")
    page.see(lambda parts: "tick3" in parts["output"]["text"], "output arrives in the tab that asked")
    browser.switch_to.window(first)
    page.see(lambda parts: "tick3" in parts["output"]["text"], "output arrives in the other tab")
    page.click("run")
    page.status("Stopped")
    assert len(new_world.pi_starts()) == 1


def test_the_demo_does_what_the_page_suggests(new_world: World, browser: Chrome, tmp_path: Path) -> None:
    """Its pictures go to the directory that PI_TASKBAR_SCREENSHOTS names: the README shows one of them."""
    from tests.e2e.page import Page

    browser.set_window_size(1440, 1060)
    pictures = Path(os.environ.get("PI_TASKBAR_SCREENSHOTS") or tmp_path)
    new_world.model.default_scene = "demo"
    suggestion = "Change the heading to “Fresh from the kiln”"
    page = Page(browser, new_world.flask(QUICKSTART_SUGGESTION=suggestion)).open()
    assert suggestion in browser.page_source
    page.open_panel()
    page.run(suggestion)
    page.see(lambda parts: "I will change it" in parts["output"]["text"], "the demo model works")
    page.picture(pictures / "working.png")
    until(lambda: page.heading() == "Fresh from the kiln", "the heading has changed")
    assert "Done: the heading now says" in page.status("Finished")["output"]["text"]
    page.picture(pictures / "screenshot.png")
    assert (pictures / "screenshot.png").stat().st_size > 10_000
