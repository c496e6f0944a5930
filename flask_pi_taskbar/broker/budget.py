"""How often Pi may be started: a few attempts in a row, more and more slowly, so many a window, and then a pause.

The session asks before each start. An idle Pi that dies soon after a good start counts like a failed start, or one
that dies right after its first answer would be started for ever. One that is lost at work does not count: somebody
gave it that work, and decides whether to try again.
"""

from __future__ import annotations

from collections import deque

from flask_pi_taskbar.broker.timing import Timing


class Budget:
    """The starts that are left.

    A *series* is what one cause (opening, a replacement, a reset) may use up until Pi answers. A *setback* is a start
    that failed or a Pi that did not live to be steady. After giving up we are on *probation*: each cool-down buys one
    start, and nothing but a steady Pi, or a person who asks for a reset, ends it.
    """

    def __init__(self, timing: Timing) -> None:
        self._timing = timing
        self._left = 0
        self._setbacks = 0
        self._starts: deque[float] = deque(maxlen=timing.window_starts)
        self._ready_at: float | None = None
        self._pauses = 0
        self._probation = False
        self._retry_at = 0.0

    def begin(self) -> None:
        """A new series."""
        self._left = 1 if self._probation else self._timing.attempts

    def pardon(self) -> None:
        """A person asks: everything is forgiven."""
        self._setbacks = self._pauses = 0
        self._probation = False
        self._starts.clear()

    def grant(self, now: float) -> float | None:
        """When the next start may take place, or None where there is none left. A grant is spent by being given."""
        if self._left == 0 or self._window_is_full(now):
            return None
        self._left -= 1
        pause = min(self._timing.retry * 2 ** min(self._setbacks - 1, 30), self._timing.retry_last)
        return now + pause if self._setbacks else now

    def started(self, now: float) -> None:
        self._starts.append(now)
        self._ready_at = None

    def ready(self, now: float) -> None:
        """Pi has answered, which ends the series."""
        self._ready_at = now

    def lost_at_work(self) -> None:
        """Pi was lost over a task or a reset: a person is there, and the next one starts at once."""
        self.pardon()
        self.begin()

    def lost(self, now: float) -> None:
        """An idle Pi, or the attempt to start one, has come to an end."""
        if self._ready_at is not None and now - self._ready_at >= self._timing.steady:
            self.pardon()
        else:
            self._setbacks += 1
        if self._ready_at is not None:
            self._ready_at = None
            self._left = 0 if self._probation else self._timing.attempts

    def give_up(self, now: float) -> None:
        """Nothing is left: from now on only `cooled_down` opens a way."""
        pause = self._timing.cool_down_first * 2 ** min(self._pauses, 30)
        self._retry_at = now + min(pause, self._timing.cool_down_last)
        self._pauses += 1
        self._setbacks = 0
        self._probation = True

    def cooled_down(self, now: float) -> bool:
        return now >= self._retry_at

    def _window_is_full(self, now: float) -> bool:
        if self._probation or len(self._starts) < self._timing.window_starts:
            return False
        return now - self._starts[0] < self._timing.window
