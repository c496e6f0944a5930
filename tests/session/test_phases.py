"""The phase table is complete and consistent, and nothing else moves the session."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.broker.effects import Result
from flask_pi_taskbar.broker.phases import AT_REST, CLOSABLE, RESET, STATUS, STEPS, SUBMIT, Phase, Step, follow
from flask_pi_taskbar.contract.snapshot import SessionStatus


@pytest.mark.parametrize("phase", Phase)
def test_every_phase_has_a_row_in_each_table(phase: Phase) -> None:
    assert phase in STEPS
    assert isinstance(STATUS[phase], SessionStatus)
    assert SUBMIT[phase] in (None, Result.BUSY, Result.UNAVAILABLE)
    assert RESET[phase] in (None, Result.RESET_WHILE_BUSY, Result.UNAVAILABLE)


@pytest.mark.parametrize("phase", Phase)
def test_from_every_phase_but_the_last_the_session_can_be_closed(phase: Phase) -> None:
    assert (phase in CLOSABLE) == (phase is not Phase.CLOSED)
    if phase in CLOSABLE:
        assert follow(phase, Step.CLOSE) is Phase.CLOSED


def test_every_step_is_used_and_every_phase_reached() -> None:
    used = {step for row in STEPS.values() for step in row} | {Step.CLOSE}
    assert used == set(Step)
    reached = {Phase.COLD, Phase.CLOSED}
    while new := {phase for start in reached for phase in STEPS[start].values()} - reached:
        reached |= new
    assert reached == set(Phase)


def test_a_task_is_admitted_exactly_where_the_table_has_the_step() -> None:
    assert {phase for phase in Phase if SUBMIT[phase] is None} == {
        phase for phase, row in STEPS.items() if Step.ADMIT in row
    }
    assert {phase for phase in Phase if RESET[phase] is None} == {
        phase for phase, row in STEPS.items() if Step.RESET in row
    }


def test_from_every_phase_that_waits_for_pi_there_is_a_way_down_and_one_up() -> None:
    for phase in (Phase.STARTING, Phase.BUSY, Phase.RESETTING, Phase.RECOVERING):
        assert Step.LOSE in STEPS[phase]
        assert Phase.READY in STEPS[phase].values()


def test_the_broker_stays_for_starts_tasks_and_resets() -> None:
    waits = {SessionStatus.STARTING, SessionStatus.BUSY, SessionStatus.RESETTING}
    assert {phase for phase in Phase if STATUS[phase] in waits} - {Phase.COLD} == set(Phase) - AT_REST


def test_a_step_that_is_not_in_the_table_is_a_bug() -> None:
    with pytest.raises(KeyError):
        follow(Phase.READY, Step.OPEN)
