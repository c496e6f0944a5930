"""When a run is over, for the line of Pi that says so and for the one that must be asked."""

from __future__ import annotations

from itertools import pairwise

import pytest

from flask_pi_taskbar.contract import texts
from tests.session.worlds import World


def fences(world: World) -> int:
    return sum(message["id"].startswith("settle-") for message in world.sent)


def working(line: str) -> World:
    return World().until_working("started" if line == "new" else None)


# The line that says so


def test_the_newer_line_is_believed_at_once_and_never_asked() -> None:
    world = working("new")
    world.message_ends("stop")
    world.says("agent_end", messages=[], willRetry=False)
    assert world.task.status.value == "running"
    world.says("agent_settled", aborted=False)
    assert (world.outcome, world.status, fences(world)) == (("completed", None), "ready", 0)


def test_settled_comes_without_agent_end_when_the_session_file_cannot_be_written() -> None:
    world = working("new")
    world.message_ends("error")
    world.says("agent_settled", aborted=False)
    assert world.outcome == ("failed", texts.PROVIDER_ERROR)


def test_settled_before_the_prompt_is_accepted_belongs_to_something_else() -> None:
    world = World().until_sent()
    world.says("agent_settled", aborted=False)
    assert world.task.status.value == "running"
    world.answers_to("prompt", data={"disposition": "started"})
    world.says("agent_start")
    assert world.task.status.value == "running"
    world.says("agent_settled", aborted=False)
    assert world.outcome == ("completed", None)


def test_a_run_that_an_extension_aborted_is_no_success() -> None:
    world = working("new")
    world.says("agent_settled", aborted=True)
    assert world.outcome == ("failed", texts.STOPPED_BY_PI)


def test_a_settled_that_never_comes_is_asked_for_after_a_while() -> None:
    world = working("new")
    world.says("agent_end", messages=[])
    assert fences(world) == 0
    world.advance(world.timing.patience)
    assert fences(world) == 1
    world.tells_state(isStreaming=True)
    assert world.task.status.value == "running"
    world.advance(world.timing.ask_first)
    world.tells_state()
    assert world.outcome == ("completed", None)


# The line that must be asked


def test_the_older_line_is_asked_as_soon_as_a_loop_ends() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    assert fences(world) == 1
    assert world.task.status.value == "running"
    world.tells_state()
    assert (world.outcome, world.status) == (("completed", None), "ready")


@pytest.mark.parametrize("state", [{"isStreaming": True}, {"isCompacting": True}, {"isStreaming": None}])
def test_as_long_as_pi_is_at_work_it_is_asked_again_more_and_more_seldom(state: dict[str, object]) -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    moments = []
    for _ in range(8):
        moments.append(world.now)
        world.tells_state(**state)
        due = world.session.deadline()
        assert due is not None
        world.advance(due - world.now)
    gaps = [after - before for before, after in pairwise(moments)]
    assert gaps == sorted(gaps)
    assert gaps[-1] == pytest.approx(world.timing.ask_last)
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_after_new_work_the_questions_begin_anew() -> None:
    world = working("old")
    for _ in range(2):
        world.says("agent_end", messages=[])
        for pause in (world.timing.ask_first, 2 * world.timing.ask_first):
            world.tells_state(isStreaming=True)
            assert world.session.deadline() == pytest.approx(world.now + pause)
            world.advance(pause)
        world.tells_state(isStreaming=True)
        world.says("agent_start")


def test_a_refused_question_is_asked_again() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.answers_to("get_state", success=False)
    world.advance(world.timing.ask_first)
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_a_question_that_is_not_answered_fails_the_task() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.advance(world.timing.fence)
    assert (world.outcome, world.status) == (("failed", texts.END_UNCONFIRMED), "starting")


def test_there_is_never_more_than_one_question_open() -> None:
    world = working("old")
    for _ in range(5):
        world.says("agent_end", messages=[])
        world.says("agent_start")
    world.says("agent_end", messages=[])
    assert fences(world) == 1
    world.tells_state()
    assert fences(world) == 2, "the first answer was out of date"
    assert world.task.status.value == "running"
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_a_retry_that_begins_after_the_question_keeps_the_run_open() -> None:
    """… although Pi does not stream in the pause, and says so."""
    world = working("old")
    world.message_ends("error")
    world.says("agent_end", messages=[])
    world.says("auto_retry_start", attempt=1, maxAttempts=3)
    world.tells_state()
    world.advance(60)
    assert (world.task.status.value, fences(world)) == ("running", 1)
    world.says("agent_start")
    world.message_ends("stop")
    world.says("auto_retry_end", success=True, attempt=1)
    world.says("agent_end", messages=[])
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_a_compaction_in_a_retrys_pause_does_not_end_the_run() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.says("auto_retry_start", attempt=1, maxAttempts=3)
    world.tells_state()
    world.says("compaction_start", reason="threshold")
    world.says("compaction_end", reason="threshold", willRetry=False)
    world.advance(60)
    assert (world.task.status.value, fences(world)) == ("running", 1)


