"""Live state as server-sent events: how long a server may hold a stream, and what goes over it.

The view `/events` asks `carrier_of` what the server can do and returns `events`. A stream costs a thread (or greenlet)
of the host's server, so it is held only where one can be spared, and given back as soon as the browser has gone.

Servers differ. Werkzeug's development server starts a thread for each request and ends with the process: streams may
live as long as their page. Under gunicorn an open stream kept `--reload` from ever finishing, and threads are few: a
stream ends within two seconds, the browser comes back with the last id, and a worker holds one at a time unless
`max_streams` says more. A server without threads gives the state as it is and ends at once.
"""

from __future__ import annotations

import select
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from flask_pi_taskbar.access import SERVER_SOCKETS
from flask_pi_taskbar.broker.client import Frame, Reply
from flask_pi_taskbar.contract import TaskRequest
from flask_pi_taskbar.contract.snapshot import unavailable_snapshot

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

BOUNDED_SECONDS: Final = 2.0
"""gunicorn's reloader waits for open requests; this much longer a reload may take."""

TICK_SECONDS: Final = 1.0
"""How soon the end of a browser's connection is seen. A tick is one look at a socket."""

BOUNDED_TICK_SECONDS: Final = 0.25
HEARTBEAT_SECONDS: Final = 10.0
"""Proxies commonly cut connections that are silent for 30 to 60 s; the contract asks for at most 15."""

RETRY_BOUNDED: Final = b"retry: 100\n\n"  # a stream that only its own bound ends
RETRY_LONG: Final = b"retry: 1000\n\n"
RETRY_POLL: Final = b"retry: 2000\n\n"  # a stream that could not be held
BEAT: Final = b": \n\n"


class BrokerLike(Protocol):
    """What the routes need of a `BrokerClient`."""

    def state(self) -> Reply: ...
    def submit(self, task: TaskRequest) -> Reply: ...
    def cancel(self, task_id: str) -> Reply: ...
    def reset(self) -> Reply: ...
    def follow(self, after: int | None, heartbeat: float) -> AbstractContextManager[Iterator[Frame | None]]: ...


@dataclass(frozen=True, slots=True)
class Carrier:
    """What the server can do: `limit` streams at a time in this process (None: any number), each for `seconds`."""

    limit: int | None
    seconds: float | None


def carrier_of(environ: WSGIEnvironment, max_streams: int | None) -> Carrier:
    """How streams may be held where this request is handled. `max_streams` is the setting."""
    if not environ.get("wsgi.multithread"):
        return Carrier(limit=0, seconds=0)
    if str(environ.get("SERVER_SOFTWARE", "")).startswith("Werkzeug/"):
        return Carrier(limit=max_streams, seconds=None)
    return Carrier(limit=1 if max_streams is None else max_streams, seconds=BOUNDED_SECONDS)


class Slots:
    """How many streams this process holds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.taken = 0

    def take(self, limit: int | None) -> bool:
        """One more, if `limit` allows it. What was taken is to be given back."""
        with self._lock:
            if limit is not None and self.taken >= limit:
                return False
            self.taken += 1
            return True

    def give_back(self) -> None:
        with self._lock:
            self.taken -= 1


def events(
    client: BrokerLike,
    after: int | None,
    carrier: Carrier,
    slots: Slots,
    gone: Callable[[], bool],
    report: Callable[[Exception], None],
) -> Iterator[bytes]:
    """The stream from the state after the revision `after`. `gone` tells whether the browser has left.

    A slot is taken with the first chunk and given back with the last, or when the iterator is closed.
    """
    held = slots.take(carrier.limit)
    try:
        # The first bytes take the head along: the browser knows at once that the stream is there.
        yield (RETRY_LONG if carrier.seconds is None else RETRY_BOUNDED) if held else RETRY_POLL
        if held:
            yield from _follow(client, after, carrier.seconds, gone)
        else:
            reply = client.state()
            if reply.revision != after:
                yield frame_bytes(reply.revision, reply.snapshot)
    except Exception as error:  # noqa: BLE001 - a server would print its text, which may quote a page
        report(error)
        yield RETRY_POLL + b"event: snapshot\ndata: " + unavailable_snapshot() + b"\n\n"
    finally:
        if held:
            slots.give_back()


def _follow(client: BrokerLike, after: int | None, seconds: float | None, gone: Callable[[], bool]) -> Iterator[bytes]:
    tick = TICK_SECONDS if seconds is None else BOUNDED_TICK_SECONDS
    end = None if seconds is None else time.monotonic() + seconds - tick
    with client.follow(after, tick) as frames:
        last_byte = time.monotonic()
        for frame in frames:
            now = time.monotonic()
            if frame is not None:
                yield frame_bytes(frame.revision, frame.snapshot)
                last_byte = now
            elif gone():
                return
            elif now - last_byte >= HEARTBEAT_SECONDS:
                yield BEAT
                last_byte = now
            if end is not None and now >= end:
                return


def frame_bytes(revision: int, snapshot: bytes) -> bytes:
    """One event: the revision as its id, the snapshot (compact JSON, one line) as its data."""
    return b"id: %d\nevent: snapshot\ndata: %b\n\n" % (revision, snapshot)


def has_gone(environ: WSGIEnvironment) -> Callable[[], bool]:
    """A look at whether the browser has closed the connection of this request; never true where one cannot know."""
    connection = next((environ[name] for name in SERVER_SOCKETS if name in environ), None)
    if not isinstance(connection, socket.socket):
        return lambda: False

    def gone() -> bool:
        try:
            if not select.select([connection], [], [], 0)[0]:
                return False
            # A browser that waits for a response sends nothing but its end; within TLS that is a message first. The
            # look goes past the TLS layer, which cannot peek.
            waiting = socket.socket.recv(connection, 1, socket.MSG_PEEK)
            return waiting == b"" or isinstance(connection, ssl.SSLSocket)
        except BlockingIOError:
            return False
        except (OSError, ValueError):
            return True

    return gone
