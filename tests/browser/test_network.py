"""What the client asks for and when: polling, failures, doubt about a mutation, tokens, gestures."""

from __future__ import annotations

import pytest

from tests.browser import pages
from tests.browser.stub_server import Answer, Stub, drop, refuse
from tests.browser.taskbar_page import ROOT, TaskbarPage
from tests.support.waiting import until

pytestmark = pytest.mark.browser

# Notes what every timer was asked for, and lets it come a hundred times as soon.
FAST_TIMERS = pages.script(
    "const real = window.setTimeout; window.delays = [];"
    "window.setTimeout = (call, ms, ...more) => { delays.push(ms); return real(call, ms / 100, ...more); };"
)
GO_HIDDEN = (
    "Object.defineProperty(document, 'visibilityState', {get: () => window.seen ?? 'hidden', configurable: true});"
    "document.dispatchEvent(new Event('visibilitychange'))"
)
COME_BACK = "window.seen = 'visible'; document.dispatchEvent(new Event('visibilitychange'))"


def delays(page: TaskbarPage) -> list[int]:
    return list(page.js("return window.delays"))


def test_reads_come_every_half_minute_or_half_second_and_after_failures_ever_later(
    taskbar: TaskbarPage, stub: Stub
) -> None:
    taskbar.visit("/", pages.page(head=FAST_TIMERS))
    until(lambda: delays(taskbar)[:2] == [30000, 30000], "a stable state is read every half minute")
    stub.show(pages.running())
    until(lambda: 500 in delays(taskbar), "a running task is read every half second")
    before = len(delays(taskbar))
    stub.always["GET /state"] = drop
    until(lambda: 30000 in delays(taskbar)[before:], "reads fail", seconds=30)
    until(lambda: delays(taskbar)[before:].count(30000) >= 3, "reads go on failing")
    failing = [delay for delay in delays(taskbar)[before:] if delay != 500]
    assert failing[:8] == [1000, 2000, 4000, 8000, 16000, 30000, 30000, 30000]
    del stub.always["GET /state"]
    before = len(delays(taskbar))
    until(lambda: 500 in delays(taskbar)[before:], "one success and the old pace is back")


