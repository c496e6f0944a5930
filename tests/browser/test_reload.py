"""After a task: the page reloads once where that is safe, else offers it; nothing the user had is lost."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.keys import Keys

from tests.browser import pages
from tests.browser.stub_server import Stub, drop
from tests.browser.taskbar_page import ROOT, TaskbarPage
from tests.support.waiting import until

pytestmark = pytest.mark.browser

LONG = "<main>" + "<p>A line of the page.</p>" * 200 + "<input name=q value=initial></main>"


def finish(stub: Stub) -> None:
    stub.task(status="completed", activity="Task completed", output="Done.")


def loads(stub: Stub, path: str = "/") -> int:
    """How often a tab has gone to the page; a look whether it is there does not count."""
    return sum(one.headers["sec-fetch-mode"] == "navigate" for one in stub.requests(f"GET {path}"))


def test_a_task_seen_to_succeed_reloads_the_page_once_and_the_panel_comes_back(
    taskbar: TaskbarPage, stub: Stub
) -> None:
    taskbar.visit("/", pages.page(LONG))
    taskbar.run()
    taskbar.wait("running")
    taskbar.js("scrollTo(0, 900)")
    finish(stub)
    until(lambda: loads(stub) == 2, "the page is loaded again")
    taskbar.mounted()
    taskbar.wait("completed")
    assert taskbar.shown("[data-panel]")
    assert taskbar.text("[data-output]") == "Done."
    assert taskbar.text("[data-status]") == "Finished"
    until(lambda: taskbar.js("return scrollY") == 900, "the page stands where it stood")
    taskbar.js("document.dispatchEvent(new Event('visibilitychange'))")
    reads = len(stub.requests("GET /state"))
    until(lambda: len(stub.requests("GET /state")) >= reads, "another read")
    assert loads(stub) == 2
    assert taskbar.errors() == []


def test_what_is_typed_while_the_page_waits_for_the_reload_comes_back_with_the_focus(
    taskbar: TaskbarPage, stub: Stub
) -> None:
    taskbar.visit()
    taskbar.run()
    taskbar.wait("running")
    with stub.held("GET /bootstrap") as arrived:
        finish(stub)
        assert arrived.wait(10)
        taskbar.wait("completed")
        taskbar.find("[data-prompt]").send_keys("And now the footer")
    until(lambda: loads(stub) == 2, "the page is loaded again")
    taskbar.mounted()
    taskbar.wait("completed")
    assert taskbar.prop("[data-prompt]", "value") == "And now the footer"
    assert taskbar.focused("[data-prompt]")


def test_a_task_that_had_ended_before_the_page_came_reloads_nothing(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.show(pages.ended("completed", output="Done."))
    taskbar.visit()
    taskbar.open()
    taskbar.wait("completed")
    assert not taskbar.shown("[data-reload]")
    assert not taskbar.shown("[data-reload-reason]")


@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_a_task_that_did_not_succeed_reloads_nothing(taskbar: TaskbarPage, stub: Stub, status: str) -> None:
    taskbar.visit()
    taskbar.run()
    taskbar.wait("running")
    stub.task(status=status)
    taskbar.wait(status)
    assert not taskbar.shown("[data-reload-reason]")
    assert loads(stub) == 1


def test_the_reload_waits_for_a_server_that_is_restarting(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.run()
    taskbar.wait("running")
    stub.next("GET /bootstrap", drop, drop, drop)
    asked = len(stub.requests("GET /bootstrap"))
    finish(stub)
    taskbar.says("[data-reload-reason]", "Reloading")
    until(lambda: len(stub.requests("GET /bootstrap")) >= asked + 4, "the server is asked until it answers")
    until(lambda: loads(stub) == 2, "then the page is loaded again")


# Time in fast motion: what waits for half a second or more waits for nothing, and the page's clock goes on by as much.
FAST = """
window.pauses = []; let ahead = 0;
const now = performance.now.bind(performance), later = window.setTimeout.bind(window);
performance.now = () => now() + ahead;
window.setTimeout = (callback, ms, ...rest) => {
  if (!window.fast || ms < 500 || ms > 5000) return later(callback, ms, ...rest);
  window.pauses.push(ms);
  return later(() => { ahead += ms; callback(...rest); }, 0);
};
"""
GONE = {"errors only": lambda answer: answer.raw(503, b"Starting", "text/plain"), "a dead port": drop}


@pytest.mark.parametrize("name", GONE)
def test_a_server_that_is_away_is_asked_ever_less_often_until_it_is_given_up(
    taskbar: TaskbarPage, stub: Stub, name: str
) -> None:
    stub.live = "long"
    taskbar.visit("/", pages.page(head=pages.script(FAST)))
    taskbar.run()
    taskbar.wait("running")
    until(lambda: stub.streams == 1, "the stream is open")
    asked = len(stub.requests("GET /bootstrap"))
    stub.always["GET /bootstrap"] = GONE[name]
    taskbar.js("window.fast = true")
    finish(stub)
    taskbar.says("[data-reload-reason]", "does not answer")
    assert taskbar.js("return pauses") == [500, 1000, 2000, 4000, *[5000] * 11]
    assert len(stub.requests("GET /bootstrap")) - asked == 15
    assert taskbar.shown("[data-reload]")
    assert loads(stub) == 1


BROKEN = {"a traceback": lambda answer: answer.raw(500, b"Traceback", "text/html"), "no answer at all": drop}


@pytest.mark.parametrize("name", BROKEN)
def test_a_page_that_the_task_has_broken_is_not_loaded_over_the_one_that_works(
    taskbar: TaskbarPage, stub: Stub, name: str
) -> None:
    taskbar.visit()
    taskbar.js("history.replaceState({}, '', '/?sort=new#top')")
    taskbar.run()
    taskbar.wait("running")
    stub.pages["/"] = BROKEN[name]
    finish(stub)
    taskbar.says("[data-reload-reason]", "This page now fails")
    assert loads(stub) == 1
    assert [look.query for look in stub.requests("GET /")[1:]] == [{"sort": ["new"]}]
    assert taskbar.shown("[data-panel]")
    stub.page("/", pages.page())
    taskbar.click("[data-reload]")
    until(lambda: loads(stub) == 2, "the user's own click reloads")


def test_a_page_that_answers_with_a_redirect_is_reloaded(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.run()
    taskbar.wait("running")
    stub.page("/next", pages.page())
    stub.pages["/"] = lambda answer: answer.raw(302, b"", "text/html", {"Location": "/next"})
    finish(stub)
    until(lambda: loads(stub, "/next") == 1, "the browser follows the redirect")


POSTED = {"method": "POST", "pattern": "/", "handler": "shop.save", "action": None}

UNSAFE = {
    # name: page, what the user does, why there is no reload
    "typed text": (pages.page(LONG), "document.querySelector('input').value = 'half'", "unsaved input"),
    "a ticked box": (pages.page("<input type=checkbox>"), "document.querySelector('input').checked = true", "unsaved"),
    "a chosen option": (
        pages.page("<select><option>a<option>b</select>"),
        "document.querySelector('select').selectedIndex = 1",
        "unsaved",
    ),
    "text in an area": (
        pages.page("<textarea>old</textarea>"),
        "document.querySelector('textarea').value = 'new'",
        "unsaved",
    ),
    "the answer to a form": (pages.page(route=POSTED), "", "answer to a form"),
    "a page in the background": (
        pages.page(),
        "Object.defineProperty(document, 'visibilityState', {get: () => 'hidden', configurable: true})",
        "in the background",
    ),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_where_a_reload_would_lose_something_it_is_offered_instead(taskbar: TaskbarPage, stub: Stub, name: str) -> None:
    html, action, reason = UNSAFE[name]
    stub.live = "long"
    taskbar.visit("/", html)
    taskbar.run()
    taskbar.wait("running")
    taskbar.js(action)
    finish(stub)
    taskbar.says("[data-reload-reason]", reason)
    assert loads(stub) == 1
    taskbar.js("delete document.visibilityState")
    taskbar.click("[data-reload]")
    until(lambda: loads(stub) == 2, "the user's own click reloads")
    taskbar.mounted()
    taskbar.wait("completed")
    assert taskbar.shown("[data-panel]")


CLEAN = {
    "untouched fields": "<input value=a><textarea>b</textarea><select><option>c</select><input type=checkbox checked>",
    "a preselected option": "<select><option>c<option selected>d</select><select multiple><option>e</select>",
    "fields without typing": "<input type=range><input type=color><input type=submit><input type=hidden value=x>",
    "fields the user cannot change": "<input readonly id=r><input disabled id=d>",
}


@pytest.mark.parametrize("name", CLEAN)
def test_fields_without_input_do_not_stand_in_the_way(taskbar: TaskbarPage, stub: Stub, name: str) -> None:
    taskbar.visit("/", pages.page(CLEAN[name]))
    taskbar.js("for (const id of ['r', 'd']) if (document.getElementById(id)) document.getElementById(id).value = 'x'")
    taskbar.run()
    taskbar.wait("running")
    finish(stub)
    until(lambda: loads(stub) == 2, "the page is loaded again")


@pytest.mark.parametrize(
    "html",
    [
        "<div contenteditable>Edit me</div>",
        "<my-field></my-field>"
        + pages.script(
            "customElements.define('my-field', class extends HTMLElement {"
            "connectedCallback() { this.attachShadow({mode: 'open'}).append(document.createElement('input')); } })"
        ),
    ],
    ids=["rich text", "a field in a component"],
)
def test_typing_where_no_form_looks_counts_as_unsaved_input(taskbar: TaskbarPage, stub: Stub, html: str) -> None:
    taskbar.visit("/", pages.page(html))
    target = "document.querySelector('[contenteditable]') ?? document.querySelector('my-field').shadowRoot.firstChild"
    taskbar.js(f"({target}).focus()")
    taskbar.keys("typed")
    taskbar.run()
    taskbar.wait("running")
    finish(stub)
    taskbar.says("[data-reload-reason]", "unsaved input")
    assert loads(stub) == 1


def test_what_was_typed_into_and_then_thrown_away_by_the_page_is_not_kept_alive(taskbar: TaskbarPage) -> None:
    taskbar.visit("/", pages.page("<input type=checkbox><p>Another</p>"))
    taskbar.js(
        "const box = document.querySelector('main input, input'); box.focus(); window.changed = 0;"
        "document.addEventListener('input', () => { window.changed += 1; }); window.gone = new WeakRef(box)"
    )
    taskbar.keys(Keys.SPACE)
    until(lambda: taskbar.js("return window.changed") == 1, "the box is ticked")
    taskbar.js("document.querySelector('input').remove()")

    def collected() -> bool:
        taskbar.browser.execute_cdp_cmd("HeapProfiler.collectGarbage", {})
        return bool(taskbar.js("return window.gone.deref() === undefined"))

    until(collected, "the box is no longer in memory")


def test_a_server_that_never_answers_again_leaves_the_offer(taskbar: TaskbarPage, stub: Stub) -> None:
    later = "const now = performance.now.bind(performance); performance.now = () => now() + (window.later ?? 0)"
    taskbar.visit("/", pages.page(head=pages.script(later)))
    taskbar.run()
    taskbar.wait("running")
    stub.always["GET /bootstrap"] = lambda answer: answer.raw(500, b"Traceback", "text/html")
    finish(stub)
    taskbar.says("[data-reload-reason]", "Reloading")
    taskbar.js("window.later = 100_000")
    taskbar.says("[data-reload-reason]", "does not answer")
    assert taskbar.shown("[data-reload]")
    assert loads(stub) == 1


def test_the_panel_s_own_draft_is_no_unsaved_input_of_the_page(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit("/", pages.page("<p>Nothing to enter here</p>"))
    taskbar.run()
    taskbar.wait("running")
    with stub.held("GET /bootstrap"):
        finish(stub)
        taskbar.wait("completed")
        taskbar.find("[data-prompt]").send_keys("typed by hand", Keys.SPACE)
    until(lambda: loads(stub) == 2, "the page is loaded again")
    taskbar.mounted()
    assert taskbar.js(f"return {ROOT}.querySelector('[data-prompt]').value") == "typed by hand "
