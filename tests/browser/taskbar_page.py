"""The taskbar in a browser, as a test speaks of it: open the panel, type, run, wait for a state, read what is shown."""

from __future__ import annotations

from typing import Any

from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver import ActionChains, Chrome
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.browser import pages
from tests.browser.stub_server import Stub
from tests.support.waiting import until

ROOT = "document.querySelector('[data-pi-browser-taskbar-host]')?.shadowRoot"


class TaskbarPage:
    """One tab with a taskbar. Elements are found anew each time: a reload or a swap may have replaced them."""

    def __init__(self, browser: Chrome, stub: Stub) -> None:
        self.browser = browser
        self.stub = stub
        self.home = self.first = browser.current_window_handle  # a tab that stays, for the driver to hold on to

    # The browser

    def reset(self) -> None:
        """A new tab, an ordinary window, nothing emulated, nothing remembered, no leftover log."""
        self.browser.switch_to.new_window("tab")
        self.first = self.browser.current_window_handle
        self.forget(self.stub.page("/forget", "<!doctype html>"))
        del self.stub.pages["/forget"]
        self.stub.seen.clear()
        self.resize(1280, 900)
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
        self.browser.get_log("browser")

    def forget(self, url: str) -> None:
        """Empties what the origin of `url` remembers: the port may be that of an earlier test's server."""
        self.browser.get(url)
        self.js("localStorage.clear(); sessionStorage.clear()")
        self.browser.get("about:blank")

    def leave(self) -> None:
        """Closes the test's tabs. With them goes what the browser keeps of their pages, much after a huge one; and from
        a tab whose page died nothing else is possible."""
        self.browser.switch_to.window(self.home)
        for handle in self.tabs:
            self.browser.switch_to.window(handle)
            self.browser.close()
        self.browser.switch_to.window(self.home)

    @property
    def tabs(self) -> list[str]:
        return [handle for handle in self.browser.window_handles if handle != self.home]

    def resize(self, width: int, height: int) -> None:
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)

    def media(self, **features: str) -> None:
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": wanted})

    def visit(self, path: str = "/", html: str | None = None, csp: str | None = pages.STRICT, **headers: str) -> None:
        """Serves `html` at `path` and opens it; waits until the taskbar is there."""
        if csp is not None:
            headers["Content-Security-Policy"] = csp
        if html is not None or path not in self.stub.pages:
            self.stub.page(path, html or pages.page(), **headers)
        self.browser.get(self.stub.url + path)
        self.mounted()

    def mounted(self) -> None:
        until(lambda: self.js(f"return !!{ROOT}?.querySelector('[data-toggle]')"), "the taskbar is in the page")

    def js(self, source: str, *arguments: object) -> Any:
        return self.browser.execute_script(source, *arguments)

    def errors(self) -> list[str]:
        """What the browser complained about, but for requests that a test let fail."""
        entries = self.browser.get_log("browser")
        return [entry["message"] for entry in entries if entry["source"] != "network"]

    # The taskbar

    def find(self, selector: str) -> WebElement:
        def found() -> WebElement | None:
            return self.js(f"return {ROOT}?.querySelector(arguments[0])", selector)

        return until(found, f"{selector} is in the taskbar")

    def text(self, selector: str) -> str:
        return str(self.js(f"return {ROOT}.querySelector(arguments[0]).textContent", selector))

    def shown(self, selector: str) -> bool:
        return bool(self.js(f"return {ROOT}.querySelector(arguments[0])?.checkVisibility() ?? false", selector))

    def prop(self, selector: str, name: str) -> Any:
        return self.js(f"return {ROOT}.querySelector(arguments[0])[arguments[1]]", selector, name)

    def attribute(self, selector: str, name: str) -> str | None:
        return self.js(f"return {ROOT}.querySelector(arguments[0]).getAttribute(arguments[1])", selector, name)

    def style(self, selector: str, name: str) -> str:
        return str(
            self.js(f"return getComputedStyle({ROOT}.querySelector(arguments[0]))[arguments[1]]", selector, name)
        )

    def focused(self, selector: str) -> bool:
        return bool(self.js(f"return {ROOT}.activeElement?.matches(arguments[0]) ?? false", selector))

    def click(self, selector: str) -> None:
        self.find(selector).click()

    def keys(self, *keys: str) -> None:
        ActionChains(self.browser).send_keys(*keys).perform()

    def chord(self, modifier: str, key: str) -> None:
        ActionChains(self.browser).key_down(modifier).send_keys(key).key_up(modifier).perform()

    def open(self) -> None:
        if not self.shown("[data-panel]"):
            self.click("[data-toggle]")

    def type(self, text: str) -> None:
        prompt = self.find("[data-prompt]")
        prompt.clear()
        prompt.send_keys(text)

    def run(self, prompt: str = "Make the button larger") -> None:
        """Types an instruction and runs it; returns once the server has it."""
        self.open()
        self.wait("ready", "completed", "failed", "cancelled")
        self.type(prompt)
        sent = len(self.stub.requests("POST /tasks"))
        self.click("[data-run]")
        until(lambda: len(self.stub.requests("POST /tasks")) > sent, "the task is sent")

    @property
    def state(self) -> str | None:
        try:
            return self.attribute("[data-status]", "data-state")
        except (WebDriverException, StaleElementReferenceException):
            return None

    def wait(self, *states: str) -> None:
        until(lambda: self.state in states, f"the taskbar is {' or '.join(states)}")

    def says(self, selector: str, text: str) -> None:
        until(lambda: text in self.text(selector), f"{selector} says {text!r}, not {self.text(selector)!r}")

    def hides(self, selector: str) -> None:
        until(lambda: not self.shown(selector), f"{selector} is hidden")

    def shows(self, selector: str) -> None:
        until(lambda: self.shown(selector), f"{selector} is shown")

    def escape(self) -> None:
        self.keys(Keys.ESCAPE)
