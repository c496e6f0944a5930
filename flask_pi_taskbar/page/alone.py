"""The page with a server of its own: bound to this machine, one process, a thread for each request.

It holds the page's lock for its life, so that a repository has one page, and leaves the note by which others find it.
It ends when it is told to, when the session that owns it has ended, or a minute after its last tab: first no new stream
is taken and every open one is told, then the port is given back, then the note and the lock go. No request is ever
logged, since a log may be read by more people than may read the board.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server
from werkzeug.wsgi import ClosingIterator

from flask_pi_taskbar.board.bus import Bus, Membership
from flask_pi_taskbar.board.decisions import IDLE_MINUTES
from flask_pi_taskbar.board.directory_lock import RENEW_SECONDS
from flask_pi_taskbar.board.holder import Lost
from flask_pi_taskbar.board.live import frames
from flask_pi_taskbar.board.live.hub import Hub
from flask_pi_taskbar.board.model import Actor
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.serving import ports
from flask_pi_taskbar.board.serving.holding import HeldPage
from flask_pi_taskbar.board.serving.keys import Role
from flask_pi_taskbar.board.sessions import HEARTBEAT
from flask_pi_taskbar.board.store import Store
from flask_pi_taskbar.page import handout
from flask_pi_taskbar.page.app import create_page
from flask_pi_taskbar.page.board import PageBoard

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

CONNECTION_SECONDS: Final = 20.0
"""A connection that neither sends nor takes anything for this long is closed."""

MODE: Final = "page"


class Limits(Struct, frozen=True):
    """How long a page lives that nobody looks at, in seconds."""

    left: float = 60.0
    unopened: float = 300.0
    look: float = 1.0


class AlonePage:
    """One page, from its port to its end. `held` is let go of at the end."""

    def __init__(
        self,
        store: Store,
        held: HeldPage,
        *,
        name: str,
        key: str,
        port: int | None = None,
        idle_minutes: int = IDLE_MINUTES,
        is_git: bool = True,
        limits: Limits = Limits(),  # noqa: B008 - frozen
    ) -> None:
        """Bind the port and leave the note. Raises `PortTaken`, `OSError`, `Refusal`; then nothing is held any more."""
        self._store = store
        self._held = held
        self._limits = limits
        self._over = threading.Event()
        self._why = frames.BYE_STOPPED
        self._member: Membership | None = None
        self._session = ""
        self.remark: str | None = None
        """What the session that serves should know besides."""
        self._servers: list[BaseWSGIServer] = []
        bound: list[socket.socket] = []
        try:
            bound = ports.bind(store, key, port)
            self.port: int = bound[0].getsockname()[1]
            self.address = f"http://127.0.0.1:{self.port}/"
            facts = {"name": name, "git": is_git, "where": "alone", "path": "/"}
            self.hub = Hub(store, epoch=held.epoch, idle_minutes=idle_minutes, facts=lambda: facts)
            board = PageBoard(store=store, hub=self.hub, keys=self, port=self.port)
            self._requests = _Requests(create_page(board).wsgi_app)
            for listener in bound:
                self._servers.append(self._server(listener))
            self.note = held.announce(self.address, self.port, datetime.now(UTC), remembered=port is None)
        except BaseException:
            for server in self._servers:
                server.server_close()
            held.close()
            raise
        finally:
            for listener in bound:
                listener.close()  # each server has a copy of its own
        self._threads = [
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, name="page", daemon=True)
            for server in self._servers
        ]
        for thread in self._threads:
            thread.start()

    # The key ring of `PageBoard`.

    @property
    def epoch(self) -> str:
        return self._held.epoch

    def role_of(self, key: str) -> Role | None:
        return self._held.keys.role_of(key)

    def viewer_address(self) -> str:
        return f"{self.address}#k={self._held.keys.viewer}"

    def revoke(self) -> str:
        self._held.keys = self._held.keys.revoked()
        self._hand_out()
        return self._held.keys.lead

    # For whoever serves it.

    def lead_address(self, view: str = "") -> str:
        """The address that may change cards; for the session that started the page, and nobody else."""
        return f"{self.address}{f'?view={view}' if view else ''}#k={self._held.keys.lead}"

    def join(self, actor: Actor, cwd: str, *, member: bool = True) -> str | None:
        """Serve for this session: it is on the team, gets the lead's mail, and may have the lead's address again.

        With `member` false another process is the session's place on the team. What went wrong is returned.
        """
        self._session = actor.id
        self.remark = self._hand_out()
        if not member:
            return None
        try:
            self._member = Bus(self._store).join(actor, mode=MODE, cwd=cwd, now=datetime.now(UTC), serves=True)
        except (Refusal, OSError) as error:
            return str(error)
        return None

    @property
    def label(self) -> str | None:
        """The label under which the session that serves joined."""
        return None if self._member is None else self._member.actor.label

    def close(self) -> None:
        """End at once, without having served."""
        self._end()

    def stop(self) -> None:
        """Let `serve` end; safe in a signal's handler."""
        self._over.set()

    def serve(self, lifeline: Callable[[], bool] = lambda: True) -> str:
        """Serve until it is over, and say why it is. `lifeline` is false once the owner of the page has ended."""
        try:
            renewed = beat = time.monotonic()
            while not self._over.wait(self._limits.look):
                now = time.monotonic()
                if self._is_idle(now):
                    self._why = frames.BYE_IDLE
                    break
                if not lifeline():
                    break
                if now - renewed >= RENEW_SECONDS:
                    renewed = now
                    if not self._renew():
                        break
                if now - beat >= HEARTBEAT.total_seconds():
                    beat = now
                    self._beat()
        finally:
            self._end()
        return self._why

    def _is_idle(self, now: float) -> bool:
        if self.hub.viewers or self._requests.open:
            return False
        opened = self.hub.was_followed
        since = max(self.hub.last_left, self._requests.last)
        return now - since >= (self._limits.left if opened else self._limits.unopened)

    def _renew(self) -> bool:
        """Whether the page is ours still, as far as anybody can tell."""
        try:
            self._held.renew()
        except Lost:
            return False
        except OSError:
            return True  # the next time may succeed; whoever takes over waits for longer than that
        return True

    def _beat(self) -> None:
        if self._member is not None:
            with contextlib.suppress(Refusal, OSError):
                self._member.heartbeat(now=datetime.now(UTC))

    def _end(self) -> None:
        self.hub.close(self._why)
        for server in self._servers:
            server.shutdown()
            server.server_close()
        for thread in self._threads:
            thread.join()
        now = datetime.now(UTC)
        handout.forget(self._store, self.epoch)
        with contextlib.suppress(Refusal, OSError):
            self._held.leave(now)
        if self._member is not None:
            with contextlib.suppress(Refusal, OSError):
                self._member.leave(now=now)

    def _hand_out(self) -> str | None:
        if not self._session:
            return None
        problem = handout.keep(self._store, handout.Handout(self.epoch, self._session, self.lead_address()))
        return problem and f"The lead's link cannot be given again, and only a signal stops this page: {problem}"

    def _server(self, bound: socket.socket) -> BaseWSGIServer:
        address = bound.getsockname()[0]
        server = make_server(
            address, self.port, self._requests, threaded=True, request_handler=_Handler, fd=bound.fileno()
        )
        server.daemon_threads = True  # type: ignore[attr-defined]
        server.block_on_close = False  # type: ignore[attr-defined]
        return server


class _Requests:
    """The app, and how much it is asked: a request under way keeps the page, a ping does not."""

    def __init__(self, app: WSGIApplication) -> None:
        self._app = app
        self._lock = threading.Lock()
        self.open = 0
        self.last = time.monotonic()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        if environ["PATH_INFO"] == "/api/ping":
            return self._app(environ, start_response)
        with self._lock:
            self.open += 1
        try:
            return ClosingIterator(self._app(environ, start_response), self._done)
        except BaseException:
            self._done()
            raise

    def _done(self) -> None:
        with self._lock:
            self.open -= 1
            self.last = time.monotonic()


class _Handler(WSGIRequestHandler):
    """HTTP/1.1, with a limit on silence, and nothing in any log."""

    protocol_version = "HTTP/1.1"
    timeout = CONNECTION_SECONDS

    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - Werkzeug's signature
        """Say nothing."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""

    def log_error(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's signature
        """Say nothing."""
