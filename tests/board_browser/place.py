"""The board's page as a test speaks of it: a store, the page's server, and a tab that shows what the store holds."""

from __future__ import annotations

import http.client
import json
import time
from datetime import UTC, datetime, timedelta
from threading import Thread
from typing import Any, Self

from selenium.common.exceptions import StaleElementReferenceException, WebDriverException
from selenium.webdriver import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.model import Actor
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page.alone import AlonePage
from flask_pi_taskbar.page.opening import Options, serve_here
from tests.support.engines import Engine
from tests.support.waiting import until

ANN = session("as:ann", "ann")
BOB = session("as:bob", "bob")
OPTIONS = Options(name="shop", key="shop-0123")
WIDE, MIDDLE, NARROW = 1440, 1000, 390
HEIGHT = 900

# Whatever goes wrong in a page, from its first line on.
LISTEN = """
window.wrong = [];
addEventListener('securitypolicyviolation', (e) => window.wrong.push(`csp ${e.violatedDirective} ${e.blockedURI}`));
addEventListener('error', (e) => window.wrong.push(`error ${e.message}`));
addEventListener('unhandledrejection', (e) => window.wrong.push(`rejected ${e.reason}`));
"""


class Place:
    """A store and its page's server, in a thread and on a real port."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.page: AlonePage | None = None
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        self.serve()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def serve(self) -> None:
        """Start the server: on the port that it had before, if it had one."""
        found = serve_here(self.store, OPTIONS, session("as:server", "server"), "/")
        assert found is not None
        self.page, problem = found
        assert problem is None
        self._thread = Thread(target=self.page.serve, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the server as a Ctrl+C does."""
        if self.page is None or self._thread is None:
            return
        self.page.stop()
        self._thread.join(10)
        assert not self._thread.is_alive()
        self.page = self._thread = None

    @property
    def served(self) -> AlonePage:
        assert self.page is not None
        return self.page

    def add(self, title: str, by: Actor = ANN, **fields: object) -> int:
        """A new card; its number."""
        number: int = self.do("add", by, title=title, **fields)["card"]["id"]
        return number

    def do(self, action: str, by: Actor = ANN, ago: float = 0, **fields: object) -> dict[str, Any]:
        """One write by somebody else than the page, so many minutes ago."""
        now = datetime.now(UTC) - timedelta(minutes=ago)
        done: dict[str, Any] = self.store.apply(action, fields, by, now=now)
        return done

    def ask(self, path: str, key: str | None = None, method: str = "GET", body: object = None) -> tuple[int, Any]:
        """One call of the page's server, as a tool would make it."""
        connection = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=10)
        try:
            data = None if body is None else json.dumps(body)
            headers = {"X-Board-Key": key or self.key(), "Content-Type": "application/json"}
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"null")
        finally:
            connection.close()

    def key(self, viewer: bool = False) -> str:
        return self.address(viewer=viewer).partition("#k=")[2]

    def address(self, *, viewer: bool = False) -> str:
        return self.served.viewer_address() if viewer else self.served.lead_address()


