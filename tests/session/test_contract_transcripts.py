"""The contract's own transcripts of a Pi, where a folder with them is at hand (`PI_TASKBAR_CONTRACT_DIR`).

They come from the fake agent of other adapters, which is simpler than real Pi: what it sends must lead to the same
states. Our questions (`settle-…`), which it does not know, go unanswered.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from flask_pi_taskbar.contract import texts
from tests.session.worlds import World

FOLDER = os.environ.get("PI_TASKBAR_CONTRACT_DIR", "")

pytestmark = pytest.mark.skipif(
    not (Path(FOLDER) / "rpc").is_dir() or not FOLDER,
    reason="PI_TASKBAR_CONTRACT_DIR names no folder with the contract's transcripts",
)


def played(name: str) -> tuple[World, list[tuple[str, str | None]]]:
    """The world at the end, and how the tasks ended."""
    world, outcomes, names = World(), [], {}
    world.open()
    world.spawned()
    for step in json.loads((Path(FOLDER) / "rpc" / f"{name}.json").read_text())["steps"]:
        message: dict[str, Any] = step["message"]
        if step["direction"] == "send":
            world.says({**message, "id": names[message["id"]]} if message["type"] == "response" else message)
        else:
            if message["type"] == "prompt":
                world.submit(message["message"])
                world.journaled()
            sent = next(ours for ours in reversed(world.sent) if not str(ours["id"]).startswith("settle-"))
            assert sent["type"] == message["type"]
            names[message["id"]] = sent["id"]
            if message["type"] == "extension_ui_response":
                assert sent == message
        if len(world.settled) > len(outcomes):
            outcomes.append(world.outcome)
    return world, outcomes


def test_startup() -> None:
    world, _ = played("startup-success")
    assert (world.status, world.snapshot.session.model) == ("ready", "fixture-model")


def test_progress() -> None:
    world, outcomes = played("progress-success")
    assert outcomes == [("completed", None)]
    assert (world.task.output, world.task.activity) == ("new output", texts.TASK_COMPLETED)


def test_failures() -> None:
    world, outcomes = played("failure-events")
    errors = (texts.MESSAGE_ERROR, texts.RETRIES_FAILED, texts.COMPACTION_FAILED, texts.REJECTED_TASK)
    assert outcomes == [("failed", error) for error in errors]
    assert (world.status, world.starts) == ("ready", 1)
