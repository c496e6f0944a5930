"""The broker's socket: who is connected, what each one asks, and when the broker ends.

A connection is greeted, then sends one request after the other; while one waits for its decision, nothing more is read
from it, and while it does not take its answers, nothing more is done for it. So no client can make the broker hold more
than a frame or two on its behalf. Decisions about clients are the reception's, about tasks the host's.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.effects import Result
from flask_pi_taskbar.broker.election import BACKLOG, Election
from flask_pi_taskbar.broker.host import TaskHost
from flask_pi_taskbar.broker.pages import Pages
from flask_pi_taskbar.broker.reception import Reception, Settings
from flask_pi_taskbar.broker.shell import Shell
from flask_pi_taskbar.broker.wire import FrameReader, WireError
from flask_pi_taskbar.feed import Feed, Follower
from flask_pi_taskbar.version import __version__

GRACE_SECONDS: Final = 300.0
"""The broker outlives its last client by this much: a server that is being restarted finds it again."""

HELLO_SECONDS: Final = 4.0
PACE_SECONDS: Final = 0.04
"""Followers see at most 25 states a second; Pi may report thousands."""

LOOK_SECONDS: Final = 5.0
"""How often a follower counts as somebody who looks (an unavailable Pi is tried again for it)."""

STANDING_SECONDS: Final = 15.0
ENDING_SECONDS: Final = 10.0
CONNECTIONS: Final = 200
"""macOS gives a process 256 descriptors."""

Snapshot = Callable[[], bytes]
"""What the feed holds: the way to the newest snapshot, so that nothing is encoded for nobody."""


class Server:
    """The broker of one project, from the first connection to the end."""

    def __init__(
        self,
        shell: Shell,
        reception: Reception,
        election: Election,
        make_host: Callable[[Callable[[], None]], TaskHost],
        grace: float,
    ) -> None:
        self.shell = shell
        self.reception = reception
        self.host = make_host(self._changed)
        self.feed: Feed[Snapshot] = Feed(self.host.revision, self.host.snapshot, pace=PACE_SECONDS)
        self.connections: set[Connection] = set()
        self.pages = Pages(self.settle)
        self.ended = asyncio.Event()
        self.ending = False
        self.buffer = memoryview(bytearray(262_144))
        """Where every connection reads into: it is emptied before the loop turns to the next one."""
        self._election = election
        self._grace = grace
        self._loop = asyncio.get_running_loop()
        self._listener: asyncio.Server | None = None
        self._recovered = asyncio.Event()
        self._grace_timer: asyncio.TimerHandle | None = None
        self._feed_timer: asyncio.TimerHandle | None = None
        self._change_timer: asyncio.TimerHandle | None = None
        self._began = time.monotonic()

    async def open(self, listener: Any) -> None:
        """Take connections, and bring back what an earlier broker left."""
        self._listener = await self._loop.create_unix_server(lambda: Connection(self), sock=listener, backlog=BACKLOG)
        self.shell.own(self._recover())
        self._loop.call_later(STANDING_SECONDS, self._check_standing)
        self._loop.call_later(LOOK_SECONDS, self._look)
        self.settle()

    def configure(self, hello: wire.Hello, message: wire.Configure) -> None:
        settings = Settings(
            executable=message.executable, task_timeout=message.task_timeout, environment=message.environment
        )
        if self.reception.configure(hello, settings):
            self.shell.own(self._start(settings))
        elif self.reception.settings is settings:
            self.host.renew(settings)
        self.settle()

    def settle(self) -> None:
        """See whether it is time to change the settings, to leave, or to begin or end the last wait for clients."""
        if self.ending:
            return
        idle = self.host.idle
        if self.reception.leaves_when_idle and idle:
            self.end("hand-over")
            return
        if (settings := self.reception.change(self._loop.time(), idle=idle)) is not None:
            self.shell.note("settings changed")
            self.shell.own(self._start(settings))
        elif idle and (deadline := self.reception.deadline()) is not None and self._change_timer is None:
            self._change_timer = self._loop.call_at(deadline, self._change_is_due)
        quiet = idle and not self.connections
        if quiet and self._grace_timer is None:
            self._grace_timer = self._loop.call_later(self._grace, self.end, "nobody came")
        elif not quiet and self._grace_timer is not None:
            self._grace_timer.cancel()
            self._grace_timer = None

    def end(self, why: str) -> None:
        """Leave in good order. Calling it again does nothing."""
        if not self.ending:
            self.ending = True
            self.shell.own(self._end(why))

    def report(self, request: int) -> wire.Report:
        settings = self.reception.settings
        return wire.Report(
            id=request,
            pid=os.getpid(),
            version=__version__,
            generation=wire.GENERATION,
            configured=settings is not None,
            executable=settings.executable if settings else "",
            task_timeout=settings.task_timeout if settings else 0,
            connections=len(self.connections) - 1,
            followers=len(self.feed),
            idle=self.host.idle,
            session=self.host.session_status,
            pi_pid=self.host.pi_pid,
            uptime=int(time.monotonic() - self._began),
        )

    async def _recover(self) -> None:
        await self.host.recover()
        self._recovered.set()

    async def _start(self, settings: Settings) -> None:
        await self._recovered.wait()
        await self.host.configure(settings)

    async def _end(self, why: str) -> None:
        self.shell.note("ending", why=why)
        if self._listener is not None:
            self._listener.close()
        self._election.step_down()
        closing = self.shell.own(self.host.close())
        leaving = self.shell.own(self.pages.close())
        await asyncio.sleep(0)  # open requests get their answers before their connections end
        for connection in list(self.connections):
            connection.close()
        _, late = await asyncio.wait([closing, leaving], timeout=ENDING_SECONDS)
        if late:
            self.shell.note("ending late")
        self.ended.set()

    def _changed(self) -> None:
        self.feed.publish(self.host.revision, self.host.snapshot, self._loop.time())
        self.set_feed_timer()
        self.settle()

    def set_feed_timer(self) -> None:
        if self._feed_timer is None and (deadline := self.feed.deadline()) is not None:
            self._feed_timer = self._loop.call_at(deadline, self._feed_is_due)

    def _feed_is_due(self) -> None:
        self._feed_timer = None
        self.feed.tick(self._loop.time())
        self.set_feed_timer()

    def _change_is_due(self) -> None:
        self._change_timer = None
        self.settle()

    def _look(self) -> None:
        if len(self.feed):
            self.host.read()
        self._loop.call_later(LOOK_SECONDS, self._look)

    def _check_standing(self) -> None:
        """Somebody may have removed the runtime directory; then nobody can find us, and a successor may be elected."""
        if not self.ending and not self._election.still_stands():
            self.reception.leaves_when_idle = True
            self.settle()
        self._loop.call_later(STANDING_SECONDS, self._check_standing)


class Ticket:
    """A request that waits for its decision."""

    def __init__(self, connection: Connection, request: int) -> None:
        self._connection = connection
        self._request = request

    def answer(self, result: str) -> None:
        self._connection.answer(self._request, result)


class Connection(asyncio.BufferedProtocol):
    """One client."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(wire.HELLO_BYTES)
        self._bodies: deque[bytes] = deque()
        self._hello: wire.Hello | None = None
        self._follower: Follower[Snapshot] | None = None
        self._waiting = False
        self._full = False
        self._paused = False

    # What asyncio calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._deadline = self._loop.call_later(HELLO_SECONDS, self.close)
        if osdep.peer_of(transport.get_extra_info("socket")).uid != os.getuid():
            self._transport.abort()
            return
        self._transport.set_write_buffer_limits(high=0)
        self._server.connections.add(self)
        self._server.settle()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._deadline.cancel()
        self._bodies.clear()
        if self._follower is not None:
            self._server.feed.leave(self._follower)
        self._server.connections.discard(self)
        self._server.pages.forget(self)
        self._server.settle()

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002
        return self._server.buffer

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._bodies.extend(self._reader.feed(self._server.buffer[:nbytes]))
        except WireError:
            self._transport.abort()
            return
        self._work()

    def pause_writing(self) -> None:
        self._full = True
        if self._follower is not None:
            self._follower.pause()

    def resume_writing(self) -> None:
        self._full = False
        if self._follower is not None:
            self._follower.resume(self._loop.time())
            self._server.set_feed_timer()
        self._work()

    # What the server and the host call.

    def answer(self, request: int, result: str) -> None:
        """The decision about a request, with the snapshot as it is now."""
        self._waiting = False
        self._send(self._answer(request, result, have=-1))
        self._work()

    def tell(self, message: wire.PageKeys) -> None:
        """The keys of a page: the answer to a request, or news."""
        if message.id != wire.PUSHED:
            self._waiting = False
        self._send(message)
        self._work()

    def close(self) -> None:
        """What is written goes out, then it ends."""
        self._transport.close()

    # Requests.

    def _work(self) -> None:
        try:
            while self._bodies and not self._waiting and not self._full and not self._transport.is_closing():
                body = self._bodies.popleft()
                if self._hello is None:
                    self._greet(wire.decode_hello(body))
                else:
                    self._handle(self._hello, wire.decode_request(body))
        except WireError:
            self._transport.abort()
            return
        if self._paused != bool(self._bodies) and not self._transport.is_closing():
            self._paused = bool(self._bodies)
            (self._transport.pause_reading if self._paused else self._transport.resume_reading)()

    def _greet(self, hello: wire.Hello) -> None:
        server = self._server
        if len(server.connections) > CONNECTIONS:
            reply: wire.Welcome | wire.Refused = server.reception.refuse(wire.CROWDED)
        elif server.ending:
            reply = server.reception.refuse(wire.HANDING_OVER)
        else:
            reply = server.reception.greet(hello, idle=server.host.idle)
        self._send(reply)
        if isinstance(reply, wire.Refused):
            self.close()
        else:
            self._deadline.cancel()
            self._hello = hello
            self._reader.limit = wire.FRAME_BYTES
        server.settle()

    def _handle(self, hello: wire.Hello, request: wire.Request | wire.Unsupported) -> None:
        server, host = self._server, self._server.host
        match request:
            case wire.State():
                host.read()
                self._send(self._answer(request.id, wire.STATE_OK, request.have))
            case wire.Configure():
                server.configure(hello, request)
            case wire.Submit(expires=float(moment)) | wire.Reset(expires=float(moment)) if moment < self._loop.time():
                self._send(self._answer(request.id, Result.UNAVAILABLE.value, have=-1))
            case wire.Submit():
                self._decide(host.submit(request.task, Ticket(self, request.id)))
            case wire.Cancel():
                self._decide(host.cancel(request.task_id, Ticket(self, request.id)))
            case wire.Reset():
                self._decide(host.reset(Ticket(self, request.id)))
            case wire.Follow():
                self._follow(request.after)
            case wire.Status():
                self._send(server.report(request.id))
            case wire.Shutdown():
                self._send(server.report(request.id))
                server.end("asked to")
            case wire.Page():
                self._decide(server.pages.hold(self, request))
            case wire.Revoke():
                self._decide(server.pages.revoke(self, request))
            case wire.Unsupported():
                self._send(request)

    def _decide(self, work: Any) -> None:
        self._waiting = True
        self._server.shell.own(work)

    def _follow(self, after: int | None) -> None:
        if self._follower is not None:
            raise WireError("it follows already")
        self._server.host.read()
        self._follower = self._server.feed.follow(self._update, after, self._loop.time())
        self._server.set_feed_timer()

    def _update(self, revision: int, snapshot: Snapshot) -> None:
        self._send(wire.Update(revision=revision, snapshot=snapshot()))

    def _answer(self, request: int, result: str, have: int) -> wire.Answer:
        host = self._server.host
        revision = host.revision
        return wire.Answer(
            id=request, result=result, revision=revision, snapshot=None if have == revision else host.snapshot()
        )

    def _send(self, message: wire.FromBroker) -> None:
        if not self._transport.is_closing():
            self._transport.write(wire.frame(message))
