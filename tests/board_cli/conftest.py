"""Every test here has a repository and an empty board of its own."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.board_cli.place import Place


def make_repository(root: Path) -> None:
    """What git makes, as far as anybody looks."""
    for folder in (".git/objects", ".git/refs"):
        (root / folder).mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Place:
    root = tmp_path / "shop"
    make_repository(root)
    agent = tmp_path / "agent"
    monkeypatch.setenv("PI_CODING_AGENT_DIR", str(agent))
    for name in ("PI_TASKBAR_SESSION", "PI_TASKBAR_LABEL", "NO_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(root)
    return Place(root, agent)
