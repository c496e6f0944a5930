"""Keeping one Pi child: starting it, ending it, starting the next, at most one at a time and as the budget allows.

The session says when a child is lost and is told when there is no start left. Whatever a child did, it gets a `Stop`,
even if it is dead, because what it has started may live; and the next `Spawn` waits until `stopped` has come.
"""

from __future__ import annotations

from flask_pi_taskbar.broker.budget import Budget
from flask_pi_taskbar.broker.child import Child, Life
from flask_pi_taskbar.broker.effects import Dismiss, Effect, Spawn, Stop
from flask_pi_taskbar.broker.timers import Timer, Timers
from flask_pi_taskbar.broker.timing import Timing


class Keeper:
    """The child, or its absence. Effects go to the list that the session hands in."""

    def __init__(self, timing: Timing, timers: Timers, effects: list[Effect]) -> None:
        self.child: Child | None = None
        self.budget = Budget(timing)
        self._timing = timing
        self._timers = timers
        self._effects = effects
        self._incarnation = 0
        self._start_at: float | None = None  # a start that is granted and not made

    @property
    def is_ending(self) -> bool:
        """A child is being ended, and there is still hope that it will."""
        return self.child is not None and self._timers.is_armed(Timer.STOP)

    def listening(self, incarnation: int) -> Child | None:
        """The child of that number, if what it says still counts."""
        child = self.child
        return child if child and child.incarnation == incarnation and child.is_listening else None

    def alive(self, incarnation: int) -> Child | None:
        """The child of that number, if nobody has asked for its end."""
        child = self.child
        return child if child and child.incarnation == incarnation and child.life is not Life.STOPPING else None

    def start(self, now: float) -> bool:
        """Make, or plan, the next start. False where none is left; then nothing is planned."""
        self._start_at = self.budget.grant(now)
        if self._start_at is None:
            self.budget.give_up(now)
            return False
        if self.child is not None:
            self._timers.arm(Timer.STOP, now + self._timing.stop)
        self.spawn_if_due(now)
        return True

    def replace(self, now: float) -> bool:
        """The child is lost, and the budget knows: end it and start the next. False where no start is left."""
        self.stop(now)
        return self.start(now)

    def spawn_if_due(self, now: float) -> None:
        if self._start_at is None or self.child is not None:
            return
        if self._start_at > now:
            self._timers.arm(Timer.PAUSE, self._start_at)
            return
        self._start_at = None
        self._incarnation += 1
        self.child = Child(self._incarnation)
        self.budget.started(now)
        self._timers.arm(Timer.START, now + self._timing.start)
        self._effects.append(Spawn(self._incarnation))

    def stop(self, now: float) -> None:
        """End the child, with everything that it has started."""
        self._end(Stop, now)

    def dismiss(self, now: float) -> None:
        """End a child that is well and idle; what it has left running on purpose stays."""
        self._end(Dismiss, now)

    def _end(self, how: type[Stop], now: float) -> None:
        self._start_at = None
        self._timers.drop(Timer.START, Timer.PAUSE)
        if self.child and self.child.life is not Life.STOPPING:
            self.child.life = Life.STOPPING
            self._timers.arm(Timer.STOP, now + self._timing.stop)
            self._effects.append(how(self.child.incarnation))

    def cannot_stop(self, now: float) -> None:
        """The end of the child does not come. It still blocks the next start, but that is no longer waited for."""
        self._start_at = None
        self.budget.give_up(now)

    def gone(self, incarnation: int, now: float) -> None:
        """The process tree of a child that is ending is no more."""
        child = self.child
        if child and child.incarnation == incarnation and child.life is Life.STOPPING:
            self.child = None
            self._timers.drop(Timer.STOP)
            self.spawn_if_due(now)
