"""Admission: one task at a time, on disk before Pi hears of it."""

from __future__ import annotations

import gc
import weakref

import pytest

from flask_pi_taskbar.broker.effects import Answer, Journal, Result, Send
from flask_pi_taskbar.contract import TaskRequest, envelope, texts
from flask_pi_taskbar.contract.snapshot import TaskStatus, TaskView
from tests.session.worlds import World, task_request


def test_the_prompt_is_journaled_then_answered_then_sent() -> None:
    world = World().until_ready()
    world.log.clear()
    ticket = world.submit("Do it.")
    assert world.log == [Journal(world.task.id, "Do it.", world.task.started_at)]
    assert ticket in world.open_tickets
    assert (world.status, world.task.status.value, world.task.activity) == ("busy", "running", texts.STARTING)
    world.log.clear()
    world.journaled()
    prompt = {"type": "prompt", "id": f"task-{world.task.id}", "message": envelope(task_request("Do it."))}
    assert world.log == [Answer(ticket, Result.ACCEPTED), Send(1, prompt)]


def test_two_submits_at_once_give_one_accepted_and_one_busy() -> None:
    world = World().until_ready()
    first, second = world.submit("one"), world.submit("two")
    world.journaled()
    assert (world.answers[first], world.answers[second]) == (Result.ACCEPTED, Result.BUSY)
    assert world.task.prompt == "one"


@pytest.mark.parametrize(
    ("reach", "result"),
    [
        (lambda world: None, Result.UNAVAILABLE),
        (lambda world: world.open(), Result.UNAVAILABLE),
        (lambda world: (world.until_ready(), world.exits()), Result.UNAVAILABLE),
        (lambda world: world.until_working(), Result.BUSY),
        (lambda world: (world.until_ready(), world.reset()), Result.BUSY),
        (lambda world: (world.until_ready(), world.reset(), world.exits()), Result.BUSY),
        (lambda world: world.until_unavailable(), Result.UNAVAILABLE),
    ],
)
def test_outside_of_ready_a_submit_is_refused(reach, result: Result) -> None:
    world = World()
    reach(world)
    before = world.snapshot
    assert world.answers[world.submit()] is result
    assert world.snapshot == before


def test_what_cannot_be_recorded_is_not_sent_and_pi_stays() -> None:
    world = World().until_ready()
    ticket = world.submit()
    world.journaled(ok=False)
    assert world.answers[ticket] is Result.UNAVAILABLE
    assert (world.status, world.outcome) == ("ready", ("failed", texts.NOT_RECORDED))
    assert "prompt" not in world.sent_types()
    assert world.stopping is None
    world.until_sent("again")


def test_a_journal_that_hangs_counts_as_one_that_failed() -> None:
    world = World().until_ready()
    ticket = world.submit()
    world.advance(world.timing.journal)
    assert world.answers[ticket] is Result.UNAVAILABLE
    assert world.outcome == ("failed", texts.NOT_RECORDED)
    world.journaled()
    assert "prompt" not in world.sent_types()


def test_a_pi_that_dies_while_the_prompt_is_journaled_never_gets_it() -> None:
    world = World().until_ready()
    ticket = world.submit()
    world.exits()
    assert world.answers[ticket] is Result.UNAVAILABLE
    assert (world.outcome, world.error) == (("failed", texts.LOST_BEFORE_TASK), texts.RESTARTING)
    world.journaled()
    world.until_restarted()
    assert world.sent_types() == ["get_state"]


def test_a_refused_prompt_fails_the_task_and_keeps_pi() -> None:
    world = World().until_sent()
    session = world.snapshot.session
    world.answers_to("prompt", success=False, error="provider detail")
    assert world.outcome == ("failed", texts.REJECTED_TASK)
    assert world.snapshot.session.id == session.id
    assert (world.status, world.stopping) == ("ready", None)


def test_a_prompt_waits_for_the_end_of_a_compaction() -> None:
    world = World().until_ready()
    world.says("compaction_start", reason="manual")
    world.submit()
    world.journaled()
    assert "prompt" not in world.sent_types()
    assert world.task.activity == texts.COMPACTING
    world.says("compaction_end", reason="manual")
    assert world.sent_types()[-1] == "prompt"


