"""The states that a board went through, numbered, and what leads from each to the next.

The hub pushes a view when something shown has moved; a follower that says which state it has is told how to get to the
newest one. Only the last steps are kept: whoever is further behind gets the whole board. Pure bookkeeping: no clock, no
thread, no file. Frames are built once for all followers (spec 15).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from flask_pi_taskbar.board.live import frames
from flask_pi_taskbar.board.view import View

MAX_STEPS: Final = 256
MAX_BYTES: Final = 4 * 1024 * 1024
SHARED_FOR: Final = timedelta(seconds=1)

Facts = Mapping[str, object]


class Step(NamedTuple):
    """One patch: the state that it starts from, and the frame."""

    rev: int
    digest: str
    frame: bytes


class Timeline:
    """The newest state of one board, and the last steps that led to it. `epoch` names this timeline and no other."""

    def __init__(self, epoch: str, view: View, *, store: Facts, board: Facts) -> None:
        self.epoch = epoch
        self.rev = 1
        self.view = view
        self.store = store
        self._board = board
        self._steps: deque[Step] = deque()
        self._bytes = 0
        self._snapshots: dict[bool, tuple[datetime, bytes, bytes]] = {}
        """When it was built, as JSON and as a frame: a thousand readers that come at once share these bytes."""

    @property
    def digest(self) -> str:
        """What the newest state shows, the same in every process that shows it."""
        return self.view.content.hex()

    def push(self, view: View, now: datetime, store: Facts) -> bool:
        """Go on to `view`. False if it shows what was shown already: then there is no new state."""
        if view.shows_the_same(self.view) and store.get("notice") == self.store.get("notice"):
            self.view = view  # its cards are newer objects, and its `due` may be another
            if store != self.store:  # a footer's figures: whoever comes sees them, nobody is told
                self.store = store
                self._snapshots.clear()
            return False
        patch = view.patch(self.view, from_rev=self.rev, to_rev=self.rev + 1, now=now, store=store)
        step = Step(self.rev, self.digest, frames.patch(self.epoch, self.rev + 1, patch))
        self._steps.append(step)
        self._bytes += len(step.frame)
        while len(self._steps) > MAX_STEPS or self._bytes > MAX_BYTES:
            self._bytes -= len(self._steps.popleft().frame)
        self.rev += 1
        self.view, self.store = view, store
        self._snapshots.clear()
        return True

    def snapshot(self, now: datetime, *, can_write: bool) -> bytes:
        """The newest state, whole, as JSON. Readers take the time from it, so one is shared for a second only."""
        return self._shared(now, can_write=can_write)[0]

    def _shared(self, now: datetime, *, can_write: bool) -> tuple[bytes, bytes]:
        built = self._snapshots.get(can_write)
        if built is None or not timedelta(0) <= now - built[0] < SHARED_FOR:
            data = self.view.snapshot(
                epoch=self.epoch, rev=self.rev, now=now, can_write=can_write, store=self.store, board=self._board
            )
            built = self._snapshots[can_write] = now, data, frames.snapshot(self.epoch, self.rev, data)
        return built[1:]

    def since(self, rev: int) -> list[bytes] | None:
        """The frames from the state `rev` to the newest; None where they are not kept any more, or never were."""
        if rev == self.rev:
            return []
        if not self._steps or not self._steps[0].rev <= rev < self.rev:
            return None
        return [step.frame for step in self._steps if step.rev >= rev]

    def known(self, digest: str) -> int | None:
        """The number of the newest state that shows what `digest` stands for, if it is kept."""
        if digest == self.digest:
            return self.rev
        return next((step.rev for step in reversed(self._steps) if step.digest == digest), None)

    def resume(self, last: str | None, have: str | None, now: datetime, *, can_write: bool) -> list[bytes]:
        """The frames for somebody who comes (back) with the id `last` and the digest `have`."""
        epoch, _, number = (last or "").rpartition(".")
        if epoch == self.epoch and number.isascii() and number.isdigit() and len(number) <= 15:
            steps = self.since(int(number))
            if steps is not None:
                return steps
        elif have and (rev := self.known(have)) is not None:
            # It was told of this state by another process, under other numbers.
            return [frames.rebase(self.epoch, rev, now), *(self.since(rev) or [])]
        return [self._shared(now, can_write=can_write)[1]]
