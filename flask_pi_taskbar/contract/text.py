"""Small text tools shared by the rooms: cleaning labels, cutting at code points, counting UTF-8 bytes.

The task parser, the session and the views call them. They never raise for any Python string: a lone surrogate, which
no UTF-8 can hold, is dropped as the contract drops invalid UTF-8 in Pi's output.
"""

from __future__ import annotations

import re
from typing import Final

# C0 and C1 controls except tab and line feed, and the bidirectional overrides and isolates. Neither is ever meant by
# the text of a page; both can make what a reader sees differ from what an agent reads.
STRIPPED: Final = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]")


def clean_label(text: str, max_bytes: int) -> str:
    """`text` on one line without controls, at most `max_bytes` long; empty when nothing readable is in it."""
    return utf8_prefix(" ".join(STRIPPED.sub(" ", text).split()), max_bytes).rstrip()


def utf8_prefix(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` that fits `max_bytes`, cut between code points."""
    return text.encode("utf-8", "ignore")[:max_bytes].decode("utf-8", "ignore")


def utf8_suffix(text: str, max_bytes: int) -> str:
    """The longest end of `text` that fits `max_bytes`, cut between code points."""
    encoded = text.encode("utf-8", "ignore")
    return encoded[max(0, len(encoded) - max_bytes) :].decode("utf-8", "ignore")


def utf8_length(text: str) -> int:
    """How many bytes `text` takes, lone surrogates left out."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "ignore"))
