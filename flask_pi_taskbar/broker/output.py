"""What Pi has said during one task: the newest text, bounded, with a blank line between separate pieces.

The session appends every delta and reads the text when a snapshot is asked for. A run may bring a hundred thousand
small deltas, so appending copies nothing old: bytes collect at the end of one buffer, which is cut back only after it
has doubled.
"""

from __future__ import annotations

from flask_pi_taskbar.contract.bounds import OUTPUT_BYTES

# What a cut through a character may leave at the front.
_CONTINUATION = bytes(range(0x80, 0xC0))


class Output:
    """The newest `OUTPUT_BYTES` of valid UTF-8; `truncated` stays once anything was left out."""

    __slots__ = ("_block", "_buffer", "_text", "truncated", "version")

    def __init__(self, text: str = "", *, truncated: bool = False) -> None:
        self._buffer = bytearray()
        self._block: object = None
        self._text: str | None = ""
        self.truncated = False
        self.version = 0
        self.append(text)
        self.truncated = self.truncated or truncated

    def append(self, delta: str, block: object = None) -> None:
        """Add `delta`, which belongs to the piece of text named `block`. `version` grows when the text has changed."""
        new = delta.encode("utf-8", "ignore")
        if not new:
            return
        if self._buffer and block != self._block:
            new = self._gap_before(new) + new
        self._block = block
        if len(self._buffer) + len(new) <= OUTPUT_BYTES:
            self._buffer += new
        elif not self._append_beyond_bound(new):
            return
        self._text = None
        self.version += 1

    @property
    def text(self) -> str:
        if self._text is None:
            self._text = self._shown().decode()
        return self._text

    def seal(self) -> None:
        """No more will come: keep only what is shown."""
        self._buffer = bytearray(self.text.encode())

    def _append_beyond_bound(self, new: bytes) -> bool:
        """Whether anything that is shown has changed."""
        before = self._shown()
        self._buffer += new[-OUTPUT_BYTES:]
        changed = not self.truncated or self._shown() != before
        self.truncated = True
        if len(self._buffer) > 2 * OUTPUT_BYTES:
            del self._buffer[:-OUTPUT_BYTES]
        return changed

    def _shown(self) -> bytearray:
        shown = self._buffer[-OUTPUT_BYTES:]
        return shown.lstrip(_CONTINUATION) if shown and shown[0] in _CONTINUATION else shown

    def _gap_before(self, new: bytes) -> bytes:
        """The line ends that are missing for one blank line between what stands there and `new`."""
        here = len(self._buffer) - len(self._buffer.rstrip(b"\n"))
        there = len(new) - len(new.lstrip(b"\n"))
        return b"\n" * max(0, 2 - here - there)
