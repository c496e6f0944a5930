"""Recorded conversations with real Pi of both lines, replayed.

The recordings are not part of the project; `PI_TASKBAR_TRANSCRIPTS_DIR` names a folder that holds `0.73.1/*.jsonl` and
`1.6.0/*.jsonl`.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flask_pi_taskbar.contract import texts
from tests.session.replay import Replay, children

FOLDER = os.environ.get("PI_TASKBAR_TRANSCRIPTS_DIR", "")

pytestmark = pytest.mark.skipif(
    not FOLDER, reason="PI_TASKBAR_TRANSCRIPTS_DIR does not name a folder of recorded conversations"
)

OUTCOMES = {
    "c": ("completed", None),
    "x": ("cancelled", None),
    "p": ("failed", texts.PROVIDER_ERROR),
    "r": ("failed", texts.RETRIES_FAILED),
    "s": ("failed", texts.STOPPED_BY_PI),
}

# What became of the tasks of each child, as its driver and the recording say. In `new_session` the driver cuts a run
# off by a new session, of which the older line says nothing; in `kill9` it kills Pi at work. There it ends busy.
EXPECTED = {
    ("0.73.1", "abort_midstream", "pi1"): "xxc",
    ("0.73.1", "compaction", "pi1"): "ccccccccccc",
    ("0.73.1", "extension_ui", "pi1"): "cxcc",
    ("0.73.1", "kill9", "pi1"): "c",
    ("0.73.1", "kill9", "torn"): "c",
    ("0.73.1", "long_and_malformed", "pi1"): "cccrr",
    ("0.73.1", "new_session", "pi1"): "cc",
    ("0.73.1", "prompt_success", "pi1"): "c",
    ("0.73.1", "prompt_while_streaming", "pi1"): "cccxc",
    ("0.73.1", "provider_error_retry", "pi1"): "crcppc",
    ("0.73.1", "provider_error_retry", "pi2"): "xrp",
    ("0.73.1", "resume", "continue"): "c",
    ("0.73.1", "startup_get_state", "pi2"): "",
    ("0.73.1", "tool_run", "pi1"): "cccccccc",
    ("1.6.0", "abort_midstream", "pi1"): "xxc",
    ("1.6.0", "compaction", "pi1"): "ccccccccccc",
    ("1.6.0", "extension_ui", "pi1"): "cccxccc",
    ("1.6.0", "kill9", "pi1"): "c",
    ("1.6.0", "kill9", "torn"): "c",
    ("1.6.0", "long_and_malformed", "pi1"): "cccprcrrrcpcpxxx",
    ("1.6.0", "new_session", "pi1"): "ccs",
    ("1.6.0", "prompt_success", "pi1"): "c",
    ("1.6.0", "prompt_while_streaming", "pi1"): "cccxc",
    ("1.6.0", "provider_error_retry", "pi1"): "crcppc",
    ("1.6.0", "provider_error_retry", "pi2"): "xrp",
    ("1.6.0", "resume", "continue"): "c",
    ("1.6.0", "startup_get_state", "pi2"): "",
    ("1.6.0", "tool_run", "pi1"): "cccccccc",
}
CUT_OFF = {("0.73.1", "new_session"), ("0.73.1", "kill9"), ("1.6.0", "kill9")}


def replayed(version: str, name: str, child: str) -> Replay:
    entries = children(Path(FOLDER) / version / f"{name}.jsonl")[child]
    return Replay(entries, announces_end=not version.startswith("0.73")).run()


@pytest.mark.parametrize(("version", "name", "child"), EXPECTED)
def test_every_task_ends_as_it_did_and_pi_is_never_replaced(version: str, name: str, child: str) -> None:
    replay = replayed(version, name, child)
    assert replay.outcomes == [OUTCOMES[letter] for letter in EXPECTED[version, name, child]]
    assert replay.world.starts == 1
    assert replay.world.status == ("busy" if (version, name) in CUT_OFF and child == "pi1" else "ready")


@pytest.mark.parametrize("name", ["prompt_success", "tool_run", "provider_error_retry"])
def test_both_lines_say_the_same_in_the_end(name: str) -> None:
    old, new = (replayed(version, name, "pi1") for version in ("0.73.1", "1.6.0"))
    assert old.world.task.output == new.world.task.output
    assert old.outcomes == new.outcomes
