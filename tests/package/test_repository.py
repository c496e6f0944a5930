"""Rules about the repository itself that no other tool looks at."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.package.conftest import ROOT

OWN_FOLDERS = ("flask_pi_taskbar", "board", "static", "templates", "tests", "examples", "docs", ".ci")
#: A few lines over the aim of 400, so that a file is split for a reason and not for one line.
LONGEST = 450
#: What has to be one file, since Pi loads one that imports nothing of ours.
ONE_PIECE = {"flask_pi_taskbar/pi_extension/board.js": 600}
TEXT = {".py", ".js", ".css", ".ts", ".html", ".md", ".toml", ".cfg", ".txt", ""}


def own_files() -> Iterator[Path]:
    yield from (path for path in ROOT.iterdir() if path.is_file() and path.name != ".git")
    for folder in OWN_FOLDERS:
        for directory, folders, names in os.walk(ROOT / folder):
            folders[:] = [name for name in folders if name != "__pycache__" and not name.startswith(".")]
            yield from (Path(directory) / name for name in names if Path(name).suffix in TEXT)


def test_no_top_level_board_is_imported() -> None:
    imports = re.compile(r"^\s*(?:from board\b|import board\b)", re.MULTILINE)
    assert [str(path) for path in own_files() if path.suffix == ".py" and imports.search(path.read_text())] == []


def test_the_rooms_are_reached_through_relative_symlinks() -> None:
    for room in ("board", "static", "templates"):
        assert os.readlink(ROOT / "flask_pi_taskbar" / room) == f"../{room}"


def test_no_file_names_a_developer_s_own_paths() -> None:
    home = re.compile(r"/(?:home|Users)/(?!\.\.\.|ann\b|someone\b|developer\b|user\b)\w+/|/ro[o]t/")
    found = [
        f"{path.relative_to(ROOT)}: {hit.group()}" for path in own_files() if (hit := home.search(path.read_text()))
    ]
    assert found == []


@pytest.mark.parametrize("suffix", [".py", ".js"])
def test_no_source_file_grows_beyond_what_one_reads_in_a_sitting(suffix: str) -> None:
    lengths = {path: path.read_text().count("\n") for path in own_files() if path.suffix == suffix}
    assert lengths
    named = {str(path.relative_to(ROOT)): n for path, n in lengths.items()}
    assert {name: n for name, n in named.items() if n > ONE_PIECE.get(name, LONGEST)} == {}
