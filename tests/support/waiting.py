"""Waiting for what will happen, with a deadline and a message, in place of sleeping for a time that may suffice."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(found: Callable[[], T | None], what: str, seconds: float = 15.0, every: float = 0.05) -> T:
    """The first result of `found()` that is true; an `AssertionError` naming `what` when the time is over."""
    deadline = time.monotonic() + seconds
    while True:
        result = found()
        if result:
            return result
        if time.monotonic() > deadline:
            raise AssertionError(f"after {seconds:.0f} s still not: {what} (last: {result!r})")
        time.sleep(every)
