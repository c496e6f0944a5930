"""What Pi's records do to a running task: section by section the contract's table of events."""

from __future__ import annotations

from typing import Any

import pytest

from flask_pi_taskbar.broker.records import Fault, FaultKind
from flask_pi_taskbar.contract import texts
from tests.session.worlds import World

TOOL = {"toolCallId": "t", "toolName": "read"}


@pytest.mark.parametrize(
    ("record", "activity"),
    [
        ({"type": "agent_start"}, "Pi is working"),
        ({"type": "agent_end", "messages": []}, "Pi finished a turn"),
        ({"type": "tool_execution_start", **TOOL, "args": {}}, "Running read"),
        ({"type": "tool_execution_update", **TOOL, "partialResult": {}}, "Running read"),
        ({"type": "tool_execution_end", **TOOL, "isError": False}, "Finished read"),
        ({"type": "tool_execution_end", **TOOL, "isError": True}, "Tool failed read"),
        ({"type": "tool_execution_end", **TOOL, "isError": 1}, "Finished read"),
        ({"type": "tool_execution_start"}, "Running a tool"),
        ({"type": "tool_execution_start", "toolName": 7}, "Running a tool"),
        ({"type": "tool_execution_start", "toolName": "x\n\u202ey" + "z" * 200}, "Running x y" + "z" * 97),
        ({"type": "compaction_start", "reason": "threshold"}, "Compacting conversation"),
        ({"type": "compaction_end", "willRetry": False}, "Conversation compacted"),
        ({"type": "compaction_end", "willRetry": True}, "Retrying after compaction"),
        ({"type": "compaction_end", "errorMessage": ""}, "Conversation compacted"),
        ({"type": "auto_retry_start", "attempt": 2, "maxAttempts": 3}, "Retrying request (2/3)"),
        ({"type": "auto_retry_start", "attempt": 2.0, "maxAttempts": 3}, "Retrying request"),
        ({"type": "auto_retry_start", "attempt": True, "maxAttempts": 3}, "Retrying request"),
        ({"type": "auto_retry_start", "attempt": 0, "maxAttempts": 1000}, "Retrying request"),
        ({"type": "auto_retry_end", "success": True}, "Pi is working"),
        ({"type": "auto_retry_end"}, "Pi is working"),
    ],
)
def test_an_event_is_shown_as_an_activity(record: dict[str, Any], activity: str) -> None:
    world = World().until_accepted()
    world.says(record)
    assert (world.task.status.value, world.task.activity) == ("running", activity)


@pytest.mark.parametrize(
    "record",
    [
        {"type": "compaction_end", "errorMessage": "provider detail"},
        {"type": "auto_retry_end", "success": False},
        {"type": "turn_start"},
        {"type": "queue_update", "steering": [], "followUp": []},
        {"type": "entry_appended", "entry": {}},
        {"type": "summarization_retry_scheduled"},
        {"type": "future_event", "anything": {"nested": [1]}},
        {"type": "extension_error", "error": "detail"},
        {"type": "extension_ui_request", "method": "setStatus", "id": "s"},
        {"type": "message_update"},
        {"type": "message_update", "assistantMessageEvent": {"type": "thinking_delta", "delta": "hm"}},
        {"type": "message_update", "assistantMessageEvent": {"type": "toolcall_delta", "delta": 7}},
        {"type": ["agent_start"]},
        {},
    ],
)
def test_other_events_leave_the_activity_alone(record: dict[str, Any]) -> None:
    world = World().until_working()
    before = world.snapshot
    world.says(record)
    assert world.snapshot == before


def test_acceptance_is_shown_once_and_finishes_nothing() -> None:
    world = World().until_accepted()
    assert (world.task.status.value, world.task.activity) == ("running", texts.ACCEPTED)


