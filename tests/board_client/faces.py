"""A board in a browser's tab, for the tests of what the page draws: their own store, a page of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from threading import Thread
from typing import Any

from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.model import Actor
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page.alone import AlonePage
from flask_pi_taskbar.page.opening import Options, serve_here
from tests.support.waiting import until

ANN = session("as:ann", "ann")
BOB = session("as:bob", "bob")
WIDE, NARROW = (1440, 900), (390, 844)


class Faces:
    """One tab that looks at one board."""

    def __init__(self, browser: Chrome, store: Store, page: AlonePage) -> None:
        self.browser = browser
        self.store = store
        self.page = page

    # The board, changed by somebody else than the page.

    def add(self, title: str, **fields: Any) -> int:
        card: int = self.apply("add", title=title, **fields)["card"]["id"]
        return card

    def apply(self, action: str, *, by: Actor = ANN, **fields: Any) -> dict[str, Any]:
        result: dict[str, Any] = self.store.apply(action, fields, by, now=datetime.now(UTC))
        return result

    # The tab.

    def open(self, query: str = "", *, viewer: bool = False, size: tuple[int, int] = WIDE) -> None:
        self.resize(size)
        address = self.page.viewer_address() if viewer else self.page.lead_address()
        before, _, key = address.partition("#")
        self.browser.get(f"{before}{query}#{key}")
        until(lambda: self.all("#live[data-live=live]"), "the page is live")

    def resize(self, size: tuple[int, int]) -> None:
        width, height = size
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        return until(lambda: next(iter(self.all(selector)), None), f"{selector} is there")

    def click(self, selector: str) -> None:
        until(lambda: self.one(selector).is_displayed(), f"{selector} is shown")
        self.one(selector).click()

    def press(self, *keys: str) -> None:
        self.browser.switch_to.active_element.send_keys(*keys)

    def js(self, source: str, *arguments: object) -> Any:
        return self.browser.execute_script(source, *arguments)

    def cards(self, lane: str) -> list[int]:
        """The cards that a lane shows, in its order."""
        source = "return [...document.querySelectorAll(arguments[0])].map((card) => Number(card.dataset.card))"
        found: list[int] = self.js(source, f'[data-lane="{lane}"] [data-card]')
        return found

    def text(self, selector: str) -> str:
        """What is written there, shown or not."""
        return str(self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def focus(self) -> str:
        """What has the focus: a card's number and the action of its button, or the element's id."""
        return str(
            self.js(
                "const here = document.activeElement; const card = here.closest('[data-card]');"
                "return card ? `#${card.dataset.card} ${here.dataset.action ?? ''}`.trim() : here.id || here.tagName"
            )
        )

    def shows(self, selector: str, text: str) -> None:
        until(lambda: self.text(selector) == text, f"{selector} says {text!r}, not {self.text(selector)!r}")


@contextmanager
def looking(browser: Chrome, folder: Path) -> Iterator[Faces]:
    """A new tab for an empty board; nothing of it outlives the test."""
    store = Store(folder / "board")
    found = serve_here(store, Options(name="shop", key="shop-faces"), ANN, "/")
    assert found is not None
    page, _ = found
    thread = Thread(target=page.serve, daemon=True)
    thread.start()
    first = browser.current_window_handle
    browser.switch_to.new_window("tab")
    browser.get_log("browser")  # type: ignore[no-untyped-call]  # what earlier pages said
    try:
        yield Faces(browser, store, page)
        logged = browser.get_log("browser")  # type: ignore[no-untyped-call]
        loud = [line for line in logged if line["level"] == "SEVERE" and line.get("source") != "network"]
        assert not loud, loud
    finally:
        browser.get("about:blank")  # a page that is left writes down that it was looked at
        origin = {"origin": page.address.rstrip("/"), "storageTypes": "local_storage,session_storage"}
        browser.execute_cdp_cmd("Storage.clearDataForOrigin", origin)
        browser.close()
        browser.switch_to.window(first)
        page.stop()
        thread.join(10)
        assert not thread.is_alive()


__all__ = ["ANN", "BOB", "NARROW", "WIDE", "Faces", "Keys", "looking"]
