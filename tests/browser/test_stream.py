"""Live state: one stream for all tabs, taken over and taken up again, and plain polling wherever it does not work."""

from __future__ import annotations

import json

import pytest

from tests.browser import pages
from tests.browser.stub_server import MOUNT, Answer, Stub, drop, refuse
from tests.browser.taskbar_page import ROOT, TaskbarPage
from tests.support.waiting import until

pytestmark = pytest.mark.browser


@pytest.fixture
def live(taskbar: TaskbarPage, stub: Stub) -> TaskbarPage:
    stub.live = "long"
    return taskbar


def followed(stub: Stub) -> None:
    until(lambda: stub.streams == 1, "one stream is open")


def test_changes_arrive_without_being_asked_for(live: TaskbarPage, stub: Stub) -> None:
    live.visit()
    live.open()
    followed(stub)
    live.wait("ready")
    stub.show(pages.running(output="Looking"))
    live.says("[data-output]", "Looking")
    reads = len(stub.requests("GET /state"))
    for number in range(5):
        stub.task(output=f"Looking {number}")
        live.says("[data-output]", f"Looking {number}")
    stub.task(status="failed")
    live.wait("failed")
    assert len(stub.requests("GET /state")) == reads
    assert live.errors() == []


def test_a_tab_that_nobody_sees_draws_nothing_until_it_is_seen(live: TaskbarPage, stub: Stub) -> None:
    live.visit()
    live.open()
    followed(stub)
    stub.show(pages.running())
    live.browser.switch_to.new_window("window")
    live.visit()
    live.open()
    live.wait("running")
    live.js(
        "Object.defineProperty(document, 'visibilityState', {get: () => 'hidden', configurable: true});"
        "document.dispatchEvent(new Event('visibilitychange')); window.drawn = 0; window.heard = 0;"
        f"new MutationObserver(() => {{ window.drawn += 1; }}).observe({ROOT}, "
        "{subtree: true, childList: true, characterData: true, attributes: true});"
        f"new BroadcastChannel('pi-browser-taskbar:{MOUNT}').onmessage = ({{ data }}) => {{"
        "if (data.kind === 'frame') window.heard += 1; };"
    )
    for number in range(5):
        stub.task(output=f"Looking {number}")
        until(lambda: live.js("return window.heard") > number, "the frame is here")  # noqa: B023
    assert live.js("return window.drawn") == 0
    live.js("delete document.visibilityState; document.dispatchEvent(new Event('visibilitychange'))")
    live.says("[data-output]", "Looking 4")


def test_eight_tabs_share_one_stream_and_all_follow(live: TaskbarPage, stub: Stub) -> None:
    live.visit()
    live.open()
    followed(stub)
    for _ in range(7):
        live.browser.switch_to.new_window("tab")
        live.visit()
    live.run("From the last tab")
    live.wait("running")
    stub.task(output="For everyone")
    for handle in live.tabs:
        live.browser.switch_to.window(handle)
        live.open()
        live.says("[data-output]", "For everyone")
    followed(stub)


def test_another_tab_takes_over_when_the_following_one_is_closed(live: TaskbarPage, stub: Stub) -> None:
    live.visit()
    followed(stub)
    live.browser.switch_to.new_window("window")
    live.visit()
    live.wait("ready")
    second = live.browser.current_window_handle
    live.browser.switch_to.window(live.first)
    live.browser.get("about:blank")
    live.browser.switch_to.window(second)
    until(lambda: len(stub.requests("GET /events")) == 2, "the second tab asks for a stream")
    followed(stub)
    stub.show(pages.running())
    live.wait("running")


def test_a_tab_that_sends_a_task_sees_it_whoever_follows(live: TaskbarPage, stub: Stub) -> None:
    live.visit()
    followed(stub)
    live.browser.switch_to.new_window("window")
    live.visit()
    live.run("From the second tab")
    live.wait("running")
    stub.task(status="cancelled")
    live.wait("cancelled")
    live.browser.switch_to.window(live.first)
    live.wait("cancelled")


