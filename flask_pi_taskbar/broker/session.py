"""The session: everything that is decided about the one Pi child and the one retained task.

The broker's asyncio shell owns one `Session`. It calls an input for everything that happens (a client's request, a
record from Pi, the end of a process or of an fsync, a deadline) and carries out the effects that come back, in order.
The session never does anything itself: no sockets, threads or processes, no clock but the `now` of each input.

Theory of operation
===================

**Two things, three objects.** The *child* is one incarnation of Pi, from `Spawn` until its process tree is gone
(`keeper.py`). The *run* is one task on its way through one child (`run.py` says when it is over, and how it ended).
The *task* is what clients see of it, and stays when both are gone. The session connects them and moves between the
phases of `phases.py`.

**One way down.** A child can be lost in every phase; `_lose` settles what was going on, says why in the words of
`losses.py`, ends the child and has the next one started as far as the budget allows. What an old incarnation still
says is not heard.

**A Pi that is well is kept.** Stopping a task, a refused prompt, a vetoed or a granted reset: none of them restarts
Pi (the exception stands under *No model*). A late answer to a command of ours is no sign of illness, since Pi settles
before it answers an abort. What is: records that are no records, an answer to nothing we sent, a deadline, silence on
stdin, the end of stdout.

**A prompt is on disk before it is sent.** `submit` yields `Journal`; only `journaled` answers the client and yields
`Send`. The task exists from the admission on, so that two submits at once give one `accepted` and one `busy`. The
request, up to 100 KB, is dropped as soon as the prompt is sent.

**One prompt in flight, and never while Pi compacts.** Pi loses the second of two prompts, and an older line runs a
prompt during a compaction without any event. Admission is therefore only in READY, which is entered when a run is
over; and a prompt waits for the end of a compaction that an extension has begun meanwhile.

**No model.** A Pi without a login starts, answers and refuses every prompt. It is READY, since its state is valid and
there is nothing that a restart would mend, and `session.error` says what to do; it would be wrong to look plainly
ready. A submit is still taken: Pi, not we, decides what it can run. And since both lines of Pi read their model
configuration anew for a new conversation (measured), and one without a model has nothing to lose, such a submit first
asks for a new conversation: who has logged in meanwhile and presses Run gets his answer. An API key in the environment
reaches only a new process. So when the shell says that the environment of the next start is another one (`outdated`),
a Pi without a model is replaced as soon as it is idle; and a reset replaces a Pi that has no model or is outdated,
instead of asking it.

**Deadlines** (`timing.py`) guard everything that Pi or the shell might never do. `deadline` says when `tick` is due
at the earliest; a tick that comes early or twice does nothing.
"""

from __future__ import annotations

from typing import Any

from flask_pi_taskbar.broker import losses
from flask_pi_taskbar.broker.child import Life
from flask_pi_taskbar.broker.effects import Answer, Effect, Journal, Result, Send, Settled, Spawn, Stop, Ticket
from flask_pi_taskbar.broker.phases import AT_REST, RESET, SUBMIT, Phase, Step
from flask_pi_taskbar.broker.records import Fault
from flask_pi_taskbar.broker.replies import Purpose
from flask_pi_taskbar.broker.retained import RetainedTask
from flask_pi_taskbar.broker.run import Run, Stage
from flask_pi_taskbar.broker.timers import Timer
from flask_pi_taskbar.broker.transitions import SessionConfig, Transitions
from flask_pi_taskbar.contract import TaskRequest, texts
from flask_pi_taskbar.contract.snapshot import Snapshot, TaskStatus, TaskView, timestamp

__all__ = ["Answer", "Effect", "Journal", "Result", "Send", "Session", "SessionConfig", "Settled", "Spawn", "Stop"]


