"""The place in which a broker test happens."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from flask_pi_taskbar.broker import client, reach
from flask_pi_taskbar.broker.runtime import PrivateDirectory
from tests.broker.place import PATIENCE, Place, ready


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """A project, its folders and its environment; everything in it is ended afterwards.

    Clients in it are patient: on a machine that is busy with other things a start may take longer than users wait.
    """
    monkeypatch.setattr(reach, "CONNECT_SECONDS", PATIENCE)
    monkeypatch.setattr(client, "CALL_SECONDS", PATIENCE)
    before = dict(os.environ)
    place = Place(os.environ)
    try:
        yield place
    finally:
        try:
            place.close()
        finally:
            os.environ.clear()
            os.environ.update(before)


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
