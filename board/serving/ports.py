"""The port of a page: pinned, or the one of last time, or one that is always the same for a repository.

A page is bound to this machine's own addresses only, so that nobody else reaches it and both `127.0.0.1` and
`localhost` do.
"""

from __future__ import annotations

import contextlib
import errno
import socket
from hashlib import sha256
from typing import Final

from flask_pi_taskbar.board.filesystem import read_regular
from flask_pi_taskbar.board.store import Store

FIRST: Final = 4780
COUNT: Final = 1000
NEIGHBOURS: Final = 20
PASSED_OVER: Final = frozenset({5000, 5001, 5060, 5061, 5173, 5432, 5672})
"""Refused by browsers (5060, 5061), or commonly taken by other development servers."""

BACKLOG: Final = 512


class PortTaken(OSError):  # noqa: N818 - it says what is wrong
    """The pinned port is in use."""

    def __init__(self, port: int) -> None:
        super().__init__(
            errno.EADDRINUSE,
            f"port {port} is in use: change board_port in the settings, or stop what answers on it",
        )


def bind(store: Store, key: str, pinned: int | None = None) -> list[socket.socket]:
    """Listening sockets on one port: of 127.0.0.1, and of ::1 where that can be had. Raises `PortTaken`, `OSError`."""
    if pinned is not None:
        listener = _listen(pinned)
        if listener is None:
            raise PortTaken(pinned)
    else:
        listener = next((found for port in candidates(store, key) if (found := _listen(port))), None) or _listen(0)
        if listener is None:
            raise OSError(errno.EADDRINUSE, "no port of 127.0.0.1 is free")
    port = listener.getsockname()[1]
    with contextlib.suppress(OSError):
        six = _bound(socket.AF_INET6, "::1", port)
        return [listener, six]
    return [listener]


def candidates(store: Store, key: str) -> list[int]:
    """The ports to try, in this order: the last one, then the repository's own and those behind it."""
    own = FIRST + int(sha256(key.encode()).hexdigest()[:8], 16) % COUNT
    last = _remembered(store)
    ports = [last] if last is not None else []
    ports += [FIRST + (own - FIRST + step) % COUNT for step in range(NEIGHBOURS + 1)]
    return [port for port in dict.fromkeys(ports) if port not in PASSED_OVER]


def _remembered(store: Store) -> int | None:
    try:
        _, data = read_regular(store.disk, store.layout.port, 16)
    except OSError:
        return None
    text = (data or b"").decode("ascii", "replace").strip()
    return int(text) if text.isascii() and text.isdecimal() and 1024 <= int(text) <= 65535 else None


def _listen(port: int) -> socket.socket | None:
    try:
        return _bound(socket.AF_INET, "127.0.0.1", port)
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            return None
        raise


def _bound(family: socket.AddressFamily, address: str, port: int) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        # Without it a port that was just left could not be had again for a minute. On Linux it lets nobody share one.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener
