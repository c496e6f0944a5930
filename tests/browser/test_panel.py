"""The panel: opening and closing, what it says in each state, what may be pressed, how it follows Pi's output."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from flask_pi_taskbar.contract.texts import NO_MODEL
from tests.browser import pages
from tests.browser.stub_server import Stub
from tests.browser.taskbar_page import ROOT, TaskbarPage
from tests.support.waiting import until

pytestmark = pytest.mark.browser


def test_the_launcher_opens_the_panel_on_its_instruction_and_escape_gives_the_focus_back(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.wait("ready")
    assert not taskbar.shown("[data-panel]")
    taskbar.click("[data-toggle]")
    assert taskbar.focused("[data-prompt]")
    assert taskbar.attribute("[data-toggle]", "aria-expanded") == "true"
    taskbar.escape()
    assert not taskbar.shown("[data-panel]")
    assert taskbar.focused("[data-toggle]")
    assert taskbar.attribute("[data-toggle]", "aria-expanded") == "false"
    taskbar.open()
    taskbar.click("[data-close]")
    assert taskbar.focused("[data-toggle]")
    assert taskbar.errors() == []


def test_an_open_panel_and_a_draft_outlast_the_page_and_so_does_a_closed_one(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.type("Half a thought")
    taskbar.visit("/other")
    assert taskbar.shown("[data-panel]")
    assert taskbar.prop("[data-prompt]", "value") == "Half a thought"
    assert not taskbar.focused("[data-prompt]"), "a new page keeps its own focus"
    taskbar.click("[data-close]")
    taskbar.visit("/")
    assert not taskbar.shown("[data-panel]")


@pytest.mark.parametrize("corner", ["left", "right"])
def test_the_corner_is_the_user_s_choice_and_remembered(taskbar: TaskbarPage, corner: str) -> None:
    taskbar.visit()
    taskbar.open()
    for _ in range(1 if corner == "right" else 2):
        taskbar.click("[data-move]")
    taskbar.visit("/other")
    box = taskbar.js(f"return {ROOT}.querySelector('[data-panel]').getBoundingClientRect().toJSON()")
    width = taskbar.js("return document.documentElement.clientWidth")
    assert (box["left"] if corner == "left" else width - box["right"]) == pytest.approx(16)


def test_the_taskbar_can_be_put_away_until_the_next_page(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.click("[data-hide]")
    assert not taskbar.shown("[data-panel]")
    assert not taskbar.shown("[data-toggle]")
    taskbar.visit("/other")
    assert taskbar.shown("[data-panel]")


STATES: dict[str, tuple[dict[str, Any], str, str, str]] = {
    # name: snapshot, visible status, data-state, what listeners hear
    "starting": (pages.starting(), "Connecting", "starting", "Pi is starting"),
    "ready": (pages.ready(), "Ready", "ready", "Pi is ready."),
    "resetting": (pages.snapshot(pages.session("resetting")), "Connecting", "resetting", "new conversation"),
    "running": (pages.running(activity="Running bash"), "Working", "running", "Running bash"),
    "cancelling": (
        pages.snapshot(pages.session("busy"), pages.task("x", "cancelling", activity="Stopping Pi")),
        "Working",
        "cancelling",
        "Stopping Pi",
    ),
    "completed": (pages.ended("completed"), "Finished", "completed", "Task finished."),
    "failed": (
        pages.ended("failed", error="Pi rejected the task"),
        "Finished",
        "failed",
        "Finished. Pi rejected the task",
    ),
    "cancelled": (pages.ended("cancelled"), "Stopped", "cancelled", "not rolled back"),
    "unavailable": (pages.unavailable(), "Unavailable", "unavailable", "Unavailable. Pi could not be restarted."),
    "finished, then unavailable": (
        pages.ended("completed") | {"session": pages.session("unavailable", error="Pi could not be restarted")},
        "Finished",
        "completed",
        "Finished. Pi could not be restarted.",
    ),
    "no model": (pages.snapshot(pages.session("ready", model=None, error=NO_MODEL)), "Ready", "ready", NO_MODEL),
}


@pytest.mark.parametrize("name", STATES)
def test_each_state_has_its_words(taskbar: TaskbarPage, stub: Stub, name: str) -> None:
    state, status, data_state, heard = STATES[name]
    stub.show(state)
    taskbar.visit()
    taskbar.open()
    taskbar.wait(data_state)
    assert taskbar.text("[data-status]") == status
    assert status in str(taskbar.attribute("[data-toggle]", "aria-label"))
    assert "Whole page" in str(taskbar.attribute("[data-toggle]", "aria-label"))
    assert taskbar.text("[data-scope]") == "Whole page"
    taskbar.says("[data-live]", heard)
    model = state["session"]["model"]
    assert taskbar.text("[data-model]") == (f"Model: {model}" if model else "Local Pi session")
    hidden = [not taskbar.shown(f"[data-{part}]") for part in ("activity", "output", "output-truncated", "error")]
    assert taskbar.prop("[data-feedback]", "hidden") == (all(hidden) and not taskbar.shown("[data-cancel-warning]"))
    assert taskbar.js(f"return {ROOT}.querySelectorAll('[aria-live], [role=status], [role=alert]').length") == 1


ENABLED: dict[str, tuple[dict[str, Any], bool, str, bool, bool]] = {
    # name: snapshot, instruction editable, words on the button, button enabled (with an instruction), reset enabled
    "starting": (pages.starting(), True, "Run with Pi", False, False),
    "ready": (pages.ready(), True, "Run with Pi", True, True),
    "resetting": (pages.snapshot(pages.session("resetting")), False, "Run with Pi", False, False),
    "running": (pages.running(), False, "Stop task", True, False),
    "cancelling": (
        pages.snapshot(pages.session("busy"), pages.task("x", "cancelling")),
        False,
        "Stopping…",
        False,
        False,
    ),
    "completed": (pages.ended("completed"), True, "Run with Pi", True, True),
    "failed": (pages.ended("failed"), True, "Run with Pi", True, True),
    "cancelled": (pages.ended("cancelled"), True, "Run with Pi", True, True),
    "unavailable": (pages.unavailable(), True, "Run with Pi", False, True),
}


@pytest.mark.parametrize("name", ENABLED)
def test_each_state_allows_what_can_be_done_in_it(taskbar: TaskbarPage, stub: Stub, name: str) -> None:
    state, editable, words, runs, resets = ENABLED[name]
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("Explain this page")
    stub.show(state)
    taskbar.browser.refresh()
    taskbar.mounted()
    taskbar.wait((state["task"] or state["session"])["status"])
    assert taskbar.prop("[data-prompt]", "disabled") is not editable
    assert taskbar.text("[data-run]") == words
    assert taskbar.prop("[data-run]", "disabled") is not runs
    assert taskbar.prop("[data-new-conversation]", "disabled") is not resets


def test_an_empty_instruction_cannot_be_run(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    assert taskbar.prop("[data-run]", "disabled")
    taskbar.type(" \n\u00a0 ")
    assert taskbar.prop("[data-run]", "disabled")
    taskbar.type("x")
    assert not taskbar.prop("[data-run]", "disabled")


def test_an_instruction_is_counted_in_bytes_near_its_end_and_stopped_beyond_it(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    set_prompt = f"const p = {ROOT}.querySelector('[data-prompt]'); p.value = arguments[0]; "
    taskbar.js(set_prompt + "p.dispatchEvent(new Event('input'))", "\u00e9" * 1900)
    assert taskbar.text("[data-count]") == "3800 of 4000 bytes"
    assert not taskbar.prop("[data-run]", "disabled")
    taskbar.js(set_prompt + "p.dispatchEvent(new Event('input'))", "\u00e9" * 2010)
    assert taskbar.text("[data-count]") == "20 bytes too long"
    assert taskbar.prop("[data-run]", "disabled")


def test_a_task_runs_shows_its_progress_and_leaves_an_empty_composer(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.run("  Make the button larger \n")
    taskbar.wait("running")
    assert stub.tasks[0].prompt == "Make the button larger"
    assert taskbar.text("[data-task-prompt]") == "Make the button larger"
    taskbar.says("[data-activity]", "Starting Pi")
    stub.task(activity="Running edit", output="Looking at the page.\n")
    taskbar.says("[data-activity]", "Running edit")
    taskbar.says("[data-output]", "Looking at the page.")
    stub.task(status="failed", error="The model provider reported an error", activity="Task failed")
    taskbar.wait("failed")
    taskbar.says("[data-error]", "The model provider reported an error")
    assert taskbar.prop("[data-prompt]", "value") == ""
    assert taskbar.errors() == []


def test_control_enter_runs(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("Explain this page")
    taskbar.chord(Keys.CONTROL, Keys.ENTER)
    taskbar.wait("running")
    assert [task.prompt for task in stub.tasks] == ["Explain this page"]
    assert taskbar.focused("[data-run]"), "the focus is on what can be done next"
    stub.task(status="failed")
    taskbar.wait("failed")
    until(lambda: taskbar.focused("[data-prompt]"), "the focus is back on the instruction")


def test_stop_asks_once_and_says_that_nothing_is_rolled_back(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.show(pages.running(task_id="task/with spaces"))
    taskbar.visit()
    taskbar.open()
    taskbar.wait("running")
    taskbar.click("[data-run]")
    taskbar.wait("cancelling")
    assert taskbar.text("[data-run]") == "Stopping…"
    assert len(stub.requests("DELETE /tasks/task%2Fwith%20spaces")) == 1
    stub.task(status="cancelled", activity="Task stopped")
    taskbar.wait("cancelled")
    assert "not rolled back" in taskbar.text("[data-cancel-warning]")


def test_a_new_conversation_clears_the_last_task_and_keeps_the_draft(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.show(pages.ended("completed", output="Done."))
    taskbar.visit()
    taskbar.open()
    taskbar.wait("completed")
    taskbar.type("Next thing")
    taskbar.click("[data-new-conversation]")
    taskbar.wait("ready")
    assert len(stub.requests("POST /session/reset")) == 1
    assert not taskbar.shown("[data-task]")
    assert not taskbar.shown("[data-output]")
    assert taskbar.prop("[data-prompt]", "value") == "Next thing"


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_the_instruction_of_a_task_that_failed_can_be_put_back_but_is_not_sent(
    taskbar: TaskbarPage, stub: Stub, status: str
) -> None:
    stub.show(pages.ended(status, "Make the header\nstick to the top"))
    taskbar.visit()
    taskbar.open()
    taskbar.wait(status)
    taskbar.type("something else")
    taskbar.click("[data-again]")
    assert taskbar.prop("[data-prompt]", "value") == "Make the header\nstick to the top"
    assert taskbar.focused("[data-prompt]")
    assert not taskbar.shown("[data-again]")
    taskbar.chord(Keys.CONTROL, "z")
    assert taskbar.prop("[data-prompt]", "value") == "something else", "what was typed is one undo away"
    assert stub.requests("POST /tasks") == []


def test_output_follows_its_newest_text_until_the_user_scrolls_up(taskbar: TaskbarPage, stub: Stub) -> None:
    text = "".join(f"line {number}\n" for number in range(80))
    stub.live = "long"
    stub.show(pages.running(output=text))
    taskbar.visit()
    taskbar.open()
    taskbar.wait("running")
    bottom = f"const o = {ROOT}.querySelector('[data-output]'); return o.scrollHeight - o.scrollTop - o.clientHeight"
    until(lambda: taskbar.js(bottom) < 2, "the newest text is in view")
    stub.task(output=text + "one more\n" * 5)
    taskbar.says("[data-output]", "one more")
    until(lambda: taskbar.js(bottom) < 2, "the newest text is in view")
    assert not taskbar.shown("[data-follow]")

    taskbar.js("arguments[0].scrollTop = 40", taskbar.find("[data-output]"))
    taskbar.shows("[data-follow]")
    stub.task(output=text + "one more\n" * 9)
    until(lambda: taskbar.text("[data-output]").count("one more") == 9, "the new text is there")
    assert taskbar.prop("[data-output]", "scrollTop") == 40
    taskbar.click("[data-follow]")
    until(lambda: taskbar.js(bottom) < 2, "the newest text is in view")
    taskbar.hides("[data-follow]")


def test_growing_output_keeps_what_the_user_has_selected(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.live = "long"
    stub.show(pages.running(output="select me, "))
    taskbar.visit()
    taskbar.open()
    taskbar.says("[data-output]", "select me")
    text = f"{ROOT}.querySelector('[data-output]').firstChild"
    taskbar.js(f"const text = {text}; getSelection().setBaseAndExtent(text, 0, text, text.length)")
    stub.task(output="select me, then more")
    taskbar.says("[data-output]", "then more")
    selected = f"return {ROOT}.getSelection ? {ROOT}.getSelection().toString() : getSelection().toString()"
    assert taskbar.js(selected) == "select me, "


def test_text_from_pi_is_text_and_nothing_else(taskbar: TaskbarPage, stub: Stub) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    stub.show(pages.ended("failed", hostile, output=hostile, error=hostile, activity=hostile))
    stub.bootstrap["project"] = hostile
    taskbar.visit()
    taskbar.open()
    taskbar.says("[data-output]", hostile)
    taskbar.says("[data-kicker]", hostile)
    assert taskbar.text("[data-task-prompt]") == hostile
    assert taskbar.js(f"return {ROOT}.querySelectorAll('img, script').length") == 0
    assert taskbar.errors() == []


def test_cut_output_says_so(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.show(pages.running(output="…and so on", output_truncated=True))
    taskbar.visit()
    taskbar.open()
    taskbar.shows("[data-output-truncated]")
    assert "32 KiB" in taskbar.text("[data-output-truncated]")
    assert "older output was removed" in taskbar.text("[data-output-truncated]")


@pytest.mark.parametrize(
    ("began", "ended", "shown"), [(83, 0, "1:23"), (3725, 0, "1:02:05"), (95, 90, "0:05"), (0, 0, "0:00")]
)
def test_a_finished_task_says_how_long_it_took(
    taskbar: TaskbarPage, stub: Stub, began: float, ended: float, shown: str
) -> None:
    now = pages.stamp(0)
    stub.show(pages.ended("completed", started_at=pages.stamp(began), finished_at=pages.stamp(ended) if ended else now))
    taskbar.visit()
    taskbar.open()
    taskbar.says("[data-elapsed]", shown)


def test_the_time_of_a_running_task_goes_on(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.show(pages.running(started_at=pages.stamp(59)))
    taskbar.visit()
    taskbar.open()
    until(lambda: taskbar.text("[data-elapsed]") >= "1:01", "the clock goes on")


def test_the_project_is_named_without_its_path(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.says("[data-kicker]", "acme-shop")


@pytest.mark.parametrize(("remote", "warned"), [(True, True), (False, False)])
def test_a_remote_connection_without_encryption_is_pointed_out(
    taskbar: TaskbarPage, stub: Stub, remote: bool, warned: bool
) -> None:
    stub.bootstrap["remote_access"] = remote
    taskbar.visit()
    taskbar.open()
    taskbar.says("[data-kicker]", "acme-shop")
    assert taskbar.shown("[data-insecure-remote-warning]") is warned
    assert "unencrypted" in taskbar.text("[data-insecure-remote-warning]")
    assert "trusted network" in taskbar.text("[data-insecure-remote-warning]")


def test_the_hooks_that_others_hold_on_to_are_there(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.open()
    for selector in (
        "section#pi-taskbar-panel[data-panel][aria-label='Pi browser task'][aria-busy]",
        "button[data-close][aria-controls=pi-taskbar-panel][aria-expanded=true] > svg[data-close-icon]",
        "[data-close][aria-label='Close Pi browser taskbar']",
        "[data-identity] [data-pi-glyph]",
        "[data-identity] [data-kicker]",
        "[data-identity] [data-model]",
        "section[data-focus][aria-labelledby=pi-taskbar-focus-title] [data-focus-row] > h2#pi-taskbar-focus-title",
        "[data-focus] [data-scope]",
        "textarea#pi-taskbar-prompt[data-prompt][rows='3'][maxlength='4000']",
        "label[for=pi-taskbar-prompt]",
        "section[data-feedback] > pre[data-output][tabindex='0'][aria-label='Latest Pi output']",
        "footer > [data-status][data-state]",
        "footer > [data-actions] > button[data-run]",
        "[data-live][aria-live=polite][aria-atomic=true]",
        "button[data-toggle][aria-controls=pi-taskbar-panel][aria-expanded]",
    ):
        assert taskbar.js(f"return {ROOT}.querySelectorAll(arguments[0]).length", selector) == 1, selector
    children = f"return [...{ROOT}.querySelector('[data-feedback]').children].map(c => Object.keys(c.dataset)[0])"
    assert taskbar.js(children) == ["activity", "output", "outputTruncated", "error", "cancelWarning"]
    assert taskbar.text("label") == "Task instruction"
    for forbidden in ("[data-reset]", "[data-toggle-status]"):
        assert taskbar.js(f"return {ROOT}.querySelectorAll(arguments[0]).length", forbidden) == 0
    words = taskbar.js(f"return {ROOT}.querySelector('[data-panel]').innerText")
    assert "browser taskbar" not in words.lower()
    assert "new session" not in words.lower()
