"""The taskbar in a real browser, as a person meets it: what is shown, what can be typed and clicked.

Reading goes through one script, so that a page that reloads meanwhile never leaves a test with a dead element; clicks
and keys are the driver's own, so that the page sees a user.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.by import By

from tests.e2e.world import Server
from tests.support.waiting import until

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

HOST = "[data-pi-browser-taskbar-host]"
LOOK = """
const host = document.querySelector(arguments[0]);
if (!host || !host.shadowRoot) return null;
const parts = {};
for (const element of host.shadowRoot.querySelectorAll("*")) {
  for (const { name } of element.attributes) {
    if (!name.startsWith("data-") || name.slice(5) in parts) continue;
    parts[name.slice(5)] = {
      shown: element.checkVisibility(),
      text: element.textContent,
      value: element.value ?? null,
      disabled: element.disabled ?? false,
      state: element.dataset.state ?? null,
    };
  }
}
return parts;
"""
Parts = dict[str, dict[str, Any]]


class Page:
    """A tab with a page of `server`."""

    def __init__(self, browser: Chrome, server: Server) -> None:
        self.browser, self.server = browser, server

    def open(self, path: str = "/") -> Page:
        self.browser.get(self.server.url + path)
        return self

    # ---- seeing ----

    def look(self) -> Parts:
        """All parts of the taskbar, by the name of their hook; none while it is not there."""
        try:
            return self.browser.execute_script(LOOK, HOST) or {}
        except WebDriverException:
            return {}

    def see(self, wanted: Callable[[Parts], Any], what: str, seconds: float = 30) -> Parts:
        """What the taskbar shows once it is as `wanted` says."""

        def seen() -> Parts | None:
            parts = self.look()
            return parts if parts and wanted(parts) else None

        try:
            return until(seen, what, seconds)
        except AssertionError as failure:
            shown = {name: part["text"] for name, part in self.look().items() if part["shown"] and part["text"]}
            raise AssertionError(f"{failure}; shown: {shown}") from None

    def status(self, wanted: str, seconds: float = 30) -> Parts:
        return self.see(lambda parts: parts["status"]["text"] == wanted, f"status “{wanted}”", seconds)

    def heading(self) -> str:
        try:
            return str(self.browser.find_element(By.TAG_NAME, "h1").text)
        except WebDriverException:
            return ""

    def errors(self) -> list[str]:
        """What the console has told as errors since the last time."""
        told = self.browser.get_log("browser")  # type: ignore[no-untyped-call]
        return [entry["message"] for entry in told if entry["level"] == "SEVERE"]

    # ---- acting ----

    def part(self, hook: str) -> WebElement:
        root = self.browser.find_element(By.CSS_SELECTOR, HOST).shadow_root
        return root.find_element(By.CSS_SELECTOR, f"[data-{hook}]")

    def click(self, hook: str) -> None:
        self.see(lambda parts: parts[hook]["shown"] and not parts[hook]["disabled"], f"[data-{hook}] can be clicked")
        self.part(hook).click()

    def open_panel(self) -> None:
        self.see(lambda parts: parts["toggle"]["shown"], "the launcher")
        self.part("toggle").click()
        self.see(lambda parts: parts["panel"]["shown"], "the panel")

    def run(self, prompt: str) -> None:
        """Type an instruction and run it."""
        self.status_is_free()
        self.part("prompt").clear()
        self.part("prompt").send_keys(prompt)
        self.click("run")

    def status_is_free(self) -> None:
        self.see(lambda parts: parts["prompt"]["shown"] and not parts["prompt"]["disabled"], "the composer is free")

    def picture(self, target: Path) -> None:
        """A picture of the page at rest: what moves in has arrived."""
        arriving = """
            const root = document.querySelector(arguments[0])?.shadowRoot;
            return !root || root.getAnimations().some((moving) => moving.effect.getComputedTiming().endTime < Infinity);
        """
        until(lambda: not self.browser.execute_script(arriving, HOST), "the panel has arrived")
        self.browser.save_screenshot(str(target))
