"""Small text tools: how the contract normalizes a string, how labels are cleaned and cut, how bytes are counted.

The task parser, the session and the views call them. They look at one string at a time and keep nothing.
"""

from __future__ import annotations

import re
from typing import Final
from unicodedata import normalize

# C0 and C1 controls except tab and line feed, and the bidirectional overrides and isolates. Neither is ever meant by
# the text of a page; both can make what a reader sees differ from what an agent reads.
_STRIPPED: Final = re.compile("[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]")


def settled(text: str) -> str:
    """`text` with line feeds for line ends, without controls, in NFC.

    Controls go before NFC is made: a letter and its accent that a control kept apart would otherwise stay decomposed,
    and a second round would change the text again.
    """
    if not text.isprintable():
        text = _STRIPPED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text if text.isascii() else normalize("NFC", text)


def on_one_line(text: str) -> str:
    """`text` settled, with one space for every run of white space and none at the ends."""
    return " ".join(settled(text).split())


def exceeds(text: str, max_bytes: int) -> bool:
    """Whether `text` takes more than `max_bytes` in UTF-8. It must not hold a lone surrogate."""
    return len(text) > max_bytes or (not text.isascii() and len(text.encode()) > max_bytes)


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
