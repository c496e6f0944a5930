"""What the client costs a page that only carries it: bytes, requests, and (printed, not judged) time."""

from __future__ import annotations

import gzip

import pytest

from flask_pi_taskbar.version import __version__
from tests.browser import pages
from tests.browser.stub_server import STATIC, Stub
from tests.browser.taskbar_page import TaskbarPage
from tests.support.waiting import until

GZIP_BYTES = 32 * 1024
MODULES = 6


ON_A_CLICK = {"board.js"}
"""Fetched only when somebody opens the board; no page pays for it."""


def test_all_modules_together_are_small() -> None:
    files = [file for file in sorted(STATIC.iterdir()) if file.name not in ON_A_CLICK]
    sizes = {file.name: len(gzip.compress(file.read_bytes(), mtime=0)) for file in files}
    print("\n" + ", ".join(f"{name} {size}" for name, size in sizes.items()) + f": {sum(sizes.values())} bytes")
    assert sum(sizes.values()) <= GZIP_BYTES


def test_the_client_knows_its_version() -> None:
    assert f'const PRODUCT_VERSION = "{__version__}"' in (STATIC / "pi_browser_taskbar.js").read_text()


@pytest.mark.browser
def test_a_page_loads_few_modules_and_reads_no_page_content(taskbar: TaskbarPage, stub: Stub) -> None:
    stub.live = "long"
    taskbar.browser.execute_cdp_cmd("Performance.enable", {})
    taskbar.browser.get(stub.page("/plain", pages.page(tags="")))
    plain = script_seconds(taskbar)
    taskbar.visit()
    taskbar.wait("ready")
    until(lambda: stub.streams == 1, "the stream is open")
    print(f"\nscript time of a page with the taskbar: {(script_seconds(taskbar) - plain) * 1000:.1f} ms")
    loaded = [one.path for one in stub.seen if one.path.startswith("/assets/")]
    assert len(loaded) <= MODULES
    assert not {"/assets/capture.js", "/assets/board.js"} & set(loaded)
    taskbar.run()
    taskbar.wait("running")
    assert [one.path for one in stub.seen].count("/assets/capture.js") == 1


def script_seconds(page: TaskbarPage) -> float:
    metrics = page.browser.execute_cdp_cmd("Performance.getMetrics", {})["metrics"]
    return float(next(metric["value"] for metric in metrics if metric["name"] == "ScriptDuration"))
