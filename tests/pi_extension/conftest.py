"""Each test has a repository with an empty board and starts sessions of Pi in it; all run once for each line."""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pytest

from examples.bootstrap.agent import private_setup
from tests.board_cli.conftest import make_repository
from tests.board_cli.place import SCRIPT, Place
from tests.pi_extension.session import Pi
from tests.support import pi_lines

if TYPE_CHECKING:
    from examples.model_server import ModelServer


class Start(Protocol):
    def __call__(self, *arguments: str, extension: Path | None = None, **env: str) -> Pi: ...


@pytest.fixture(params=pi_lines.VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def place(tmp_path: Path, model: ModelServer) -> Place:
    """The board that sessions and commands share; `environ` is what they run in."""
    root = tmp_path / "shop"
    make_repository(root)
    environ = private_setup(tmp_path, model.url)
    programs = tmp_path / "bin"
    programs.mkdir()
    command = programs / "pi-taskbar"
    command.write_text(f'#!/bin/sh\nexec {shlex.join(SCRIPT)} "$@"\n')
    command.chmod(0o755)
    environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
    return Place(root, Path(environ["PI_CODING_AGENT_DIR"]), environ)


@pytest.fixture
def start(version: str, place: Place, pi_commands: dict[str, Path]) -> Iterator[Start]:
    """Starts sessions; they are ended with the test."""
    with ExitStack() as ends:

        def started(*arguments: str, extension: Path | None = None, **env: str) -> Pi:
            own = place.env | env
            if version == pi_lines.NEW_LINE.version:
                own["NODE_COMPILE_CACHE"] = str(Path(tempfile.gettempdir()) / "node-compile-cache")
            pi = Pi(pi_commands[version], place.root, own, *arguments, extension=extension)
            ends.callback(ended, pi)
            return pi

        yield started


def ended(pi: Pi) -> None:
    if pi.process.poll() is None:
        pi.close()
