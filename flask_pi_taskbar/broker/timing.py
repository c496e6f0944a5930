"""Every wait and every budget of the session in one table, each with its reason. Seconds; nothing here reads a clock.

Tests replace single figures through `SessionConfig`; the program always runs with these.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """The contract's figures where it has one (marked C), ours elsewhere."""

    # Pi 0.73.1 needs 1 to 2.3 s to answer its first command and npm's first run several more; an extension may hold
    # `session_start`. Whoever needs half a minute will not answer at all.
    start: float = 30.0
    # Stopping is TERM, 1 s, KILL, 1 s (C) and reaping. Longer means a process that cannot die; then we say so.
    stop: float = 10.0
    # fsync of a few KB. The client waits 5 s for its answer; this leaves it one to arrive.
    journal: float = 4.0
    # C, counted from the moment the abort is written. Real Pi needs 2 to 15 ms.
    abort: float = 5.0
    # C says only that there is one. `new_session` takes milliseconds, but extensions may hook it.
    reset: float = 20.0
    # A reset that went on to a restart may take longer than its client, who waits 25 s, so he is answered before that.
    reset_answer: float = 24.0
    # get_state is answered at once by a Pi that is well; one that compacts a long session may block for seconds.
    fence: float = 15.0
    # Pi may think about a prompt before it takes it (a compaction, an extension), but answers get_state meanwhile. A
    # longer silence makes us ask whether it still listens.
    silence: float = 30.0
    # How long to wait for what normally follows in milliseconds (agent_start after acceptance or after a compaction
    # that will retry, agent_settled where we know this Pi announces it) before asking Pi.
    patience: float = 1.0
    # Messages still queued after an abort stay queued for good, so their number proves work for a second only.
    queued: float = 1.0
    # Between two questions "are you done?": doubling from the first to the second figure.
    ask_first: float = 0.1
    ask_last: float = 1.0

    # Starts in a row until a valid state (C), and the pause before the second of them (C), doubled from then on.
    attempts: int = 3
    retry: float = 0.1
    retry_last: float = 5.0
    # A Pi that stays up this long is steady: what happened before it is forgiven.
    steady: float = 10.0
    # However the starts are spread, no more than this many in one window; with the pauses above that is about 20 s of
    # trying. A user who stops a hanging Pi again and again (5 s each) does not reach it.
    window: float = 60.0
    window_starts: int = 10
    # After giving up, a read tries again: first after a pause in which a person may have repaired something, then ever
    # more seldom. One start each time, since a page that polls all night must not keep the machine busy.
    cool_down_first: float = 15.0
    cool_down_last: float = 300.0
