"""The one exception that the client side raises."""

from __future__ import annotations


class Unavailable(Exception):  # noqa: N818 - the name that callers hold on to
    """No verified broker answered in time. `reason` is for a log, never for a browser."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
