"""The canonical snapshot: the whole state that every read and every mutation returns.

The session builds one, the broker encodes it once a revision, workers pass the bytes on untouched. The fields stand in
the order of the wire. Values are frozen: a new state is a new snapshot.
"""

from __future__ import annotations

from datetime import UTC, datetime
from enum import StrEnum
from typing import Final, Literal

import msgspec

from flask_pi_taskbar.contract.bounds import CONTRACT_VERSION
from flask_pi_taskbar.contract.texts import BROKER_UNAVAILABLE


class SessionStatus(StrEnum):
    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"
    RESETTING = "resetting"
    UNAVAILABLE = "unavailable"


class TaskStatus(StrEnum):
    RUNNING = "running"
    CANCELLING = "cancelling"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class SessionView(msgspec.Struct, frozen=True, kw_only=True):
    """The Pi session as clients see it. `id` is an opaque name of ours, never Pi's own."""

    id: str | None = None
    status: SessionStatus
    model: str | None = None
    error: str | None = None


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """The one retained task. `finished_at` is there exactly when `status` is a final one."""

    id: str
    prompt: str
    status: TaskStatus
    output: str = ""
    output_truncated: bool = False
    activity: str
    error: str | None = None
    started_at: str
    finished_at: str | None = None


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    contract_version: Literal[1] = CONTRACT_VERSION
    session: SessionView
    task: TaskView | None = None


def encode(snapshot: Snapshot) -> bytes:
    """The snapshot as compact JSON in the wire's key order."""
    return _ENCODER.encode(snapshot)


def decode(data: bytes) -> Snapshot:
    """The snapshot in `data`; raises `msgspec.DecodeError` for anything else."""
    return _DECODER.decode(data)


def timestamp(moment: datetime) -> str:
    """`moment` in UTC with six fractional digits, as in `2026-08-04T21:36:45.123456Z`."""
    if moment.tzinfo is None:
        raise ValueError("a timestamp needs a moment with a time zone")
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def unavailable_snapshot() -> bytes:
    """What a worker answers when no verified broker can be reached."""
    return _UNAVAILABLE


_ENCODER: Final = msgspec.json.Encoder()
_DECODER: Final = msgspec.json.Decoder(Snapshot)
_UNAVAILABLE: Final = encode(
    Snapshot(session=SessionView(status=SessionStatus.UNAVAILABLE, error=BROKER_UNAVAILABLE)),
)