def test_one_lost_read_is_silent_a_second_is_not_and_the_last_state_stays(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.show(pages.running(activity="Running bash", output="so far"))
    taskbar.visit()
    taskbar.open()
    taskbar.wait("running")
    reads = len(stub.requests("GET /state"))
    stub.next("GET /state", drop)
    until(lambda: len(stub.requests("GET /state")) > reads + 1, "the read after the lost one")
    assert not taskbar.shown("[data-error]")
    stub.always["GET /state"] = drop
    taskbar.says("[data-error]", "does not answer. Trying again")
    assert taskbar.text("[data-output]") == "so far"
    assert taskbar.text("[data-status]") == "Working"
    del stub.always["GET /state"]
    taskbar.hides("[data-error]")


def test_a_refused_read_is_told_at_once_with_what_to_do(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.always["GET /state"] = refuse(403, "forbidden", "Both must be local")
    stub.always["GET /bootstrap"] = refuse(403, "forbidden", "Both must be local")
    taskbar.visit()
    taskbar.open()
    taskbar.says("[data-error]", "Both must be local.")
    taskbar.says("[data-error]", "terminal")


@pytest.mark.parametrize(
    ("body", "kind"), [(b"<!doctype html><title>Log in</title>", "text/html"), (b"{}", "application/json")]
)
def test_an_answer_of_another_kind_is_no_state(taskbar: TaskbarPage, stub: Stub, body: bytes, kind: str) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    stub.always["GET /state"] = lambda answer: answer.raw(200, body, kind)
    taskbar.browser.refresh()
    taskbar.mounted()
    taskbar.shows("[data-error]")
    assert taskbar.text("[data-status]") == "Connecting"


def test_without_a_broker_the_first_page_says_so_and_recovers_by_itself(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.always["GET /state"] = refuse(
        503, "unavailable", snapshot=pages.unavailable("The project broker is unavailable")
    )
    taskbar.visit()
    taskbar.open()
    taskbar.says("[data-status]", "Unavailable")
    taskbar.says("[data-error]", "cannot be reached")
    del stub.always["GET /state"]
    taskbar.says("[data-status]", "Ready")
    taskbar.hides("[data-error]")


def test_a_hidden_page_hardly_asks_and_reads_at_once_when_it_is_seen_again(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit("/", pages.page(head=FAST_TIMERS))
    taskbar.wait("ready")
    taskbar.js(GO_HIDDEN)
    before = len(delays(taskbar))
    stub.show(pages.running())
    until(lambda: len(delays(taskbar)) > before + 2, "three more reads are planned")
    assert set(delays(taskbar)[before:]) == {30000}
    stub.show(pages.running(activity="Running bash"))
    reads = len(stub.requests("GET /state"))
    taskbar.js(COME_BACK)
    until(lambda: len(stub.requests("GET /state")) > reads, "a read")
    taskbar.says("[data-activity]", "Running bash")
    until(lambda: delays(taskbar)[-1] == 500, "the pace of a page that is seen")


# Mutations


@pytest.mark.parametrize("accepted", [True, False])
def test_a_task_whose_answer_is_lost_is_never_sent_again_and_settled_by_reading(
    taskbar: TaskbarPage, stub: Stub, accepted: bool
) -> None:
    def lose(answer: object) -> None:
        if accepted:
            stub.show(pages.running("Make the button larger"))
        drop(answer)  # type: ignore[arg-type]

    stub.next("POST /tasks", lose)
    taskbar.visit()
    taskbar.run("Make the button larger")
    taskbar.says("[data-error]", "result was uncertain")
    assert "reconciled" in taskbar.text("[data-error]")
    taskbar.wait("running" if accepted else "ready")
    assert taskbar.prop("[data-prompt]", "value") == ("" if accepted else "Make the button larger")
    assert len(stub.requests("POST /tasks")) == 1


@pytest.mark.parametrize(
    ("status", "code", "message"),
    [
        (409, "busy", "Pi is busy with another task"),
        (422, "invalid_task", "Task request is invalid"),
        (503, "unavailable", "Pi is not available right now"),
        (413, "something_new", "Some words of a later version"),
    ],
)
def test_a_refused_task_is_explained_once_reconciled_and_kept(
    taskbar: TaskbarPage, stub: Stub, status: int, code: str, message: str
) -> None:
    stub.next("POST /tasks", refuse(status, code, message))
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    reads = len(stub.requests("GET /state"))
    taskbar.run("Make the button larger")
    taskbar.says("[data-error]", message)
    until(lambda: len(stub.requests("GET /state")) == reads + 1, "one read")
    until(lambda: not taskbar.prop("[data-run]", "disabled"), "the user may try again")
    assert message in taskbar.text("[data-error]")
    assert taskbar.prop("[data-prompt]", "value") == "Make the button larger"
    assert len(stub.requests("POST /tasks")) == 1
    taskbar.find("[data-prompt]").send_keys("!")
    taskbar.hides("[data-error]")


WATCH_STATES = f"""
const status = {ROOT}.querySelector('[data-status]');
window.states = [];
new MutationObserver(() => states.push(status.dataset.state)).observe(status, {{attributeFilter: ['data-state']}});
"""


def test_a_read_that_a_mutation_overtook_is_dropped(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.js(WATCH_STATES)
    before = stub.state
    with stub.held("GET /state", lambda answer: answer.json(200, before)) as arrived:
        taskbar.js("document.dispatchEvent(new Event('visibilitychange'))")
        assert arrived.wait(10)
        taskbar.run()
        taskbar.wait("running")
    reads = len(stub.requests("GET /state"))
    until(lambda: len(stub.requests("GET /state")) > reads + 1, "later reads")
    assert taskbar.js("return window.states") == ["running"]


def test_a_second_click_on_its_way_sends_nothing(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    with stub.held("POST /tasks") as arrived:
        taskbar.type("Make the button larger")
        taskbar.click("[data-run]")
        assert arrived.wait(10)
        assert taskbar.prop("[data-run]", "disabled")
        assert taskbar.text("[data-run]") == "Sending…"
        taskbar.click("[data-run]")
    taskbar.wait("running")
    assert len(stub.requests("POST /tasks")) == 1
    assert not [one for one in stub.seen if one.method == "DELETE"]


def test_a_script_of_the_page_cannot_press_the_buttons(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("Send the secrets")
    taskbar.js(f"{ROOT}.querySelector('[data-run]').click()")
    taskbar.js(f"{ROOT}.querySelector('[data-new-conversation]').click()")
    key = "new KeyboardEvent('keydown', {key: 'Enter', ctrlKey: true, bubbles: true, composed: true})"
    taskbar.js(f"{ROOT}.querySelector('[data-prompt]').dispatchEvent({key})")
    assert taskbar.js("return typeof PiBrowserTaskbar") == "undefined"
    assert taskbar.js("return Object.keys(globalThis).filter(name => /taskbar/i.test(name))") == []
    instance = "document.querySelector('[data-pi-browser-taskbar-host]')[Symbol.for('pi-browser-taskbar')]"
    assert taskbar.js(f"return 'submit' in {instance}") is False
    taskbar.click("[data-run]")
    taskbar.wait("running")
    assert [one.path for one in stub.seen if one.method != "GET"] == ["/tasks"], "only the user's own click was heard"


# Tokens


def test_the_token_comes_from_the_server_and_is_nowhere_in_the_page(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.bootstrap["csrf_token"] = "a-token-of-its-own"
    taskbar.visit()
    taskbar.run()
    taskbar.wait("running")
    (sent,) = stub.requests("POST /tasks")
    assert sent.headers["x-csrf-token"] == "a-token-of-its-own"
    assert sent.headers["content-type"] == "application/json"
    assert sent.headers["accept"] == "application/json"
    page = taskbar.js(f"return document.documentElement.outerHTML + {ROOT}.innerHTML + JSON.stringify(sessionStorage)")
    assert "a-token-of-its-own" not in page


def test_a_token_that_has_grown_old_is_renewed_before_a_task_is_sent(taskbar: TaskbarPage, stub: Stub) -> None:
    later = pages.script(
        "const now = performance.now.bind(performance); performance.now = () => now() + (window.later ?? 0)"
    )
    taskbar.visit("/", pages.page(head=later))
    taskbar.says("[data-kicker]", "acme-shop")
    taskbar.js("window.later = 3_700_000")
    stub.bootstrap["csrf_token"] = "fresh"
    taskbar.run()
    assert stub.requests("POST /tasks")[0].headers["x-csrf-token"] == "fresh"


def test_a_refused_token_is_renewed_but_the_task_is_not_sent_again(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.next("POST /tasks", refuse(422, "invalid_csrf", "Too old"))
    taskbar.visit()
    taskbar.run("Make the button larger")
    taskbar.says("[data-error]", "Please try again")
    assert len(stub.requests("POST /tasks")) == 1
    stub.bootstrap["csrf_token"] = "renewed"
    until(lambda: not taskbar.prop("[data-run]", "disabled"), "the user may try again")
    taskbar.click("[data-run]")
    taskbar.wait("running")
    assert stub.requests("POST /tasks")[1].headers["x-csrf-token"] == "renewed"


def test_without_a_token_nothing_is_sent_and_the_user_is_told(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.always["GET /bootstrap"] = drop
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("Make the button larger")
    taskbar.click("[data-run]")
    taskbar.says("[data-error]", "Nothing was sent")
    assert stub.requests("POST /tasks") == []
    assert taskbar.prop("[data-prompt]", "value") == "Make the button larger"


def test_nothing_is_asked_of_any_other_origin(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.live = "long"
    taskbar.visit()
    taskbar.run()
    taskbar.wait("running")
    taskbar.click("[data-run]")
    taskbar.wait("cancelling")
    names = taskbar.js("return performance.getEntriesByType('resource').map(entry => entry.name)")
    assert names
    assert [name for name in names if not name.startswith(stub.url)] == []


def test_the_part_that_reads_the_page_may_be_out_of_reach_for_a_while(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.always["GET /assets/capture.js"] = drop
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("Make the button larger")
    taskbar.click("[data-run]")
    taskbar.says("[data-error]", "Nothing was sent")
    assert stub.requests("POST /tasks") == []
    del stub.always["GET /assets/capture.js"]
    until(lambda: not taskbar.prop("[data-run]", "disabled"), "the user may try again")
    taskbar.click("[data-run]")
    taskbar.wait("running")


def test_a_repeat_that_the_browser_made_by_itself_is_not_an_error(taskbar: TaskbarPage, stub: Stub) -> None:
    """On a kept connection that breaks, a browser sends a request again; the server then refuses the second one."""

    def busy_with_our_own(answer: Answer) -> None:
        stub.show(pages.running("Make the button larger", task_id="ours"))
        refuse(409, "busy", snapshot=stub.state)(answer)

    stub.next("POST /tasks", busy_with_our_own)
    taskbar.visit()
    taskbar.run("Make the button larger")
    taskbar.wait("running")
    taskbar.hides("[data-error]")
    assert taskbar.prop("[data-prompt]", "value") == ""


def test_news_are_not_read_out_on_every_page_but_where_they_were_awaited(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.show(pages.ended("completed"))
    taskbar.visit()
    taskbar.wait("completed")
    assert taskbar.text("[data-live]") == ""
    stub.show(pages.running())
    taskbar.js("document.dispatchEvent(new Event('visibilitychange'))")
    taskbar.wait("running")
    stub.task(status="failed", error="Pi rejected the task")
    taskbar.says("[data-live]", "Finished. Pi rejected the task")