@pytest.mark.parametrize(
    ("records", "error"),
    [
        (
            [{"type": "message_update", "assistantMessageEvent": {"type": "error", "error": "provider detail"}}],
            texts.MESSAGE_ERROR,
        ),
        ([{"type": "auto_retry_end", "success": False, "finalError": "provider detail"}], texts.RETRIES_FAILED),
        ([{"type": "compaction_end", "errorMessage": "provider detail"}], texts.COMPACTION_FAILED),
        ([{"type": "message_end", "message": {"role": "assistant", "stopReason": "error"}}], texts.PROVIDER_ERROR),
        ([{"type": "message_end", "message": {"role": "assistant", "stopReason": "aborted"}}], texts.STOPPED_BY_PI),
        (
            [
                {"type": "message_update", "assistantMessageEvent": {"type": "error"}},
                {"type": "message_end", "message": {"role": "assistant", "stopReason": "error"}},
            ],
            texts.MESSAGE_ERROR,
        ),
        (
            [
                {"type": "message_end", "message": {"role": "assistant", "stopReason": "error"}},
                {"type": "auto_retry_end", "success": False},
            ],
            texts.RETRIES_FAILED,
        ),
    ],
)
def test_an_error_that_stands_at_the_end_fails_the_task_in_our_words(records: list[dict[str, Any]], error: str) -> None:
    world = World().until_working()
    for record in records:
        world.says(record)
    assert world.task.status.value == "running"
    world.says("agent_end", messages=[])
    world.says("agent_settled", aborted=False)
    assert (world.outcome, world.task.activity) == (("failed", error), texts.TASK_FAILED)
    assert (world.status, world.stopping) == ("ready", None)


@pytest.mark.parametrize(
    "error",
    [
        {"type": "message_update", "assistantMessageEvent": {"type": "error"}},
        {"type": "message_end", "message": {"role": "assistant", "stopReason": "error"}},
        {"type": "message_end", "message": {"role": "assistant", "stopReason": "aborted"}},
        {"type": "compaction_end", "errorMessage": "detail"},
    ],
)
@pytest.mark.parametrize(
    "repair",
    [
        {"type": "message_end", "message": {"role": "assistant", "stopReason": "stop"}},
        {"type": "message_end", "message": {"role": "assistant", "stopReason": "toolUse"}},
        {"type": "auto_retry_end", "success": True},
    ],
)
def test_a_repaired_error_is_forgotten(error: dict[str, Any], repair: dict[str, Any]) -> None:
    world = World().until_working()
    world.says(error)
    world.says(repair)
    world.says("agent_settled", aborted=False)
    assert world.outcome == ("completed", None)


@pytest.mark.parametrize("role", ["user", "toolResult", "system", "custom", None])
def test_only_the_assistants_messages_decide(role: str | None) -> None:
    world = World().until_working()
    world.says("message_end", message={"role": role, "stopReason": "error"})
    world.says("message_end", message="text")
    world.says("agent_settled")
    assert world.outcome == ("completed", None)


@pytest.mark.parametrize("delta", [None, 7, ["x"], {"text": "x"}])
def test_a_text_delta_that_is_no_text_is_a_malformed_event(delta: object) -> None:
    for cancelling in (False, True):
        world = World().until_working()
        if cancelling:
            world.cancel()
        world.delta(delta)
        assert (world.outcome, world.error) == (("failed", texts.MALFORMED_EVENT), texts.RESTARTING)
        assert world.until_restarted().task.status.value == "failed"


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (FaultKind.MALFORMED, "Pi sent a malformed RPC record"),
        (FaultKind.OVERSIZED, "Pi sent an oversized RPC record"),
        (FaultKind.NON_OBJECT, "Pi sent a non-object RPC record"),
        (FaultKind.UNTERMINATED, "Pi sent an unterminated RPC record"),
    ],
)
def test_what_is_no_record_fails_the_task_and_replaces_pi(kind: FaultKind, error: str) -> None:
    world = World().until_working()
    world.delta("so far")
    world.says(Fault(kind))
    assert (world.outcome, world.status, world.error) == (("failed", error), "starting", texts.RESTARTING)
    assert world.task.output == "so far"
    assert world.until_restarted().status == "ready"


@pytest.mark.parametrize(
    "response",
    [
        {"id": "never-issued", "success": True},
        {"id": "", "success": True},
        {"id": 7, "success": True},
        {"success": True},
        {"success": True, "command": "prompt"},
        {"success": False, "command": "set_model"},
        {"success": False},
        {"command": "parse", "success": True},
    ],
)
def test_an_answer_to_nothing_we_sent_fails_the_task(response: dict[str, Any]) -> None:
    world = World().until_working()
    world.says("response", **response)
    assert (world.outcome, world.stopping) == (("failed", texts.UNEXPECTED_RESPONSE), 1)