def test_a_short_lived_stream_is_taken_up_again_where_it_ended_while_pi_works(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.live = "short"
    stub.show(pages.running(output="one"))
    taskbar.visit()
    taskbar.open()
    taskbar.says("[data-output]", "one")
    until(lambda: len(stub.requests("GET /events")) >= 3, "the stream is taken up again, twice")
    asked = [one.query.get("after") for one in stub.requests("GET /events")]
    assert asked[0] is None
    assert asked[1] == asked[2] == [str(stub.revision)]
    stub.task(output="one, two")
    taskbar.says("[data-output]", "one, two")
    assert not taskbar.shown("[data-error]")


def test_a_short_lived_stream_is_left_alone_while_nothing_moves(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.live = "short"
    taskbar.visit()
    until(lambda: stub.requests("GET /events") and stub.streams == 0, "the stream has come and gone", seconds=10)
    reads = len(stub.requests("GET /state"))
    until(lambda: len(stub.requests("GET /state")) >= max(reads, 2), "the state is read when the stream is gone")
    taskbar.run()
    until(lambda: len(stub.requests("GET /events")) == 2, "a task calls for a stream again")
    stub.task(output="And live again")
    taskbar.says("[data-output]", "And live again")


@pytest.mark.parametrize("kind", ["one-frame", "off"])
def test_where_no_stream_can_be_held_the_state_is_polled(taskbar: TaskbarPage, stub: Stub, kind: str) -> None:
    stub.live = kind  # type: ignore[assignment]
    taskbar.visit()
    taskbar.run()
    reads = len(stub.requests("GET /state"))
    until(lambda: len(stub.requests("GET /state")) >= reads + 3, "reads twice a second")
    assert len(stub.requests("GET /events")) <= (2 if kind == "one-frame" else 0)
    stub.task(status="failed", error="Pi rejected the task")
    taskbar.wait("failed")


@pytest.mark.parametrize("missing", ["navigator.locks", "BroadcastChannel", "TextDecoderStream"])
def test_a_browser_without_the_means_polls(live: TaskbarPage, stub: Stub, missing: str) -> None:
    owner, _, name = missing.rpartition(".")
    script = f"Object.defineProperty({owner or 'window'}, '{name}', {{value: undefined, configurable: true}})"
    live.visit("/", pages.page(head=pages.script(script)))
    live.run()
    live.wait("running")
    stub.task(status="failed")
    live.wait("failed")
    assert stub.requests("GET /events") == []
    assert live.errors() == []


@pytest.mark.parametrize("break_off", [drop, refuse(503, "unavailable")])
def test_a_stream_that_cannot_be_had_costs_a_few_requests_and_nothing_else(
    live: TaskbarPage, stub: Stub, break_off: object
) -> None:
    stub.always["GET /events"] = break_off  # type: ignore[assignment]
    live.visit()
    live.run()
    reads = len(stub.requests("GET /state"))
    until(lambda: len(stub.requests("GET /state")) >= reads + 6, "the state is polled")
    assert len(stub.requests("GET /events")) <= 8
    assert not live.shown("[data-error]")


def test_a_broker_that_goes_away_leaves_the_last_state_on_view(live: TaskbarPage, stub: Stub) -> None:
    away = pages.unavailable("The project broker is unavailable")

    def go_away(answer: Answer) -> None:
        stub.always["GET /state"] = refuse(503, "unavailable", snapshot=away)
        frame = f"event: snapshot\ndata: {json.dumps(away)}\n\n"
        answer.raw(200, frame.encode(), "text/event-stream")

    stub.show(pages.running(output="so far"))
    with stub.held("GET /events", go_away):
        live.visit()
        live.open()
        live.says("[data-output]", "so far")
    live.says("[data-error]", "cannot be reached")
    assert live.text("[data-status]") == "Working"
    assert live.text("[data-output]") == "so far"
    del stub.always["GET /state"]
    live.hides("[data-error]")


def test_a_page_that_is_left_waits_in_the_browser_s_cache_and_comes_back_live(live: TaskbarPage, stub: Stub) -> None:
    live.visit()
    followed(stub)
    live.js("window.kept = true")
    live.visit("/other")
    live.browser.back()
    live.mounted()
    assert live.js("return window.kept"), "neither lock, channel nor stream kept the page out of the cache"
    followed(stub)
    stub.show(pages.running())
    live.wait("running")
    assert live.js("return document.querySelectorAll('[data-pi-browser-taskbar-host]').length") == 1
