"""The taskbar in pages of every kind: it stays through swaps, is alone, and neither leaks nor is leaked on."""

from __future__ import annotations

import pytest
from selenium.webdriver import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser import pages
from tests.browser.stub_server import MOUNT, Stub
from tests.browser.taskbar_page import ROOT, TaskbarPage
from tests.support.waiting import until

pytestmark = pytest.mark.browser

HOST = "document.querySelector('[data-pi-browser-taskbar-host]')"


def hosts(page: TaskbarPage) -> int:
    return int(page.js("return document.querySelectorAll('[data-pi-browser-taskbar-host]').length"))


def test_the_host_is_the_last_child_of_the_body(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    assert taskbar.js(f"return {HOST} === document.body.lastElementChild")
    assert taskbar.js(f"return {HOST}.id") == "pi-browser-taskbar-host"
    assert taskbar.js(f"return {HOST}.hasAttribute('data-turbo-permanent')")


def test_scripts_that_run_again_change_nothing(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.live = "long"
    taskbar.visit()
    taskbar.open()
    taskbar.type("A draft")
    until(lambda: stub.streams == 1, "one stream is open")
    again = (
        "const script = document.createElement('script'); script.type = 'module'; script.nonce = 'page';"
        "script.setAttribute('data-pi-browser-taskbar', ''); script.dataset.mountBase = arguments[0];"
        "script.src = policy.createScriptURL(arguments[0] + '/assets/pi_browser_taskbar.js?' + arguments[1]);"
        "document.body.append(script)"
    )
    taskbar.js("window.policy = trustedTypes.createPolicy('test', {createScriptURL: url => url})")
    for number in range(10):
        taskbar.js(again, MOUNT, number)
    until(
        lambda: len([one for one in stub.seen if "pi_browser_taskbar.js" in one.path]) == 11, "all scripts are loaded"
    )
    stub.show(pages.running())
    taskbar.wait("running")
    assert hosts(taskbar) == 1
    assert len(stub.requests("GET /events")) == 1
    assert taskbar.prop("[data-prompt]", "value") == "A draft"
    assert taskbar.errors() == []


SWAPS = {
    "a new body": "document.body = document.createElement('body')",
    "body children replaced, as by htmx boost": "document.body.replaceChildren(document.createElement('main'))",
    "body taken out and put back": "const b = document.body; b.remove(); document.documentElement.append(b)",
    "the host removed": f"{HOST}.remove()",
    "a dead copy from a history cache": (
        f"const copy = {HOST}.cloneNode(true); document.body.replaceChildren(copy, document.createElement('p'))"
    ),
}


@pytest.mark.parametrize("name", SWAPS)
def test_the_taskbar_comes_back_with_its_draft_when_the_page_swaps_its_body(taskbar: TaskbarPage, name: str) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("A draft")
    taskbar.js(SWAPS[name])
    until(lambda: taskbar.js(f"return {HOST}?.parentNode === document.body"), "the host is back")
    assert hosts(taskbar) == 1
    assert taskbar.prop("[data-prompt]", "value") == "A draft"
    assert taskbar.shown("[data-panel]")
    taskbar.click("[data-run]")
    taskbar.wait("running")


def test_a_page_that_keeps_throwing_the_host_out_is_not_fought(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.js(
        "window.removals = 0; new MutationObserver(() => {"
        f"const host = {HOST}; if (host) {{ window.removals += 1; host.remove(); }}"
        f"}}).observe(document.body, {{childList: true}}); {HOST}.remove()"
    )
    until(lambda: taskbar.js("return window.removals") >= 10, "it is tried a few times")
    count = taskbar.js("return window.removals")
    assert count < 20


def test_a_page_that_goes_on_changing_while_the_host_rests_is_met_by_one_timer(taskbar: TaskbarPage) -> None:
    count = (
        "window.rests = 0; const real = window.setTimeout.bind(window);"
        "window.setTimeout = (callback, ms, ...rest) => {"
        "if (ms === 4000) window.rests += 1; return real(callback, ms, ...rest); };"
    )
    taskbar.visit("/", pages.page(head=pages.script(count)))
    taskbar.js(
        "window.removals = 0; window.rounds = 0; new MutationObserver(() => {"
        f"const host = {HOST}; if (host) {{ window.removals += 1; host.remove(); }}"
        f"}}).observe(document.body, {{childList: true}}); {HOST}.remove();"
        "const timer = setInterval(() => {"
        "document.body.append('x'); if (++window.rounds === 60) clearInterval(timer); })"
    )
    until(lambda: taskbar.js("return window.rounds") == 60, "the page has changed often")
    assert taskbar.js("return window.removals") >= 10
    assert taskbar.js("return window.rests") == 1


def test_turbo_carries_the_host_into_the_next_body(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.type("A draft")
    reads = len(stub.requests("GET /state"))
    taskbar.js(
        f"const body = document.createElement('body'); body.append({HOST}.cloneNode(true));"
        "const event = new CustomEvent('turbo:before-render', {detail: {newBody: body, renderMethod: 'replace'}});"
        f"const host = {HOST}; document.documentElement.dispatchEvent(event);"
        "window.carried = host.parentNode === body; document.body.replaceWith(body);"
        "document.dispatchEvent(new Event('turbo:render')); document.dispatchEvent(new Event('turbo:load'))"
    )
    assert taskbar.js("return window.carried")
    assert hosts(taskbar) == 1
    assert taskbar.prop("[data-prompt]", "value") == "A draft"
    until(lambda: len(stub.requests("GET /state")) > reads, "the state is read for the new page")


ROUTE = {"method": "GET", "pattern": "/", "handler": "shop.index", "action": None}
OTHER = {"method": "GET", "pattern": "/cards/<int:card>", "handler": "shop.card", "action": None}


def test_the_route_of_the_tag_goes_with_the_task(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit("/", pages.page(route=ROUTE))
    taskbar.run()
    taskbar.wait("running")
    assert stub.tasks[0].context["route"] == ROUTE


def test_a_tag_that_came_with_an_earlier_address_says_nothing_about_the_present_one(
    taskbar: TaskbarPage, stub: Stub
) -> None:
    taskbar.visit("/", pages.page(route=ROUTE))
    taskbar.js("history.pushState({}, '', '/cards/7')")
    taskbar.run()
    taskbar.wait("running")
    assert stub.tasks[0].context["route"] is None
    assert stub.tasks[0].context["location"]["path"] == "/cards/7"


def test_a_tag_that_came_with_a_swap_names_the_new_route(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit("/", pages.page(route=ROUTE))
    taskbar.js(
        "history.pushState({}, '', '/cards/7'); const tag = document.createElement('script');"
        "tag.type = 'text/plain'; tag.setAttribute('data-pi-browser-taskbar', '');"
        "tag.dataset.route = JSON.stringify(arguments[0]); document.body.replaceChildren(tag)",
        OTHER,
    )
    until(lambda: hosts(taskbar) == 1, "the host is back")
    taskbar.run()
    taskbar.wait("running")
    assert stub.tasks[0].context["route"] == OTHER


# Keys and clicks


def test_nothing_typed_or_clicked_inside_reaches_the_page(taskbar: TaskbarPage) -> None:
    kinds = ["keydown", "keypress", "keyup", "input", "beforeinput", "click", "pointerdown", "mousedown", "focusin"]
    listen = (
        "window.heard = []; for (const kind of arguments[0]) document.addEventListener(kind, e => heard.push(e.type));"
        "document.addEventListener('keydown', e => { if (e.key === 'm') document.body.remove(); })"
    )
    taskbar.visit()
    taskbar.js(listen, kinds)
    taskbar.open()
    taskbar.type("modal")
    taskbar.keys(Keys.TAB)
    taskbar.escape()
    assert taskbar.js("return window.heard") == []
    assert taskbar.js("return document.body !== null")


def test_a_focus_trap_of_the_page_does_not_steal_the_focus(taskbar: TaskbarPage) -> None:
    taskbar.visit("/", pages.page("<button id=inside>In the dialog</button>"))
    taskbar.js("document.addEventListener('focusin', e => { if (e.target.id !== 'inside') inside.focus(); })")
    taskbar.open()
    taskbar.type("Still here")
    assert taskbar.focused("[data-prompt]")
    assert taskbar.prop("[data-prompt]", "value") == "Still here"


# Looks

HOSTILE_CSS = """<style>
* { font-family: fantasy !important; color: red !important; background: yellow !important; display: inline !important }
div { display: none !important; visibility: hidden !important; opacity: 0.1 !important; transform: scale(2) !important;
      z-index: -1 !important; position: static !important; width: 10px !important; pointer-events: none !important }
button { font-family: fantasy !important; display: none !important }
html { font-size: 5px; } body { transform: rotate(3deg); filter: blur(2px); overflow: hidden }
::backdrop { background: black !important }
#pi-browser-taskbar-host { display: none !important; left: 50px !important; all: unset !important }
</style>"""


def test_styles_of_the_page_do_not_reach_the_taskbar(taskbar: TaskbarPage) -> None:
    taskbar.visit("/", pages.page(head=HOSTILE_CSS), csp=None)
    taskbar.wait("ready")
    taskbar.click("[data-toggle]")
    taskbar.shows("[data-panel]")
    assert taskbar.style("[data-panel]", "backgroundColor") == "rgb(18, 24, 32)"
    assert "fantasy" not in taskbar.style("[data-run]", "fontFamily")
    assert taskbar.style("[data-panel]", "fontSize") == "14px"
    until(lambda: taskbar.js(f"return {ROOT}.querySelector('[data-panel]').getAnimations().length") == 0, "opened")
    box = taskbar.js(f"return {ROOT}.querySelector('[data-panel]').getBoundingClientRect().toJSON()")
    height = taskbar.js("return innerHeight")
    assert (box["left"], box["bottom"], box["width"]) == pytest.approx((16, height - 16, 410))
    backdrop = taskbar.js(f"return getComputedStyle({HOST}, '::backdrop').display")
    assert backdrop == "none"


def test_styles_of_the_taskbar_do_not_reach_the_page(taskbar: TaskbarPage) -> None:
    look = (
        "const s = getComputedStyle(document.querySelector('main button')); return [s.fontFamily, s.padding, s.cursor]"
    )
    taskbar.browser.get(taskbar.stub.page("/plain", pages.page(tags="")))
    before = taskbar.js(look)
    taskbar.visit()
    assert taskbar.js(look) == before


THEMES = {
    "nothing said": ("", "", "dark", "dark"),
    "data-theme": ("data-theme=light", "", "dark", "light"),
    "data-bs-theme": ("data-bs-theme=light", "", "dark", "light"),
    "data-color-scheme": ("data-color-scheme=light", "", "dark", "light"),
    "dark said beside a light scheme": ("data-theme=dark", "color-scheme: light", "light", "dark"),
    "a light scheme": ("", "color-scheme: light", "dark", "light"),
    "both, dark preferred": ("", "color-scheme: light dark", "dark", "dark"),
    "both, light preferred": ("", "color-scheme: light dark", "light", "light"),
    "a dark scheme": ("", "color-scheme: dark", "light", "dark"),
}


@pytest.mark.parametrize("name", THEMES)
def test_the_theme_is_the_page_s(taskbar: TaskbarPage, name: str) -> None:
    root, style, preferred, theme = THEMES[name]
    taskbar.media(prefers_color_scheme=preferred)
    taskbar.visit("/", pages.page(head=f"<style>:root {{ {style} }}</style>", root=root), csp=None)
    taskbar.open()
    expected = {"dark": "rgb(18, 24, 32)", "light": "rgb(246, 248, 251)"}[theme]
    assert taskbar.style("[data-panel]", "backgroundColor") == expected
    taskbar.js(
        "const { dataset } = document.documentElement; delete dataset.bsTheme; delete dataset.colorScheme;"
        "dataset.theme = arguments[0]",
        "dark" if theme == "light" else "light",
    )
    until(lambda: taskbar.style("[data-panel]", "backgroundColor") != expected, "the theme follows the page")


def test_the_taskbar_is_not_printed(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print", "features": []})
    assert not taskbar.shown("[data-toggle]")


def test_reduced_motion_is_respected(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.show(pages.running())
    taskbar.visit()
    taskbar.open()
    taskbar.wait("running")
    moving = f"return {ROOT}.getAnimations().length"
    until(lambda: taskbar.js(moving) > 0, "work in progress is seen")
    taskbar.media(prefers_reduced_motion="reduce")
    until(lambda: taskbar.js(moving) == 0, "nothing moves")


def test_the_colours_of_stop_do_not_fade_into_those_of_run(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.live = "long"
    stub.show(pages.running())
    taskbar.visit()
    taskbar.open()
    taskbar.wait("running")
    taskbar.js(
        f"const run = {ROOT}.querySelector('[data-run]'); window.fading = null; getComputedStyle(run).color;"
        "new MutationObserver(() => { getComputedStyle(run).color; window.fading = run.getAnimations().length; })"
        ".observe(run, {attributes: true, attributeFilter: ['data-stops']})"
    )
    stub.task(status="failed")
    taskbar.wait("failed")
    assert taskbar.js("return window.fading") == 0


def test_forced_colours_keep_borders_and_state(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.media(forced_colors="active")
    for selector in ("[data-panel]", "[data-prompt]", "[data-run]"):
        assert taskbar.style(selector, "borderTopStyle") == "solid"
        assert taskbar.style(selector, "borderTopColor") != taskbar.style(selector, "backgroundColor")


@pytest.mark.parametrize(("width", "height", "zoom"), [(320, 640, 1), (320, 256, 1), (1280, 720, 2), (640, 480, 2)])
def test_everything_can_be_reached_in_a_small_or_zoomed_window(
    taskbar: TaskbarPage, stub: Stub, width: int, height: int, zoom: int
) -> None:
    stub.show(pages.ended("failed", output="word " * 400, error="Pi stopped unexpectedly", output_truncated=True))
    stub.bootstrap["remote_access"] = True
    taskbar.resize(width, height)
    taskbar.visit()
    taskbar.js("document.documentElement.style.zoom = arguments[0]", zoom)
    taskbar.open()
    taskbar.wait("failed")
    box = taskbar.js(f"return {ROOT}.querySelector('[data-panel]').getBoundingClientRect().toJSON()")
    assert box["left"] >= 0
    assert box["top"] >= 0
    assert box["right"] <= width
    assert box["bottom"] <= height
    assert taskbar.js("return document.documentElement.scrollWidth") <= width
    for selector in ("[data-panel]", "[data-panel] .body", "footer", "header"):
        assert taskbar.prop(selector, "scrollWidth") <= taskbar.prop(selector, "clientWidth"), selector
    for selector in ("[data-close]", "[data-prompt]", "[data-again]", "[data-run]"):
        hit = taskbar.js(
            "const [element, selector] = arguments; element.scrollIntoView({block: 'center'});"
            "const { x, y, width, height } = element.getBoundingClientRect();"
            f"return {ROOT}.elementFromPoint(x + width / 2, y + height / 2)?.closest(selector) === element",
            taskbar.find(selector),
            selector,
        )
        assert hit, f"{selector} can be clicked"


def test_the_launcher_stays_where_it_is_under_the_pointer(taskbar: TaskbarPage) -> None:
    taskbar.visit()
    box = f"return {ROOT}.querySelector('[data-toggle]').getBoundingClientRect().toJSON()"
    before = taskbar.js(box)
    ActionChains(taskbar.browser).move_to_element(taskbar.find("[data-toggle]")).perform()
    assert taskbar.js(f"return {ROOT}.querySelector('[data-toggle]').matches(':hover')")
    assert taskbar.js(box) == before


# Being exposed


def test_mount_is_exposed_only_when_the_tag_says_so(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit("/", pages.page(tag_extra="data-expose-api"))
    assert taskbar.js(
        "const {contractVersion, framework, productVersion} = PiBrowserTaskbar;"
        "return [contractVersion, framework, productVersion, Object.isFrozen(PiBrowserTaskbar)]"
    ) == [1, "flask", "0.1.0", True]
    same = "const a = PiBrowserTaskbar.mount({mountBase: arguments[0]}); window.instance = a;"
    assert taskbar.js(same + "return a === PiBrowserTaskbar.mount({})", MOUNT)
    assert sorted(taskbar.js("return Object.keys(instance)")) == sorted(
        ["contractVersion", "framework", "mountBase", "productVersion", "element", "reconcile", "refresh", "submit"]
    )
    assert taskbar.js("return instance.mountBase") == MOUNT
    assert taskbar.js(f"return instance.element === {HOST} && Object.isFrozen(instance)")
    taskbar.js("return instance.submit('From a test').then(() => true)")
    taskbar.wait("running")
    assert stub.tasks[0].prompt == "From a test"


def test_an_inline_bootstrap_element_is_honoured(taskbar: TaskbarPage, stub: Stub) -> None:
    inline = (
        f'<div data-pi-browser-taskbar-bootstrap data-mount-base="{MOUNT}" data-contract-version="1" '
        'data-csrf-token="inline-token" data-remote-access="true"></div>'
        f'<script type="module" nonce="page" src="{MOUNT}/assets/pi_browser_taskbar.js"></script>'
    )
    taskbar.visit("/", pages.page(tags=inline))
    taskbar.open()
    assert taskbar.shown("[data-insecure-remote-warning]")
    taskbar.run()
    taskbar.wait("running")
    assert stub.requests("POST /tasks")[0].headers["x-csrf-token"] == "inline-token"


def test_a_page_that_forbids_storage_still_gets_a_taskbar(taskbar: TaskbarPage) -> None:
    forbid = (
        "for (const name of ['sessionStorage', 'localStorage'])"
        "  Object.defineProperty(window, name, {get() { throw new Error('forbidden'); }})"
    )
    taskbar.visit("/", pages.page(head=pages.script(forbid)))
    taskbar.run()
    taskbar.wait("running")
    assert taskbar.errors() == []


def test_the_taskbar_can_be_used_while_a_modal_dialog_is_open(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit("/", pages.page("<dialog>A modal question <input></dialog><p>The page</p>"))
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("Make this dialog wider")
    taskbar.js("document.querySelector('dialog').showModal()")
    until(lambda: taskbar.js(f"return {HOST}.parentNode.localName") == "dialog", "the host is in the dialog")
    taskbar.click("[data-run]")
    taskbar.wait("running")
    assert "A modal question" in str(stub.tasks[0].context["snapshot"])
    taskbar.escape()
    assert not taskbar.shown("[data-panel]")
    assert taskbar.js("return document.querySelector('dialog').open"), "Escape was for the panel"
    taskbar.js("document.querySelector('dialog').close()")
    until(lambda: taskbar.js(f"return {HOST}.parentNode === document.body"), "the host is back in the body")
    taskbar.open()
    assert taskbar.shown("[data-panel]")
    taskbar.js("const d = document.querySelector('dialog'); d.showModal(); setTimeout(() => d.remove(), 50)")
    until(lambda: taskbar.js("return !document.querySelector('dialog')"), "the dialog is gone")
    until(lambda: taskbar.js(f"return {HOST}?.parentNode === document.body"), "the host is back in the body")


@pytest.mark.parametrize("removed", ["dialog", "section", "main"])
def test_a_modal_dialog_that_is_thrown_away_deep_in_the_page_does_not_take_the_taskbar_with_it(
    taskbar: TaskbarPage, removed: str
) -> None:
    taskbar.visit("/", pages.page("<main><section><div><dialog>Sure?</dialog></div></section></main>"))
    taskbar.open()
    taskbar.wait("ready")
    taskbar.type("A draft")
    taskbar.js("document.querySelector('dialog').showModal()")
    until(lambda: taskbar.js(f"return {HOST}.parentNode.localName") == "dialog", "the host is in the dialog")
    taskbar.js("document.querySelector(arguments[0]).remove()", removed)
    until(lambda: taskbar.js(f"return {HOST}?.parentNode === document.body"), "the host is back in the body", 5)
    taskbar.shows("[data-panel]")
    assert taskbar.prop("[data-prompt]", "value") == "A draft"


def test_a_page_that_has_changed_the_dom_s_methods_still_gets_its_task(taskbar: TaskbarPage, stub: Stub) -> None:
    taskbar.visit()
    taskbar.open()
    taskbar.wait("ready")
    taskbar.js(
        "const real = window.getComputedStyle, page = document.querySelector('main');"
        "window.getComputedStyle = of => { if (of === page) throw new Error('patched'); return real(of); }"
    )
    taskbar.run()
    taskbar.wait("running")
    assert stub.tasks[0].context["snapshot"] == {"tag": "body", "children": []}
    assert stub.tasks[0].context["truncation"] == [{"section": "page", "reasons": ["nodes"]}]
