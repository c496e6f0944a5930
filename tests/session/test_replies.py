"""Which of our commands a response belongs to."""

from __future__ import annotations

from typing import Any

import pytest

from flask_pi_taskbar.broker.replies import Commands, Purpose, Reply, Stray, read_state


def sent() -> Commands:
    commands = Commands()
    commands.issue(Purpose.STARTUP, {"type": "get_state", "id": "s"})
    commands.issue(Purpose.PROMPT, {"type": "prompt", "id": "p"})
    return commands


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"id": "p", "success": True}, Reply(Purpose.PROMPT, True, {})),
        ({"id": "p", "success": False, "data": {"x": 1}}, Reply(Purpose.PROMPT, False, {"x": 1})),
        ({"id": "p", "success": True, "data": [1]}, Reply(Purpose.PROMPT, True, {})),
        ({"id": "p", "success": 1}, Stray.UNKNOWN),
        ({"id": "p"}, Stray.UNKNOWN),
        ({"id": "q", "success": True}, Stray.UNKNOWN),
        ({"id": ["p"], "success": True}, Stray.UNKNOWN),
        ({"command": "prompt", "success": False}, Reply(Purpose.PROMPT, False, {})),
        ({"command": "parse", "success": False}, Reply(Purpose.STARTUP, False, {})),
        ({"command": "abort", "success": False}, Stray.UNKNOWN),
        ({"command": ["prompt"], "success": False}, Stray.UNKNOWN),
        ({"command": "prompt", "success": True}, Stray.UNKNOWN),
    ],
)
def test_a_response_is_matched_by_its_id_or_as_a_refusal_by_its_command(
    response: dict[str, Any], expected: Reply | Stray
) -> None:
    assert sent().match(response) == expected


def test_a_command_is_answered_once() -> None:
    commands = sent()
    assert isinstance(commands.match({"id": "p", "success": True}), Reply)
    assert commands.match({"id": "p", "success": True}) is Stray.LATE
    assert commands.match({"id": "p", "success": "?"}) is Stray.LATE
    assert commands.match({"command": "prompt", "success": False}) is Stray.LATE


def test_what_is_given_up_may_still_be_answered() -> None:
    commands = sent()
    commands.give_up()
    assert not commands.is_waiting(Purpose.PROMPT)
    assert commands.match({"id": "p", "success": False}) is Stray.LATE
    assert commands.match({"command": "parse", "success": False}) is Stray.LATE


def test_the_memory_of_past_commands_is_bounded() -> None:
    commands = Commands()
    for number in range(10_000):
        commands.issue(Purpose.FENCE, {"type": "get_state", "id": str(number)})
        commands.match({"id": str(number), "success": True})
    assert commands.match({"id": "9999", "success": True}) is Stray.LATE
    assert len(commands._past) < 1_000
    assert not commands._waiting


@pytest.mark.parametrize("data", [{}, {"sessionId": ""}, {"sessionId": 3}, {"model": "m"}])
def test_a_state_without_a_session_is_none(data: dict[str, Any]) -> None:
    assert read_state(data) is None