def test_a_prompt_does_not_wait_for_a_compaction_whose_end_was_not_told() -> None:
    world = World().until_ready()
    world.says("compaction_start", reason="manual")
    world.submit()
    world.journaled()
    world.advance(world.timing.patience)
    world.tells_state(isCompacting=True)
    assert "prompt" not in world.sent_types()
    world.advance(world.timing.ask_last)
    world.tells_state()
    assert world.sent_types()[-1] == "prompt"
    world.answers_to("prompt", data={"disposition": "handled"})
    assert world.outcome == ("completed", None)


@pytest.mark.parametrize("recorded", [True, False])
def test_the_time_limit_holds_for_a_task_that_still_waits(recorded: bool) -> None:
    world = World(task_timeout=3).until_ready()
    world.says("compaction_start", reason="manual")
    world.submit()
    if recorded:
        world.journaled()
    world.advance(3)
    assert world.outcome == ("failed", texts.TIME_LIMIT)
    assert world.status == ("starting" if recorded else "ready")


def test_a_prompt_that_meets_silence_is_asked_after_and_a_deaf_pi_replaced() -> None:
    world = World().until_sent()
    world.advance(world.timing.silence)
    assert world.sent_types()[-1] == "get_state"
    world.tells_state()
    world.advance(world.timing.silence)
    assert world.sent_types()[-1] == "get_state"
    world.advance(world.timing.fence)
    assert (world.status, world.outcome) == ("starting", ("failed", texts.END_UNCONFIRMED))


@pytest.mark.parametrize("model", [None, {"provider": "unknown", "id": "unknown"}])
def test_without_a_model_a_submit_looks_for_one_first(model: object) -> None:
    """Pi reads its model configuration anew for a new conversation: who has logged in meanwhile gets his answer."""
    world = World().until_ready(model=model)
    session = world.snapshot.session.id
    world.submit()
    world.journaled()
    assert world.sent_types()[-1] == "new_session"
    world.answers_to("new_session", data={"cancelled": False})
    world.tells_state("pi-2")
    assert world.sent_types()[-1] == "prompt"
    assert (world.status, world.snapshot.session.model, world.error) == ("busy", "test/model", None)
    assert world.snapshot.session.id != session


@pytest.mark.parametrize(
    "answer",
    [
        lambda world: world.answers_to("new_session", success=False),
        lambda world: world.answers_to("new_session", data={"cancelled": True}),
        lambda world: (
            world.answers_to("new_session", data={"cancelled": False}),
            world.tells_state("pi-2", model=None),
        ),
        lambda world: (world.answers_to("new_session", data={"cancelled": False}), world.tells_state("")),
    ],
)
def test_without_a_model_pi_has_the_last_word(answer) -> None:
    world = World().until_ready(model=None)
    world.submit()
    world.journaled()
    answer(world)
    assert world.sent_types()[-1] == "prompt"
    world.answers_to("prompt", success=False)
    assert (world.outcome, world.error) == (("failed", texts.REJECTED_TASK), texts.NO_MODEL)
    assert world.status == "ready"


def test_a_new_conversation_that_does_not_come_fails_the_task_that_waits_for_it() -> None:
    world = World().until_ready(model=None)
    world.submit()
    world.journaled()
    world.advance(world.timing.reset)
    assert (world.status, world.outcome) == ("starting", ("failed", texts.LOST_BEFORE_TASK))


class Page(dict):  # type: ignore[type-arg]
    """A context that can be watched."""


def test_the_request_is_dropped_once_the_prompt_is_sent() -> None:
    world = World().until_ready()
    context = Page(text="x" * 100_000)
    page = weakref.ref(context)
    world.do(world.session.submit, TaskRequest("Do it.", context), world.new_ticket())
    del context
    assert page() is not None
    world.journaled()
    world.sent.clear()
    world.log.clear()
    gc.collect()
    assert page() is None


def test_a_restored_task_is_shown_until_the_next_one() -> None:
    view = TaskView(
        id="old",
        prompt="Do it.",
        status=TaskStatus.FAILED,
        activity=texts.TASK_FAILED,
        error=texts.INTERRUPTED,
        started_at="2026-08-04T00:00:00.000000Z",
        finished_at="2026-08-04T00:00:01.000000Z",
        output="so far",
        output_truncated=True,
    )
    world = World(restored=view).until_ready()
    assert world.task == view
    assert world.answers[world.cancel("old")] is Result.NOT_CANCELLABLE
    world.until_sent("next")
    assert world.task.prompt == "next"
