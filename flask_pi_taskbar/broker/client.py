"""The broker as a worker sees it: five calls, each with a deadline, each answered with the whole snapshot.

Flask workers and the command line use it. It is synchronous, safe in threads, greenlets and forked children, and does
nothing before the first call. It never imports Flask, never owns an agent and never sends a mutation twice.
"""

from __future__ import annotations

import os
import secrets
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from flask_pi_taskbar.broker import runtime, wire
from flask_pi_taskbar.broker.connection import Broken, Connection, Greeting
from flask_pi_taskbar.broker.follow import Follow, Frame
from flask_pi_taskbar.broker.reach import reach
from flask_pi_taskbar.broker.reception import digest
from flask_pi_taskbar.broker.unavailable import Unavailable
from flask_pi_taskbar.contract import TaskRequest, encode_task
from flask_pi_taskbar.project import runtime_dir

__all__ = ["BrokerClient", "BrokerConfig", "Follow", "Frame", "Reply", "Unavailable", "session_secret"]

CALL_SECONDS: Final = 5.0
RESET_SECONDS: Final = 25.0
"""Pi may be restarted within a reset; the session's own deadlines end before this one."""

STUCK_SECONDS: Final = 1.0
"""A broker that owes the answer to a read or to a greeting for this long makes new calls fail at once: one that hangs
holds the few threads that came first, not every thread of the server. Only these tell: a mutation may have to wait for
a slow disk, and a launch for a slow machine.
"""

KEPT_CONNECTIONS: Final = 4

Call = wire.State | wire.Submit | wire.Cancel | wire.Reset


class BrokerConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the broker has to know. `executable` is looked up on `PATH` or, with a slash, from the project root."""

    project_root: Path
    executable: str = "pi"
    task_timeout: int = 1800


class Reply(msgspec.Struct, frozen=True):
    """An answer: the wire word, and the snapshot after it as compact JSON. `revision` names that state."""

    result: str
    snapshot: bytes
    revision: int


class BrokerClient:
    """One process's way to its project's broker, which is started when there is none. Calls may raise `Unavailable`.

    A call takes an idle connection or opens one, so that calls in several threads do not wait for each other; a few
    are kept. A kept connection also keeps the broker: it leaves some minutes after the last one has ended.
    """

    def __init__(self, config: BrokerConfig, role: str = wire.ROLE_APP) -> None:
        self._settings = config.executable, config.task_timeout
        self._root = Path(os.path.realpath(config.project_root))
        # Made here and not after a fork: the workers of a preloaded server are one started program.
        self._greeting = Greeting(role, digest(*self._settings), secrets.token_hex(8))
        self._latest: tuple[int, bytes] | None = None
        self._start_over()
        _clients.add(self)

    def state(self) -> Reply:
        """The snapshot as it is; `result` is `ok`."""
        deadline = time.monotonic() + CALL_SECONDS
        latest = self._latest
        request = wire.State(id=0, have=latest[0] if latest else -1)
        self._refuse_if_stuck()
        kept = self._take()
        if kept is not None:
            try:
                with self._asking():
                    return self._exchange(kept, request, deadline, latest)
            except Broken:
                pass  # a read harms nobody: once more, on a new connection, perhaps to a new broker
        connection = self._open(deadline)
        try:
            with self._asking():
                return self._exchange(connection, request, deadline, latest)
        except Broken as error:
            raise Unavailable(f"no answer from the broker: {error}") from error

    def submit(self, task: TaskRequest) -> Reply:
        """Hand over a task: `accepted` (it is recorded and goes to Pi), `busy`, or `unavailable`."""
        deadline = time.monotonic() + CALL_SECONDS
        return self._mutate(wire.Submit(id=0, task=encode_task(task), expires=deadline), deadline)

    def cancel(self, task_id: str) -> Reply:
        """Stop a task: `accepted`, `cancelled` (it already is), `not_found`, `not_cancellable`, `unavailable`."""
        return self._mutate(wire.Cancel(id=0, task_id=task_id), time.monotonic() + CALL_SECONDS)

    def reset(self) -> Reply:
        """Begin a new conversation: `accepted`, `reset_while_busy`, `session_reset_rejected`, `unavailable`."""
        deadline = time.monotonic() + RESET_SECONDS
        return self._mutate(wire.Reset(id=0, expires=deadline), deadline)

    def follow(self, after: int | None = None, heartbeat: float = 15.0) -> Follow:
        """The feed from the state after `after`; a state with exactly that revision is not sent again."""
        return Follow(self._open_feed, after, heartbeat)

    def open_line(self, deadline: float) -> Connection:
        """A connection that the caller keeps for itself. Raises `Unavailable`."""
        self._refuse_if_stuck()
        return self._open(deadline)

    def close(self) -> None:
        """Let go of every idle connection. The client may be used again."""
        while (connection := self._take()) is not None:
            connection.close()

    def _mutate(self, request: Call, deadline: float) -> Reply:
        self._refuse_if_stuck()
        kept = self._take()
        while kept is not None and not kept.is_usable():
            kept.close()  # it ended while it was idle; nothing of this request has been sent
            kept = self._take()
        connection = kept or self._open(deadline)
        try:
            return self._exchange(connection, request, deadline)
        except Broken as error:
            raise Unavailable(f"no answer from the broker: {error}") from error

    def _exchange(
        self, connection: Connection, request: Call, deadline: float, latest: tuple[int, bytes] | None = None
    ) -> Reply:
        """Send and wait. The connection is kept when the exchange is complete, closed otherwise. Raises `Broken`."""
        try:
            connection.send(request, deadline)
            answer = connection.receive(deadline)
        except TimeoutError:
            connection.close()
            raise Unavailable("the broker did not answer in time") from None
        except BaseException:
            connection.close()
            raise
        self._give_back(connection)
        if not isinstance(answer, wire.Answer) or answer.id != request.id:
            raise Unavailable("the broker does not know this request")
        if answer.result == wire.INVALID:
            raise Unavailable("the broker takes the task for invalid")
        if answer.snapshot is not None:
            latest = self._latest = answer.revision, answer.snapshot
        if latest is None or latest[0] != answer.revision:
            raise Unavailable("the broker left out a snapshot that is not here")
        return Reply(answer.result, latest[1], answer.revision)

    # Connections. List operations are atomic; there is no lock that a call could hold or a fork could copy.

    def _open(self, deadline: float) -> Connection:
        return reach(self._root, self._greeting, self._settings, deadline, self._asking)

    def _open_feed(self, deadline: float) -> Connection:
        self._refuse_if_stuck()
        return self._open(deadline)

    def _take(self) -> Connection | None:
        if self._pid != os.getpid():
            self._start_over()
        try:
            return self._idle.pop()
        except IndexError:
            return None

    def _give_back(self, connection: Connection) -> None:
        if len(self._idle) < KEPT_CONNECTIONS and self._pid == os.getpid():
            self._idle.append(connection)
        else:
            connection.close()

    def _start_over(self) -> None:
        """Forget the connections of the process that we were forked from. Closing our copies does not end its own."""
        for connection in getattr(self, "_idle", ()):
            connection.close()
        self._pid = os.getpid()
        self._idle: list[Connection] = []
        self._waiting: dict[object, float] = {}

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """While a broker that is there has been asked something that it answers at once. A launch is no such time."""
        call = object()
        self._waiting[call] = time.monotonic()
        try:
            yield
        finally:
            self._waiting.pop(call, None)

    def _refuse_if_stuck(self) -> None:
        longest = time.monotonic() - STUCK_SECONDS
        if any(since < longest for since in list(self._waiting.values())):
            raise Unavailable("the broker has not answered an earlier read")


def session_secret(project_root: Path) -> bytes:
    """32 random bytes, made once a project and user, the same in every worker. Raises `Unavailable`."""
    try:
        with runtime.PrivateDirectory.open(runtime_dir(project_root)) as directory:
            return runtime.secret(directory)
    except runtime.Refused as error:
        raise Unavailable(error.reason) from error
    except OSError as error:
        raise Unavailable(f"the secret of this project cannot be read or made: {error.strerror or error}") from error


def _after_fork() -> None:
    for client in list(_clients):
        client._start_over()


_clients: weakref.WeakSet[BrokerClient] = weakref.WeakSet()
os.register_at_fork(after_in_child=_after_fork)