def test_an_answer_without_a_verdict_to_the_prompt_fails_the_task() -> None:
    world = World().until_sent()
    world.answers_to("prompt", success="true")
    assert world.outcome == ("failed", texts.UNEXPECTED_RESPONSE)


def test_late_and_repeated_answers_to_our_own_commands_are_harmless() -> None:
    world = World().until_working()
    world.answers_to("prompt")
    world.answers_to("get_state", success="what?")
    world.says("response", command="parse", success=False, error="…")
    world.says("response", command="prompt", success=False, error="…")
    world.says("agent_settled")
    world.answers_to("prompt", success=False)
    assert (world.status, world.outcome, world.stopping) == ("ready", ("completed", None), None)


@pytest.mark.parametrize("command", ["prompt", "parse"])
def test_a_refusal_without_an_id_refuses_the_command_that_waits(command: str) -> None:
    """Pi 0.73 leaves the id out for a command it does not know; both do for a line they could not parse."""
    world = World().until_sent()
    world.says("response", command=command, success=False, error="…")
    assert (world.status, world.outcome) == ("ready", ("failed", texts.REJECTED_TASK))


@pytest.mark.parametrize("method", ["select", "confirm", "input", "editor"])
def test_a_dialog_is_cancelled(method: str) -> None:
    world = World().until_working()
    world.says("extension_ui_request", id="d1", method=method, title="?")
    assert world.sent[-1] == {"type": "extension_ui_response", "id": "d1", "cancelled": True}
    assert world.task.status.value == "running"


@pytest.mark.parametrize("name", [None, "", 7])
def test_a_dialog_that_cannot_be_answered_is_a_malformed_event(name: object) -> None:
    world = World().until_working()
    world.says("extension_ui_request", id=name, method="confirm")
    assert world.outcome == ("failed", texts.MALFORMED_EVENT)


def test_pi_that_exits_in_the_middle_fails_the_task_however_quietly() -> None:
    world = World().until_working()
    world.delta("half")
    world.exits()
    assert (world.outcome, world.error) == (("failed", texts.STOPPED_UNEXPECTEDLY), texts.RESTARTING)
    assert world.task.output == "half"


def test_pi_that_stops_reading_is_replaced() -> None:
    world = World().until_working()
    world.stalls()
    assert world.outcome == ("failed", texts.WRITE_STALLED)
    assert world.until_restarted().status == "ready"


def test_a_task_that_takes_too_long_is_failed_and_pi_replaced() -> None:
    world = World(task_timeout=60).until_working()
    world.advance(59)
    assert world.task.status.value == "running"
    world.advance(1)
    assert (world.outcome, world.error) == (("failed", texts.TIME_LIMIT), texts.RESTARTING)
    assert world.until_restarted().outcome == ("failed", texts.TIME_LIMIT)


def test_text_of_separate_messages_and_blocks_is_separated_by_a_blank_line() -> None:
    world = World().until_working()
    for index, deltas in enumerate((["I will look at ", "the file."], ["The file says ", "hi."])):
        world.says("message_start", message={"role": "assistant", "content": []})
        for delta in deltas:
            world.delta(delta)
        world.message_ends("stop" if index else "toolUse")
    world.delta("And more.", index=2)
    assert world.task.output == "I will look at the file.\n\nThe file says hi.\n\nAnd more."


def test_a_message_that_was_not_streamed_is_taken_from_its_end() -> None:
    world = World().until_working()
    text = [{"type": "text", "text": "One."}, {"type": "toolCall"}, {"type": "text", "text": "Two."}, {"type": "text"}]
    world.message_ends("stop", content=text)
    assert world.task.output == "One.\n\nTwo."
    world.says("message_start", message={"role": "assistant"})
    world.delta("Three.")
    world.message_ends("stop", content=[{"type": "text", "text": "Three."}])
    assert world.task.output == "One.\n\nTwo.\n\nThree."
    world.says("message_start", message={"role": "assistant"})
    world.message_ends("stop", content=[{"type": "text", "text": "Four."}])
    assert world.task.output == "One.\n\nTwo.\n\nThree.\n\nFour."


def test_events_of_others_do_not_reach_a_task_that_pi_has_not_got_yet() -> None:
    world = World().until_ready()
    world.says("agent_start")
    world.delta("not ours")
    world.submit()
    world.delta("not ours")
    world.says("agent_settled")
    world.journaled()
    world.says("agent_settled")
    assert (world.task.output, world.task.status.value) == ("", "running")
