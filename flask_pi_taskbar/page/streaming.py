"""The live stream: how long it is held, and how frames of the hub get onto it.

Alone, a stream lives as long as its page, up to 1,100 of them. Inside an app it is what the app's server can spare
(`flask_pi_taskbar.stream`): under gunicorn two seconds at a time, one a worker; on a server without threads one answer
and the advice to come back. The end of a browser's connection is seen within a second.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from flask import Request, Response

from flask_pi_taskbar.board.live import frames
from flask_pi_taskbar.page.board import PageBoard
from flask_pi_taskbar.stream import BOUNDED_TICK_SECONDS, TICK_SECONDS, Carrier, Slots, carrier_of, has_gone

MAX_STREAMS: Final = 1100
HEARTBEAT_SECONDS: Final = 15.0
BUSY_SECONDS: Final = "5"

RETRY_LONG: Final = frames.retry(1500)
RETRY_BOUNDED: Final = frames.retry(100)
RETRY_ONCE: Final = frames.retry(1000)

HEADERS: Final = {"Content-Type": "text/event-stream; charset=utf-8", "X-Accel-Buffering": "no"}


class _Ends(NamedTuple):
    """What ends a stream: its time, its reader, its key."""

    seconds: float | None
    gone: Callable[[], bool]
    is_good: Callable[[], bool]


class Streams:
    """The streams of one page in this process."""

    def __init__(self, board: PageBoard) -> None:
        self._board = board
        self._slots = Slots()

    def response(self, request: Request, *, can_write: bool, is_good: Callable[[], bool]) -> Response:
        """The stream for one request, or 503 where a page that can hold many holds enough.

        It ends before the next frame once its key is not good any more.
        """
        board, environ = self._board, request.environ
        carrier = (
            Carrier(board.max_streams or MAX_STREAMS, None) if board.alone else carrier_of(environ, board.max_streams)
        )
        held = self._slots.take(carrier.limit)
        if not held and board.alone:
            return Response("", 503, {"Retry-After": BUSY_SECONDS})
        last = request.args.get("last") or request.headers.get("Last-Event-ID")
        have = request.args.get("have")
        try:
            ends = _Ends(carrier.seconds, has_gone(environ), is_good)
            body = self._body(last, have, ends, held=held, can_write=can_write)
            next(body)  # up to its `try`: from now on closing it gives the slot back
        except BaseException:
            if held:
                self._slots.give_back()
            raise
        return Response(body, 200, HEADERS)

    def _body(
        self,
        last: str | None,
        have: str | None,
        ends: _Ends,
        *,
        held: bool,
        can_write: bool,
    ) -> Iterator[bytes]:
        with self._board.hub.follow(last, have, can_write=can_write) as follower:
            try:
                yield b""
                if not held:
                    yield RETRY_ONCE + b"".join(follower.next(0) or [])
                    return
                yield RETRY_LONG if ends.seconds is None else RETRY_BOUNDED
                tick = TICK_SECONDS if ends.seconds is None else BOUNDED_TICK_SECONDS
                end = None if ends.seconds is None else time.monotonic() + ends.seconds - tick
                last_byte = time.monotonic()
                while (found := follower.next(tick)) is not None and ends.is_good():
                    now = time.monotonic()
                    if found:
                        yield from found
                        last_byte = time.monotonic()
                    elif ends.gone():
                        return
                    elif now - last_byte >= HEARTBEAT_SECONDS:
                        yield frames.BEAT
                        last_byte = now
                    if end is not None and now >= end:
                        return
            finally:
                if held:
                    self._slots.give_back()
