"""A client that says what it likes, for what a real one never would."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.election import Endpoint, load_endpoint
from flask_pi_taskbar.broker.runtime import PrivateDirectory
from flask_pi_taskbar.project import identity
from flask_pi_taskbar.version import __version__
from tests.broker.place import Place


def endpoint(place: Place) -> Endpoint:
    with PrivateDirectory.open(place.runtime) as directory:
        found = load_endpoint(directory)
    assert found
    return found


class Raw:
    """A client that says what it likes."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        try:
            self.sock.connect(endpoint(place).socket)
        except BaseException:
            self.sock.close()
            raise
        self._reader = wire.FrameReader(wire.FRAME_BYTES)
        self._bodies: list[bytes] = []

    def hello(self, **changes: Any) -> wire.FromBroker | None:
        fields: dict[str, Any] = {
            "type": "hello",
            "generation": wire.GENERATION,
            "identity": identity(self.place.root),
            "token": endpoint(self.place).token,
            "role": "app",
            "version": __version__,
        }
        self.send_map(fields | changes)
        return self.receive()

    def send_map(self, fields: dict[str, Any]) -> None:
        body = msgspec.msgpack.encode(fields)
        self.sock.sendall(struct.pack("<I", len(body)) + body)

    def receive(self) -> wire.FromBroker | None:
        """The next message; None when the broker has closed the connection."""
        while not self._bodies:
            try:
                data = self.sock.recv(65_536)
            except ConnectionResetError:
                return None
            if not data:
                return None
            self._bodies += self._reader.feed(data)
        return wire.decode_from_broker(self._bodies.pop(0))


@contextmanager
def raw(place: Place) -> Iterator[Raw]:
    client = Raw(place)
    try:
        yield client
    finally:
        client.sock.close()
