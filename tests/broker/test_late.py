"""What a client has reported as refused is not done later, however long the broker was held up."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.broker import client as client_module
from flask_pi_taskbar.broker.client import Unavailable
from tests.broker.place import Place, over, ready, task
from tests.broker.test_client import frozen


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "CALL_SECONDS", 0.3)
    monkeypatch.setattr(client_module, "RESET_SECONDS", 0.3)


def test_a_task_that_was_refused_for_its_delay_never_runs(place: Place) -> None:
    client, other = place.client(), place.client()
    ready(client)
    ready(other)
    with frozen(place.broker()), pytest.raises(Unavailable):
        client.submit(task("edit file ghost.txt => late"))
    monitor = ready(other)
    assert monitor["task"] is None
    assert other.submit(task("edit file after.txt => in time")).result == "accepted"
    assert over(other)["status"] == "completed"
    assert place.commands("prompt")[0]["message"].startswith("edit file after.txt")
    assert not (place.root / "ghost.txt").exists()


def test_a_new_conversation_that_was_refused_for_its_delay_never_begins(place: Place) -> None:
    client, other = place.client(), place.client()
    ready(client)
    before = ready(other)["session"]["id"]
    with frozen(place.broker()), pytest.raises(Unavailable):
        client.reset()
    assert ready(other)["session"]["id"] == before
    assert place.commands("new_session") == []
