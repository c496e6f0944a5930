"""Starting a Pi, losing it, starting the next, giving up and coming back."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.broker.effects import Dismiss, Result, Stop
from flask_pi_taskbar.broker.records import Fault, FaultKind
from flask_pi_taskbar.contract import texts
from tests.session.worlds import MODEL, World


def test_the_first_question_is_asked_as_soon_as_the_process_runs() -> None:
    world = World()
    world.open()
    assert world.status == "starting"
    assert world.sent == []
    world.spawned()
    assert world.sent_types() == ["get_state"]
    assert world.sent[0]["id"].startswith("startup-")
    world.tells_state()
    assert (world.status, world.snapshot.session.model, world.error) == ("ready", "test/model", None)


def test_every_accepted_state_is_a_new_session() -> None:
    world = World().until_ready()
    first = world.snapshot.session.id
    world.exits()
    assert (world.snapshot.session.id, world.snapshot.session.model) == (None, None)
    world.until_restarted()
    assert world.snapshot.session.id not in (None, first)


@pytest.mark.parametrize(
    ("model", "label"),
    [
        (MODEL, "test/model"),
        ("plain-model", "plain-model"),
        ({"provider": "a\tb", "id": " c \u202e"}, "a b/ c"),
        ({"provider": "p", "id": "é" * 200}, "p/" + "é" * 127),
    ],
)
def test_the_model_is_shown_on_one_short_line(model: object, label: str) -> None:
    assert World().until_ready(model=model).snapshot.session.model == label


@pytest.mark.parametrize("model", [None, {"provider": "unknown", "id": "unknown"}])
def test_a_pi_without_a_model_is_ready_and_says_what_to_do(model: object) -> None:
    world = World().until_ready(model=model)
    assert (world.status, world.snapshot.session.model, world.error) == ("ready", None, texts.NO_MODEL)


@pytest.mark.parametrize(
    ("happens", "error"),
    [
        (lambda world: world.answers_to("get_state", success=False), texts.STARTUP_REJECTED),
        (lambda world: world.tells_state(""), texts.STARTUP_INVALID),
        (lambda world: world.tells_state(42), texts.STARTUP_INVALID),
        (lambda world: world.tells_state(model=42), texts.STARTUP_INVALID),
        (lambda world: world.tells_state(model={"provider": "p"}), texts.STARTUP_INVALID),
        (lambda world: world.tells_state(model=" \u0007"), texts.STARTUP_INVALID),
        (lambda world: world.says("response", id="never-issued", success=True), texts.UNEXPECTED_RESPONSE),
        (lambda world: world.answers_to("get_state", success="yes"), texts.UNEXPECTED_RESPONSE),
        (lambda world: world.says(Fault(FaultKind.MALFORMED)), texts.PROTOCOL_FAILED),
        (lambda world: world.says("extension_ui_request", method="confirm", id=""), texts.MALFORMED_EVENT),
        (lambda world: world.exits(), texts.STARTUP_STOPPED),
        (lambda world: world.stalls(), texts.WRITE_STALLED),
        (lambda world: world.advance(world.timing.start), texts.START_TIMEOUT),
    ],
)
def test_a_start_that_fails_is_repeated_with_the_reason_shown(happens, error: str) -> None:
    world = World()
    world.open()
    world.spawned()
    happens(world)
    assert (world.status, world.error) == ("starting", error)
    assert world.stopping == 1
    world.until_restarted()
    assert (world.status, world.error, world.starts) == ("ready", None, 2)


def test_events_and_display_requests_before_the_first_answer_are_no_failure() -> None:
    world = World()
    world.open()
    world.spawned()
    world.says("extension_ui_request", method="setStatus", id=7)
    world.says("session_info_changed", name="x")
    world.tells_state()
    assert world.status == "ready"


def test_a_dialog_at_the_start_is_cancelled_so_that_pi_goes_on() -> None:
    world = World()
    world.open()
    world.spawned()
    world.says("extension_ui_request", method="select", id="d1")
    assert world.sent[-1] == {"type": "extension_ui_response", "id": "d1", "cancelled": True}


def test_after_three_starts_in_a_row_it_gives_up() -> None:
    world = World()
    world.open()
    for _ in range(3):
        assert world.status == "starting"
        world.spawn_fails()
        world.advance(1.0)
    assert (world.status, world.error, world.starts) == ("unavailable", texts.RESTART_FAILED, 3)
    assert world.session.deadline() is None


@pytest.mark.parametrize(
    ("happens", "error"),
    [
        (lambda world: world.exits(), texts.STOPPED_UNEXPECTEDLY),
        (lambda world: world.says(Fault(FaultKind.NON_OBJECT)), texts.PROTOCOL_FAILED),
        (lambda world: world.says("response", id="never-issued", success=True), texts.PROTOCOL_FAILED),
        (lambda world: world.says("extension_ui_request", method="input"), texts.MALFORMED_EVENT),
        (lambda world: world.stalls(), texts.WRITE_STALLED),
    ],
)
def test_an_idle_pi_that_is_lost_is_replaced_and_no_task_is_invented(happens, error: str) -> None:
    world = World().until_ready()
    happens(world)
    assert (world.status, world.error, world.snapshot.task) == ("starting", error, None)
    assert world.until_restarted().status == "ready"


def test_the_next_pi_is_started_only_when_the_old_tree_is_gone() -> None:
    world = World().until_ready()
    world.advance(world.timing.steady)
    world.exits()
    world.advance(1.0)
    assert world.starts == 1
    world.stopped()
    assert world.starts == 2


def test_what_an_old_incarnation_still_says_is_not_heard() -> None:
    world = World().until_ready()
    world.exits()
    revision = world.session.revision
    world.do(world.session.record, 1, {"type": "response", "id": "x", "success": True})
    world.do(world.session.exited, 1)
    world.do(world.session.write_stalled, 1)
    assert world.session.revision == revision
    world.until_restarted()
    for late in (world.session.exited, world.session.stopped, world.session.spawned, world.session.spawn_failed):
        world.do(late, 1)
    assert world.status == "ready"


def test_a_tree_that_cannot_be_stopped_makes_the_session_unavailable_until_it_is() -> None:
    world = World().until_ready()
    world.exits()
    world.advance(world.timing.stop)
    assert (world.status, world.starts) == ("unavailable", 1)
    assert world.session.idle
    world.reset()
    assert world.status == "resetting"
    world.stopped()
    assert world.starts == 2


def test_a_pi_that_dies_after_each_start_is_not_started_for_ever() -> None:
    world = World()
    world.open()
    for _ in range(1_000):
        if world.status == "unavailable":
            break
        if world.child is None:
            world.advance(world.timing.retry_last)
        else:
            world.spawned()
            world.tells_state()
            world.advance(0.1)
            world.exits()
            world.stopped()
    assert world.status == "unavailable"
    assert world.starts <= world.timing.window_starts
    before = world.starts
    for _ in range(600):  # a page that polls for ten minutes
        world.advance(1.0)
        world.do(world.session.read)
        if world.child is not None:
            world.spawned()
            world.tells_state()
            world.exits()
            world.stopped()
    assert world.starts - before <= 6


def test_a_read_tries_again_only_after_the_cool_down() -> None:
    world = World().until_unavailable()
    world.do(world.session.read)
    assert (world.status, world.starts) == ("unavailable", 3)
    world.advance(world.timing.cool_down_first)
    world.do(world.session.read)
    assert (world.status, world.starts) == ("starting", 4)
    world.spawn_fails()
    assert world.status == "unavailable"
    world.advance(world.timing.cool_down_first)
    world.do(world.session.read)
    assert world.status == "unavailable", "the second pause is longer"
    world.advance(world.timing.cool_down_first)
    world.do(world.session.read)
    world.spawned()
    world.tells_state()
    assert world.status == "ready"


def test_a_pi_that_became_steady_is_forgiven_its_past() -> None:
    world = World().until_unavailable()
    world.advance(world.timing.cool_down_first)
    world.do(world.session.read)
    world.spawned()
    world.tells_state()
    world.advance(world.timing.steady)
    world.exits()
    world.stopped()
    assert (world.status, world.child) == ("starting", 5)
    for _ in range(3):
        assert world.status == "starting"
        world.spawn_fails()
        world.advance(1.0)
    assert world.status == "unavailable"


def test_closing_stops_pi_and_starts_no_other() -> None:
    world = World().until_ready()
    world.do(world.session.close)
    assert (world.status, world.error) == ("unavailable", texts.BROKER_UNAVAILABLE)
    assert not world.session.idle
    world.stopped()
    assert world.session.idle
    assert world.session.deadline() is None
    assert world.answers[world.submit()] is Result.UNAVAILABLE
    assert world.answers[world.reset()] is Result.UNAVAILABLE
    world.do(world.session.read)
    world.do(world.session.close)
    world.open()
    world.advance(10_000)
    assert world.starts == 1


def test_closing_while_a_start_is_planned_makes_none() -> None:
    world = World().until_ready()
    world.exits()
    world.stopped()
    world.do(world.session.close)
    world.advance(10_000)
    assert world.starts == 1
    assert world.session.idle


@pytest.mark.parametrize(
    ("reach", "idle"),
    [
        (lambda world: None, True),
        (lambda world: world.open(), False),
        (lambda world: world.until_ready(), True),
        (lambda world: world.until_working(), False),
        (lambda world: (world.until_ready(), world.reset()), False),
        (lambda world: world.until_unavailable(), True),
    ],
)
def test_idle_says_whether_the_broker_may_leave(reach, idle: bool) -> None:
    world = World()
    reach(world)
    assert world.session.idle is idle


@pytest.mark.parametrize(
    ("reach", "how"),
    [
        (lambda world: (world.until_ready(), world.do(world.session.close)), Dismiss),
        (lambda world: (world.until_ready(model=None), world.reset()), Dismiss),
        (lambda world: (world.until_ready(model=None), world.do(world.session.outdated)), Dismiss),
        (lambda world: (world.until_working(), world.says("agent_settled"), world.do(world.session.close)), Dismiss),
        (lambda world: (world.until_working(), world.do(world.session.close)), Stop),
        (lambda world: (world.until_working(), world.cancel(), world.do(world.session.close)), Stop),
        (lambda world: (world.until_working(), world.cancel(), world.advance(world.timing.abort)), Stop),
        (lambda world: (world.until_working(), world.advance(1_800.0)), Stop),
        (lambda world: (world.until_working(), world.exits()), Stop),
        (lambda world: (world.until_ready(), world.exits()), Stop),
        (lambda world: (world.until_ready(), world.reset(), world.do(world.session.close)), Stop),
        (lambda world: (world.open(), world.spawned(), world.do(world.session.close)), Stop),
    ],
)
def test_only_a_pi_that_is_well_and_idle_is_dismissed(reach, how: type[Stop]) -> None:
    world = World()
    reach(world)
    (end,) = (effect for effect in world.log if isinstance(effect, Stop))
    assert type(end) is how
