"""The pages that the broker holds for the servers of its project: the lock, the note and the keys.

A server that serves the board's page says so over a connection that it keeps; any of its workers may. While one such
connection lives the page is held, so that a repository has one page, and every worker has the same keys. When the last
one has gone the page stays held for some seconds: a server that is being reloaded finds its keys again. The work on
files is done in threads of its own, since the board's lock may have to be waited for.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Protocol

from flask_pi_taskbar.broker import wire

if TYPE_CHECKING:
    from flask_pi_taskbar.board.serving.holding import HeldPage

GRACE_SECONDS: Final = 10.0
RENEW_SECONDS: Final = 5.0


class Line(Protocol):
    """A connection of a server that serves a page."""

    def tell(self, message: wire.PageKeys) -> None: ...


class Pages:
    """Every page that this broker holds, by the folder of its store. There is mostly one."""

    def __init__(self, changed: Callable[[], None], *, grace: float = GRACE_SECONDS) -> None:
        self._changed = changed
        self._grace = grace
        self._loop = asyncio.get_running_loop()
        self._pages: dict[str, _Page] = {}
        self._lines: dict[Line, str] = {}

    async def hold(self, line: Line, request: wire.Page) -> None:
        """Answer a server that wants to serve the page of a store."""
        if self._lines.get(line, request.store) != request.store:
            self.forget(line)
        page = self._pages.setdefault(request.store, _Page(request.store))
        page.lines.add(line)
        self._lines[line] = request.store
        if page.leaving is not None:
            page.leaving.cancel()
            page.leaving = None
        async with page.turn:
            fresh = page.held is None and await asyncio.to_thread(page.take, request.address, request.port)
        if page.held is not None and page.renewing is None:
            page.renewing = self._loop.create_task(page.renew())
        line.tell(page.keys(request.id, fresh=fresh))
        if line not in self._lines:
            self._left(page)

    async def revoke(self, line: Line, request: wire.Revoke) -> None:
        """Give the lead another key, and tell everybody who serves the page."""
        page = self._pages.get(self._lines.get(line, ""))
        if page is None or page.held is None:
            line.tell(wire.PageKeys(id=request.id, held=False))
            return
        page.held.keys = page.held.keys.revoked()
        for other in page.lines - {line}:
            other.tell(page.keys(wire.PUSHED, fresh=False))
        line.tell(page.keys(request.id, fresh=False))

    def forget(self, line: Line) -> None:
        """A connection has ended."""
        store = self._lines.pop(line, None)
        if store is not None and (page := self._pages.get(store)) is not None:
            page.lines.discard(line)
            self._left(page)

    async def close(self) -> None:
        """Let go of everything."""
        for page in list(self._pages.values()):
            await self._leave(page)

    def _left(self, page: _Page) -> None:
        if not page.lines and page.leaving is None:
            page.leaving = self._loop.call_later(self._grace, self._leave_soon, page)

    def _leave_soon(self, page: _Page) -> None:
        page.leaving = None
        page.end = self._loop.create_task(self._leave(page, if_unused=True))

    async def _leave(self, page: _Page, *, if_unused: bool = False) -> None:
        if page.leaving is not None:
            page.leaving.cancel()
            page.leaving = None
        async with page.turn:
            if if_unused and page.lines:
                return  # somebody came in the meantime
            if page.renewing is not None:
                page.renewing.cancel()
                page.renewing = None
            await asyncio.to_thread(page.leave)
        if self._pages.get(page.store) is page and not page.lines:
            del self._pages[page.store]
        self._changed()


class _Page:
    """One page."""

    def __init__(self, store: str) -> None:
        self.store = store
        self.lines: set[Line] = set()
        self.turn = asyncio.Lock()
        self.held: HeldPage | None = None
        self.leaving: asyncio.TimerHandle | None = None
        self.end: asyncio.Task[None] | None = None
        self.renewing: asyncio.Task[None] | None = None
        self._problem = ""

    def take(self, address: str, port: int) -> bool:
        """Take the page and leave the note, in a thread; whether it is held now."""
        from flask_pi_taskbar.board.refusal import Refusal
        from flask_pi_taskbar.board.serving.holding import take_page
        from flask_pi_taskbar.board.store import Store

        now = datetime.now(UTC)
        self._problem = ""
        try:
            held = take_page(Store(self.store), now)
            if held is None:
                return False
            try:
                held.announce(address, port, now)
            except BaseException:
                held.close()
                raise
        except (Refusal, OSError) as error:
            self._problem = str(error)
            return False
        self.held = held
        return True

    def leave(self) -> None:
        """Take the note away and let go, in a thread."""
        from flask_pi_taskbar.board.refusal import Refusal

        held, self.held = self.held, None
        if held is not None:
            with contextlib.suppress(Refusal, OSError):
                held.leave(datetime.now(UTC))

    async def renew(self) -> None:
        """Keep a lock that is a folder ours."""
        from flask_pi_taskbar.board.holder import Lost

        while (held := self.held) is not None:
            try:
                await asyncio.to_thread(held.renew)
            except Lost:
                self.held = None
                for line in self.lines:
                    line.tell(self.keys(wire.PUSHED, fresh=False))
                return
            except OSError:
                pass  # the next time may succeed
            await asyncio.sleep(RENEW_SECONDS)

    def keys(self, request: int, *, fresh: bool) -> wire.PageKeys:
        held = self.held
        if held is None or held.note is None:
            return wire.PageKeys(id=request, held=False, problem=self._problem)
        return wire.PageKeys(
            id=request,
            held=True,
            epoch=held.epoch,
            lead=held.keys.lead,
            viewer=held.keys.viewer,
            address=held.note.url.partition("#")[0],
            fresh=fresh,
        )