class Board:
    """One tab. Elements are found anew each time: a frame may have replaced them."""

    def __init__(self, engine: Engine, place: Place) -> None:
        self.engine = engine
        self.browser = engine.browser
        self.place = place
        self.home = ""

    def __enter__(self) -> Self:
        self.home = self.browser.current_window_handle
        if self.engine.name != "webkit":  # a second tab of it stays hidden, and a hidden page draws nothing
            self.browser.switch_to.new_window("tab")
        self.resize(WIDE)
        if self.is_chromium:
            self.cdp("Page.enable")
            self.cdp("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
            self.cdp("Emulation.setEmulatedMedia", media="", features=[])
            self.browser.get_log("browser")  # type: ignore[attr-defined]
        return self

    def __exit__(self, *failure: object) -> None:
        try:
            if not any(failure):
                self.clean()
            # A page that is left writes down that it was looked at: the shelf goes with it.
            self.js("localStorage.clear(); sessionStorage.clear(); Storage.prototype.setItem = () => {}")
        except WebDriverException:
            pass  # the page is gone, or is none of ours
        finally:
            for handle in self.browser.window_handles:
                if handle != self.home:
                    self.browser.switch_to.window(handle)
                    self.browser.close()
            self.browser.switch_to.window(self.home)
            self.browser.get("about:blank")

    @property
    def is_chromium(self) -> bool:
        return self.engine.name == "chromium"

    def cdp(self, command: str, **arguments: object) -> Any:
        return self.browser.execute_cdp_cmd(command, arguments)  # type: ignore[attr-defined]

    def resize(self, width: int, height: int = HEIGHT) -> None:
        """A page so wide, as near as the engine's window comes to it."""
        if self.is_chromium:
            wanted = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
            self.cdp("Emulation.setDeviceMetricsOverride", **wanted)
        else:
            self.browser.set_window_size(width, height)

    def theme(self, name: str) -> None:
        self.media(prefers_color_scheme=name)

    def media(self, **features: str) -> None:
        wanted = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.cdp("Emulation.setEmulatedMedia", media="", features=wanted)

    def open(self, query: str = "", *, viewer: bool = False, live: bool = True) -> Self:
        """The page at this query, by its link, and live."""
        address, _, key = self.place.address(viewer=viewer).partition("#")
        self.browser.get("about:blank")
        self.browser.get(f"{address}{query}#{key}")
        if not self.is_chromium:
            self.js(LISTEN)
        if live:
            self.live()
        return self

    def live(self) -> None:
        until(lambda: self.has("#live[data-live=live]"), "the page is live")

    def clean(self) -> None:
        """Nothing went wrong in this page: no error, no refusal by its policy, nothing in the console."""
        wrong = self.js("return window.wrong ?? []")
        if self.is_chromium:
            logged = self.browser.get_log("browser")  # type: ignore[attr-defined]
            wrong += [entry["message"] for entry in logged if entry["level"] == "SEVERE" and not _expected(entry)]
        assert wrong == []

    # Looking

    def js(self, source: str, *arguments: object) -> Any:
        return self.browser.execute_script(source, *arguments)

    def has(self, selector: str) -> bool:
        return bool(self.js("return document.querySelector(arguments[0]) !== null", selector))

    def count(self, selector: str) -> int:
        return int(self.js("return document.querySelectorAll(arguments[0]).length", selector))

    def text(self, selector: str) -> str:
        """What is written there, clamped or not; nothing where there is no such element."""
        return str(self.js("return document.querySelector(arguments[0])?.textContent ?? ''", selector))

    def value(self, selector: str) -> Any:
        return self.js("return document.querySelector(arguments[0])?.value", selector)

    def shown(self, selector: str) -> bool:
        source = "const e = document.querySelector(arguments[0]); return !!e && e.getClientRects().length > 0"
        return bool(self.js(source, selector))

    def lane(self, name: str) -> list[int]:
        """The numbers of the cards drawn in a lane, in order."""
        source = "return [...document.querySelectorAll(arguments[0])].map((e) => Number(e.dataset.card))"
        found: list[int] = self.js(source, f'[data-lane="{name}"] [data-card]')
        return found

    def focused(self, selector: str) -> bool:
        return bool(self.js("return document.activeElement?.matches(arguments[0]) ?? false", selector))

    # Waiting

    def shows(self, selector: str) -> None:
        until(lambda: self.shown(selector), f"{selector} is shown")

    def gone(self, selector: str) -> None:
        until(lambda: not self.has(selector), f"{selector} is gone")

    def says(self, selector: str, words: str) -> None:
        until(lambda: words in self.text(selector), f"{selector} says {words!r}; it says {self.text(selector)!r}")

    def lanes(self, **wanted: list[int]) -> None:
        """Wait until these lanes hold these cards."""
        until(lambda: all(self.lane(name) == ids for name, ids in wanted.items()), f"the lanes hold {wanted}")

    # Doing

    def find(self, selector: str) -> WebElement:
        return self.browser.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector: str) -> None:
        self.shows(selector)
        self.js("document.querySelector(arguments[0]).scrollIntoView({block: 'nearest'})", selector)

        def clicked() -> bool:
            try:
                self.find(selector).click()
            except StaleElementReferenceException:
                return False
            return True

        until(clicked, f"{selector} can be clicked")

    def press(self, *keys: str) -> None:
        """Keys to whatever has the focus."""
        for key in keys:
            ActionChains(self.browser).send_keys(key).perform()

    def chord(self, held: str, key: str) -> None:
        ActionChains(self.browser).key_down(held).send_keys(key).key_up(held).perform()

    def type(self, selector: str, text: str) -> None:
        self.shows(selector)
        self.find(selector).clear()
        self.find(selector).send_keys(text)

    def tab_to(self, selector: str, most: int = 60) -> None:
        """Go there with the Tab key alone."""
        for _ in range(most):
            if self.focused(selector):
                return
            self.press(Keys.TAB)
        raise AssertionError(f"{most} times Tab, and {selector} still has no focus")

    def offline(self, off: bool) -> None:
        limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.cdp("Network.enable")
        self.cdp("Network.emulateNetworkConditions", offline=off, **limits)


def _expected(entry: dict[str, Any]) -> bool:
    """What a browser writes down about a server that refuses or is away; our page writes nothing."""
    return entry.get("source") == "network"


def minutes_ago(minutes: float) -> datetime:
    return datetime.fromtimestamp(time.time() - 60 * minutes, UTC)
