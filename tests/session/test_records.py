"""Pi's bytes become the same records however they arrive, and memory stays bounded."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flask_pi_taskbar.broker.records import RECORD_BYTES, Fault, FaultKind, RecordReader

Outcome = list[dict[str, Any] | Fault]

tries = settings(deadline=None, database=None)

MALFORMED = Fault(FaultKind.MALFORMED)
OVERSIZED = Fault(FaultKind.OVERSIZED)
NON_OBJECT = Fault(FaultKind.NON_OBJECT)
UNTERMINATED = Fault(FaultKind.UNTERMINATED)


def read(data: bytes, *, piece: int | None = None, bound: int = RECORD_BYTES) -> Outcome:
    reader = RecordReader(bound)
    outcome: Outcome = []
    for start in range(0, len(data), piece or max(1, len(data))):
        outcome += reader.feed(data[start : start + (piece or len(data))])
    return outcome + list(reader.finish())


def line(value: object) -> bytes:
    return json.dumps(value).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "outcome"),
    [
        (b"", []),
        (b'{"a":1}\n', [{"a": 1}]),
        (b'{"a":1}\r\n', [{"a": 1}]),
        (b' {"a" : 1} \n', [{"a": 1}]),
        (b'{"a":1}\n{"b":2}\n', [{"a": 1}, {"b": 2}]),
        (b'{"a":1}', [UNTERMINATED]),
        (b'{"a":1}\n{"b', [{"a": 1}, UNTERMINATED]),
        (b"\n", [MALFORMED]),
        (b"nonsense\n", [MALFORMED]),
        (b'{"a":1}{"b":2}\n', [MALFORMED]),
        (b'{"a":NaN}\n', [MALFORMED]),
        (b"\xff\xfe\n", [MALFORMED]),
        (b"[" * 100_000 + b"\n", [MALFORMED]),
        (b"[1]\n", [NON_OBJECT]),
        (b"null\n", [NON_OBJECT]),
        (b'"text"\n', [NON_OBJECT]),
        (b"7\n", [NON_OBJECT]),
        ('{"a":"x\u2028y\u2029z\u0085"}\n'.encode(), [{"a": "x\u2028y\u2029z\u0085"}]),
        (b'{"a":"\\u2028"}\n', [{"a": "\u2028"}]),
        (b'{"a":"x\\ud83ey","b":[{"\\udc00":1}]}\n', [{"a": "x\ufffdy", "b": [{"\ufffd": 1}]}]),
        (b'{"a":"\\ud83e\\udd86"}\n', [{"a": "\U0001f986"}]),
        (b'{"a":"x\xffy"}\n', [{"a": "x\ufffdy"}]),
        (b'{"a":"\xed\xa0\xbe"}\n', [{"a": "\ufffd\ufffd\ufffd"}]),
        (b"x\n" + b'{"a":1}\n', [MALFORMED, {"a": 1}]),
    ],
)
def test_a_line_is_a_record_or_a_fault(data: bytes, outcome: Outcome) -> None:
    assert read(data) == outcome
    assert read(data, piece=1 if len(data) < 1_000 else 999) == outcome


def test_the_bound_includes_the_line_end() -> None:
    fits = {"type": "response", "x": "a" * (RECORD_BYTES - len(line({"type": "response", "x": ""})))}
    assert len(line(fits)) == RECORD_BYTES
    assert read(line(fits)) == [fits]
    assert read(line({**fits, "x": fits["x"] + "a"})) == [OVERSIZED]


@pytest.mark.parametrize("kind", ["agent_end", "turn_end", "message_update", "tool_execution_end", "entry_appended"])
def test_a_long_event_is_skimmed(kind: str) -> None:
    long = {"type": kind, "messages": [{"content": [{"text": 'say "hi" \\ {[' * 100_000, "type": "no"}]}], "last": True}
    assert read(line(long) + b'{"a":1}\n') == [{"type": kind, "last": True}, {"a": 1}]


def test_the_end_of_a_long_message_still_says_how_it_ended() -> None:
    message = {
        "role": "assistant",
        "content": [{"type": "toolCall", "arguments": {"stopReason": "stop", "text": "x" * 1_200_000}}],
        "usage": {"input": 7},
        "stopReason": "error",
        "errorMessage": "cut \ud83e here",
        "timestamp": 17,
    }
    kept = {"role": "assistant", "stopReason": "error", "errorMessage": "cut \ufffd here", "timestamp": 17}
    assert read(line({"type": "message_end", "message": message})) == [{"type": "message_end", "message": kept}]


def test_a_long_update_of_the_older_line_keeps_its_delta() -> None:
    event = {"type": "text_delta", "contentIndex": 1, "delta": "new", "partial": {"content": ["x" * 600_000]}}
    record = {"type": "message_update", "assistantMessageEvent": event, "message": {"content": ["x" * 600_000]}}
    [skimmed] = read(line(record))
    assert isinstance(skimmed, dict)
    assert skimmed["assistantMessageEvent"] == {"type": "text_delta", "contentIndex": 1, "delta": "new"}


def test_a_scalar_that_is_too_long_to_keep_is_cut_not_lost() -> None:
    [skimmed] = read(line({"type": "message_update", "assistantMessageEvent": {"delta": "é\n" * 700_000}}))
    assert isinstance(skimmed, dict)
    kept = skimmed["assistantMessageEvent"]["delta"]
    assert 1_000 < len(kept) < 70_000
    assert kept == ("é\n" * 700_000)[: len(kept)]


@pytest.mark.parametrize(
    "junk",
    [
        b"x" * 1_000_001,
        b" " * 1_000_001,
        b'"' + b"x" * 1_000_001,
        b"[" * 1_000_001,
        b'{"a":' * 400_000,
        b'{"a":"' + b"x" * 1_000_001 + b'","type":"agent_end"}',
        line({"type": "response", "data": "x" * 1_000_001}).strip(),
        line({"type": 7, "data": "x" * 1_000_001}).strip(),
        line(["x" * 1_000_001]).strip(),
        b'{"type":"agent_end"}' + b"x" * 1_000_001,
        b'{"type":"agent_end"}' + line({"type": "agent_end", "data": "x" * 1_000_001}).strip(),
    ],
)
def test_junk_of_that_size_is_a_fault_as_soon_as_it_is_known(junk: bytes) -> None:
    reader = RecordReader()
    assert list(reader.feed(junk)) == [OVERSIZED]
    assert list(reader.feed(junk)) == []
    assert list(reader.feed(b'\n{"a":1}\n')) == [{"a": 1}]


@pytest.mark.parametrize("rest", [b"", b"}}", b"]", b'} {"a":1}', b"} x"])
def test_a_long_event_whose_brackets_do_not_close_is_malformed(rest: bytes) -> None:
    data = b'{"type":"agent_end","messages":["' + b"x" * 1_000_001 + b'"]' + rest + b"\n"
    assert read(data) == [MALFORMED]


def test_a_long_event_without_an_end_is_unterminated() -> None:
    assert read(line({"type": "agent_end", "messages": ["x" * 1_000_001]})[:-1]) == [UNTERMINATED]


def test_a_record_of_any_length_takes_little_memory() -> None:
    reader = RecordReader()
    piece = b'{"content":[{"type":"text","text":"' + b"word \\n " * 8_000 + b'"}]},'
    tracemalloc.start()
    try:
        list(reader.feed(b'{"type":"agent_end","messages":['))
        for _ in range(400):
            list(reader.feed(piece))
        assert list(reader.feed(b"{}]}\n")) == [{"type": "agent_end"}]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4 * RECORD_BYTES


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.text(max_size=20)
    | st.sampled_from(["\\", '"', "é€🙂", "{[,:]}"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(st.sampled_from(["type", "id", "message", "x", 'q"']), JSON, max_size=5)
LINES = st.one_of(
    OBJECTS.map(lambda value: json.dumps(value).encode()),
    OBJECTS.map(lambda value: json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")),
    JSON.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=40).map(lambda data: data.replace(b"\n", b"")),
)


@tries
@given(
    st.lists(LINES, max_size=8), st.sampled_from([b"\n", b"\r\n"]), st.integers(1, 60), st.integers(8, 200), st.data()
)
def test_every_split_of_the_bytes_gives_the_same_records(
    lines: list[bytes], end: bytes, piece: int, bound: int, data: st.DataObject
) -> None:
    stream = b"".join(text + end for text in lines) + data.draw(st.sampled_from([b"", b'{"half']))
    whole = read(stream, bound=bound)
    assert read(stream, piece=piece, bound=bound) == whole
    assert read(stream, piece=1, bound=bound) == whole


@tries
@given(OBJECTS, st.integers(1, 30))
def test_a_skimmed_record_is_the_record_less_what_lies_deep(value: dict[str, Any], piece: int) -> None:
    record = {"type": "agent_end", **{key: item for key, item in value.items() if key != "type"}}
    [skimmed] = read(line(record), piece=piece, bound=24)
    assert skimmed == outline(record) or len(line(record)) <= 24


def outline(record: dict[str, Any]) -> dict[str, Any]:
    """The scalars of the first two levels."""
    first = {key: item for key, item in record.items() if not isinstance(item, list)}
    return {
        key: {inner: deep for inner, deep in item.items() if not isinstance(deep, (dict, list))}
        if isinstance(item, dict)
        else item
        for key, item in first.items()
    }


@tries
@given(st.binary(max_size=300), st.integers(1, 50))
def test_no_bytes_make_it_raise(data: bytes, bound: int) -> None:
    for outcome in read(data, bound=bound):
        assert isinstance(outcome, (dict, Fault))
