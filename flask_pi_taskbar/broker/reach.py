"""The way to a broker: connect to the one that lives, or start one and connect to that.

Every call of a client that has no connection comes through `reach`. However many do so at once, in however many
processes, they end at one broker. A live one that cannot be verified or speaks another generation is left alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from flask_pi_taskbar.broker import wire
from flask_pi_taskbar.broker.connection import Broken, Connection, Greeting, NoBroker, Turned
from flask_pi_taskbar.broker.launch import launch, scrubbed_environment, turn
from flask_pi_taskbar.broker.runtime import PrivateDirectory, Refused
from flask_pi_taskbar.broker.unavailable import Unavailable
from flask_pi_taskbar.project import NoHome, runtime_dir
from flask_pi_taskbar.version import __version__

CONNECT_SECONDS: Final = 4.0
POLL_SECONDS: Final = 0.02
AGAIN_SECONDS: Final = 0.15
"""Between two launches of one client: the first may have lost to a broker that is just ending."""

TURN_SECONDS: Final = 1.0
"""Another process that is launching is given this long; then we launch as well."""


def reach(
    root: Path,
    greeting: Greeting,
    settings: tuple[str, int],
    deadline: float,
    asking: Callable[[], AbstractContextManager[None]],
) -> Connection:
    """A connection to the broker of `root`, which has the settings if it asked for them. Raises `Unavailable`.

    `asking` is entered while a broker that is there is greeted, and not while one is launched.
    """
    deadline = min(deadline, time.monotonic() + CONNECT_SECONDS)
    attempt = _Launches(root, deadline)
    while True:
        try:
            with asking():
                connection = Connection.open(root, greeting, deadline)
            return _configured(connection, settings, deadline)
        except NoBroker:
            attempt.go_on()
        except Turned as turned:
            if turned.reply.code not in (wire.HANDING_OVER, wire.WRONG_IDENTITY):
                raise Unavailable(explain(turned.reply)) from None
            # It is about to leave, or has just been followed by one with another token.
            attempt.wait(explain(turned.reply))
        except Broken as error:
            raise Unavailable(str(error)) from error
        except TimeoutError:
            raise Unavailable("the broker did not answer in time") from None
        except NoHome as error:
            raise Unavailable(str(error)) from error


def explain(reply: wire.Refused) -> str:
    """Why a broker turned us away, for a log or a terminal."""
    who = f"the running broker (process {reply.pid}, version {reply.version}, generation {reply.generation})"
    if reply.code == wire.INCOMPATIBLE_GENERATION:
        return (
            f"{who} speaks another generation than this version {__version__} (generation {wire.GENERATION}); "
            f"stop it with the version that started it, or with `kill {reply.pid}`"
        )
    if reply.code == wire.HANDING_OVER:
        return f"{who} is ending"
    if reply.code == wire.CROWDED:
        return f"{who} has too many connections"
    return f"{who} turned this client away: {reply.code}"


class _Launches:
    """The launches of one client within one deadline."""

    def __init__(self, root: Path, deadline: float) -> None:
        self._root = root
        self._deadline = deadline
        self._own_turn_at = time.monotonic() + TURN_SECONDS
        self._not_before = 0.0

    def go_on(self) -> None:
        """Nobody answers: launch, or wait a little for somebody who does."""
        now = time.monotonic()
        if now >= self._not_before:
            try:
                with PrivateDirectory.open(runtime_dir(self._root)) as directory, turn(directory) as ours:
                    if ours or now >= self._own_turn_at:
                        self._not_before = now + AGAIN_SECONDS
                        if launch(self._root, self._deadline):
                            return
            except Refused as error:
                raise Unavailable(error.reason) from error
        self.wait("no broker could be reached")

    def wait(self, problem: str) -> None:
        if time.monotonic() >= self._deadline:
            raise Unavailable(f"{problem}, for {CONNECT_SECONDS:.0f} seconds")
        time.sleep(POLL_SECONDS)


def _configured(connection: Connection, settings: tuple[str, int], deadline: float) -> Connection:
    if connection.welcome.configure:
        executable, task_timeout = settings
        message = wire.Configure(executable=executable, task_timeout=task_timeout, environment=scrubbed_environment())
        try:
            connection.send(message, deadline)
        except wire.WireError:
            connection.close()
            raise Unavailable("the environment of this process is too large to be handed to Pi") from None
        except BaseException:
            connection.close()
            raise
    return connection
