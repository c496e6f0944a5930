"""The wire between the broker and its clients: length-prefixed frames, each one message.

A frame is a 32-bit little-endian length and that many bytes of MessagePack. Messages are maps with a `type`. Within a
generation they only grow: unknown fields are ignored, new ones have defaults, words are plain strings of which an
unknown one means nothing, and a request of an unknown type is answered with `Unsupported`. `Hello`, `Welcome` and
`Refused` keep their meaning in every generation, so that two that do not match can say so. The snapshot travels as the
JSON that the browser gets. No sockets in here.
"""

from __future__ import annotations

import struct
from typing import Final

import msgspec

GENERATION: Final = 1

FRAME_BYTES: Final = 4 * 1024 * 1024
"""Largest frame: a `Configure` with a large environment. A submit has 131,072 bytes, a snapshot some 250,000."""

HELLO_BYTES: Final = 16 * 1024
"""Largest frame of somebody whose token has not been seen."""

ROLE_APP: Final = "app"
ROLE_CLI: Final = "cli"

# Why a broker turns a client away.
INCOMPATIBLE_GENERATION: Final = "incompatible-generation"
WRONG_IDENTITY: Final = "wrong-identity"
HANDING_OVER: Final = "handing-over"
CROWDED: Final = "crowded"

PUSHED: Final = -1
"""The `id` of what nobody has asked for."""

STATE_OK: Final = "ok"
INVALID: Final = "invalid"


class WireError(Exception):
    """The other side does not speak this wire; the connection is of no use any more."""


class _Message(msgspec.Struct, tag=str.lower, tag_field="type"):
    """Base of all messages."""


class Hello(_Message):
    """A client's first message.

    `digest` names the settings it was started with and `instance` the started program that asks; both are empty for one
    that has no settings (`broker status`).
    """

    generation: int
    identity: str
    token: str
    role: str
    version: str
    digest: str = ""
    instance: str = ""


class Configure(_Message):
    """The settings, sent when `Welcome` asks for them. Not answered."""

    executable: str
    task_timeout: int
    environment: dict[bytes, bytes]


class State(_Message):
    """Asks for the snapshot; one with the revision `have` is not sent again."""

    id: int
    have: int = -1


class Submit(_Message):
    """A task as `contract.encode_task` writes it.

    Nobody waits for the answer after `expires`, a moment of `time.monotonic`, which all processes of a machine share: a
    broker that was held up must not start then what its client has reported as refused.
    """

    id: int
    task: bytes
    expires: float | None = None


class Cancel(_Message):
    id: int
    task_id: str


class Reset(_Message):
    """`expires` as in `Submit`."""

    id: int
    expires: float | None = None


class Follow(_Message):
    """From now on this connection carries `Update`s and nothing else."""

    after: int | None = None


class Status(_Message):
    id: int


class Shutdown(_Message):
    """End now; a running task is interrupted."""

    id: int


class Page(_Message):
    """The page of the board in the folder `store` is served at `address`: hold it while this connection lives.

    Answered with `PageKeys`, which comes again whenever the keys have changed.
    """

    id: int
    store: str
    address: str
    port: int


class Revoke(_Message):
    """Make the lead's key of this connection's page worthless."""

    id: int


class Welcome(_Message):
    generation: int
    identity: str
    token: str
    version: str
    pid: int
    configure: bool = False


class Refused(_Message):
    """Turned away; `code` is one of the words above, the rest says by whom."""

    code: str
    generation: int
    version: str
    pid: int = 0


class Answer(_Message):
    """`snapshot` is None when the client already has `revision`."""

    id: int
    result: str
    revision: int
    snapshot: bytes | None = None


class Update(_Message):
    revision: int
    snapshot: bytes


class Report(_Message):
    """What `broker status` shows. `connections` leaves out the one that asks."""

    id: int
    pid: int
    version: str
    generation: int
    configured: bool
    executable: str = ""
    task_timeout: int = 0
    connections: int = 0
    followers: int = 0
    idle: bool = True
    session: str = ""
    pi_pid: int = 0
    uptime: int = 0


class PageKeys(_Message):
    """The keys of a page. Not `held`: another process holds it, or (`problem`) it could not be had."""

    id: int
    held: bool
    epoch: str = ""
    lead: str = ""
    viewer: str = ""
    address: str = ""
    fresh: bool = False
    """It is held since this request."""
    problem: str = ""


class Unsupported(_Message):
    id: int


Request = Configure | State | Submit | Cancel | Reset | Follow | Status | Shutdown | Page | Revoke
FromClient = Hello | Request
FromBroker = Welcome | Refused | Answer | Update | Report | PageKeys | Unsupported


class _Unknown(msgspec.Struct):
    """What can be learnt of a request that this version does not know."""

    type: str
    id: int = 0


class FrameReader:
    """Cuts a byte stream into the bodies of frames. `limit` may be raised once the other side is known."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._rest = bytearray()

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """The bodies that `data` completes. Raises `WireError` as soon as a length is out of bounds."""
        if not self._rest and len(data) >= 4 and self._length(data) == len(data) - 4:
            return [bytes(data[4:])]
        self._rest += data
        bodies = []
        start = 0
        while len(self._rest) - start >= 4:
            end = start + 4 + self._length(self._rest, start)
            if end > len(self._rest):
                break
            bodies.append(bytes(self._rest[start + 4 : end]))
            start = end
        if start:
            del self._rest[:start]
        return bodies

    def _length(self, data: bytes | bytearray | memoryview, at: int = 0) -> int:
        length: int = _LENGTH.unpack_from(data, at)[0]
        if not 0 < length <= self.limit:
            raise WireError(f"a frame of {length} bytes")
        return length


def frame(message: FromClient | FromBroker) -> bytes:
    """The message as it goes out. Raises `WireError` when it is larger than any reader takes."""
    buffer = bytearray(4)
    _ENCODER.encode_into(message, buffer, 4)
    if len(buffer) - 4 > FRAME_BYTES:
        raise WireError(f"a message of {len(buffer)} bytes")
    _LENGTH.pack_into(buffer, 0, len(buffer) - 4)
    return bytes(buffer)


def decode_hello(body: bytes) -> Hello:
    try:
        return _HELLO.decode(body)
    except msgspec.MsgspecError as error:
        raise WireError("the first message is no hello") from error


def decode_request(body: bytes) -> Request | Unsupported:
    """The request in `body`; for an unknown type or a broken field, the `Unsupported` to answer it with."""
    try:
        return _REQUEST.decode(body)
    except msgspec.ValidationError:
        return Unsupported(id=_decode_unknown(body).id)
    except msgspec.DecodeError as error:
        raise WireError("not MessagePack") from error


def decode_from_broker(body: bytes) -> FromBroker:
    try:
        return _FROM_BROKER.decode(body)
    except msgspec.MsgspecError as error:
        raise WireError("the broker sent an unknown message") from error


def _decode_unknown(body: bytes) -> _Unknown:
    try:
        return _UNKNOWN.decode(body)
    except msgspec.MsgspecError as error:
        raise WireError("not a message") from error


_LENGTH: Final = struct.Struct("<I")
_ENCODER: Final = msgspec.msgpack.Encoder()
_HELLO: Final = msgspec.msgpack.Decoder(Hello)
_REQUEST: Final = msgspec.msgpack.Decoder(Request)
_FROM_BROKER: Final = msgspec.msgpack.Decoder(FromBroker)
_UNKNOWN: Final = msgspec.msgpack.Decoder(_Unknown)
