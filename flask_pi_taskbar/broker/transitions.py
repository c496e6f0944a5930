"""The session's inner half: its phases, the ways between them, and its conversation with Pi.

`Session` adds the inputs, which call these methods, and the theory of operation. Nothing here is called from outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from flask_pi_taskbar.broker import losses
from flask_pi_taskbar.broker.child import Child
from flask_pi_taskbar.broker.effects import Answer, Effect, Result, Send, Settled, Ticket
from flask_pi_taskbar.broker.keeper import Keeper
from flask_pi_taskbar.broker.losses import Loss
from flask_pi_taskbar.broker.phases import Phase, Step, follow
from flask_pi_taskbar.broker.replies import PiState, Purpose, Record, Reply, Stray, read_state
from flask_pi_taskbar.broker.run import Run, Stage
from flask_pi_taskbar.broker.timers import Timer, Timers
from flask_pi_taskbar.broker.timing import Timing
from flask_pi_taskbar.broker.view import View
from flask_pi_taskbar.contract import envelope, texts
from flask_pi_taskbar.contract.snapshot import TaskStatus, timestamp

# Extension dialogs that block Pi until they are answered; all other requests are for display only.
_DIALOGS: Final = frozenset({"select", "confirm", "input", "editor"})
# Deadlines of a run that has ended mean nothing to the next.
_OF_A_RUN: Final = (Timer.JOURNAL, Timer.TASK, Timer.ABORT, Timer.FENCE, Timer.RESET)


@dataclass(frozen=True, slots=True)
class SessionConfig:
    """What the user set (`task_timeout`, in seconds), and the waits, which only tests change."""

    task_timeout: float
    timing: Timing = field(default_factory=Timing)


class Transitions:
    """What the inputs of a session lead to."""

    def __init__(self, config: SessionConfig, *, new_id: Callable[[], str], utcnow: Callable[[], datetime]) -> None:
        self._config = config
        self._timing = config.timing
        self._new_id = new_id
        self._utcnow = utcnow
        self._effects: list[Effect] = []
        self._timers = Timers()
        self._keeper = Keeper(self._timing, self._timers, self._effects)
        self._view = View()
        self._run: Run | None = None
        self._resets: list[Ticket] = []  # the ticket of the reset on its way, until it is answered
        self._clears_task = False  # the next valid state ends a reset

    # -- Phases -------------------------------------------------------------------------------------------------

    @property
    def _phase(self) -> Phase:
        return self._view.phase

    def _step(self, step: Step) -> None:
        self._view.phase = follow(self._view.phase, step)

    def _done(self) -> list[Effect]:
        """The end of every input."""
        self._view.commit()
        effects = self._effects[:]
        self._effects.clear()
        return effects

    def _start(self, now: float) -> None:
        if not self._keeper.start(now):
            self._give_up()

    def _lose(self, loss: Loss, now: float) -> None:
        """The child cannot be used any more, if there was one: settle what went on, end it, start the next."""
        run = self._run
        if run:
            error = texts.RESTARTING
            known = run.stage >= Stage.SENT or loss is losses.TIME_LIMIT
            self._settle(run, loss.status, loss.task if known else texts.LOST_BEFORE_TASK)
        elif self._phase is Phase.READY:
            error = loss.ready
        else:
            error = loss.resetting if self._phase is Phase.RESETTING else loss.starting
        if run or self._phase is Phase.RESETTING:
            self._keeper.budget.lost_at_work()
        else:
            self._keeper.budget.lost(now)
        self._step(Step.LOSE)
        self._view.forget_session(error)
        self._timers.drop(Timer.RESET)
        if not self._keeper.replace(now):
            self._give_up()

    def _replace(self, now: float) -> None:
        """End a Pi that is well, since the next one may be able to do what it cannot. A person is there and waits."""
        self._keeper.budget.lost_at_work()
        self._step(Step.LOSE)
        self._view.forget_session(texts.RESTARTING)
        self._keeper.dismiss(now)
        self._start(now)

    def _renew(self, now: float) -> None:
        """Between tasks: a Pi without a model makes room for one whose environment may hold the key to it."""
        child = self._keeper.child
        if self._phase is Phase.READY and child and child.outdated and child.lacks_model:
            self._replace(now)

    def _give_up(self) -> None:
        self._step(Step.GIVE_UP)
        self._view.forget_session(texts.RESTART_FAILED)
        self._clears_task = False
        self._answer_reset(Result.UNAVAILABLE)

    def _adopt(self, child: Child, state: PiState) -> None:
        """A valid state that Pi tells after a start or a new conversation is a new session."""
        child.state = state
        child.compacting = False
        self._view.id = self._new_id()
        self._view.model = state.model
        self._view.error = texts.NO_MODEL if state.model is None else None

    def _become_ready(self) -> None:
        if self._clears_task:
            self._clears_task = False
            self._view.task = None
        self._answer_reset(Result.ACCEPTED)
        self._timers.drop(Timer.RESET)
        self._step(Step.WELCOME)

    def _answer_reset(self, result: Result) -> None:
        self._timers.drop(Timer.RESET_ANSWER)
        while self._resets:
            self._effects.append(Answer(self._resets.pop(), result))

    def _settle(self, run: Run, status: TaskStatus, error: str | None) -> None:
        """The run is over and the task final. The caller moves on to the next phase."""
        if run.stage is Stage.JOURNALING:
            self._effects.append(Answer(run.ticket, Result.UNAVAILABLE))
        if run.is_cancelling and run.stage < Stage.SENT:
            status, error = TaskStatus.CANCELLED, None
        run.task.settle(status, error, timestamp(self._utcnow()))
        self._effects.append(Settled(run.task.id, status))
        self._run = None
        self._timers.drop(*_OF_A_RUN)
        run.child.commands.give_up()

    def _withdraw(self, error: str) -> None:
        """The task fails before Pi was told of it; Pi is not to blame and stays."""
        if self._run:
            self._settle(self._run, TaskStatus.FAILED, error)
            self._step(Step.SETTLE)

    # -- Talking to Pi ------------------------------------------------------------------------------------------

    def _listener(self) -> Child:
        """The child of a phase that has one."""
        child = self._keeper.child
        assert child is not None, self._phase
        return child

    def _command(self, child: Child, purpose: Purpose, kind: str, name: str, **more: object) -> None:
        message = child.commands.issue(purpose, {"type": kind, "id": name, **more})
        self._effects.append(Send(child.incarnation, message))

    def _ask_for_new_session(self) -> None:
        self._command(self._listener(), Purpose.NEW_SESSION, "new_session", f"reset-{self._new_id()}")

    def _dispatch(self, run: Run, now: float) -> None:
        """Send the prompt of a recorded task, or do first what must come before it."""
        child = run.child
        if child.commands.is_waiting(Purpose.NEW_SESSION) or child.commands.is_waiting(Purpose.NEW_STATE):
            return
        if run.is_cancelling:
            self._settle(run, TaskStatus.CANCELLED, None)
            self._step(Step.SETTLE)
        elif child.lacks_model and not run.renewed:
            run.renewed = True
            self._timers.arm(Timer.RESET, now + self._timing.reset)
            self._ask_for_new_session()
        elif child.compacting:
            run.hold(now)
        elif run.request is not None:
            message = envelope(run.request)
            run.sent(now)
            self._command(child, Purpose.PROMPT, "prompt", f"task-{run.task.id}", message=message)

    def _question_due(self) -> float | None:
        """When Pi is to be asked whether the run is over; not while it has still to answer that."""
        run = self._run
        return None if run is None or run.child.commands.is_waiting(Purpose.FENCE) else run.ask_at

    def _pump(self, now: float) -> None:
        """Carry out what the run wants."""
        run = self._run
        if run is None:
            self._renew(now)
            return
        if run.loss is not None:
            self._lose(run.loss, now)
            return
        if run.over:
            self._settle(run, *run.verdict())
            self._step(Step.SETTLE)
            self._renew(now)
            return
        if run.abort_due and not run.child.commands.is_waiting(Purpose.ABORT):
            if run.aborts == 0:
                self._timers.arm(Timer.ABORT, now + self._timing.abort)
            name = f"abort-{run.task.id}" + (f"-{run.aborts}" if run.aborts else "")
            run.aborting()
            self._command(run.child, Purpose.ABORT, "abort", name)
        due = self._question_due()
        if due is not None and due <= now:
            run.asked()
            self._command(run.child, Purpose.FENCE, "get_state", f"settle-{self._new_id()}")
            self._timers.arm(Timer.FENCE, now + self._timing.fence)

    # -- Listening to Pi ----------------------------------------------------------------------------------------

    def _read(self, child: Child, record: Record, now: float) -> None:
        kind = record.get("type")
        if kind == "response":
            reply = child.commands.match(record)
            if isinstance(reply, Reply):
                _ANSWERED[reply.purpose](self, child, reply, now)
            elif reply is Stray.UNKNOWN:
                self._lose(losses.RESPONSE, now)
        elif kind == "extension_ui_request":
            self._answer_dialog(child, record, now)
        elif isinstance(kind, str):
            child.notice(kind)
            if self._run:
                self._run.read(kind, record, now)
                if self._run.stage is Stage.UNSENT:
                    self._dispatch(self._run, now)

    def _answer_dialog(self, child: Child, record: Record, now: float) -> None:
        """Nobody is there to answer; an open dialog would hold Pi up for ever."""
        method, name = record.get("method"), record.get("id")
        if not isinstance(method, str) or method not in _DIALOGS:
            return
        if isinstance(name, str) and name:
            message = {"type": "extension_ui_response", "id": name, "cancelled": True}
            self._effects.append(Send(child.incarnation, message))
        else:
            self._lose(losses.EVENT, now)

    def _greeted(self, child: Child, reply: Reply, now: float) -> None:
        state = read_state(reply.data) if reply.success else None
        if state is None:
            self._lose(losses.BAD_STATE if reply.success else losses.REFUSED, now)
            return
        self._timers.drop(Timer.START)
        self._keeper.budget.ready(now)
        self._adopt(child, state)
        self._become_ready()

    def _prompt_answered(self, _child: Child, reply: Reply, now: float) -> None:
        if self._run and reply.success:
            self._run.accepted(reply.data.get("disposition"), now)
        elif self._run:
            self._run.refused()

    def _abort_answered(self, _child: Child, reply: Reply, now: float) -> None:
        if self._run and reply.success:
            self._run.aborted(now)
        elif self._run:
            self._lose(losses.ABORT_REFUSED, now)

    def _fence_answered(self, _child: Child, reply: Reply, now: float) -> None:
        self._timers.drop(Timer.FENCE)
        if self._run:
            self._run.answered(reply, now)
            if self._run.stage is Stage.UNSENT:
                self._dispatch(self._run, now)

    def _new_session_answered(self, child: Child, reply: Reply, now: float) -> None:
        cancelled = reply.data.get("cancelled") if reply.success else None
        if cancelled is False:
            self._command(child, Purpose.NEW_STATE, "get_state", f"reset-state-{self._new_id()}")
        elif self._run:
            self._timers.drop(Timer.RESET)
            self._dispatch(self._run, now)
        elif cancelled is True:
            self._clears_task = False
            self._timers.drop(Timer.RESET)
            self._step(Step.REFUSE)
            self._answer_reset(Result.SESSION_RESET_REJECTED)
        else:
            self._lose(losses.NOT_RESET, now)

    def _new_state_answered(self, child: Child, reply: Reply, now: float) -> None:
        state = read_state(reply.data) if reply.success else None
        is_new = state is not None and child.state is not None and state.session != child.state.session
        if state and is_new:
            self._adopt(child, state)
        if self._run:
            self._timers.drop(Timer.RESET)
            self._dispatch(self._run, now)
        elif is_new:
            self._become_ready()
        else:
            self._lose(losses.NOT_RESET, now)

    # -- Deadlines ----------------------------------------------------------------------------------------------

    def _stop_expired(self, now: float) -> None:
        if self._phase in (Phase.STARTING, Phase.RECOVERING):
            self._keeper.cannot_stop(now)
            self._give_up()

    def _task_expired(self, now: float) -> None:
        if self._run and self._run.stage is Stage.JOURNALING:
            self._withdraw(texts.TIME_LIMIT)
        else:
            self._lose(losses.TIME_LIMIT, now)

    def _expire(self, now: float) -> None:
        """Act on every deadline that has passed, the oldest first."""
        while (timer := self._timers.pop_due(now)) is not None:
            _EXPIRED[timer](self, now)


# What each answer leads to.
_ANSWERED: Final[Mapping[Purpose, Callable[[Transitions, Child, Reply, float], None]]] = {
    Purpose.STARTUP: Transitions._greeted,
    Purpose.PROMPT: Transitions._prompt_answered,
    Purpose.ABORT: Transitions._abort_answered,
    Purpose.FENCE: Transitions._fence_answered,
    Purpose.NEW_SESSION: Transitions._new_session_answered,
    Purpose.NEW_STATE: Transitions._new_state_answered,
}

# What each deadline leads to.
_EXPIRED: Final[Mapping[Timer, Callable[[Transitions, float], None]]] = {
    Timer.PAUSE: lambda session, now: session._keeper.spawn_if_due(now),
    Timer.START: lambda session, now: session._lose(losses.NO_ANSWER, now),
    Timer.STOP: Transitions._stop_expired,
    Timer.JOURNAL: lambda session, _now: session._withdraw(texts.NOT_RECORDED),
    Timer.TASK: Transitions._task_expired,
    Timer.ABORT: lambda session, now: session._lose(losses.NOT_ABORTED, now),
    Timer.FENCE: lambda session, now: session._lose(losses.UNCONFIRMED, now),
    Timer.RESET: lambda session, now: session._lose(losses.RESET_TIMEOUT, now),
    Timer.RESET_ANSWER: lambda session, _now: session._answer_reset(Result.UNAVAILABLE),
}
