"""Frames of the live stream as bytes: server-sent events, one `data:` line each (spec 15).

The JSON inside is encoded compactly, so that it never holds a raw newline.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

import msgspec

from flask_pi_taskbar.board.stamps import stamp

BEAT: Final = b": \n\n"
BYE_IDLE: Final = "idle"
BYE_STOPPED: Final = "stopped"


def snapshot(epoch: str, rev: int, data: bytes) -> bytes:
    """The whole board."""
    return _event(b"snapshot", data, epoch, rev)


def patch(epoch: str, rev: int, data: bytes) -> bytes:
    """What leads to the state `rev`."""
    return _event(b"patch", data, epoch, rev)


def rebase(epoch: str, rev: int, now: datetime) -> bytes:
    """The state that the reader has is this one here; nothing to draw."""
    data = msgspec.json.encode({"epoch": epoch, "rev": rev, "now": stamp(now)})
    return _event(b"rebase", data, epoch, rev)


def bye(why: str) -> bytes:
    """The page stops."""
    return b"event: bye\ndata: %b\n\n" % msgspec.json.encode({"why": why})


def retry(milliseconds: int) -> bytes:
    """How soon a reader should come back once the stream has ended."""
    return b"retry: %d\n\n" % milliseconds


def _event(kind: bytes, data: bytes, epoch: str, rev: int) -> bytes:
    return b"id: %b.%d\nevent: %b\ndata: %b\n\n" % (epoch.encode(), rev, kind, data)