class Session(Transitions):
    """One object for one Pi and one task. Every input returns the effects to carry out, in order."""

    # -- What the shell may ask ---------------------------------------------------------------------------------

    @property
    def revision(self) -> int:
        """Grows exactly when the snapshot has changed."""
        return self._view.revision

    def snapshot(self) -> Snapshot:
        return self._view.snapshot()

    @property
    def idle(self) -> bool:
        """No start, task or reset goes on, and no process is being ended: the broker may leave, or hand over."""
        return self._phase in AT_REST and not self._keeper.is_ending

    def deadline(self) -> float | None:
        """When `tick` is due at the earliest."""
        due = [at for at in (self._timers.next(), self._question_due()) if at is not None]
        return min(due, default=None)

    # -- Inputs: the broker's life ------------------------------------------------------------------------------

    def restore(self, task: TaskView) -> None:
        """Before `open`: the retained task of a crashed broker, already in its final state."""
        self._view.task = RetainedTask.restored(task)
        self._view.commit()

    def open(self, now: float) -> list[Effect]:
        """Start the first Pi. A second call does nothing."""
        if self._phase is Phase.COLD:
            self._step(Step.OPEN)
            self._keeper.budget.begin()
            self._start(now)
        return self._done()

    def read(self, now: float) -> list[Effect]:
        """Somebody looks (a state call, a follower's heartbeat): a cooled-down `unavailable` tries again."""
        if self._phase is Phase.UNAVAILABLE and self._keeper.budget.cooled_down(now):
            self._step(Step.RETRY)
            self._keeper.budget.begin()
            self._start(now)
        return self._done()

    def tick(self, now: float) -> list[Effect]:
        """Act on every deadline that has passed."""
        self._expire(now)
        self._pump(now)
        return self._done()

    def close(self, now: float) -> list[Effect]:
        """Shut down: answer what is open, fail what runs, stop Pi. `idle` once that is complete."""
        if self._phase is not Phase.CLOSED:
            run = self._run
            if run:
                end = run.verdict() if run.is_cancelling else (TaskStatus.FAILED, texts.INTERRUPTED)
                self._settle(run, *end)
            self._answer_reset(Result.UNAVAILABLE)
            end_child = self._keeper.dismiss if self._phase is Phase.READY else self._keeper.stop
            end_child(now)
            self._step(Step.CLOSE)
            self._view.forget_session(texts.BROKER_UNAVAILABLE)
        return self._done()

    # -- Inputs: clients ----------------------------------------------------------------------------------------

    def submit(self, task: TaskRequest, ticket: Ticket, now: float) -> list[Effect]:
        """Admit a task, or say why not. The ticket of an admitted one is answered when it is on disk."""
        refusal = SUBMIT[self._phase]
        if refusal is not None:
            self._effects.append(Answer(ticket, refusal))
            return self._done()
        self._step(Step.ADMIT)
        retained = RetainedTask(self._new_id(), task.prompt, timestamp(self._utcnow()))
        self._view.task = retained
        self._run = Run(retained, task, ticket, self._listener(), self._timing)
        self._timers.arm(Timer.TASK, now + self._config.task_timeout)
        self._timers.arm(Timer.JOURNAL, now + self._timing.journal)
        self._effects.append(Journal(retained.id, retained.prompt, retained.started_at))
        return self._done()

    def journaled(self, task_id: str, ok: bool, now: float) -> list[Effect]:
        """The prompt is on disk, or could not be put there."""
        run = self._run
        if run and run.task.id == task_id and run.stage is Stage.JOURNALING:
            self._timers.drop(Timer.JOURNAL)
            if ok:
                run.stage = Stage.UNSENT
                self._effects.append(Answer(run.ticket, Result.ACCEPTED))
                self._dispatch(run, now)
            else:
                self._withdraw(texts.NOT_RECORDED)
        return self._done()

    def cancel(self, task_id: str, ticket: Ticket, now: float) -> list[Effect]:
        """Stop the task. Idempotent: one cancellation, however often it is asked for."""
        task, run = self._view.task, self._run
        if run and run.task.id == task_id and not run.is_cancelling:
            run.cancel()
            self._timers.arm(Timer.ABORT, now + self._timing.abort)
            self._timers.drop(Timer.FENCE)
            if run.stage is Stage.UNSENT:
                self._dispatch(run, now)
            self._pump(now)
        if task is None or task.id != task_id:
            result = Result.NOT_FOUND
        elif task.is_active:
            result = Result.ACCEPTED
        else:
            result = Result.CANCELLED if task.status is TaskStatus.CANCELLED else Result.NOT_CANCELLABLE
        self._effects.append(Answer(ticket, result))
        return self._done()

    def outdated(self, now: float) -> list[Effect]:
        """The next Pi would be started in another environment than the one that there is, if there is one."""
        if self._keeper.child:
            self._keeper.child.outdated = True
        self._renew(now)
        return self._done()

    def reset(self, ticket: Ticket, now: float) -> list[Effect]:
        """Begin a new conversation; where this Pi is not the one to have it with, or there is none, with a new Pi."""
        refusal = RESET[self._phase]
        if refusal is not None:
            self._effects.append(Answer(ticket, refusal))
            return self._done()
        has_pi = self._phase is Phase.READY
        self._step(Step.RESET)
        self._resets.append(ticket)
        self._clears_task = True
        self._timers.arm(Timer.RESET_ANSWER, now + self._timing.reset_answer)
        if not has_pi:
            self._keeper.budget.pardon()
            self._keeper.budget.begin()
            self._start(now)
        elif self._listener().outdated or self._listener().lacks_model:
            self._replace(now)
        else:
            self._timers.arm(Timer.RESET, now + self._timing.reset)
            self._ask_for_new_session()
        return self._done()

    # -- Inputs: the child --------------------------------------------------------------------------------------

    def spawned(self, incarnation: int, now: float) -> list[Effect]:  # noqa: ARG002
        """The process runs. Pi says nothing by itself: its first answer is the sign that it is ready."""
        child = self._keeper.alive(incarnation)
        if child and child.life is Life.SPAWNING:
            child.life = Life.TALKING
            self._command(child, Purpose.STARTUP, "get_state", f"startup-{self._new_id()}")
        return self._done()

    def spawn_failed(self, incarnation: int, now: float) -> list[Effect]:
        """There is no process of this incarnation, and nothing to stop."""
        child = self._keeper.alive(incarnation)
        if child:
            child.life = Life.STOPPING
            self._lose(losses.NOT_SPAWNED, now)
        self._keeper.gone(incarnation, now)
        return self._done()

    def record(self, incarnation: int, rec: dict[str, Any] | Fault, now: float) -> list[Effect]:
        """One record of the child's stdout, or something that is none."""
        child = self._keeper.listening(incarnation)
        if child and isinstance(rec, Fault):
            self._lose(losses.FAULTS[rec.kind], now)
        elif child and isinstance(rec, dict):
            self._read(child, rec, now)
            self._pump(now)
        return self._done()

    def exited(self, incarnation: int, now: float) -> list[Effect]:
        """The child's stdout is at its end, or its process is; we did not ask for it."""
        if self._keeper.alive(incarnation):
            self._lose(losses.EXITED, now)
        return self._done()

    def write_stalled(self, incarnation: int, now: float) -> list[Effect]:
        """The child has stopped reading its stdin."""
        if self._keeper.alive(incarnation):
            self._lose(losses.STALLED, now)
        return self._done()

    def stopped(self, incarnation: int, now: float) -> list[Effect]:
        """A `Stop` is complete."""
        self._keeper.gone(incarnation, now)
        return self._done()
