"""A bound for the memory of a browser's pages, so that one gone wild ends its own test and not the machine.

The fixtures set it once the browser runs. Renderers are made by Chromium's zygotes and inherit their limit, also those
of later tests. Where a process cannot limit another one (macOS), nothing is bounded.
"""

from __future__ import annotations

import sys

import psutil
from selenium.webdriver import Chrome

BYTES = 2 * 1024**3  # an ordinary page writes to a tenth of it, the largest of the tests to a quarter
MAKERS = ("--type=zygote", "--type=renderer")


def limit(browser: Chrome) -> None:
    driver = psutil.Process(browser.service.process.pid)
    for process in driver.children(recursive=True):
        if sys.platform == "linux" and any(maker in process.cmdline() for maker in MAKERS):
            process.rlimit(psutil.RLIMIT_DATA, (BYTES, BYTES))
