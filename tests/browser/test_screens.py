"""Every state of the panel in both themes and two widths: nothing overflows, all can be read, and a picture of it.

The pictures go to the directory that PI_TASKBAR_SCREENSHOTS names, for people to look at; else to the test's own.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from flask_pi_taskbar.contract.texts import NO_MODEL
from tests.browser import pages
from tests.browser.stub_server import drop, refuse
from tests.browser.taskbar_page import ROOT, TaskbarPage
from tests.support.waiting import until

pytestmark = pytest.mark.browser

OUTPUT = """I'll look at the template that renders the checkout button first.

The button is drawn by templates/shop/_checkout.html, line 14, with the class
`btn btn-sm`. I'll use the larger variant that the theme already has, and keep the
small one for the mini cart.

    -  <button class="btn btn-sm">Checkout</button>
    +  <button class="btn btn-lg btn-primary">Checkout</button>

The button is larger on the cart page now. I also ran the template tests: 14 passed.
"""

HOST_PAGE = """
<style>
  body {{ font: 17px/1.6 Georgia, serif; margin: 0; background: {back}; color: {text}; }}
  nav {{ padding: 18px 40px; border-bottom: 1px solid {line}; font-weight: bold; }}
  main {{ max-width: 720px; margin: 40px auto; padding: 0 24px; }}
  article {{ border: 1px solid {line}; border-radius: 8px; padding: 4px 20px; margin: 16px 0; }}
