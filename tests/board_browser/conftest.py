"""A board, its real page server, and a tab that looks at it, in each of the engines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from flask_pi_taskbar.board.store import Store
from tests.board_browser.place import Board, Place
from tests.support import engines
from tests.support.engines import Engine

Start = Callable[[str], Engine]


@pytest.fixture(scope="session")
def start_engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    """Gives the running engine of a name; each is started once, when the first test wants it."""
    running: dict[str, Engine] = {}

    def start(name: str) -> Engine:
        if reason := engines.missing(name):
            pytest.skip(reason)
        if name not in running:
            if name == "chromium":
                chrome: Chrome = request.getfixturevalue("chromium_session")
                running[name] = Engine(name, chrome, 0.0)
            else:
                running[name] = engines.start(name, tmp_path_factory.mktemp(name))
        return running[name]

    with ExitStack() as stack:
        yield start
        for name, engine in running.items():
            if name != "chromium":
                stack.callback(engine.stop)


@pytest.fixture(params=engines.NAMES)
def engine(request: pytest.FixtureRequest, start_engine: Start) -> Engine:
    """Each of the three engines in turn."""
    return start_engine(request.param)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A board with a page server of its own in front of it."""
    with Place(Store(tmp_path / "board")) as made:
        yield made


@pytest.fixture
def board(engine: Engine, place: Place) -> Iterator[Board]:
    """A clean tab of the engine, not yet opened."""
    with Board(engine, place) as tab:
        yield tab


@pytest.fixture
def chromium_board(start_engine: Start, place: Place) -> Iterator[Board]:
    """A clean tab of Chromium, for what only its driver can do."""
    with Board(start_engine("chromium"), place) as tab:
        yield tab
