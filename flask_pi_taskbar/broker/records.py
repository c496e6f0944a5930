"""Pi's stdout, cut into records: bytes in, objects and faults out.

The shell has one `RecordReader` an incarnation, feeds it with whatever it has read, in any pieces, and hands what
comes out to the session. Reading decides nothing about the meaning; it never blocks and never raises.

Only LF ends a record: U+2028 and U+0085 stand in Pi's strings as they are. Lone surrogates, which Pi sends where it
has cut a string in two, and bytes that are no UTF-8 become U+FFFD. A record over the bound is skimmed (`skim.py`) if
it is an event; anything else of that size is a fault, as soon as that is known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

import msgspec

from flask_pi_taskbar.broker.skim import Skimmer

# The contract's bound of one record, its LF included.
RECORD_BYTES: Final = 1_000_000

_DECODE: Final = msgspec.json.Decoder().decode
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


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
    """One incarnation's stdout. `feed` what was read; at its end, `finish` once and report `exited` afterwards."""

    def __init__(self, record_bytes: int = RECORD_BYTES) -> None:
        self._bound = record_bytes
        self._begun = bytearray()  # of the record whose LF has not come
        self._skimmer: Skimmer | None = None
        self._skipping = False  # the record is already reported as a fault

    def feed(self, data: bytes) -> Iterator[dict[str, Any] | Fault]:
        """The records and faults that are complete with `data`. Consume all of them before feeding again."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            yield from self._extend(data[start:end])
            yield from self._end()
            start = end + 1
        yield from self._extend(data[start:])

    def finish(self) -> Iterator[dict[str, Any] | Fault]:
        """At EOF: a rest without an LF is a fault."""
        if self._begun or self._skimmer:
            yield Fault(FaultKind.UNTERMINATED)
        self._forget()

    def _extend(self, piece: bytes) -> Iterator[Fault]:
        """More of the current record."""
        if self._skipping or not piece:
            return
        if self._skimmer:
            self._skimmer.feed(piece)
            return
        self._begun += piece
        if len(self._begun) < self._bound:
            return
        head, tail = self._begun[: self._bound], self._begun[self._bound :]
        self._begun = bytearray()
        skimmer = Skimmer()
        skimmer.feed(bytes(head))
        kind = skimmer.outline.get("type")
        if skimmer.is_promising and isinstance(kind, str) and kind != "response":
            skimmer.feed(bytes(tail))
            self._skimmer = skimmer
        else:
            self._skipping = True
            yield Fault(FaultKind.OVERSIZED)

    def _end(self) -> Iterator[dict[str, Any] | Fault]:
        """The LF of the current record."""
        if self._skimmer:
            yield _repaired(self._skimmer.outline) if self._skimmer.is_whole else Fault(FaultKind.MALFORMED)
        elif not self._skipping:
            yield _decode(bytes(self._begun))
        self._forget()

    def _forget(self) -> None:
        self._begun.clear()
        self._skimmer = None
        self._skipping = False


def _decode(line: bytes) -> dict[str, Any] | Fault:
    """One record without its LF."""
    line = line.removesuffix(b"\r")
    try:
        record = _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        # msgspec refuses a lone surrogate anywhere; Python's own decoder reads it.
        try:
            record = _repaired(json.loads(line.decode("utf-8", "replace"), parse_constant=_refuse))
        except (ValueError, RecursionError):
            return Fault(FaultKind.MALFORMED)
    return record if isinstance(record, dict) else Fault(FaultKind.NON_OBJECT)


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _repaired(value: Any) -> Any:
    """`value` with every lone surrogate replaced."""
    if isinstance(value, str):
        return _SURROGATE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {_repaired(key): _repaired(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_repaired(item) for item in value]
    return value
