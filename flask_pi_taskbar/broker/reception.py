"""Who is let in, with which settings the broker works, and when it gives way. Events in, decisions out; no sockets.

Two servers with different settings on one checkout
---------------------------------------------------
There is one broker, so one set of settings is in force. The rule: **the server that was started last decides, once.** A
server asks with its first connection only (`instance` is made once a started program, and a forked worker inherits it),
so two servers that merely run side by side do not take turns: after the later one has asked there is nobody left who
would. Each change needs a new start, is made only between tasks, and not within `HOLD` seconds of the one before, so
even a server that restarts its workers at every request costs one restart of Pi in that time, never a task. Everybody
else is served under the settings in force. Only the executable and the time limit count as settings: the environments
of two terminals always differ, so a new environment alone is kept for the next start of Pi and restarts nothing; but a
Pi that has no model makes room at once for one whose environment may hold an API key, and so does any at a reset.

Two versions of this package
----------------------------
A newer client makes an idle broker exit, and elects its own; a busy one serves it and exits after the task. An older
client is served by a newer broker. So the version in force only rises, and two servers with different versions do not
take turns either. Another generation cannot be served: it is told so, and a broker of an older one gives way when idle.
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final

import msgspec

from flask_pi_taskbar.broker.wire import (
    GENERATION,
    HANDING_OVER,
    INCOMPATIBLE_GENERATION,
    ROLE_APP,
    WRONG_IDENTITY,
    Hello,
    Refused,
    Welcome,
)

HOLD: Final = 10.0
INSTANCES: Final = 1_000
_NOTES_OF_A_SHELL: Final = frozenset({b"_", b"OLDPWD", b"PWD", b"SHLVL"})


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What Pi is started with."""

    executable: str
    task_timeout: int
    environment: dict[bytes, bytes]

    @property
    def digest(self) -> str:
        return digest(self.executable, self.task_timeout)

    def differs_for_pi(self, other: Settings) -> bool:
        """Pi may behave differently in the other environment: not only a shell's notes to itself differ."""
        mine, its = self.environment, other.environment
        return any(mine.get(name) != its.get(name) for name in {*mine, *its} - _NOTES_OF_A_SHELL)


def digest(executable: str, task_timeout: int) -> str:
    """A short name for the settings that matter for a hand-over."""
    import hashlib

    return hashlib.sha256(msgspec.json.encode([executable, task_timeout])).hexdigest()[:16]


class Reception:
    """The broker's front desk. `settings` are the ones in force, None until the first client has brought some."""

    def __init__(self, *, identity: str, token: str, version: str, pid: int) -> None:
        self.settings: Settings | None = None
        self.leaves_when_idle = False
        self._identity = identity
        self._token = token
        self._version = version
        self._pid = pid
        self._wish: Settings | None = None
        self._changed = float("-inf")
        self._seen: deque[str] = deque(maxlen=INSTANCES)

    def greet(self, hello: Hello, *, idle: bool) -> Welcome | Refused:
        """Decide about a client. `leaves_when_idle` may be set by it."""
        known = hello.identity == self._identity and hello.token == self._token
        if hello.generation != GENERATION:
            self.leaves_when_idle |= known and hello.generation > GENERATION
            return self.refuse(INCOMPATIBLE_GENERATION)
        if not known:
            return self.refuse(WRONG_IDENTITY)
        if _rank(hello.version) > _rank(self._version):
            self.leaves_when_idle = True
        if self.leaves_when_idle and idle:
            return self.refuse(HANDING_OVER)
        return Welcome(
            generation=GENERATION,
            identity=self._identity,
            token=self._token,
            version=self._version,
            pid=self._pid,
            configure=self._wants_settings_of(hello),
        )

    def refuse(self, code: str) -> Refused:
        """What a client is told that is turned away for the reason `code`."""
        return Refused(code=code, generation=GENERATION, version=self._version, pid=self._pid)

    def configure(self, hello: Hello, settings: Settings) -> bool:
        """Take the settings of a client that was asked for them. True when they are the first ones and hold at once."""
        self._seen.append(hello.instance)
        if self.settings is None:
            self.settings = settings
            return True
        if settings.digest == self.settings.digest:
            self.settings = settings
            self._wish = None
        else:
            self._wish = settings
        return False

    def change(self, now: float, *, idle: bool) -> Settings | None:
        """The settings to change to now, if that is to be done now; they are the ones in force from here on."""
        if self._wish is None or not idle or now < self._changed + HOLD:
            return None
        self.settings, self._wish, self._changed = self._wish, None, now
        return self.settings

    def deadline(self) -> float | None:
        """When to ask `change` again although nothing has happened."""
        return None if self._wish is None else self._changed + HOLD

    def _wants_settings_of(self, hello: Hello) -> bool:
        if not hello.digest:
            return False
        return self.settings is None or (hello.role == ROLE_APP and hello.instance not in self._seen)


def _rank(version: str) -> tuple[tuple[int, ...], bool, str]:
    """Orders versions well enough to know the newer one: numbers first, a pre-release before its release."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    numbers = tuple(int(part) for part in found[0].split(".")) if found else ()
    while numbers and numbers[-1] == 0:
        numbers = numbers[:-1]
    rest = version[found.end() :] if found else version
    return numbers, not re.match(r"[.-]?(?:a|b|c|rc|dev|alpha|beta)", rest), rest
