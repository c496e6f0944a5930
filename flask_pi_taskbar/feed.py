"""One live feed: the newest state of something, numbered, for any number of followers.

The broker's socket carries the task snapshot with it; the board, the tab strip and terminal surfaces are meant to use
the same. A follower has one slot: while it is slow, states that it missed are replaced, never queued. Timing is the
caller's: the feed only says when it wants to be asked again. No clock, thread or socket in here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

State = TypeVar("State")


class Feed(Generic[State]):
    """A numbered latest state.

    `pace` is the shortest time between two states for one follower, in the caller's seconds: the first change goes out
    at once, those right behind it together.
    """

    def __init__(self, revision: int, state: State, *, pace: float = 0.0) -> None:
        self.revision = revision
        self.state = state
        self._pace = pace
        self._followers: dict[Follower[State], None] = {}

    def __len__(self) -> int:
        return len(self._followers)

    def publish(self, revision: int, state: State, now: float) -> None:
        """Replace the state. A revision that is already there changes nothing."""
        if revision == self.revision:
            return
        self.revision, self.state = revision, state
        for follower in self._followers:
            follower.offer(now)

    def follow(self, deliver: Callable[[int, State], None], after: int | None, now: float) -> Follower[State]:
        """A new follower that has already seen the state `after`. `deliver` is called from `offer` and `tick` alone."""
        follower = Follower(self, deliver, after, self._pace)
        self._followers[follower] = None
        follower.offer(now)
        return follower

    def tick(self, now: float) -> None:
        """Deliver what the pace held back and is due."""
        for follower in self._followers:
            follower.offer(now)

    def deadline(self) -> float | None:
        """When `tick` has something to do, if ever."""
        waits = [follower.due for follower in self._followers if follower.waits]
        return min(waits, default=None)

    def leave(self, follower: Follower[State]) -> None:
        self._followers.pop(follower, None)


class Follower(Generic[State]):
    """One slot: what was delivered last, and whether the carrier can take more."""

    def __init__(
        self, feed: Feed[State], deliver: Callable[[int, State], None], after: int | None, pace: float
    ) -> None:
        self._feed = feed
        self._deliver = deliver
        self._seen = after
        self._pace = pace
        self._full = False
        self.due = float("-inf")

    @property
    def waits(self) -> bool:
        """There is a newer state that only the pace holds back."""
        return not self._full and self._seen != self._feed.revision

    def offer(self, now: float) -> None:
        if self.waits and now >= self.due:
            self._seen = self._feed.revision
            self.due = now + self._pace
            self._deliver(self._feed.revision, self._feed.state)

    def pause(self) -> None:
        """The carrier is full; whatever comes now waits in the slot, each state replacing the one before."""
        self._full = True

    def resume(self, now: float) -> None:
        self._full = False
        self.offer(now)
