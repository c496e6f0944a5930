"""Pi's stdout, cut into records: bytes in, objects and faults out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class FaultKind(StrEnum):
    """Why a piece of Pi's output is no record."""

    MALFORMED = "malformed"
    OVERSIZED = "oversized"
    NON_OBJECT = "non-object"
    UNTERMINATED = "unterminated"


@dataclass(frozen=True, slots=True)
class Fault:
    """A piece of output that is no record; Pi's protocol has failed."""

    kind: FaultKind


class RecordReader:
    """One incarnation's stdout. `feed` what was read; at EOF `finish` once."""

    def feed(self, data: bytes) -> Iterator[dict[str, Any] | Fault]:
        raise NotImplementedError

    def finish(self) -> Iterator[dict[str, Any] | Fault]:
        """At EOF: an unterminated rest is a fault. The shell then reports `exited`."""
        raise NotImplementedError
