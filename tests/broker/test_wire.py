"""The wire: frames in any pieces, bounds before memory, messages that may grow."""

from __future__ import annotations

import struct

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.wire import FrameReader, WireError

MESSAGES = [
    wire.Hello(generation=1, identity="1000:/p", token="t", role="app", version="0.1.0", digest="d", instance="i"),
    wire.Configure(executable="pi", task_timeout=60, environment={b"A": b"\xff"}),
    wire.State(id=1),
    wire.State(id=2, have=7),
    wire.Submit(id=3, task=b'{"prompt":"x"}'),
    wire.Cancel(id=4, task_id="t"),
    wire.Reset(id=5),
    wire.Follow(after=9),
    wire.Status(id=6),
    wire.Shutdown(id=7),
]
REPLIES = [
    wire.Welcome(generation=1, identity="i", token="t", version="0.1.0", pid=1, configure=True),
    wire.Refused(code=wire.HANDING_OVER, generation=1, version="0.1.0", pid=1),
    wire.Answer(id=1, result="ok", revision=2, snapshot=b"{}"),
    wire.Answer(id=1, result="ok", revision=2),
    wire.Update(revision=3, snapshot=b"{}"),
    wire.Report(id=1, pid=2, version="0.1.0", generation=1, configured=False),
    wire.Unsupported(id=1),
]


def body(message: wire.FromClient | wire.FromBroker) -> bytes:
    (only,) = FrameReader(wire.FRAME_BYTES).feed(wire.frame(message))
    return only


@pytest.mark.parametrize("message", MESSAGES[1:], ids=lambda message: type(message).__name__)
def test_a_request_arrives_as_it_was_sent(message: wire.Request) -> None:
    assert wire.decode_request(body(message)) == message


@pytest.mark.parametrize("message", REPLIES, ids=lambda message: type(message).__name__)
def test_a_reply_arrives_as_it_was_sent(message: wire.FromBroker) -> None:
    assert wire.decode_from_broker(body(message)) == message


def test_hello_arrives_as_it_was_sent() -> None:
    assert wire.decode_hello(body(MESSAGES[0])) == MESSAGES[0]


@given(st.lists(st.integers(1, 60), max_size=40))
def test_frames_may_come_in_any_pieces(cuts: list[int]) -> None:
    stream = b"".join(wire.frame(message) for message in MESSAGES)
    reader = FrameReader(wire.FRAME_BYTES)
    bodies: list[bytes] = []
    at = 0
    for cut in cuts:
        bodies += reader.feed(stream[at : at + cut])
        at += cut
    bodies += reader.feed(stream[at:])
    assert bodies == [body(message) for message in MESSAGES]


@pytest.mark.parametrize("length", [0, 101, 2**31, 2**32 - 1])
def test_a_length_out_of_bounds_is_refused_before_its_bytes_come(length: int) -> None:
    with pytest.raises(WireError, match=f"{length} bytes"):
        FrameReader(100).feed(struct.pack("<I", length))


def test_a_length_out_of_bounds_behind_a_good_frame_is_refused() -> None:
    with pytest.raises(WireError):
        FrameReader(100).feed(wire.frame(wire.State(id=1)) + struct.pack("<I", 101) + b"x")


def test_a_message_larger_than_a_frame_is_not_sent() -> None:
    with pytest.raises(WireError):
        wire.frame(wire.Submit(id=1, task=b"x" * (wire.FRAME_BYTES + 1)))


def test_unknown_fields_are_ignored() -> None:
    data = msgspec.msgpack.encode({"type": "state", "id": 3, "have": 1, "colour": "green", "more": [1, {"a": 2}]})
    assert wire.decode_request(data) == wire.State(id=3, have=1)


def test_missing_new_fields_have_defaults() -> None:
    data = msgspec.msgpack.encode(
        {"type": "hello", "generation": 1, "identity": "i", "token": "t", "role": "tab", "version": "9"}
    )
    assert wire.decode_hello(data).digest == ""


@pytest.mark.parametrize(
    ("fields", "number"),
    [
        ({"type": "teleport", "id": 8}, 8),
        ({"type": "teleport"}, 0),
        ({"type": "submit", "id": 8, "task": 5}, 8),
        ({"type": "cancel", "id": 8}, 8),
    ],
)
def test_an_unknown_request_or_a_broken_field_can_be_answered(fields: dict[str, object], number: int) -> None:
    assert wire.decode_request(msgspec.msgpack.encode(fields)) == wire.Unsupported(id=number)


@pytest.mark.parametrize(
    "data", [b"\xc1", b"", b"\xff\xff", msgspec.msgpack.encode([1]), msgspec.msgpack.encode({"id": 1}), b"\x81\xa4ty"]
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    for decode in (wire.decode_hello, wire.decode_request, wire.decode_from_broker):
        with pytest.raises(WireError):
            decode(data)


@given(st.binary(max_size=300))
def test_no_bytes_do_anything_but_decode_or_be_refused(data: bytes) -> None:
    for decode in (wire.decode_hello, wire.decode_request, wire.decode_from_broker):
        try:
            decode(data)
        except WireError:
            continue


def test_deep_nesting_is_refused() -> None:
    nested = b"\x82\xa4type\xa5state\xa2id" + b"\x91" * 100_000
    with pytest.raises(WireError):
        wire.decode_request(nested)
