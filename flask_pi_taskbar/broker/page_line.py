"""A worker's line to the broker for the board's page: it keeps the page held, and says which keys are good now.

One connection a process, opened at the first use and kept; before each use it is looked at, without waiting, for keys
that were pushed and for its end. Safe in threads, greenlets and forked children; nothing is sent twice.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Final

from msgspec.structs import replace

from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.client import CALL_SECONDS, BrokerClient
from flask_pi_taskbar.broker.connection import Broken, Connection
from flask_pi_taskbar.broker.unavailable import Unavailable

AGAIN_SECONDS: Final = 2.0
"""How soon a page that another process holds is asked for again."""


_STARTING_OVER: Final = threading.Lock()


class PageLine:
    """The line of one process. `store` is the folder of the board."""

    def __init__(self, client: BrokerClient, store: str) -> None:
        self._client = client
        self._store = store
        self._pid = os.getpid()
        self._turn = threading.Lock()
        self._connection: Connection | None = None
        self._keys: wire.PageKeys | None = None
        self._asked = 0.0

    def keys(self, address: str, port: int) -> wire.PageKeys:
        """The keys as they are now; `address` and `port` are where the page is served. Raises `Unavailable`."""
        if self._pid != os.getpid():
            self._start_over()
        with self._turn:
            self._take_pushed()
            found = self._keys
            fresh_enough = found is not None and (found.held or time.monotonic() < self._asked + AGAIN_SECONDS)
            if self._connection is not None and found is not None and fresh_enough:
                return found
            self._asked = time.monotonic()
            return self._ask(wire.Page(id=0, store=self._store, address=address, port=port))

    def revoke(self, address: str, port: int) -> wire.PageKeys:
        """Another key for the lead, in every worker. Raises `Unavailable`."""
        self.keys(address, port)
        with self._turn:
            self._take_pushed()
            if self._connection is None:
                raise Unavailable("the broker has ended")
            return self._ask(wire.Revoke(id=0))

    def _ask(self, request: wire.Page | wire.Revoke) -> wire.PageKeys:
        deadline = time.monotonic() + CALL_SECONDS
        connection = self._connection or self._client.open_line(deadline)
        self._connection = None
        try:
            connection.send(request, deadline)
            answer = connection.receive(deadline)
            while isinstance(answer, wire.PageKeys) and answer.id == wire.PUSHED:
                answer = connection.receive(deadline)
        except (Broken, TimeoutError) as error:
            connection.close()
            raise Unavailable(f"no answer from the broker about the board's page: {error}") from error
        except BaseException:
            connection.close()
            raise
        if not isinstance(answer, wire.PageKeys):
            connection.close()
            raise Unavailable("the running broker knows no page of a board; it leaves as soon as it is idle")
        self._connection, self._keys = connection, replace(answer, fresh=False)
        return answer

    def _take_pushed(self) -> None:
        if self._connection is None:
            return
        try:
            for message in self._connection.pending():
                if isinstance(message, wire.PageKeys):
                    self._keys = message
        except Broken:
            self._connection.close()
            self._connection = self._keys = None

    def _start_over(self) -> None:
        """After a fork: the connection is the parent's. Closing our copy does not end it."""
        with _STARTING_OVER:
            if self._pid != os.getpid():
                if self._connection is not None:
                    self._connection.close()
                self._connection = self._keys = None
                self._turn = threading.Lock()
                self._pid = os.getpid()  # last: who sees it finds everything else in place
