"""Options and fixtures that every test shares. Kept light: no browser, Pi or package of ours is imported here."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support import chromium, hermetic, pi_lines

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

    from examples.model_server import ModelServer

WORLD = pytest.StashKey[hermetic.World]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--slow",
        type=int,
        default=0,
        metavar="N",
        help="run the tests marked slow too, N times as long as their shortest useful run (default: 0, leave them out)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[WORLD] = hermetic.enter()


def pytest_unconfigure(config: pytest.Config) -> None:
    if WORLD in config.stash:
        hermetic.leave(config.stash[WORLD])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what this run cannot or need not do, and say why; `python3 tests` turns a lack into a failure."""
    required = os.environ.get("PI_TASKBAR_REQUIRE", "").split(",")
    lacks = {"pi": pi_lines.missing(), "browser": chromium.missing()}
    left_out = {mark: reason for mark, reason in lacks.items() if reason and mark not in required}
    if not config.getoption("--slow"):
        left_out["slow"] = "a slow test: --slow=1 runs it"
    for item in items:
        for mark, reason in left_out.items():
            if item.get_closest_marker(mark):
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session", autouse=True)
def nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """After the last test no process of ours runs any more and no temporary file is left."""
    world = request.config.stash[WORLD]
    yield
    running = hermetic.leftovers(world.marker)
    assert not running, "still running after the last test:\n" + "\n".join(running)
    files = hermetic.temporary_files(world)
    assert not files, f"left in the temporary directory: {files}"


@pytest.fixture(scope="session")
def slow(request: pytest.FixtureRequest) -> int:
    """How many times as long as its shortest useful run a slow test should go on."""
    return max(1, int(request.config.getoption("--slow")))


@pytest.fixture(scope="session")
def pi_commands() -> dict[str, Path]:
    """The real Pi: the command of each line, by version."""
    found = {version: pi_lines.command(version) for version in pi_lines.VERSIONS}
    assert all(found.values()), pi_lines.missing()
    return {version: command for version, command in found.items() if command}


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A model server for this test alone; a prompt chooses its scene, see `examples.model_scenes`."""
    from examples.model_server import ModelServer

    with ModelServer() as server:
        yield server


@pytest.fixture(scope="session")
def chromium_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    """One Chromium for all tests that can share it."""
    browser = chromium.start(tmp_path_factory.mktemp("chromium"))
    try:
        yield browser
    finally:
        browser.quit()
