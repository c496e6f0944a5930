"""The values that both platforms speak in."""

from __future__ import annotations

from typing import NamedTuple


class Process(NamedTuple):
    """One process, for good: a number is given out again, a number with this start is not."""

    pid: int
    start: str


class Row(NamedTuple):
    """A living process (never a zombie) as the process table shows it."""

    pid: int
    start: str
    parent: int
    group: int
    session: int

    @property
    def process(self) -> Process:
        return Process(self.pid, self.start)


class Peer(NamedTuple):
    """The other end of a Unix socket. `pid` is 0 where the system does not say."""

    pid: int
    uid: int
