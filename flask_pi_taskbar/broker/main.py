"""The broker's process, from winning the election to the last file removed.

`__main__` calls `main`. Whoever launched us waits for one line on descriptor 1: `ready`, `lost`, or `failed: …`; after
it all three standard streams lead nowhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from flask_pi_taskbar.broker.election import Election, Endpoint, Lost, hold_state, own_start
from flask_pi_taskbar.broker.host import TaskHost
from flask_pi_taskbar.broker.log import Log
from flask_pi_taskbar.broker.reception import Reception
from flask_pi_taskbar.broker.runtime import PrivateDirectory, Refused, socket_path
from flask_pi_taskbar.broker.server import GRACE_SECONDS, Server
from flask_pi_taskbar.broker.shell import Shell
from flask_pi_taskbar.broker.wire import GENERATION
from flask_pi_taskbar.project import identity, project_key, runtime_dir, state_dir
from flask_pi_taskbar.version import __version__

READY: Final = "ready"
LOST: Final = "lost"
FAILED: Final = "failed: "

EXIT_OK: Final = 0
EXIT_FAILED: Final = 1
EXIT_LOST: Final = 3
EXIT_BUG: Final = 70


def main(root: Path, grace: float = GRACE_SECONDS) -> int:
    """Be the broker of `root` until there is no more need for one. Returns the exit code."""
    state = state_dir(root)
    log = Log(state)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # a server may have passed on that it ignores its children
    try:
        directory = PrivateDirectory.open(runtime_dir(root))
        socket_path(directory.path)
        election = Election.win(directory)
        hold_state(PrivateDirectory.open(state))
        listener = election.bind()
    except Lost:
        _report(LOST)
        return EXIT_LOST
    except (Refused, OSError) as error:
        reason = error.reason if isinstance(error, Refused) else f"the broker could not start: {error}"
        log.write("start failed", problem=type(error).__name__)
        _report(FAILED + reason)
        return EXIT_FAILED
    return asyncio.run(_serve(root, state, log, election, listener, grace))


async def _serve(root: Path, state: Path, log: Log, election: Election, listener: Any, grace: float) -> int:
    loop = asyncio.get_running_loop()
    bugs: list[BaseException] = []

    def fatal(problem: BaseException) -> None:
        bugs.append(problem)
        shell.note("bug", problem=type(problem).__name__, at=_place(problem))
        server.end("a bug")

    shell = Shell(log, fatal)
    token = os.urandom(24).hex()
    key = project_key(root, os.getuid())
    reception = Reception(identity=identity(root), token=token, version=__version__, pid=os.getpid())
    server = Server(shell, reception, election, lambda changed: TaskHost(shell, root, state, key, changed), grace)
    loop.set_exception_handler(lambda _, context: _judge(context, fatal, shell))
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, server.end, signal.Signals(number).name)
    await server.open(listener)
    election.publish(
        Endpoint(
            generation=GENERATION,
            identity=identity(root),
            token=token,
            socket=str(socket_path(runtime_dir(root))),
            pid=os.getpid(),
            start=own_start(),
            version=__version__,
        )
    )
    shell.note("ready", version=__version__)
    _report(READY)
    await server.ended.wait()
    shell.note("ended")
    code = EXIT_BUG if bugs else EXIT_OK
    if not shell.close():
        _leave_at_once(code)
    return code


def _leave_at_once(code: int) -> None:
    """The file thread hangs in a system call. Python would wait for it, and the kernel may have to.

    So the descriptors go first: with them the locks, for a successor, and Pi's stdin, which it takes for its end.
    """
    os.closerange(3, 65_536)
    os._exit(code)


def _judge(context: dict[str, Any], fatal: Callable[[BaseException], None], shell: Shell) -> None:
    """What reached nobody else: trouble with a descriptor passes, anything else is a bug."""
    problem = context.get("exception")
    if isinstance(problem, OSError):
        shell.note("input or output failed", problem=type(problem).__name__)
    else:
        fatal(problem or RuntimeError())


def _report(line: str) -> None:
    """Tell the launcher, once, and let go of it."""
    with contextlib.suppress(OSError):
        os.write(1, line.encode() + b"\n")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nowhere, fd)
    os.close(nowhere)


def _place(problem: BaseException) -> str:
    """The file of ours and the line where it went wrong: no message, which could hold anything."""
    trace = problem.__traceback__
    place = "?"
    while trace is not None:
        file = Path(trace.tb_frame.f_code.co_filename)
        if "flask_pi_taskbar" in file.parts:
            place = f"{file.name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
