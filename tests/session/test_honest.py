"""A session and a Pi that is well, under every order of events that can happen between them.

Stated for this Pi, in addition to the laws of `World`:

* a prompt reaches it only when it has nothing to do
* it is never replaced, as long as it works in time
* every task that could be put on disk ends as its run did: completed, failed, or, if it was stopped before, cancelled
* and it ends
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from flask_pi_taskbar.broker.effects import Result
from flask_pi_taskbar.contract import texts
from tests.session.honest import PLANS, HonestPi
from tests.session.worlds import World

IN_TIME = 0.4


class WithHonestPi(RuleBasedStateMachine):
    """The rules are what may come next; hypothesis looks for an order that breaks a law."""

    @initialize(announces_end=st.booleans())
    def start(self, announces_end: bool) -> None:
        self.pi = HonestPi(announces_end=announces_end)
        self.world = World()
        self.world.open()
        self.world.spawned()
        self._taken = 0
        self._stopped: set[str] = set()
        self._checked: set[str] = set()
        self._take_commands()

    # -- Clients

    @rule(plan=st.sampled_from(PLANS))
    def submit(self, plan: list[str]) -> None:
        was_ready = self.world.status == "ready"
        ticket = self.world.submit()
        if was_ready:
            self.pi.plan = plan
            assert ticket in self.world.open_tickets
        else:
            assert self.world.answers[ticket] in (Result.BUSY, Result.UNAVAILABLE)

    @precondition(lambda self: self.world.snapshot.task is not None)
    @rule()
    def cancel(self) -> None:
        running = self.world.task.status.value == "running"
        self.world.cancel()
        if running:
            self._stopped.add(self.world.task.id)
        self._take_commands()

    @rule()
    def reset(self) -> None:
        self.world.reset()
        self._take_commands()

    @precondition(lambda self: self.world.snapshot.task is not None)
    @rule()
    def the_prompt_is_on_disk(self) -> None:
        self.world.journaled()
        self._take_commands()

    # -- Pi, its pipes and time

    @rule(steps=st.integers(1, 6))
    def pi_works(self, steps: int) -> None:
        for _ in range(steps):
            self.pi.step()

    @rule()
    def pi_works_before_it_reads(self) -> None:
        self.pi.work()

    @precondition(lambda self: self.pi.stdout)
    @rule(count=st.integers(1, 5))
    def records_arrive(self, count: int) -> None:
        for _ in range(min(count, len(self.pi.stdout))):
            self.world.says(self.pi.stdout.popleft())
            self._take_commands()

    @rule(seconds=st.floats(0.01, IN_TIME))
    def time_passes_and_pi_keeps_up(self, seconds: float) -> None:
        while self.pi.stdin or self.pi.going_on:
            self.pi.step()
        self.pi.step()
        while self.pi.stdout:
            self.records_arrive(5)
        self.world.advance(seconds)
        self._take_commands()

    # -- What holds

    @invariant()
    def pi_is_kept(self) -> None:
        assert self.world.starts == 1
        assert self.world.stopping is None
        assert self.world.status != "unavailable"

    @invariant()
    def a_task_ends_as_its_run_did(self) -> None:
        task = self.world.snapshot.task
        if task is None or task.finished_at is None or task.id in self._checked:
            return
        self._checked.add(task.id)
        if task.id in self._stopped:
            assert task.status.value == "cancelled"
        elif task.error != texts.NOT_RECORDED:
            assert task.status.value == self.pi.truth
            assert not self.pi.working or not self.pi.stdin

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        if self.world.snapshot.task is not None:
            self.the_prompt_is_on_disk()
        for _ in range(60):
            if self.world.status == "ready" and not self.pi.working:
                break
            self.time_passes_and_pi_keeps_up(IN_TIME)
        assert self.world.status == "ready"
        assert not self.world.open_tickets
        assert self.world.session.deadline() is None
        self.a_task_ends_as_its_run_did()

    def _take_commands(self) -> None:
        commands: list[dict[str, Any]] = self.world.sent[self._taken :]
        self.pi.stdin.extend(command for command in commands if "cancelled" not in command)
        self._taken = len(self.world.sent)


TestWithHonestPi = WithHonestPi.TestCase
TestWithHonestPi.settings = settings(max_examples=100, stateful_step_count=50, deadline=None, database=None)
