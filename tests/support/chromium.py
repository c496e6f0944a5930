"""Chromium and its driver: found on the machine, installed from Debian's packages where we may, started for tests."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from examples.bootstrap.console import Console
from examples.bootstrap.explain import SetupError
from tests.support import debian

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
)
DRIVERS = ("chromedriver", "/usr/lib/chromium/chromedriver", "/usr/lib/chromium-browser/chromedriver")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1280,900",
)
HOW = (
    "Debian: apt install chromium chromium-driver. Fedora: dnf install chromium chromedriver. "
    "macOS: brew install --cask google-chrome chromedriver.\nWithout browser tests: python3 tests --without browser"
)


def find() -> tuple[str, str] | None:
    """The paths of the browser and of its driver. PI_TASKBAR_CHROMIUM and PI_TASKBAR_CHROMEDRIVER name others."""
    browser = _first("PI_TASKBAR_CHROMIUM", BROWSERS)
    driver = _first("PI_TASKBAR_CHROMEDRIVER", DRIVERS)
    return (browser, driver) if browser and driver else None


def _first(variable: str, names: tuple[str, ...]) -> str | None:
    named = os.environ.get(variable)
    return next(filter(None, map(shutil.which, (named,) if named else names)), None)


def missing() -> str | None:
    """Why tests cannot use a browser; None when they can."""
    return None if find() else "Chromium or chromedriver not found; `python3 tests` says how to get them"


def ensure(console: Console, logs: Path) -> None:
    """Install Chromium where that is ours to do (root on Debian); else raise `SetupError` if it is missing."""
    if find():
        return
    if debian.may_install():
        debian.install(("chromium", "chromium-driver"), "Chromium", console, logs)
    if not find():
        raise SetupError("There is no Chromium with its chromedriver on this machine", HOW)


def start(directory: Path) -> Chrome:
    """A headless Chromium with a fresh profile; all that it writes lies below `directory`."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    found = find()
    assert found is not None, missing()
    for name in ("profile", "tmp"):
        (directory / name).mkdir(parents=True, exist_ok=True)
    options = webdriver.ChromeOptions()
    options.binary_location = found[0]
    for argument in (*ARGUMENTS, f"--user-data-dir={directory / 'profile'}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    env = os.environ | {"TMPDIR": str(directory / "tmp")}
    return webdriver.Chrome(options, Service(found[1], env=env))