</style>
<nav>Acme Cards</nav><main><h1>Cards</h1><p>Twelve cards for every occasion.</p>
<article><h2>Birthday</h2><p>A card with a cake on it. 3.50</p></article>
<article><h2>Thank you</h2><p>A card with flowers on it. 3.00</p></article>
<article><h2>Get well soon</h2><p>A card with a cat on it. 3.20</p></article></main>
"""
THEMES = {
    "dark": ("data-theme=dark", {"back": "#20242b", "text": "#d7dae0", "line": "#3a404a"}),
    "light": ("data-theme=light", {"back": "#ffffff", "text": "#222222", "line": "#dddddd"}),
}
BACKGROUND = {"dark": "rgb(18, 24, 32)", "light": "rgb(246, 248, 251)"}
PROMPT = "Make the checkout button on the cart page larger and use the theme's primary color."


def ready(page: TaskbarPage) -> None:
    page.wait("ready")
    page.type(PROMPT)


def connecting(page: TaskbarPage) -> None:
    page.stub.show(pages.starting())
    page.browser.refresh()
    page.says("[data-activity]", "starting")


def running(page: TaskbarPage) -> None:
    task = {"output": OUTPUT, "activity": "Running edit", "started_at": pages.stamp(83)}
    page.stub.show(pages.running(PROMPT, **task))
    page.browser.refresh()
    page.wait("running")


def cancelling(page: TaskbarPage) -> None:
    running(page)
    page.stub.task(status="cancelling", activity="Stopping Pi")
    page.wait("cancelling")


def over(status: str, **fields: object) -> Callable[[TaskbarPage], None]:
    def prepare(page: TaskbarPage) -> None:
        page.stub.show(pages.ended(status, PROMPT, started_at=pages.stamp(95), **fields))
        page.browser.refresh()
        page.wait(status)

    return prepare


def unavailable(page: TaskbarPage) -> None:
    page.stub.show(pages.unavailable())
    page.browser.refresh()
    page.wait("unavailable")


def no_model(page: TaskbarPage) -> None:
    error = NO_MODEL
    page.stub.show(pages.snapshot(pages.session("unavailable", model=None, error=error)))
    page.browser.refresh()
    page.wait("unavailable")


def offline(page: TaskbarPage) -> None:
    running(page)
    page.stub.always["GET /state"] = drop
    page.says("[data-error]", "does not answer")


def forbidden(page: TaskbarPage) -> None:
    page.stub.always["GET /state"] = refuse(
        403,
        "forbidden",
        "Both the host in the address bar and the browser's own address must be local, "
        "or the host must be listed in PI_BROWSER_TASKBAR_ALLOWED_HOSTS",
    )
    page.browser.refresh()
    page.says("[data-error]", "must be local")


def insecure(page: TaskbarPage) -> None:
    page.stub.bootstrap["remote_access"] = True
    page.browser.refresh()
    page.shows("[data-insecure-remote-warning]")
    page.wait("ready")


def unsaved(page: TaskbarPage) -> None:
    page.js("document.querySelector('main').insertAdjacentHTML('beforeend', '<input>')")
    page.js("document.querySelector('main input').value = 'half an answer'")
    page.run(PROMPT)
    page.wait("running")
    page.stub.task(status="completed", activity="Task completed", output=OUTPUT)
    page.shows("[data-reload]")


STATES: dict[str, Callable[[TaskbarPage], None]] = {
    "connecting": connecting,
    "ready": ready,
    "running": running,
    "cancelling": cancelling,
    "stopped": over("cancelled", output=OUTPUT[:300]),
    "finished": over("completed", output=OUTPUT),
    "finished-long": over("completed", output="\n".join(OUTPUT.split("\n") * 6), output_truncated=True),
    "failed": over("failed", error="The model provider reported an error"),
    "unsaved": unsaved,
    "unavailable": unavailable,
    "offline": offline,
    "forbidden": forbidden,
    "no-model": no_model,
    "insecure-remote": insecure,
}

TEXTS = (
    "[data-kicker]",
    "[data-model]",
    "[data-scope]",
    "[data-new-conversation]",
    "label",
    "[data-prompt]",
    "[data-hint]",
    "[data-task-prompt]",
    "[data-activity]",
    "[data-output]",
    "[data-output-truncated]",
    "[data-error]",
    "[data-cancel-warning]",
    "[data-insecure-remote-warning]",
    "[data-reload-reason]",
    "[data-again]",
    "[data-status]",
    "[data-elapsed]",
    "[data-run]",
)

# The colours of a text and of all that lies behind it, outermost first.
COLOURS = f"""
const element = {ROOT}.querySelector(arguments[0]);
const behind = [];
for (let at = element; at instanceof Element; at = at.parentNode) behind.unshift(getComputedStyle(at).backgroundColor);
return {{ text: getComputedStyle(element).color, behind, faded: getComputedStyle(element).opacity }};
"""


def rgba(colour: str) -> tuple[float, ...]:
    numbers = [float(number) for number in re.findall(r"[\d.]+", colour)]
    return tuple(numbers) if len(numbers) == 4 else (*numbers, 1.0)


def over_each_other(colours: list[str]) -> tuple[float, ...]:
    below: tuple[float, ...] = (255.0, 255.0, 255.0)
    for colour in colours:
        *top, alpha = rgba(colour)
        below = tuple(alpha * a + (1 - alpha) * b for a, b in zip(top, below, strict=True))
    return below


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    def luminance(colour: tuple[float, ...]) -> float:
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in colour)]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def text_contrast(page: TaskbarPage, selector: str) -> float:
    found = page.js(COLOURS, selector)
    back = over_each_other(found["behind"])
    fade = float(found["faded"])
    *top, alpha = rgba(found["text"])
    text = tuple(alpha * fade * a + (1 - alpha * fade) * b for a, b in zip(top, back, strict=True))
    return contrast(text, back)


def settled(page: TaskbarPage) -> None:
    """No animation of the panel's opening is running any more."""
    count = f"return {ROOT}.querySelector('[data-panel]').getAnimations().length"
    until(lambda: page.js(count) == 0, "the panel has opened")


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    directory = Path(os.environ.get("PI_TASKBAR_SCREENSHOTS") or tmp_path)
    directory.mkdir(parents=True, exist_ok=True)
    return directory


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("state", STATES)
def test_a_state_fits_and_can_be_read(taskbar: TaskbarPage, pictures: Path, state: str, theme: str, width: int) -> None:
    root, colours = THEMES[theme]
    taskbar.resize(width, 844)
    taskbar.visit("/", pages.page(HOST_PAGE.format(**colours), root=root), csp=None)
    taskbar.wait("ready")
    taskbar.open()
    STATES[state](taskbar)
    taskbar.shows("[data-panel]")
    settled(taskbar)
    taskbar.browser.save_screenshot(str(pictures / f"{state}-{theme}-{width}.png"))

    box = taskbar.js(f"return {ROOT}.querySelector('[data-panel]').getBoundingClientRect().toJSON()")
    inset = 10 if width == 390 else 16
    assert box["left"] == pytest.approx(inset)
    assert box["right"] <= width - inset
    assert box["top"] >= inset - 1
    assert box["bottom"] == pytest.approx(844 - inset)
    assert taskbar.prop("[data-panel]", "scrollWidth") <= taskbar.prop("[data-panel]", "clientWidth")
    assert taskbar.js("return document.documentElement.scrollWidth") <= width
    assert taskbar.style("[data-panel]", "backgroundColor") == BACKGROUND[theme]
    assert taskbar.shown("[data-run]")
    shown = [selector for selector in TEXTS if taskbar.shown(selector)]
    unreadable = {
        selector: round(ratio, 2)
        for selector in shown
        if not taskbar.prop(selector, "disabled") and (ratio := text_contrast(taskbar, selector)) < 4.5
    }
    assert unreadable == {}
    assert len(shown) >= 9


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("theme", THEMES)
def test_the_launcher_fits_and_can_be_read(taskbar: TaskbarPage, pictures: Path, theme: str, width: int) -> None:
    root, colours = THEMES[theme]
    taskbar.resize(width, 844)
    taskbar.visit("/", pages.page(HOST_PAGE.format(**colours), root=root), csp=None)
    taskbar.wait("ready")
    taskbar.browser.save_screenshot(str(pictures / f"launcher-{theme}-{width}.png"))
    box = taskbar.js(f"return {ROOT}.querySelector('[data-toggle]').getBoundingClientRect().toJSON()")
    assert box["height"] >= 40
    assert box["left"] == pytest.approx(10 if width == 390 else 16)
    assert text_contrast(taskbar, "[data-toggle] span") >= 4.5
