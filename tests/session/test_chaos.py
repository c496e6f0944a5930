"""A session among children that may do anything: die, lie, stall, answer late, twice or never, while the clock jumps.

The laws of `World` hold after every step. In the end, when nothing answers any more and only time passes: every ticket
has been answered, every task has its final state, and nothing is left to wait for.
"""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from flask_pi_taskbar.broker.records import Fault, FaultKind
from tests.session.worlds import FINAL, IDLE, MODEL, World

tries = settings(deadline=None, database=None)

KINDS = (
    *("agent_start", "agent_end", "agent_settled", "message_start", "message_update", "message_end", "turn_end"),
    *("tool_execution_start", "tool_execution_end", "auto_retry_start", "auto_retry_end", "compaction_start"),
    *("compaction_end", "extension_ui_request", "response", "queue_update", "unheard_of"),
)
FIELDS = (
    *("id", "command", "success", "data", "message", "assistantMessageEvent", "method", "toolName", "isError"),
    *("attempt", "maxAttempts", "errorMessage", "willRetry", "aborted", "messages"),
)
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(),
        st.text(max_size=8),
        st.sampled_from(
            ["assistant", "error", "aborted", "stop", "text_delta", "confirm", "prompt", "parse", "\ud83e"]
        ),
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["role", "type", "delta", "contentIndex", "stopReason", "content", "text", "sessionId"]),
            inner,
            max_size=4,
        ),
    ),
    max_leaves=6,
)
RECORDS = st.builds(
    lambda kind, fields: {"type": kind, **fields},
    st.sampled_from(KINDS) | VALUES,
    st.dictionaries(st.sampled_from(FIELDS), VALUES, max_size=5),
)
STATES = st.fixed_dictionaries(
    {
        "sessionId": st.sampled_from(["pi-1", "pi-2", "", None]),
        "model": st.sampled_from([MODEL, None, "m", 7, {"provider": "unknown", "id": "unknown"}]),
    },
    optional={
        "isStreaming": st.booleans(),
        "isCompacting": st.booleans(),
        "pendingMessageCount": st.integers(0, 2),
        "cancelled": st.booleans() | st.none(),
        "disposition": st.sampled_from(["started", "handled", "queued", 7]),
    },
)


class Chaos(RuleBasedStateMachine):
    """Pi is a die, the shell is honest."""

    @initialize(timeout=st.sampled_from([1.0, 30.0, 1800.0]))
    def start(self, timeout: float) -> None:
        self.world = World(task_timeout=timeout)
        self.world.open()

    # -- Clients

    @rule()
    def submit(self) -> None:
        self.world.submit()

    @precondition(lambda self: self.world.snapshot.task is not None)
    @rule()
    def cancel(self) -> None:
        self.world.cancel()

    @rule()
    def reset(self) -> None:
        self.world.reset()

    @rule()
    def another_environment_comes(self) -> None:
        self.world.do(self.world.session.outdated)

    @rule()
    def read(self) -> None:
        self.world.do(self.world.session.read)

    # -- The shell

    @precondition(lambda self: self.world.snapshot.task is not None)
    @rule(ok=st.booleans())
    def journaled(self, ok: bool) -> None:
        self.world.journaled(ok=ok)

    @precondition(lambda self: self.world.child is not None and not self.world.running)
    @rule(works=st.booleans())
    def spawn_ends(self, works: bool) -> None:
        if works:
            self.world.spawned()
        elif self.world.starts == self.world.child:
            self.world.spawn_fails()

    @precondition(lambda self: self.world.stopping is not None)
    @rule()
    def stopped(self) -> None:
        self.world.stopped()

    @precondition(lambda self: self.world.running)
    @rule()
    def stalls(self) -> None:
        self.world.stalls()

    @rule(seconds=st.sampled_from([0.0, 0.01, 0.2, 1.0, 6.0, 31.0, 10_000.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.advance(seconds)

    @rule(seconds=st.sampled_from([0.5, 40.0, 100_000.0]))
    def the_clock_jumps(self, seconds: float) -> None:
        """… as when a machine was suspended: all deadlines are seen at once."""
        self.world.now += seconds
        self.world.tick()

    # -- Pi

    @precondition(lambda self: self.world.running and self.world.sent)
    @rule(data=st.data(), state=STATES, success=st.sampled_from([True, True, True, False]), newest=st.booleans())
    def answers(self, data: st.DataObject, state: dict[str, Any], success: bool, newest: bool) -> None:
        commands = [message for message in self.world.sent if "cancelled" not in message]
        command = commands[-1] if newest else data.draw(st.sampled_from(commands))
        self.world.says("response", id=command["id"], command=command["type"], success=success, data=state)

    @precondition(lambda self: self.world.running and self.world.sent_types()[-1:] == ["get_state"])
    @rule(session=st.sampled_from(["pi-1", "pi-2", "pi-3"]))
    def answers_well(self, session: str) -> None:
        self.world.tells_state(session)

    @precondition(lambda self: self.world.running)
    @rule(record=RECORDS)
    def says_anything(self, record: dict[str, Any]) -> None:
        self.world.says(record)

    @precondition(lambda self: self.world.running)
    @rule(kind=st.sampled_from(KINDS))
    def says_something_plausible(self, kind: str) -> None:
        self.world.says(
            kind,
            id="d1",
            method="confirm",
            command="parse",
            success=False,
            message={"role": "assistant", "stopReason": "stop", "content": []},
            assistantMessageEvent={"type": "text_delta", "contentIndex": 0, "delta": "text"},
        )

    @precondition(lambda self: self.world.running)
    @rule(kind=st.sampled_from(FaultKind))
    def writes_junk(self, kind: FaultKind) -> None:
        self.world.says(Fault(kind))

    @precondition(lambda self: self.world.child is not None)
    @rule()
    def dies(self) -> None:
        self.world.exits()

    # -- The end

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        world = self.world
        for _ in range(200):
            if world.stopping is not None:
                world.stopped()
            elif world.child is not None and not world.running:
                world.spawn_fails()
            due = world.session.deadline()
            if due is None:
                break
            world.advance(due - world.now)
        assert world.session.deadline() is None
        assert world.session.idle
        assert not world.open_tickets
        assert world.snapshot.task is None or world.task.status in FINAL
        world.do(world.session.close)
        if world.stopping is not None:
            world.stopped()
        assert world.session.idle
        assert world.child is None
        assert world.session.deadline() is None


TestChaos = Chaos.TestCase
TestChaos.settings = settings(max_examples=150, stateful_step_count=50, deadline=None, database=None)


@tries
@given(st.lists(RECORDS | st.sampled_from([Fault(kind) for kind in FaultKind]), max_size=6), st.integers(0, 5))
def test_no_record_makes_it_raise(records: list[dict[str, Any] | Fault], situation: int) -> None:
    """A record is answered by the laws in every situation in which it may come."""
    reach = (World.until_ready, World.until_sent, World.until_accepted, World.until_working)
    world = World()
    if situation < len(reach):
        reach[situation](world)
    else:
        world.until_ready()
        world.reset() if situation == 4 else world.submit()
    for record in records:
        if world.running:
            world.says(record)


@tries
@given(st.dictionaries(st.sampled_from([*IDLE, "sessionId", "model", "cancelled", "disposition"]), VALUES))
def test_no_answer_makes_it_raise(data: dict[str, Any]) -> None:
    for reach in (World.until_sent, World.until_working):
        world = reach(World())
        for command in list(world.sent):
            if world.running:
                world.says("response", id=command["id"], command=command["type"], success=True, data=data)
