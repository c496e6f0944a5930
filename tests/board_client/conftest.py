"""A board that a tab of Chromium looks at, over its real page server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from tests.board_client.faces import Faces, looking


@pytest.fixture
def board(chromium_session: Chrome, tmp_path: Path) -> Iterator[Faces]:
    with looking(chromium_session, tmp_path) as faces:
        yield faces