def test_the_last_failed_retry_ends_the_run() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.says("auto_retry_start", attempt=1, maxAttempts=1)
    world.tells_state()
    world.says("agent_start")
    world.message_ends("error")
    world.says("agent_end", messages=[])
    world.says("auto_retry_end", success=False, attempt=1)
    world.tells_state()
    world.tells_state()
    assert world.outcome == ("failed", texts.RETRIES_FAILED)


def test_a_compaction_after_the_loop_keeps_the_run_open() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.says("compaction_start", reason="threshold")
    world.tells_state()
    world.advance(60)
    assert world.task.status.value == "running"
    world.says("compaction_end", reason="threshold", willRetry=False)
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_after_a_compaction_that_will_retry_the_next_loop_is_waited_for() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.says("compaction_start", reason="overflow")
    world.tells_state()
    world.says("compaction_end", reason="overflow", willRetry=True)
    world.advance(0.9 * world.timing.patience)
    assert fences(world) == 1
    world.says("agent_start")
    world.advance(60)
    assert (world.task.status.value, fences(world)) == ("running", 1)
    world.says("agent_end", messages=[])
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_a_next_loop_that_fails_silently_is_not_waited_for_longer_than_a_second() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.says("compaction_start", reason="overflow")
    world.tells_state()
    world.says("compaction_end", reason="overflow", willRetry=True)
    world.advance(world.timing.patience)
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_queued_messages_are_believed_for_a_second() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    start = world.now
    while world.task.status.value == "running":
        world.tells_state(pendingMessageCount=1)
        if (due := world.session.deadline()) is not None and world.task.status.value == "running":
            world.advance(due - world.now)
    assert world.outcome == ("completed", None)
    assert world.timing.queued <= world.now - start <= world.timing.queued + world.timing.ask_last


def test_after_new_work_the_queue_is_believed_anew() -> None:
    world = working("old")
    for _ in range(2):
        world.says("agent_end", messages=[])
        world.advance(0.9 * world.timing.queued)
        world.tells_state(pendingMessageCount=1)
        assert world.task.status.value == "running"
        world.says("agent_start")
        world.advance(world.timing.queued)


@pytest.mark.parametrize("count", [0, -1, None, "1", True])
def test_a_queue_of_nothing_is_no_work(count: object) -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.tells_state(pendingMessageCount=count)
    assert world.outcome == ("completed", None)


def test_after_an_abort_the_queue_says_nothing() -> None:
    world = working("old")
    world.message_ends("aborted")
    world.says("agent_end", messages=[])
    world.tells_state(pendingMessageCount=3)
    assert world.outcome == ("failed", texts.STOPPED_BY_PI)


# A prompt that starts nothing


def test_a_handled_prompt_completes_at_once() -> None:
    world = World().until_accepted("handled")
    assert (world.outcome, world.status) == (("completed", None), "ready")


def test_without_a_disposition_an_accepted_prompt_that_starts_nothing_is_asked_for() -> None:
    world = World().until_accepted(None)
    world.advance(0.9 * world.timing.patience)
    assert fences(world) == 0
    world.advance(0.1 * world.timing.patience)
    assert fences(world) == 1
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_a_loop_that_begins_late_is_not_cut_off() -> None:
    world = World().until_accepted(None)
    world.advance(world.timing.patience)
    world.tells_state(isStreaming=True)
    world.says("agent_start")
    world.advance(600)
    assert (world.task.status.value, fences(world)) == ("running", 1)


def test_a_command_that_ran_its_loop_before_it_was_answered_is_over() -> None:
    world = World().until_sent()
    world.says("agent_start")
    world.says("agent_end", messages=[])
    world.says("agent_settled", aborted=False)
    world.answers_to("prompt", data={"disposition": "handled"})
    world.advance(world.timing.patience)
    world.tells_state()
    assert world.outcome == ("completed", None)


def test_the_next_task_is_not_ended_by_the_late_answer_for_the_last_one() -> None:
    world = working("old")
    world.says("agent_end", messages=[])
    world.says("agent_start")
    world.says("agent_settled")
    late = world.sent[-1]["id"]
    world.until_sent("next")
    world.answers_to("prompt")
    world.says("response", id=late, command="get_state", success=True, data={"isStreaming": False})
    assert world.task.status.value == "running"
