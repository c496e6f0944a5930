"""The texts of a snapshot: fixed sentences, bounded labels."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.contract import texts

AGREED = {
    "STARTING": "Starting Pi",
    "ACCEPTED": "Pi accepted the task",
    "WORKING": "Pi is working",
    "TURN_FINISHED": "Pi finished a turn",
    "COMPACTING": "Compacting conversation",
    "COMPACTED": "Conversation compacted",
    "COMPACTED_RETRYING": "Retrying after compaction",
    "STOPPING": "Stopping Pi",
    "TASK_COMPLETED": "Task completed",
    "TASK_STOPPED": "Task stopped",
    "TASK_FAILED": "Task failed",
    "REJECTED_TASK": "Pi rejected the task",
    "REJECTED_CANCELLATION": "Pi rejected cancellation",
    "UNEXPECTED_RESPONSE": "Pi returned an unexpected RPC response",
    "MALFORMED_EVENT": "Pi sent a malformed RPC event",
    "MESSAGE_ERROR": "Pi reported a message error",
    "COMPACTION_FAILED": "Pi could not compact the conversation",
    "RETRIES_FAILED": "Pi could not complete the task after retries",
    "TIME_LIMIT": "Pi task exceeded the configured time limit",
    "CANCELLATION_DEADLINE": "Pi did not stop before the cancellation deadline",
    "STOPPED_UNEXPECTEDLY": "Pi stopped unexpectedly",
    "MALFORMED_RECORD": "Pi sent a malformed RPC record",
    "OVERSIZED_RECORD": "Pi sent an oversized RPC record",
    "NON_OBJECT_RECORD": "Pi sent a non-object RPC record",
    "UNTERMINATED_RECORD": "Pi sent an unterminated RPC record",
    "NOT_STARTED": "Pi executable was not found or could not be started",
    "STARTUP_REJECTED": "Pi rejected its startup handshake",
    "STARTUP_INVALID": "Pi returned invalid startup state",
    "STARTUP_STOPPED": "Pi stopped during startup",
    "PROTOCOL_FAILED": "Pi protocol failed",
    "RESTARTING": "Pi is restarting",
    "LOST_BEFORE_TASK": "Pi became unavailable before accepting the task",
    "LOST_BEFORE_CANCELLATION": "Pi became unavailable before accepting the cancellation",
    "RESTART_FAILED": "Pi could not be restarted",
}


@pytest.mark.parametrize(("name", "text"), AGREED.items())
def test_texts_that_other_adapters_share_are_the_same_word_for_word(name: str, text: str) -> None:
    assert getattr(texts, name) == text


FIXED = [name for name in vars(texts) if name.isupper() and isinstance(getattr(texts, name), str)]


@pytest.mark.parametrize("name", FIXED)
def test_a_text_is_one_short_printable_line(name: str) -> None:
    text = getattr(texts, name)
    assert 0 < len(text.encode()) <= 200
    assert text.isprintable()
    assert text == text.strip()


def test_no_two_names_stand_for_the_same_text() -> None:
    assert len({getattr(texts, name) for name in FIXED}) == len(FIXED) > len(AGREED)


@pytest.mark.parametrize(
    ("tool", "label"),
    [
        ("bash", "bash"),
        (" my\r\ntool \x07\u202e!", "my tool !"),
        ("x" * 101, "x" * 100),
        ("é" * 51, "é" * 50),
        ("🙂" * 26, "🙂" * 25),
        ("x" * 99 + " y", "x" * 99),
        ("x" * 99 + "é", "x" * 99),
        ("a\ud800b", "ab"),
        ("", "a tool"),
        (" \u202e\n", "a tool"),
        ("\ud800", "a tool"),
        (None, "a tool"),
        (5, "a tool"),
        (["bash"], "a tool"),
    ],
)
def test_the_name_of_a_tool_is_shown_cleaned_and_cut(tool: object, label: str) -> None:
    assert texts.tool_running(tool) == f"Running {label}"
    assert texts.tool_finished(tool) == f"Finished {label}"
    assert texts.tool_failed(tool) == f"Tool failed {label}"


@pytest.mark.parametrize(
    ("attempt", "maximum", "text"),
    [
        (1, 3, "Retrying request (1/3)"),
        (999, 999, "Retrying request (999/999)"),
        (0, 3, "Retrying request"),
        (1, 1000, "Retrying request"),
        (1000, 1, "Retrying request"),
        (True, 3, "Retrying request"),
        (1.0, 3, "Retrying request"),
        ("1", "3", "Retrying request"),
        (None, None, "Retrying request"),
        (-1, 3, "Retrying request"),
    ],
)
def test_the_counts_of_a_retry_are_shown_where_both_make_sense(attempt: object, maximum: object, text: str) -> None:
    assert texts.retrying(attempt, maximum) == text
