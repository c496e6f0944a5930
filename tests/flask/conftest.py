"""What the tests of the Flask side share: a fake broker client in place of the real one, and a project."""

from __future__ import annotations

from pathlib import Path

import pytest
from flask.testing import FlaskClient

import flask_pi_taskbar.app
from tests.flask.fake_client import FakeClient
from tests.flask.web import app_of


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """Every inner app made in this test talks to this client, and keeps its secret to itself."""
    fake = FakeClient()
    monkeypatch.setattr(flask_pi_taskbar.app, "BrokerClient", lambda _config: fake)
    monkeypatch.setattr(flask_pi_taskbar.app, "session_secret", lambda _root: b"k" * 32)
    return fake


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    return tmp_path


@pytest.fixture
def web(project: Path, broker: FakeClient) -> FlaskClient:
    """A browser at the inner app."""
    return app_of(project, broker).test_client()
