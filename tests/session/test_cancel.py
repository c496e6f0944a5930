"""Stopping a task: one abort, at a moment when Pi can take it, and an end in any case."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.broker.effects import Result
from flask_pi_taskbar.contract import texts
from tests.session.worlds import World


def aborts(world: World) -> list[str]:
    return [message["id"] for message in world.sent if message["type"] == "abort"]


def test_a_running_task_is_aborted_once_however_often_it_is_stopped() -> None:
    world = World().until_working()
    tickets = [world.cancel() for _ in range(3)]
    assert {world.answers[ticket] for ticket in tickets} == {Result.ACCEPTED}
    assert aborts(world) == [f"abort-{world.task.id}"]
    assert (world.status, world.task.status.value, world.task.activity) == ("busy", "cancelling", texts.STOPPING)
    assert world.task.finished_at is None


def test_pi_settles_before_it_answers_the_abort_and_is_kept() -> None:
    world = World().until_ready()
    for _ in range(3):
        world.until_sent()
        world.answers_to("prompt", data={"disposition": "started"})
        world.says("agent_start")
        session = world.snapshot.session.id
        world.cancel()
        world.message_ends("aborted")
        world.says("agent_end", messages=[])
        world.says("agent_settled", aborted=True)
        assert (world.status, world.outcome) == ("ready", ("cancelled", None))
        world.answers_to("abort")
        assert (world.snapshot.session.id, world.starts, world.stopping) == (session, 1, None)
    assert world.task.activity == texts.TASK_STOPPED


def test_a_late_answer_to_an_abort_is_not_taken_for_one_to_the_next() -> None:
    world = World().until_working()
    world.cancel()
    late = world.sent[-1]["id"]
    world.says("agent_settled", aborted=True)
    world.until_sent("next")
    world.answers_to("prompt", data={"disposition": "started"})
    world.says("agent_start")
    world.cancel()
    world.says("response", id=late, command="abort", success=False)
    world.says("agent_settled", aborted=True)
    assert (world.outcome, world.stopping) == (("cancelled", None), None)


def test_the_older_line_is_asked_whether_it_has_stopped() -> None:
    world = World().until_working(None)
    world.cancel()
    world.message_ends("aborted")
    world.says("agent_end", messages=[])
    world.answers_to("abort")
    world.tells_state(pendingMessageCount=2)
    assert (world.status, world.outcome, world.starts) == ("ready", ("cancelled", None), 1)


def test_an_abort_in_a_retrys_pause_is_answered_without_the_end_of_a_loop() -> None:
    world = World().until_working(None)
    world.message_ends("error")
    world.says("agent_end", messages=[])
    world.says("auto_retry_start", attempt=1, maxAttempts=3)
    world.tells_state()
    world.cancel()
    world.says("auto_retry_end", success=False, attempt=1, finalError="Retry cancelled")
    world.answers_to("abort")
    world.tells_state()
    assert world.outcome == ("cancelled", None)


def test_an_answered_abort_that_nothing_follows_is_asked_after() -> None:
    world = World().until_working(None)
    world.cancel()
    world.answers_to("abort")
    world.advance(world.timing.patience)
    world.tells_state()
    assert world.outcome == ("cancelled", None)


def test_the_abort_waits_until_pi_has_taken_the_prompt() -> None:
    """Before that it would be answered with success and do nothing."""
    world = World().until_sent()
    world.cancel()
    assert aborts(world) == []
    world.answers_to("prompt", data={"disposition": "started"})
    assert len(aborts(world)) == 1


def test_an_abort_that_came_too_early_is_repeated() -> None:
    world = World().until_accepted()
    world.cancel()
    world.answers_to("abort")
    world.says("agent_start")
    assert aborts(world) == [f"abort-{world.task.id}", f"abort-{world.task.id}-1"]
    world.says("agent_settled", aborted=True)
    assert world.outcome == ("cancelled", None)


def test_an_abort_that_did_nothing_is_repeated_when_pi_says_that_it_works() -> None:
    world = World().until_working(None)
    world.cancel()
    world.answers_to("abort")
    world.advance(world.timing.patience)
    world.tells_state(isStreaming=True)
    assert len(aborts(world)) == 2


def test_what_pi_does_not_stop_in_time_is_cancelled_by_replacing_it() -> None:
    world = World().until_working()
    world.advance(100)
    world.cancel()
    world.advance(world.timing.abort)
    assert world.outcome == ("cancelled", texts.CANCELLATION_DEADLINE)
    assert (world.status, world.error) == ("starting", texts.RESTARTING)
    assert world.answers[world.cancel()] is Result.CANCELLED
    assert world.until_restarted().status == "ready"


def test_a_question_that_was_open_before_does_not_spoil_the_cancellation() -> None:
    world = World().until_working(None)
    world.says("agent_end", messages=[])
    world.advance(world.timing.fence - 1)
    world.cancel()
    world.advance(world.timing.abort)
    assert world.outcome == ("cancelled", texts.CANCELLATION_DEADLINE)


def test_the_deadline_counts_from_the_abort_and_a_repetition_does_not_prolong_it() -> None:
    world = World().until_sent()
    world.cancel()
    world.advance(world.timing.abort - 1)
    world.answers_to("prompt", data={"disposition": "started"})
    world.advance(world.timing.abort - 1)
    world.answers_to("abort")
    world.says("agent_start")
    assert len(aborts(world)) == 2
    world.advance(1)
    assert world.outcome == ("cancelled", texts.CANCELLATION_DEADLINE)


def test_a_prompt_that_is_never_taken_cannot_hold_the_cancellation_up() -> None:
    world = World().until_sent()
    world.cancel()
    world.advance(world.timing.abort)
    assert world.outcome == ("cancelled", texts.CANCELLATION_DEADLINE)


def test_a_refused_abort_replaces_pi() -> None:
    world = World().until_working()
    world.cancel()
    world.answers_to("abort", success=False)
    assert (world.outcome, world.status) == (("failed", texts.REJECTED_CANCELLATION), "starting")


def test_a_prompt_refused_while_cancelling_has_been_cancelled() -> None:
    world = World().until_sent()
    world.cancel()
    world.answers_to("prompt", success=False)
    assert (world.outcome, world.status) == (("cancelled", None), "ready")


def test_a_task_that_is_not_on_disk_yet_is_cancelled_without_a_word_to_pi() -> None:
    world = World().until_ready()
    submitted = world.submit()
    assert world.answers[world.cancel()] is Result.ACCEPTED
    assert world.task.status.value == "cancelling"
    world.journaled()
    assert world.answers[submitted] is Result.ACCEPTED
    assert (world.outcome, world.sent_types()) == (("cancelled", None), ["get_state"])
    assert world.answers[world.cancel()] is Result.CANCELLED


def test_a_task_that_waits_for_a_compaction_is_cancelled_at_once() -> None:
    world = World().until_ready()
    world.says("compaction_start", reason="manual")
    world.submit()
    world.journaled()
    assert world.answers[world.cancel()] is Result.CANCELLED
    assert (world.status, world.outcome) == ("ready", ("cancelled", None))
    world.says("compaction_end", reason="manual")
    assert "prompt" not in world.sent_types()


def test_a_task_that_waits_for_a_model_is_cancelled_when_pi_has_answered() -> None:
    world = World().until_ready(model=None)
    world.submit()
    world.journaled()
    assert world.answers[world.cancel()] is Result.ACCEPTED
    world.answers_to("new_session", data={"cancelled": False})
    world.tells_state("pi-2")
    assert (world.status, world.outcome) == ("ready", ("cancelled", None))
    assert "prompt" not in world.sent_types()


@pytest.mark.parametrize("unheard", ["new_session", "get_state"])
def test_a_task_that_waits_for_a_model_in_vain_is_cancelled_by_the_deadline(unheard: str) -> None:
    world = World().until_ready(model=None)
    world.submit()
    world.journaled()
    if unheard == "get_state":
        world.answers_to("new_session", data={"cancelled": False})
    world.cancel()
    world.advance(world.timing.abort)
    assert world.outcome == ("cancelled", None)


@pytest.mark.parametrize(
    ("end", "result"),
    [
        (lambda world: world.says("agent_settled"), Result.NOT_CANCELLABLE),
        (lambda world: (world.message_ends("error"), world.says("agent_settled")), Result.NOT_CANCELLABLE),
        (lambda world: world.exits(), Result.NOT_CANCELLABLE),
        (lambda world: (world.cancel(), world.says("agent_settled")), Result.CANCELLED),
    ],
)
def test_what_has_ended_is_answered_by_how_it_ended(end, result: Result) -> None:
    world = World().until_working()
    end(world)
    revision = world.session.revision
    assert world.answers[world.cancel()] is result
    assert world.session.revision == revision


def test_a_task_of_another_name_is_not_found() -> None:
    world = World().until_ready()
    assert world.answers[world.cancel("any")] is Result.NOT_FOUND
    world.until_working()
    assert world.answers[world.cancel("another")] is Result.NOT_FOUND
    assert aborts(world) == []


@pytest.mark.parametrize(
    "record",
    [
        {"type": "agent_start"},
        {"type": "tool_execution_start", "toolName": "bash"},
        {"type": "message_update", "assistantMessageEvent": {"type": "error"}},
        {"type": "auto_retry_end", "success": False},
        {"type": "compaction_end", "errorMessage": "x"},
        {"type": "message_end", "message": {"role": "assistant", "stopReason": "error"}},
    ],
)
def test_while_cancelling_only_the_end_counts(record: dict[str, object]) -> None:
    world = World().until_working()
    world.cancel()
    world.says(record)
    assert world.task.activity == texts.STOPPING
    world.delta("Last words.")
    assert world.task.output == "Last words."
    world.says("agent_settled", aborted=True)
    assert world.outcome == ("cancelled", None)


def test_a_pi_that_dies_while_cancelling_fails_the_task() -> None:
    world = World().until_working()
    world.cancel()
    world.exits()
    assert world.outcome == ("failed", texts.STOPPED_UNEXPECTEDLY)


def test_the_brokers_end_interrupts_a_running_task_and_completes_a_cancellation() -> None:
    running, cancelling = World().until_working(), World().until_working()
    cancelling.cancel()
    for world in (running, cancelling):
        world.do(world.session.close)
    assert running.outcome == ("failed", texts.INTERRUPTED)
    assert cancelling.outcome == ("cancelled", None)
