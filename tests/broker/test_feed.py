"""The live feed: newest state only, one slot a follower, paced."""

from __future__ import annotations

from flask_pi_taskbar.feed import Feed


class Reader:
    """A carrier that remembers what it was given."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, str]] = []

    def __call__(self, revision: int, state: str) -> None:
        self.seen.append((revision, state))


def feed(pace: float = 0.0) -> Feed[str]:
    return Feed(1, "one", pace=pace)


def test_a_new_follower_gets_the_state_as_it_is() -> None:
    reader = Reader()
    feed().follow(reader, None, 0.0)
    assert reader.seen == [(1, "one")]


def test_a_follower_who_knows_the_state_gets_only_the_next() -> None:
    reader, states = Reader(), feed()
    states.follow(reader, 1, 0.0)
    assert reader.seen == []
    states.publish(2, "two", 0.0)
    assert reader.seen == [(2, "two")]


def test_a_follower_who_knows_another_brokers_state_gets_this_one() -> None:
    reader = Reader()
    feed().follow(reader, 99, 0.0)
    assert reader.seen == [(1, "one")]


def test_the_same_revision_is_not_delivered_twice() -> None:
    reader, states = Reader(), feed()
    states.follow(reader, None, 0.0)
    states.publish(1, "one", 1.0)
    assert reader.seen == [(1, "one")]


def test_a_slow_follower_gets_the_newest_state_and_no_backlog() -> None:
    slow, quick, states = Reader(), Reader(), feed()
    follower = states.follow(slow, 1, 0.0)
    states.follow(quick, 1, 0.0)
    follower.pause()
    for revision in (2, 3, 4):
        states.publish(revision, f"state {revision}", 0.0)
    assert slow.seen == []
    assert [revision for revision, _ in quick.seen] == [2, 3, 4]
    follower.resume(0.0)
    assert slow.seen == [(4, "state 4")]
    follower.resume(0.0)
    assert slow.seen == [(4, "state 4")]


def test_the_pace_lets_the_first_change_through_and_gathers_those_behind_it() -> None:
    reader, states = Reader(), feed(pace=0.5)
    states.follow(reader, 1, 0.0)
    assert states.deadline() is None
    states.publish(2, "two", 10.0)
    states.publish(3, "three", 10.1)
    states.publish(4, "four", 10.2)
    assert reader.seen == [(2, "two")]
    assert states.deadline() == 10.5
    states.tick(10.4)
    assert reader.seen == [(2, "two")]
    states.tick(10.5)
    assert reader.seen == [(2, "two"), (4, "four")]
    assert states.deadline() is None


def test_a_paused_follower_sets_no_deadline() -> None:
    reader, states = Reader(), feed(pace=0.5)
    states.follow(reader, None, 0.0).pause()
    states.publish(2, "two", 0.1)
    assert states.deadline() is None


def test_who_has_left_gets_nothing() -> None:
    reader, states = Reader(), feed()
    follower = states.follow(reader, None, 0.0)
    assert len(states) == 1
    states.leave(follower)
    states.leave(follower)
    states.publish(2, "two", 0.0)
    assert reader.seen == [(1, "one")]
    assert len(states) == 0
