"""What every part of the broker needs from the process around it: one file thread, owned tasks, a log.

Made once in `main`. A task that fails has met a bug: the broker then ends, since its start is also its recovery.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any, Final, ParamSpec, TypeVar

from flask_pi_taskbar.broker.log import Log

CLOSE_SECONDS: Final = 2.0
"""With the ten seconds that the end of Pi may take, this is less than `pi-taskbar broker stop` waits."""

P = ParamSpec("P")
T = TypeVar("T")


class Shell:
    """One per broker. `fatal` is called with what an owned task raised."""

    def __init__(self, log: Log, fatal: Callable[[BaseException], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._log = log
        self._fatal = fatal
        self._files = ThreadPoolExecutor(1, thread_name_prefix="files")
        self._tasks: set[asyncio.Task[Any]] = set()

    async def run(self, work: Callable[P, T], *arguments: P.args, **keywords: P.kwargs) -> T:
        """Run what may block, in the order in which it was asked for."""
        return await asyncio.wrap_future(self._files.submit(work, *arguments, **keywords))

    def own(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Start a task that nobody else has to wait for."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def note(self, event: str, **fields: str | int | float | None) -> None:
        """Write a line to the log, some time soon."""
        self._files.submit(self._log.write, event, **fields)

    def close(self) -> bool:
        """Finish the file work that is waiting; False when the disk takes too long for that."""
        last = self._files.submit(int)
        self._files.shutdown(wait=False)
        return not wait([last], CLOSE_SECONDS).not_done

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (problem := task.exception()) is not None:
            self._fatal(problem)
