"""What the session asks of its shell: a short list of commands, and the words it answers clients with.

The session returns these from every input; the asyncio shell carries them out in order and reports back through the
session's inputs. Nothing here acts. An *incarnation* is the number of one Pi child, from its `Spawn` to the end of its
process tree; a *ticket* is whatever the shell wants to get back when a client's request is decided.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, TypeAlias

from flask_pi_taskbar.contract.snapshot import TaskStatus

Ticket: TypeAlias = Hashable
Message: TypeAlias = dict[str, Any]


class Result(StrEnum):
    """How a client's request was decided; the words of the wire between worker and broker."""

    ACCEPTED = "accepted"
    BUSY = "busy"
    UNAVAILABLE = "unavailable"
    CANCELLED = "cancelled"
    NOT_FOUND = "not_found"
    NOT_CANCELLABLE = "not_cancellable"
    RESET_WHILE_BUSY = "reset_while_busy"
    SESSION_RESET_REJECTED = "session_reset_rejected"


@dataclass(frozen=True, slots=True)
class Spawn:
    """Start Pi. Answered by `spawned` or `spawn_failed`; never given while another incarnation may still live."""

    incarnation: int


@dataclass(frozen=True, slots=True)
class Send:
    """Write one record to this incarnation's stdin. The shell owns the queue and its deadline (`write_stalled`)."""

    incarnation: int
    message: Message


@dataclass(frozen=True, slots=True)
class Stop:
    """End this incarnation and everything it started, whatever state it is in: starting, silent or already dead.

    Answered by `stopped` exactly once, when the process tree is gone and reaped (where the spawn itself failed,
    `spawn_failed` will do). Until then no other incarnation is asked for.
    """

    incarnation: int


@dataclass(frozen=True, slots=True)
class Dismiss(Stop):
    """`Stop` one that is well and has nothing to do: what it left running on purpose stays (`daemons.py`)."""


@dataclass(frozen=True, slots=True)
class Journal:
    """Put the admitted prompt on disk, durably. Answered by `journaled`; Pi gets the prompt only after that."""

    task_id: str
    prompt: str
    started_at: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The task has its final state, once and for all; the journal need not keep its prompt for a recovery."""

    task_id: str
    status: TaskStatus


@dataclass(frozen=True, slots=True)
class Answer:
    """Tell the client behind this ticket how its request was decided. Each ticket is answered exactly once."""

    ticket: Ticket
    result: Result


Effect: TypeAlias = Spawn | Send | Stop | Journal | Settled | Answer
