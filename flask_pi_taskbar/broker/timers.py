"""The session's deadlines: named moments, each armed at most once. Passive: the shell asks when, the session acts."""

from __future__ import annotations

from enum import Enum, auto


class Timer(Enum):
    PAUSE = auto()  # before the next start
    START = auto()
    STOP = auto()
    JOURNAL = auto()
    TASK = auto()
    ABORT = auto()
    FENCE = auto()
    RESET = auto()
    RESET_ANSWER = auto()


class Timers:
    """What is armed, and until when."""

    def __init__(self) -> None:
        self._armed: dict[Timer, float] = {}

    def arm(self, timer: Timer, at: float) -> None:
        self._armed[timer] = at

    def drop(self, *timers: Timer) -> None:
        for timer in timers:
            self._armed.pop(timer, None)

    def is_armed(self, timer: Timer) -> bool:
        return timer in self._armed

    def pop_due(self, now: float) -> Timer | None:
        """The one that has been due for longest, no longer armed; None where none is due."""
        at, _, timer = min(((at, timer.value, timer) for timer, at in self._armed.items()), default=(now, 0, None))
        if timer is None or at > now:
            return None
        del self._armed[timer]
        return timer

    def next(self) -> float | None:
        return min(self._armed.values(), default=None)
