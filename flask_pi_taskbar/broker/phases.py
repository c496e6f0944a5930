"""The session's phases as tables: what may follow what, what clients see, and what their requests get.

A phase says what the session is waiting for. `Session` looks everything up here; a step that is not in the table is a
bug, and the tests walk through all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from flask_pi_taskbar.broker.effects import Result
from flask_pi_taskbar.contract.snapshot import SessionStatus


class Phase(Enum):
    COLD = auto()  # not opened
    STARTING = auto()  # no Pi that has answered; an attempt runs, or waits for the old one's end or a pause
    READY = auto()  # Pi answers and has nothing to do for us
    BUSY = auto()  # one task, from admission to its final state
    RESETTING = auto()  # Pi was asked for a new conversation
    RECOVERING = auto()  # as STARTING, and its end is the end of a reset
    UNAVAILABLE = auto()  # given up until somebody asks again
    CLOSED = auto()


class Step(Enum):
    OPEN = auto()
    WELCOME = auto()  # Pi has told a valid state
    LOSE = auto()  # Pi, or the attempt to start it, is lost: try again
    GIVE_UP = auto()  # … and no attempt is left
    ADMIT = auto()
    SETTLE = auto()
    RESET = auto()
    REFUSE = auto()  # an extension has vetoed the new conversation
    RETRY = auto()  # a read after the cool-down
    CLOSE = auto()


# fmt: off
STEPS: Final[Mapping[Phase, Mapping[Step, Phase]]] = {
    Phase.COLD:        {Step.OPEN: Phase.STARTING},
    Phase.STARTING:    {Step.WELCOME: Phase.READY, Step.LOSE: Phase.STARTING, Step.GIVE_UP: Phase.UNAVAILABLE},
    Phase.READY:       {Step.ADMIT: Phase.BUSY, Step.RESET: Phase.RESETTING, Step.LOSE: Phase.STARTING},
    Phase.BUSY:        {Step.SETTLE: Phase.READY, Step.LOSE: Phase.STARTING},
    Phase.RESETTING:   {Step.WELCOME: Phase.READY, Step.REFUSE: Phase.READY, Step.LOSE: Phase.RECOVERING},
    Phase.RECOVERING:  {Step.WELCOME: Phase.READY, Step.LOSE: Phase.RECOVERING, Step.GIVE_UP: Phase.UNAVAILABLE},
    Phase.UNAVAILABLE: {Step.RETRY: Phase.STARTING, Step.RESET: Phase.RECOVERING},
    Phase.CLOSED:      {},
}
CLOSABLE: Final = frozenset(Phase) - {Phase.CLOSED}  # CLOSE leads to CLOSED from all of these

#                      what clients see           a submit gets        a reset gets (None: it is taken on)
_CLIENTS: Final = {
    Phase.COLD:        (SessionStatus.STARTING,    Result.UNAVAILABLE, Result.RESET_WHILE_BUSY),
    Phase.STARTING:    (SessionStatus.STARTING,    Result.UNAVAILABLE, Result.RESET_WHILE_BUSY),
    Phase.READY:       (SessionStatus.READY,       None,               None),
    Phase.BUSY:        (SessionStatus.BUSY,        Result.BUSY,        Result.RESET_WHILE_BUSY),
    Phase.RESETTING:   (SessionStatus.RESETTING,   Result.BUSY,        Result.RESET_WHILE_BUSY),
    Phase.RECOVERING:  (SessionStatus.RESETTING,   Result.BUSY,        Result.RESET_WHILE_BUSY),
    Phase.UNAVAILABLE: (SessionStatus.UNAVAILABLE, Result.UNAVAILABLE, None),
    Phase.CLOSED:      (SessionStatus.UNAVAILABLE, Result.UNAVAILABLE, Result.UNAVAILABLE),
}
# fmt: on

STATUS: Final = {phase: row[0] for phase, row in _CLIENTS.items()}
SUBMIT: Final = {phase: row[1] for phase, row in _CLIENTS.items()}
RESET: Final = {phase: row[2] for phase, row in _CLIENTS.items()}

# Phases in which nothing goes on that the broker must wait for before it leaves.
AT_REST: Final = frozenset({Phase.COLD, Phase.READY, Phase.UNAVAILABLE, Phase.CLOSED})


def follow(phase: Phase, step: Step) -> Phase:
    """The phase after `step`."""
    return Phase.CLOSED if step is Step.CLOSE and phase in CLOSABLE else STEPS[phase][step]
