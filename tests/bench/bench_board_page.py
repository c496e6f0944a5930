"""What the board's page costs and how soon it shows: `python3 tests --python -m tests.bench.bench_board_page [--save]`.

Each figure is of a page with a server of its own in another process, asked over real sockets; the browser is Chromium.
`--viewers N` (default 200 and 1,000) says how many streams are opened at once.
"""

from __future__ import annotations

import os
import selectors
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import psutil
from selenium.webdriver.common.by import By

from flask_pi_taskbar.board.card import serialize
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.live.hub import Hub
from flask_pi_taskbar.board.store import Store
from tests.bench.measure import Figure, report
from tests.board_core.boards import many
from tests.support import chromium

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

ANN = session("as:ann", "ann")
ROUNDS = 30


def board_of(folder: Path, count: int) -> Store:
    """A board of so many cards, written as files."""
    store = Store(folder)
    store.apply("add", {"title": "One"}, ANN, now=datetime.now(UTC))
    for card in many(count):
        (Path(store.layout.cards) / f"{card.id}.json").write_bytes(serialize(card))
    return store


@contextmanager
def page_of(store: Store, environ: dict[str, str]) -> Iterator[tuple[str, psutil.Process]]:
    """A page in a process of its own: its lead's address."""
    command = [sys.executable, "-m", "flask_pi_taskbar.page", "--store", store.layout.root]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), psutil.Process(process.pid)
        finally:
            process.terminate()
            process.communicate()


class Viewers:
    """Many open streams, read by one thread."""

    def __init__(self, address: str, count: int) -> None:
        parts = urlsplit(address)
        key = parts.fragment.removeprefix("k=")
        self._selector = selectors.DefaultSelector()
        self.sockets = []
        request = f"GET /events HTTP/1.1\r\nHost: {parts.netloc}\r\nX-Board-Key: {key}\r\n\r\n".encode()
        for _ in range(count):
            connection = socket.create_connection((parts.hostname or "", parts.port or 0))
            connection.sendall(request)
            connection.setblocking(False)
            self._selector.register(connection, selectors.EVENT_READ)
            self.sockets.append(connection)

    def until_all(self, word: bytes, seconds: float = 60.0) -> list[float]:
        """When each of them had read `word`, in seconds of `perf_counter`; those that never did are missing."""
        heard: dict[int, float] = {}
        rest: dict[int, bytes] = {}
        deadline = time.perf_counter() + seconds
        while len(heard) < len(self.sockets) and time.perf_counter() < deadline:
            for ready, _ in self._selector.select(1.0):
                connection = ready.fileobj
                assert isinstance(connection, socket.socket)
                number = connection.fileno()
                text = rest.get(number, b"") + connection.recv(1 << 20)
                if word in text:
                    heard.setdefault(number, time.perf_counter())
                    text = b""
                rest[number] = text[-len(word) :]
        return list(heard.values())

    def close(self) -> None:
        self._selector.close()
        for connection in self.sockets:
            connection.close()


def frame_latency(store: Store, address: str) -> list[float]:
    """From the end of a write by another process's hands to the frame at a reader, in milliseconds."""
    viewers = Viewers(address, 1)
    viewers.until_all(b"event: snapshot")
    times = []
    for number in range(ROUNDS):
        time.sleep(0.1 + 0.013 * number)  # at every phase of the page's own clock
        word = f"bench-{number}"
        store.apply("edit", {"card": 1, "title": word}, ANN, now=datetime.now(UTC))
        written = time.perf_counter()
        (heard,) = viewers.until_all(word.encode())
        times.append((heard - written) * 1000)
    viewers.close()
    return times


def to_all(store: Store, address: str, count: int) -> tuple[float, float]:
    """Milliseconds until the last of many viewers has a frame, and the share that got it."""
    viewers = Viewers(address, count)
    viewers.until_all(b"event: snapshot")
    shares, last = [], []
    for number in range(5):
        word = f"all-{count}-{number}"
        store.apply("edit", {"card": 1, "title": word}, ANN, now=datetime.now(UTC))
        written = time.perf_counter()
        heard = viewers.until_all(word.encode())
        shares.append(len(heard) / count)
        last.append((max(heard) - written) * 1000)
    viewers.close()
    return statistics.median(last), min(shares) * 100


SHOWN = "return performance.getEntriesByName('shown')[0]?.startTime ?? null"
WATCH = """
new MutationObserver((_, self) => {
  if (!document.querySelector('[data-card]')) return;
  self.disconnect();
  requestAnimationFrame(() => setTimeout(() => performance.mark('shown')));
}).observe(document, { childList: true, subtree: true });
"""
PIXEL = """
const [word, done] = arguments;
const look = () => {
  if (!document.querySelector('[data-lane]')?.textContent.includes(word)) return false;
  requestAnimationFrame(() => setTimeout(() => done(Date.now())));
  return true;
};
const all = { childList: true, subtree: true, characterData: true };
if (!look()) new MutationObserver((_, self) => look() && self.disconnect()).observe(document.body, all);
"""


