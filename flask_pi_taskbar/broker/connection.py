"""One verified connection to a broker, from the client's side, blocking.

The client and the command line use it. It trusts nobody before both sides have shown that they know the project's token
and belong to the same user.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections import deque
from pathlib import Path
from typing import Final

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.election import Endpoint, load_endpoint
from flask_pi_taskbar.broker.runtime import PrivateDirectory, Refused, check_socket
from flask_pi_taskbar.broker.unavailable import Unavailable
from flask_pi_taskbar.project import identity, runtime_dir
from flask_pi_taskbar.version import __version__

READ_BYTES: Final = 65_536
POLL_SECONDS: Final = 0.01


class NoBroker(Exception):  # noqa: N818 - it says what happened
    """Nobody answers: there is no broker, or it is about to end. One may be started."""


class Turned(Exception):  # noqa: N818 - it says what happened
    """The broker turned us away with this message."""

    def __init__(self, reply: wire.Refused) -> None:
        super().__init__(reply.code)
        self.reply = reply


class Broken(Exception):  # noqa: N818 - it says what happened
    """The connection is of no use any more: closed, silent for too long, or not speaking our wire."""


class Connection:
    """One connection. Not for two threads at once. After `Broken` it is closed."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._reader = wire.FrameReader(wire.FRAME_BYTES)
        self._bodies: deque[bytes] = deque()
        self.welcome: wire.Welcome

    @classmethod
    def open(cls, root: Path, hello: Greeting, deadline: float) -> Connection:
        """Connect to the project's broker and shake hands.

        Raises `NoBroker`, `Turned`, `Broken`, and `Unavailable` for files that we must not trust.
        """
        try:
            with PrivateDirectory.open(runtime_dir(root)) as directory:
                endpoint = load_endpoint(directory)
                if endpoint is None:
                    raise NoBroker
                check_socket(Path(endpoint.socket))
        except FileNotFoundError:
            raise NoBroker from None
        except Refused as error:
            raise Unavailable(error.reason) from error
        connection = cls(_connect(endpoint.socket, deadline))
        try:
            connection._shake_hands(root, endpoint, hello, deadline)
        except BaseException:
            connection.close()
            raise
        return connection

    def is_usable(self) -> bool:
        """It is not closed and nothing lies in it, so what is written now starts a new exchange."""
        if self._bodies:
            return False
        try:
            self._sock.settimeout(0)
            self._sock.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def pending(self) -> list[wire.FromBroker]:
        """The messages that have come already; waits for none. Raises `Broken`."""
        try:
            self._sock.settimeout(0)
            while data := self._sock.recv(READ_BYTES):
                self._take(data)
            raise Broken("the broker closed the connection")
        except BlockingIOError:
            pass
        except OSError as error:
            raise Broken(str(error)) from error
        bodies, self._bodies = self._bodies, deque()
        return [_decoded(body) for body in bodies]

    def send(self, message: wire.FromClient, deadline: float) -> None:
        try:
            self._sock.settimeout(_remaining(deadline))
            self._sock.sendall(wire.frame(message))
        except OSError as error:
            raise Broken(str(error)) from error

    def receive(self, deadline: float) -> wire.FromBroker:
        """The next message. Raises `TimeoutError` at the deadline, after which the connection is still good."""
        while not self._bodies:
            try:
                self._sock.settimeout(_remaining(deadline))
                data = self._sock.recv(READ_BYTES)
            except TimeoutError:
                raise
            except OSError as error:
                raise Broken(str(error)) from error
            if not data:
                raise Broken("the broker closed the connection")
            self._take(data)
        return _decoded(self._bodies.popleft())

    def _take(self, data: bytes) -> None:
        try:
            self._bodies.extend(self._reader.feed(data))
        except wire.WireError as error:
            raise Broken(str(error)) from error

    def interrupt(self) -> None:
        """Make a `receive` in another thread end."""
        with contextlib.suppress(OSError):  # it may be closed already
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._sock.close()

    def __del__(self) -> None:
        self._sock.close()

    def _shake_hands(self, root: Path, endpoint: Endpoint, hello: Greeting, deadline: float) -> None:
        if osdep.peer_of(self._sock).uid != os.getuid():
            raise Unavailable("the broker's socket belongs to another user")
        try:
            self.send(hello.to(root, endpoint), deadline)
            reply = self.receive(deadline)
        except TimeoutError:
            raise Unavailable("the broker did not answer the handshake in time") from None
        except Broken as error:
            raise NoBroker(str(error)) from error
        if isinstance(reply, wire.Refused):
            raise Turned(reply)
        if not isinstance(reply, wire.Welcome):
            raise Broken("the broker did not answer the handshake")
        if (reply.generation, reply.identity, reply.token) != (wire.GENERATION, identity(root), endpoint.token):
            raise Broken("the broker is not the one that was announced")
        self.welcome = reply


def _decoded(body: bytes) -> wire.FromBroker:
    try:
        return wire.decode_from_broker(body)
    except wire.WireError as error:
        raise Broken(str(error)) from error


class Greeting:
    """What a client says about itself."""

    def __init__(self, role: str, digest: str = "", instance: str = "") -> None:
        self.role = role
        self.digest = digest
        self.instance = instance

    def to(self, root: Path, endpoint: Endpoint) -> wire.Hello:
        return wire.Hello(
            generation=wire.GENERATION,
            identity=identity(root),
            token=endpoint.token,
            role=self.role,
            version=__version__,
            digest=self.digest,
            instance=self.instance,
        )


def _connect(path: str, deadline: float) -> socket.socket:
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        while True:
            sock.settimeout(_remaining(deadline))
            try:
                sock.connect(path)
            except BlockingIOError:
                time.sleep(POLL_SECONDS)  # its queue is full; Linux says so at once instead of waiting
            else:
                return sock
    except (FileNotFoundError, ConnectionRefusedError) as error:
        sock.close()
        raise NoBroker from error
    except TimeoutError:
        sock.close()
        raise Unavailable("the broker does not take connections") from None
    except OSError as error:
        sock.close()
        raise Unavailable(f"the broker cannot be reached: {error}") from error
    except BaseException:
        sock.close()
        raise


def _remaining(deadline: float) -> float:
    remaining = deadline - time.monotonic()
    if remaining <= 0:
        raise TimeoutError
    return remaining
