"""Worlds for end-to-end tests: one for both lines of Pi, one for tests in which the line makes no difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.e2e.world import World
from tests.support import pi_lines

if TYPE_CHECKING:
    from examples.model_server import ModelServer


@pytest.fixture
def make_world(pi_commands: dict[str, Path], model: ModelServer, tmp_path: Path) -> Iterator[Callable[[str], World]]:
    made: list[World] = []

    def make(version: str) -> World:
        made.append(World(pi_commands[version], model, tmp_path))
        return made[-1]

    yield make
    for world in made:
        world.close()


@pytest.fixture(params=pi_lines.VERSIONS)
def pi_line(request: pytest.FixtureRequest) -> str:
    """The version of each line of Pi in turn."""
    return str(request.param)


@pytest.fixture
def world(make_world: Callable[[str], World], pi_line: str) -> World:
    """A world with each line of Pi in turn."""
    return make_world(pi_line)


@pytest.fixture
def new_world(make_world: Callable[[str], World]) -> World:
    """A world with the newer line, for what has nothing to do with the line."""
    return make_world(pi_lines.NEW_LINE.version)
