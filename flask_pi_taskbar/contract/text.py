"""Small text tools: how the contract normalizes a string, how labels are cleaned and cut.

The task parser, the session and the views call them. They look at one string at a time and keep nothing.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import normalize

# C0 and C1 controls except tab and line feed, and the bidirectional overrides and isolates. Neither is ever meant by
# the text of a page; both can make what a reader sees differ from what an agent reads.
_STRIPPED: Final = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]")


def without_controls(text: str) -> str:
    """`text` with line feeds for line ends and no other control. It still has to be composed."""
    if text.isprintable():
        return text
    return _STRIPPED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def composed(text: str, max_bytes: int) -> str | None:
    """`text` in NFC, or None where that takes more than `max_bytes`. It must not hold a lone surrogate.

    Putting a long run of accents in order takes quadratic time: a request's worth of them would hold a worker, or the
    broker's one thread, for seconds. So what cannot fit is not composed at all: composing leaves at least a quarter.
    """
    if text.isascii():
        return text if len(text) <= max_bytes else None
    if len(text.encode()) > 4 * max_bytes:
        return None
    text = normalize("NFC", text)
    return text if len(text.encode()) <= max_bytes else None


def clean_label(text: str, max_bytes: int) -> str:
    """`text` on one line without controls, at most `max_bytes` long; empty when nothing readable is in it.

    For what Pi calls its models and tools. A lone surrogate, which no UTF-8 can hold, is dropped.
    """
    return utf8_prefix(" ".join(_STRIPPED.sub(" ", text).split()), max_bytes).rstrip()


def utf8_prefix(text: str, max_bytes: int) -> str:
    """The longest beginning of `text` that fits `max_bytes`, cut between code points; lone surrogates are dropped."""
    return text.encode("utf-8", "ignore")[:max_bytes].decode("utf-8", "ignore")


def utf8_suffix(text: str, max_bytes: int) -> str:
    """The longest end of `text` that fits `max_bytes`, cut between code points; lone surrogates are dropped."""
    encoded = text.encode("utf-8", "ignore")
    return encoded[max(0, len(encoded) - max_bytes) :].decode("utf-8", "ignore")
