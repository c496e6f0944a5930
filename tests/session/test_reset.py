"""A new conversation: granted, vetoed, or ended by a new Pi."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.broker.effects import Result
from flask_pi_taskbar.broker.records import Fault, FaultKind
from flask_pi_taskbar.contract import texts
from tests.session.worlds import World


def with_task() -> World:
    world = World().until_working()
    world.says("agent_settled")
    return world


def test_a_granted_reset_keeps_pi_and_forgets_the_task() -> None:
    world = with_task()
    session = world.snapshot.session.id
    ticket = world.reset()
    assert world.status == "resetting"
    assert world.sent[-1]["type"] == "new_session"
    assert world.task.status.value == "completed"
    world.answers_to("new_session", data={"cancelled": False})
    assert ticket in world.open_tickets
    world.tells_state("pi-2", model="other")
    assert world.answers[ticket] is Result.ACCEPTED
    assert (world.status, world.snapshot.session.model, world.snapshot.task) == ("ready", "other", None)
    assert world.snapshot.session.id not in (None, session)
    assert world.starts == 1


def test_a_vetoed_reset_changes_nothing() -> None:
    world = with_task()
    before = world.snapshot
    ticket = world.reset()
    world.answers_to("new_session", data={"cancelled": True})
    assert world.answers[ticket] is Result.SESSION_RESET_REJECTED
    assert world.snapshot == before
    assert world.starts == 1


@pytest.mark.parametrize(
    ("happens", "error"),
    [
        (lambda world: world.answers_to("new_session", success=False), texts.RESET_FAILED),
        (lambda world: world.answers_to("new_session"), texts.RESET_FAILED),
        (lambda world: world.answers_to("new_session", data={"cancelled": "no"}), texts.RESET_FAILED),
        (lambda world: world.answers_to("new_session", success=None), texts.RESET_FAILED),
        (lambda world: world.says("response", id="never-issued", success=True), texts.RESET_FAILED),
        (lambda world: (granted(world), world.tells_state("pi-1")), texts.RESET_FAILED),
        (lambda world: (granted(world), world.tells_state("")), texts.RESET_FAILED),
        (lambda world: (granted(world), world.answers_to("get_state", success=False)), texts.RESET_FAILED),
        (lambda world: world.exits(), texts.RESET_FAILED),
        (lambda world: world.says(Fault(FaultKind.OVERSIZED)), texts.RESET_FAILED),
        (lambda world: world.stalls(), texts.RESET_FAILED),
        (lambda world: world.advance(world.timing.reset), texts.RESET_TIMEOUT),
        (lambda world: (granted(world), world.advance(world.timing.reset)), texts.RESET_TIMEOUT),
    ],
)
def test_a_reset_that_fails_is_ended_by_a_new_pi(happens, error: str) -> None:
    world = with_task()
    ticket = world.reset()
    happens(world)
    assert (world.status, world.error) == ("resetting", error)
    assert world.snapshot.session.id is None
    assert world.task.status.value == "completed", "the task stays until the reset is done"
    world.stopped()
    assert world.starts == 2
    world.spawned()
    world.tells_state("pi-1")
    assert (world.answers[ticket], world.status, world.snapshot.task) == (Result.ACCEPTED, "ready", None)


def granted(world: World) -> None:
    world.answers_to("new_session", data={"cancelled": False})


def test_a_reset_whose_new_pi_does_not_start_either_is_unavailable() -> None:
    world = with_task()
    ticket = world.reset()
    world.exits()
    world.stopped()
    while world.status == "resetting":
        if world.child is not None:
            world.spawn_fails()
        else:
            world.advance(world.timing.retry_last)
    assert (world.answers[ticket], world.status) == (Result.UNAVAILABLE, "unavailable")
    assert world.task.status.value == "completed"


def test_the_client_of_a_long_recovery_is_answered_before_he_gives_up() -> None:
    world = with_task()
    ticket = world.reset()
    world.advance(world.timing.reset)
    world.stopped()
    world.spawned()
    world.advance(world.timing.reset_answer - world.timing.reset)
    assert (world.answers[ticket], world.status) == (Result.UNAVAILABLE, "resetting")
    world.tells_state("pi-2")
    assert (world.status, world.snapshot.task) == ("ready", None)


@pytest.mark.parametrize(
    ("reach", "result"),
    [
        (lambda world: None, Result.RESET_WHILE_BUSY),
        (lambda world: world.open(), Result.RESET_WHILE_BUSY),
        (lambda world: world.until_working(), Result.RESET_WHILE_BUSY),
        (lambda world: (world.until_working(), world.cancel()), Result.RESET_WHILE_BUSY),
        (lambda world: (world.until_ready(), world.reset()), Result.RESET_WHILE_BUSY),
    ],
)
def test_outside_of_ready_a_reset_is_refused_and_changes_nothing(reach, result: Result) -> None:
    world = World()
    reach(world)
    before = world.snapshot
    assert world.answers[world.reset()] is result
    assert world.snapshot == before


def test_a_reset_leads_out_of_unavailable_at_once() -> None:
    world = World().until_unavailable()
    ticket = world.reset()
    assert (world.status, world.starts) == ("resetting", 4)
    world.spawned()
    world.tells_state()
    assert (world.answers[ticket], world.status) == (Result.ACCEPTED, "ready")


def test_a_reset_out_of_unavailable_may_fail_again() -> None:
    world = World().until_unavailable()
    ticket = world.reset()
    for _ in range(3):
        world.spawn_fails()
        world.advance(1.0)
    assert (world.answers[ticket], world.status) == (Result.UNAVAILABLE, "unavailable")


def test_dialogs_and_events_during_a_reset_do_no_harm() -> None:
    world = with_task()
    world.reset()
    world.says("extension_ui_request", id="sure", method="confirm")
    assert world.sent[-1]["type"] == "extension_ui_response"
    world.says("agent_end", messages=[])
    world.says("agent_settled", aborted=True)
    assert world.status == "resetting"


def test_closing_answers_a_reset_that_is_under_way() -> None:
    world = with_task()
    ticket = world.reset()
    world.do(world.session.close)
    assert world.answers[ticket] is Result.UNAVAILABLE


def test_a_compaction_of_the_old_conversation_does_not_hold_up_the_new_one() -> None:
    world = with_task()
    world.says("compaction_start", reason="manual")
    world.reset()
    granted(world)
    world.tells_state("pi-2")
    world.until_sent()


class TestAnotherEnvironment:
    """What is in the environment, an API key above all, reaches a new process only."""

    def test_a_reset_of_a_pi_without_a_model_brings_a_new_one(self) -> None:
        world = World().until_ready(model=None)
        ticket = world.reset()
        assert (world.status, world.error, world.stopping) == ("resetting", texts.RESTARTING, 1)
        assert "new_session" not in world.sent_types()
        world.stopped()
        world.spawned()
        world.tells_state("pi-2")
        assert (world.answers[ticket], world.status, world.error) == (Result.ACCEPTED, "ready", None)
        assert world.snapshot.session.model == "test/model"

    def test_a_reset_of_an_outdated_pi_brings_a_new_one_and_forgets_the_task(self) -> None:
        world = with_task()
        world.do(world.session.outdated)
        assert (world.status, world.starts, world.stopping) == ("ready", 1, None)
        ticket = world.reset()
        world.stopped()
        assert world.starts == 2, "at once, since a person waits"
        world.spawned()
        world.tells_state("pi-2")
        assert (world.answers[ticket], world.snapshot.task) == (Result.ACCEPTED, None)
        world.reset()
        assert world.sent[-1]["type"] == "new_session", "the new one is not outdated"

    def test_a_new_one_that_does_not_start_is_unavailable(self) -> None:
        world = World().until_ready(model=None)
        ticket = world.reset()
        world.stopped()
        for _ in range(world.timing.attempts):
            world.spawn_fails()
            world.advance(world.timing.retry_last)
        assert (world.answers[ticket], world.status) == (Result.UNAVAILABLE, "unavailable")

    def test_an_idle_pi_without_a_model_is_replaced_and_the_task_stays(self) -> None:
        world = World().until_ready(model=None)
        world.submit()
        world.journaled()
        world.answers_to("new_session", success=False)
        world.answers_to("prompt", success=False)
        task = world.task
        world.do(world.session.outdated)
        assert (world.status, world.error, world.stopping) == ("starting", texts.RESTARTING, 1)
        world.stopped()
        world.spawned()
        world.tells_state("pi-2")
        assert (world.status, world.snapshot.session.model, world.task) == ("ready", "test/model", task)

    def test_one_that_is_still_starting_is_replaced_when_it_turns_out_to_lack_a_model(self) -> None:
        world = World()
        world.open()
        world.do(world.session.outdated)
        world.spawned()
        world.tells_state(model=None)
        assert (world.status, world.stopping) == ("starting", 1)
        world.until_restarted()
        assert (world.status, world.starts) == ("ready", 2)

    def test_the_task_comes_first(self) -> None:
        world = World().until_ready(model=None)
        world.submit()
        world.journaled()
        world.do(world.session.outdated)
        assert (world.status, world.stopping) == ("busy", None)
        world.answers_to("new_session", success=False)
        world.answers_to("prompt", success=False)
        assert (world.status, world.stopping) == ("starting", 1)

    def test_a_second_one_without_a_model_stays(self) -> None:
        world = World().until_ready(model=None)
        world.do(world.session.outdated)
        world.stopped()
        world.spawned()
        world.tells_state("pi-2", model=None)
        world.tick()
        assert (world.status, world.error, world.starts) == ("ready", texts.NO_MODEL, 2)

    @pytest.mark.parametrize("reach", [lambda world: None, lambda world: world.until_unavailable()])
    def test_where_there_is_no_pi_nothing_happens(self, reach) -> None:
        world = World()
        reach(world)
        before = world.snapshot
        world.do(world.session.outdated)
        assert world.snapshot == before
