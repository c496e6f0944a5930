"""The error codes of the HTTP API and the bodies that carry them."""

from __future__ import annotations

import json

import pytest

from flask_pi_taskbar.contract.codes import Code, error_body
from flask_pi_taskbar.contract.snapshot import unavailable_snapshot

STATUSES = {
    "forbidden": 403,
    "invalid_csrf": 422,
    "invalid_task": 422,
    "busy": 409,
    "task_not_found": 404,
    "task_not_cancellable": 409,
    "reset_while_busy": 409,
    "session_reset_rejected": 409,
    "unavailable": 503,
    "not_found": 404,
    "method_not_allowed": 405,
}


def test_the_codes_and_their_statuses_are_those_of_the_contract() -> None:
    assert {code.value: code.status for code in Code} == STATUSES


def test_a_code_is_its_wire_word() -> None:
    assert f"{Code.BUSY}" == Code.BUSY == "busy"
    assert Code("busy") is Code.BUSY


@pytest.mark.parametrize("code", Code)
def test_a_message_is_short_fixed_text(code: Code) -> None:
    assert 0 < len(code.message) <= 200
    assert code.message.isascii()
    assert code.message.isprintable()


def test_each_code_has_a_message_of_its_own() -> None:
    assert len({code.message for code in Code}) == len(Code)


def test_an_invalid_task_is_answered_with_the_agreed_sentence() -> None:
    assert Code.INVALID_TASK.message == "Task request is invalid"


@pytest.mark.parametrize("code", Code)
def test_an_error_without_a_snapshot_holds_code_and_message_only(code: Code) -> None:
    assert json.loads(error_body(code)) == {"error": {"code": code.value, "message": code.message}}


@pytest.mark.parametrize("code", Code)
def test_a_snapshot_goes_into_the_error_byte_for_byte(code: Code) -> None:
    given = error_body(code, unavailable_snapshot())
    assert json.loads(given) == {
        "error": {"code": code.value, "message": code.message},
        "snapshot": json.loads(unavailable_snapshot()),
    }
    assert list(json.loads(given)) == ["error", "snapshot"]
    assert unavailable_snapshot() in given


def test_a_snapshot_with_a_percent_sign_is_no_format() -> None:
    assert error_body(Code.BUSY, b'{"output":"100 %s"}').endswith(b'"snapshot":{"output":"100 %s"}}')
