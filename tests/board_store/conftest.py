"""Fixtures of the store's tests."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.board_store.boards import Board

MEMORY = Path("/dev/shm")


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board in a folder of its own, not yet written to."""
    return Board(tmp_path)


@pytest.fixture
def quick(tmp_path: Path) -> Iterator[Path]:
    """A folder for tests that write thousands of files: in memory, where the system has such a place."""
    if not (MEMORY.is_dir() and os.access(MEMORY, os.W_OK)):
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(dir=MEMORY))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder in which locks can be taken."""
    (tmp_path / "tmp").mkdir()
    return tmp_path
