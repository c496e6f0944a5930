"""How often Pi may be started."""

from __future__ import annotations

from flask_pi_taskbar.broker.budget import Budget
from flask_pi_taskbar.broker.timing import Timing

TIMING = Timing()


def test_a_series_has_three_starts_with_growing_pauses() -> None:
    budget = Budget(TIMING)
    budget.begin()
    pauses = []
    for now in (0.0, 10.0, 20.0):
        at = budget.grant(now)
        assert at is not None
        pauses.append(round(at - now, 3))
        budget.started(at)
        budget.lost(at)
    assert pauses == [0.0, TIMING.retry, 2 * TIMING.retry]
    assert budget.grant(30.0) is None


def test_the_window_ends_what_the_series_would_allow() -> None:
    budget = Budget(TIMING)
    budget.begin()
    now, starts = 0.0, 0
    while (at := budget.grant(now)) is not None:
        now = at
        starts += 1
        budget.started(now)
        budget.ready(now)
        budget.lost(now)
    assert starts == TIMING.window_starts
    assert now < TIMING.window


def test_after_a_window_of_quiet_there_are_starts_again() -> None:
    budget = Budget(TIMING)
    budget.begin()
    for _ in range(TIMING.window_starts):
        assert budget.grant(0.0) is not None
        budget.started(0.0)
        budget.ready(0.0)
        budget.lost(0.0)
    assert budget.grant(TIMING.window - 1) is None
    assert budget.grant(TIMING.window) is not None


def test_a_loss_at_work_is_replaced_at_once_and_never_adds_up() -> None:
    budget = Budget(TIMING)
    budget.begin()
    for now in range(1_000):
        assert budget.grant(now) == now
        budget.started(now)
        budget.ready(now)
        budget.lost_at_work()


def test_pauses_after_giving_up_grow_to_a_bound_and_each_buys_one_start() -> None:
    budget = Budget(TIMING)
    budget.begin()
    now, pauses = 0.0, []
    budget.give_up(now)
    for _ in range(8):
        since = now
        while not budget.cooled_down(now):
            now += 1.0
        pauses.append(now - since)
        budget.begin()
        assert budget.grant(now) == now
        budget.started(now)
        budget.lost(now)
        assert budget.grant(now) is None
        budget.give_up(now)
    assert pauses == [15.0, 30.0, 60.0, 120.0, 240.0, 300.0, 300.0, 300.0]


def test_a_person_who_asks_is_given_a_whole_series() -> None:
    budget = Budget(TIMING)
    budget.give_up(0.0)
    budget.pardon()
    budget.begin()
    for _ in range(TIMING.attempts):
        assert budget.grant(0.0) is not None
    assert budget.grant(0.0) is None