def until_shown(browser: WebDriver, address: str) -> float:
    """Milliseconds from the navigation to the first painted card."""
    browser.get("about:blank")
    script = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
    browser.get(address)
    deadline = time.monotonic() + 30
    while (found := browser.execute_script(SHOWN)) is None and time.monotonic() < deadline:
        time.sleep(0.02)
    browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", {"identifier": script["identifier"]})
    return float(found)


def to_pixel(browser: WebDriver, store: Store) -> list[float]:
    """Milliseconds from the end of a write to the paint, by the one clock that both sides have."""
    browser.set_script_timeout(20)
    times = []
    for number in range(ROUNDS):
        word = f"pixel-{number}"
        browser.execute_script(
            "window.seen = null; const [word] = arguments; const done = (at) => (window.seen = at);"
            + PIXEL.replace("const [word, done] = arguments;", ""),
            word,
        )
        store.apply("edit", {"card": 1, "title": word, "priority": "high"}, ANN, now=datetime.now(UTC))
        written = time.time() * 1000
        while (seen := browser.execute_script("return window.seen")) is None:
            time.sleep(0.01)
        times.append(seen - written)
    return times


def filter_key(browser: WebDriver) -> float:
    """Milliseconds of one keystroke in the filter with its layout, the median of nine."""
    return float(
        browser.execute_async_script(
            """
            const done = arguments[0], field = document.querySelector('#filter'), times = [];
            const step = (text) => {
              if (times.length === 9) return done(times.sort((a, b) => a - b)[4]);
              const start = performance.now();
              field.value = text;
              field.dispatchEvent(new Event('input', { bubbles: true }));
              requestAnimationFrame(() => {
                document.body.offsetHeight;
                times.push(performance.now() - start);
                step('feature'.slice(0, 1 + times.length % 7));
              });
            };
            step('f');
            """
        )
    )


def p95(times: list[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def refresh_cost(store: Store) -> tuple[float, float]:
    """Milliseconds of a first look, and of one after one card has changed."""
    hub = Hub(Store(store.layout.root), epoch="b")
    start = time.perf_counter()
    hub.snapshot(can_write=True)
    first = (time.perf_counter() - start) * 1000
    times = []
    for number in range(7):
        store.apply("edit", {"card": 1, "title": f"refresh {number}"}, ANN, now=datetime.now(UTC))
        start = time.perf_counter()
        hub.nudge()
        times.append((time.perf_counter() - start) * 1000)
    return first, statistics.median(times)


def main() -> None:
    """Prints the figures."""
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "run").mkdir(mode=0o700)
        environ = {**os.environ, "XDG_RUNTIME_DIR": str(root / "run"), "XDG_STATE_HOME": str(root / "state")}
        browser = chromium.start(root / "profile")
        try:
            for count in (1_000, 10_000):
                store = board_of(root / f"board-{count}", count)
                first, again = refresh_cost(store)
                figures += [
                    Figure(f"{count} cards: the hub's first look", first, "ms"),
                    Figure(f"{count} cards: its look after one change", again, "ms"),
                ]
                with page_of(store, environ) as (address, process):
                    if count == 1_000:
                        latency = frame_latency(store, address)
                        figures += [
                            Figure("write to frame at a reader, p50", statistics.median(latency), "ms"),
                            Figure("write to frame at a reader, p95", p95(latency), "ms", at_most=100),
                        ]
                    visible = statistics.median([until_shown(browser, f"{address}") for _ in range(3)])
                    limit = 500 if count == 1_000 else 1500
                    figures.append(Figure(f"{count} cards: page visible", visible, "ms", at_most=limit))
                    nodes = browser.execute_script("return document.querySelectorAll('*').length")
                    figures.append(Figure(f"{count} cards: nodes in the document", nodes, "", at_most=5000))
                    figures.append(Figure(f"{count} cards: a key in the filter", filter_key(browser), "ms", at_most=50))
                    browser.find_element(By.CSS_SELECTOR, "#filter").clear()
                    browser.get(address)
                    until_shown(browser, address)
                    pixels = to_pixel(browser, store)
                    figures += [
                        Figure(f"{count} cards: write to pixel, p50", statistics.median(pixels), "ms"),
                        Figure(f"{count} cards: write to pixel, p95", p95(pixels), "ms"),
                    ]
                    browser.get("about:blank")
                    if count == 1_000:
                        for viewers in (200, 1_000):
                            last, share = to_all(store, address, viewers)
                            figures += [
                                Figure(f"{viewers} viewers: the last one has the frame after", last, "ms"),
                                Figure(f"{viewers} viewers: frames delivered", share, "%", at_least=100),
                            ]
                    memory = process.memory_info().rss / 1e6
                    figures.append(Figure(f"{count} cards: memory of the page's process", memory, "MB", at_most=120))
        finally:
            browser.quit()
    report("board_page", figures)


if __name__ == "__main__":
    main()
