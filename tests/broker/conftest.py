"""The place in which a broker test happens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flask_pi_taskbar.broker.runtime import PrivateDirectory
from tests.broker.place import Place, new_place, ready


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A project, its folders and its environment; everything in it is ended afterwards."""
    with new_place(monkeypatch) as made:
        yield made


@pytest.fixture
def serving(place: Place) -> Place:
    """A place whose broker and Pi are ready."""
    ready(place.client())
    return place


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[PrivateDirectory]:
    """A private directory in a namespace of ours."""
    with PrivateDirectory.open(tmp_path / "pi-taskbar" / "0123456789ab") as directory:
        yield directory
