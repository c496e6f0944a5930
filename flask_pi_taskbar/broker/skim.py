"""Skimming: what matters of a record that is too long to keep, learnt while its bytes go by.

Pi repeats everything in some events: `agent_end` carries every message of the run, older lines put the whole partial
answer into each `message_update`. Such a record may have many megabytes, and of all that the session reads a few
words near the top: `type`, a tool's name, a message's `role` and `stopReason`. A `Skimmer` follows the brackets of one
JSON text and keeps the scalars of its first two levels. Its memory does not depend on the length.

It does not validate what it leaves out; it knows at the end whether one object has begun and ended.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

# A scalar is kept up to this many bytes, then cut. Text deltas, the longest that matter, are far shorter.
_KEPT: Final = 65_536
# Deeper nesting is junk; it must not grow the stack of brackets without end.
_DEEPEST: Final = 1_000

_TEXT: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_MARK: Final = re.compile(rb'["{}\[\],:]')
# Where nothing is kept, whole strings are passed over with all that is no bracket.
_DULL: Final = re.compile(rb'(?:[^"{}\[\]]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_OPENERS: Final = {b"{": b"}", b"[": b"]"}
_BLANK: Final = b" \t\r\n"


class Skimmer:
    """Fed with the bytes of one record, in any pieces. `outline` is what was learnt so far."""

    def __init__(self) -> None:
        self.outline: dict[str, Any] = {}
        self._closers: list[bytes] = []  # for each open bracket, what will close it
        self._objects: list[dict[str, Any] | None] = []  # for the first two levels, where their scalars go
        self._keys: list[str | None] = []
        self._raw = bytearray()  # the key or scalar that is being read
        self._in_text = False
        self._escaped = False
        self._ended = False
        self._broken = False

    @property
    def is_promising(self) -> bool:
        """An object has begun, and nothing yet contradicts that it is one."""
        return bool(self._closers or self._ended) and not self._broken

    @property
    def is_whole(self) -> bool:
        """One object has begun and ended, and there was nothing else."""
        return self._ended and not self._broken

    def feed(self, data: bytes) -> None:
        position = 0
        while position < len(data) and not self._broken:
            position = self._skim_text(data, position) if self._in_text else self._skim_structure(data, position)

    def _skim_text(self, data: bytes, start: int) -> int:
        """In a string: on to its end, or to the end of `data`."""
        body = _TEXT.match(data, start + self._escaped)
        end = body.end() if body else len(data)
        # What stops the match early is the closing quote, or a backslash that ends `data`.
        self._escaped = data[end:] == b"\\"
        self._in_text = self._escaped or end >= len(data)
        end = min(end + 1, len(data))
        self._keep(data, start, end)
        return end

    def _skim_structure(self, data: bytes, start: int) -> int:
        """Between strings: on to the next mark, or to the end of `data`."""
        if self._closers and self._where() is None:
            dull = _DULL.match(data, start)
            start = dull.end() if dull else start
        found = _MARK.search(data, start)
        end = found.start() if found else len(data)
        self._keep(data, start, end)
        if found is None:
            return end
        mark = found.group()
        if mark == b'"':
            self._in_text = True
            self._keep(data, end, end + 1)
        elif mark in _OPENERS:
            self._open(mark)
        elif mark == b":":
            self._key_ends()
        else:
            self._value_ends()
            if mark != b",":
                self._close(mark)
        return end + 1

    def _keep(self, data: bytes, start: int, end: int) -> None:
        if not self._closers:
            # Around the object there is room for blanks only.
            self._broken = self._broken or bool(data[start:end].strip(_BLANK))
        elif self._where() is not None and len(self._raw) < _KEPT:
            self._raw += data[start : min(end, start + _KEPT)]

    def _where(self) -> dict[str, Any] | None:
        """The object whose key or scalar is being read, if it is one that we keep."""
        return self._objects[-1] if 0 < len(self._closers) == len(self._objects) else None

    def _open(self, mark: bytes) -> None:
        if self._ended or len(self._closers) == _DEEPEST or (not self._closers and mark != b"{"):
            self._broken = True
            return
        self._raw.clear()
        inside = self._where()
        if len(self._closers) < 2:
            kept: dict[str, Any] | None = None
            if not self._closers:
                kept = self.outline
            elif mark == b"{" and inside is not None and (key := self._keys[-1]) is not None:
                kept = inside[key] = {}
            self._objects.append(kept)
            self._keys.append(None)
        self._closers.append(_OPENERS[mark])

    def _close(self, mark: bytes) -> None:
        if not self._closers or self._closers.pop() != mark:
            self._broken = True
            return
        if len(self._closers) < len(self._objects):
            self._objects.pop()
            self._keys.pop()
        self._ended = not self._closers

    def _key_ends(self) -> None:
        if self._where() is not None:
            key = _scalar(self._raw)
            self._keys[-1] = key if isinstance(key, str) else None
        self._raw.clear()

    def _value_ends(self) -> None:
        inside = self._where()
        if inside is not None:
            key, raw = self._keys[-1], self._raw.strip(_BLANK)
            if key is not None and raw:
                inside[key] = _scalar(raw)
            self._keys[-1] = None
        self._raw.clear()


def _scalar(raw: bytearray) -> Any:
    """The value of a kept key or scalar; of a string that was cut, its beginning. None for what is no JSON."""
    text = raw.decode("utf-8", "replace")
    for tail in (text, *(text[: len(text) - cut] + '"' for cut in range(13))):
        try:
            return json.loads(tail)
        except ValueError:
            if len(raw) < _KEPT:
                break
    return None
