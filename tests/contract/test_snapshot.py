"""The canonical snapshot: key order, nulls, enums, timestamps."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest

from flask_pi_taskbar.contract import CONTRACT_VERSION
from flask_pi_taskbar.contract.snapshot import (
    SessionStatus,
    SessionView,
    Snapshot,
    TaskStatus,
    TaskView,
    decode,
    encode,
    timestamp,
    unavailable_snapshot,
)

RUNNING = Snapshot(
    session=SessionView(id="ZkZkZkZkZkZkZkZkZkZkZkZk", status=SessionStatus.BUSY, model="test/fake-pi"),
    task=TaskView(
        id="qPqPqPqPqPqPqPqPqPqPqPqP",
        prompt="Explain <b> & é\u2028.",
        status=TaskStatus.RUNNING,
        activity="Starting Pi",
        started_at="2026-08-04T21:36:45.123456Z",
    ),
)


def test_a_running_task_is_these_bytes() -> None:
    assert encode(RUNNING).decode() == (
        '{"contract_version":1,"session":{"id":"ZkZkZkZkZkZkZkZkZkZkZkZk","status":"busy","model":"test/fake-pi",'
        '"error":null},"task":{"id":"qPqPqPqPqPqPqPqPqPqPqPqP","prompt":"Explain <b> & é\u2028.","status":"running",'
        '"output":"","output_truncated":false,"activity":"Starting Pi","error":null,'
        '"started_at":"2026-08-04T21:36:45.123456Z","finished_at":null}}'
    )


def test_a_session_without_a_task_is_these_bytes() -> None:
    assert encode(Snapshot(session=SessionView(status=SessionStatus.STARTING))) == (
        b'{"contract_version":1,"session":{"id":null,"status":"starting","model":null,"error":null},"task":null}'
    )


def test_a_snapshot_reads_back_equal() -> None:
    assert decode(encode(RUNNING)) == RUNNING


def test_a_snapshot_of_another_contract_is_not_read() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode(encode(RUNNING).replace(b'"contract_version":1', b'"contract_version":2'))


def test_without_a_broker_the_session_is_unavailable_and_says_why() -> None:
    snapshot = json.loads(unavailable_snapshot())
    error = snapshot["session"].pop("error")
    assert snapshot == {
        "contract_version": CONTRACT_VERSION,
        "session": {"id": None, "status": "unavailable", "model": None},
        "task": None,
    }
    assert error == "The project broker is unavailable"


def test_the_states_are_those_of_the_contract() -> None:
    assert [*SessionStatus] == ["starting", "ready", "busy", "resetting", "unavailable"]
    assert [*TaskStatus] == ["running", "cancelling", "completed", "failed", "cancelled"]


def test_a_snapshot_is_a_value_that_nobody_changes() -> None:
    with pytest.raises(AttributeError):
        RUNNING.task = None  # type: ignore[misc]


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 8, 4, 21, 36, 45, 123456, UTC), "2026-08-04T21:36:45.123456Z"),
        (datetime(2026, 8, 4, 21, 36, 45, 0, UTC), "2026-08-04T21:36:45.000000Z"),
        (datetime(2026, 8, 4, 23, 36, 45, 5, timezone(timedelta(hours=2))), "2026-08-04T21:36:45.000005Z"),
        (datetime(2026, 8, 4, 16, 6, tzinfo=timezone(timedelta(hours=-5, minutes=-30))), "2026-08-04T21:36:00.000000Z"),
    ],
)
def test_a_timestamp_is_utc_with_six_fractional_digits(moment: datetime, text: str) -> None:
    assert timestamp(moment) == text


def test_a_moment_of_no_known_zone_has_no_timestamp() -> None:
    with pytest.raises(ValueError, match="time zone"):
        timestamp(datetime(2026, 8, 4, 21, 36, 45))
