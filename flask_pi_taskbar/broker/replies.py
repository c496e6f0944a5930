"""What Pi answers, read: which of our commands a response belongs to, and what a `get_state` says.

The child keeps one `Commands` a process. Nothing here decides what an answer leads to.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any, Final

from flask_pi_taskbar.contract.bounds import MODEL_BYTES
from flask_pi_taskbar.contract.text import clean_label

Record = dict[str, Any]


class Purpose(Enum):
    """Why a command was sent."""

    STARTUP = auto()
    PROMPT = auto()
    ABORT = auto()
    FENCE = auto()
    NEW_SESSION = auto()
    NEW_STATE = auto()


class Stray(Enum):
    """A response that answers no command that is still waiting."""

    LATE = auto()  # to a command of ours that has been answered or given up: harmless
    UNKNOWN = auto()  # to nothing we ever sent, or in no shape of an answer: Pi's protocol has failed


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to a waiting command."""

    purpose: Purpose
    success: bool
    data: Record


@dataclass(frozen=True, slots=True)
class PiState:
    """An accepted `get_state`. `session` is Pi's own id, which never leaves the broker; no `model` is none chosen."""

    session: str
    model: str | None


# How many answered ids are remembered. A late answer comes within a command or two; this covers minutes of questions.
_REMEMBERED: Final = 256


class Commands:
    """The commands of one incarnation that wait for an answer, and the ids that no longer do."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[Purpose, str]] = {}
        self._past: deque[str] = deque(maxlen=_REMEMBERED)
        self._types: set[str] = set()

    def issue(self, purpose: Purpose, message: Record) -> Record:
        """`message`, noted as sent. Its `id` is new."""
        self._waiting[message["id"]] = (purpose, message["type"])
        self._types.add(message["type"])
        return message

    def is_waiting(self, purpose: Purpose) -> bool:
        return any(waiting is purpose for waiting, _ in self._waiting.values())

    def give_up(self) -> None:
        """Whatever is still to be answered will come late: the run that asked is over."""
        self._past.extend(self._waiting)
        self._waiting.clear()

    def match(self, response: Record) -> Reply | Stray:
        """The waiting command that `response` answers; a reply is given once, the command no longer waits."""
        name = response.get("id")
        if name is None:
            name = self._refused_without_id(response)
        if isinstance(name, Stray):
            return name
        if not isinstance(name, str):
            return Stray.UNKNOWN
        if name not in self._waiting:
            return Stray.LATE if name in self._past else Stray.UNKNOWN
        success = response.get("success")
        if not isinstance(success, bool):
            return Stray.UNKNOWN
        purpose, _ = self._waiting.pop(name)
        self._past.append(name)
        data = response.get("data")
        return Reply(purpose, success, data if isinstance(data, dict) else {})

    def _refused_without_id(self, response: Record) -> str | Stray:
        """The id of the command that a refusal without an id means.

        Pi 0.73 refuses a command it does not know without repeating the id. Both lines answer a line they could not
        parse as `parse`: the oldest command still waiting is then the one that never arrived.
        """
        command = response.get("command")
        if response.get("success") is not False or not isinstance(command, str):
            return Stray.UNKNOWN
        for name, (_, kind) in self._waiting.items():
            if command in (kind, "parse"):
                return name
        return Stray.LATE if command == "parse" or command in self._types else Stray.UNKNOWN


def read_state(data: Record) -> PiState | None:
    """The state in a `get_state` answer, or None where it is not valid.

    A Pi without a login names its model `unknown/unknown`; older ones say null, which JSON may leave out. That is a
    valid state without a model: the session can be read, and says what to do.
    """
    session, model = data.get("sessionId"), data.get("model")
    if not isinstance(session, str) or not session:
        return None
    if model is None:
        return PiState(session, None)
    if isinstance(model, dict):
        provider, name = model.get("provider"), model.get("id")
        if not isinstance(provider, str) or not isinstance(name, str):
            return None
        if provider == name == "unknown":
            return PiState(session, None)
        model = f"{provider}/{name}"
    if not isinstance(model, str):
        return None
    label = clean_label(model, MODEL_BYTES)
    return PiState(session, label) if label else None
