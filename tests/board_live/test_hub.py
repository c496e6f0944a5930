"""The hub over real files: what is written, by whomever and however, is told; what is no news is not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from flask_pi_taskbar.board.bus import Bus
from flask_pi_taskbar.board.identity import session
from flask_pi_taskbar.board.live import triggers
from flask_pi_taskbar.board.live.hub import Follower, Hub
from flask_pi_taskbar.board.live.timeline import Timeline
from flask_pi_taskbar.board.store import Store
from tests.board_live.test_timeline import Page
from tests.support.waiting import until

ANN, BOB = session("as:ann", "ann"), session("as:bob", "bob")


class Clock:
    """The wall clock, as far ahead as a test says."""

    def __init__(self) -> None:
        self.ahead = timedelta()

    def __call__(self) -> datetime:
        return datetime.now(UTC) + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path / "board")
    made.apply("add", {"title": "One"}, ANN, now=datetime.now(UTC))
    return made


@pytest.fixture(params=["events", "polling"])
def hub(request: pytest.FixtureRequest, store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub in another process's place: its own store object, with and without events of the operating system."""
    if request.param == "polling":
        monkeypatch.setattr(triggers.Events, "start", lambda self: None)
    made = Hub(Store(store.layout.root), epoch="t", now=clock, look_seconds=0.05, sweep_seconds=0.3, linger_seconds=0.2)
    before = set(threading.enumerate())
    yield made
    made.close()
    until(lambda: set(threading.enumerate()) <= before, "the hub's threads have ended")


class Reader:
    """A page that follows a hub."""

    def __init__(self, follower: Follower) -> None:
        self.follower = follower
        self.page = Page()

    def read(self, timeout: float = 0.2) -> bool:
        found = self.follower.next(timeout)
        assert found is not None
        self.page.take(found)
        return bool(found)

    def until(self, condition: Callable[[dict], bool], what: str) -> None:
        def reached() -> bool:
            self.read()
            return self.page.state is not None and condition(self.page.state)

        until(reached, what)


def states(state: dict) -> dict[str, str]:
    return {mate["label"]: mate["state"] for mate in state["team"]}


def apply(store: Store, action: str, who=ANN, **fields: object) -> dict:
    return store.apply(action, fields, who, now=datetime.now(UTC))


def test_a_reader_is_told_what_others_write(hub: Hub, store: Store) -> None:
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.until(lambda state: state["rows"]["1"]["title"] == "One", "the board as it is")
        apply(store, "claim", card=1)
        reader.until(lambda state: state["rows"]["1"]["status"] == "doing", "the claim")
        apply(store, "add", title="Two")
        reader.until(lambda state: "2" in state["rows"], "the new card")
        apply(store, "drop", card=2)
        reader.until(lambda state: "2" not in state["rows"], "the drop")


def test_a_foreign_editor_is_seen_too(hub: Hub, store: Store) -> None:
    card = Path(store.layout.card(1))
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.read()
        temporary = card.with_suffix(".tmp")
        temporary.write_text(card.read_text().replace("One", "By rename"))
        temporary.rename(card)
        reader.until(lambda state: state["rows"]["1"]["title"] == "By rename", "an edit by rename")
        card.write_text(card.read_text().replace("By rename", "In place"))
        reader.until(lambda state: state["rows"]["1"]["title"] == "In place", "an edit in place")
        card.write_text("{ half")
        reader.until(lambda state: [one["name"] for one in state["damaged"]] == ["1.json"], "the damage")


def test_a_heartbeat_is_no_news(hub: Hub, store: Store) -> None:
    bus = Bus(store)
    member = bus.join(ANN, mode="rpc", cwd="/", now=datetime.now(UTC))
    try:
        with hub.follow(can_write=True) as follower:
            reader = Reader(follower)
            reader.read()
            told = reader.page.told
            for _ in range(3):
                member.heartbeat(now=datetime.now(UTC))
                assert not reader.read(0.15)
            assert reader.page.told == told
            member.listen(now=datetime.now(UTC), listening=True)
            reader.until(lambda state: state["team"][0]["listening"], "a flag that is shown")
    finally:
        member.close()


def test_a_letter_is_news(hub: Hub, store: Store) -> None:
    apply(store, "note", BOB, card=1, text="here")
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.read()
        apply(store, "handoff", card=1, label="bob")
        reader.until(lambda state: any(mate["unread"] for mate in state["team"]), "the letter's badge")


def test_a_session_that_was_killed_turns_quiet(hub: Hub, store: Store) -> None:
    joined = (
        "import sys; from datetime import UTC, datetime; from flask_pi_taskbar.board.bus import Bus\n"
        "from flask_pi_taskbar.board.store import Store; from flask_pi_taskbar.board.identity import session\n"
        "Bus(Store(sys.argv[1])).join(session('s-1', 'agent-9'), mode='rpc', cwd='/', now=datetime.now(UTC))\n"
        "print('in', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", joined, store.layout.root]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "in\n"
        with hub.follow(can_write=True) as follower:
            reader = Reader(follower)
            reader.until(lambda state: states(state).get("agent-9") == "live", "it is live")
            process.send_signal(signal.SIGKILL)
            process.wait()
            reader.until(lambda state: states(state)["agent-9"] == "quiet", "it is quiet")


def test_time_alone_is_told_when_it_changes_what_is_shown(hub: Hub, store: Store, clock: Clock) -> None:
    apply(store, "claim", card=1)
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.until(lambda state: state["rows"]["1"]["status"] == "doing", "the claim")
        clock.ahead = timedelta(minutes=31)
        reader.until(lambda state: state["round"]["idle"] == 1, "the idle card")
        clock.ahead = timedelta(hours=12)
        assert not reader.read(0.2), "twelve hours more change nothing that is shown"


def test_many_writes_at_once_come_together_and_none_is_missed(hub: Hub, store: Store) -> None:
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.read()
        for number in range(20):
            apply(store, "note", card=1, text=f"note {number}")
        reader.until(lambda state: state["rows"]["1"]["notes"] == 20, "all notes")
        assert reader.page.told is not None
        assert reader.page.told[1] <= 21


def test_readers_that_never_read_cost_the_others_nothing(hub: Hub, store: Store) -> None:
    with hub.follow(can_write=True) as follower:
        sleepers = [hub.follow(can_write=False) for _ in range(10)]
        for sleeper in sleepers:
            sleeper.__enter__()
        reader = Reader(follower)
        reader.read()
        for number in range(5):
            apply(store, "note", card=1, text=f"note {number}")
            reader.until(lambda state, number=number: state["rows"]["1"]["notes"] == number + 1, "the note")
        page = Page()
        page.take(sleepers[0].next(0) or [])
        assert page.state is not None
        assert page.state["rows"]["1"]["notes"] == 5
        for sleeper in sleepers:
            sleeper.__exit__(None, None, None)
    assert hub.viewers == 0


def test_a_board_that_was_never_written_is_empty_and_fills(tmp_path: Path, clock: Clock) -> None:
    hub = Hub(Store(tmp_path / "new"), epoch="t", now=clock, look_seconds=0.05)
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.until(lambda state: state["rows"] == {}, "nothing")
        apply(Store(tmp_path / "new"), "add", title="First")
        reader.until(lambda state: "1" in state["rows"], "the first card")
    hub.close()


def test_asking_without_following_is_right_and_leaves_no_thread(store: Store, clock: Clock) -> None:
    before = threading.active_count()
    hub = Hub(Store(store.layout.root), epoch="t", now=clock)
    one = hub.snapshot(can_write=True)
    apply(store, "claim", card=1)
    other = hub.snapshot(can_write=True)
    assert (one.rev, other.rev) == (1, 2)
    assert b'"status":"doing"' in other.body
    assert other.etag == f'"{hub.epoch}.2"'
    assert threading.active_count() == before


def test_reading_changes_nothing_in_the_store(store: Store, clock: Clock) -> None:
    def marks() -> dict[str, tuple[int, int]]:
        found = {}
        for path in Path(store.layout.root).rglob("*"):
            status = path.stat()
            found[str(path)] = status.st_mtime_ns, status.st_ino
        return found

    before = marks()
    hub = Hub(Store(store.layout.root), epoch="t", now=clock, look_seconds=0.02, sweep_seconds=0.05)
    with hub.follow(can_write=False) as follower:
        for _ in range(5):
            follower.next(0.05)
    hub.close()
    assert marks() == before


def test_a_disk_that_fails_keeps_the_last_board_and_says_so(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub(store, epoch="t", now=clock)
    good = hub.snapshot(can_write=True)

    def fail(_now: datetime) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patched:
        patched.setattr(store, "read_all", fail)
        patched.setattr(store, "glance", fail)
        os.utime(store.layout.cards, (time.time() + 5, time.time() + 5))
        bad = hub.snapshot(can_write=True)
    assert b"Input/output error" in bad.body
    assert bad.rev == good.rev + 1
    assert b"Input/output error" not in hub.snapshot(can_write=True).body, "it is back without anything having moved"


def test_a_page_that_stops_says_good_bye_to_everybody(hub: Hub) -> None:
    with hub.follow(can_write=True) as follower:
        follower.next(0)
        hub.close("idle")
        assert follower.next(1) == [b'event: bye\ndata: {"why":"idle"}\n\n']
        assert follower.next(1) is None


def test_a_forked_child_starts_over(hub: Hub) -> None:
    epoch = hub.epoch
    with hub.follow(can_write=True) as follower:
        follower.next(0)
        read_end, write_end = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(write_end, hub.epoch.encode())
            os._exit(0)
        os.waitpid(child, 0)
        told = os.read(read_end, 100).decode()
        os.close(read_end)
        os.close(write_end)
        assert told
        assert told != epoch


def test_a_reached_limit_of_watches_is_met_once_and_looking_goes_on(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def refuse(_self: object, _handler: object, folder: str, **_how: object) -> None:
        asked.append(folder)
        raise OSError(28, "inotify watch limit reached")

    monkeypatch.setattr("watchdog.observers.api.BaseObserver.schedule", refuse)
    hub = Hub(Store(store.layout.root), epoch="t", now=clock, look_seconds=0.02)
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.read()
        apply(store, "claim", card=1)
        reader.until(lambda state: state["rows"]["1"]["status"] == "doing", "the claim")
    hub.close()
    assert store.layout.cards in asked
    assert len(asked) == len(set(asked))


def test_a_look_that_fails_leaves_the_readers_their_watch(
    hub: Hub, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.read()
        failed = threading.Event()

        def fail(*_: object) -> bool:
            failed.set()
            raise ZeroDivisionError

        with monkeypatch.context() as broken:
            broken.setattr(Timeline, "push", fail)
            apply(store, "claim", card=1)
            assert failed.wait(15)
        reader.until(lambda state: state["rows"]["1"]["status"] == "doing", "the claim")


def test_a_follower_of_a_watch_that_died_starts_another(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub(Store(store.layout.root), epoch="t", now=clock, look_seconds=0.02)
    with monkeypatch.context() as broken, hub.follow(can_write=True):
        ended: list[object] = []
        broken.setattr(threading, "excepthook", ended.append)
        broken.setattr(triggers.Events, "start", lambda self: 1 / 0)
        until(lambda: ended, "the thread has died")
        assert hub._thread is not None
        hub._thread.join()
    with hub.follow(can_write=True) as follower:
        reader = Reader(follower)
        reader.read()
        apply(store, "claim", card=1)
        reader.until(lambda state: state["rows"]["1"]["status"] == "doing", "the claim")
    hub.close()


def test_where_no_thread_can_be_started_nobody_has_entered(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as broken:
        broken.setattr(threading.Thread, "start", fail)
        with pytest.raises(RuntimeError), hub.follow(can_write=True):
            pass
    assert hub.viewers == 0


def test_a_failure_that_lasts_is_not_looked_into_all_the_time(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = Hub(store, epoch="t", now=clock)
    hub.snapshot(can_write=True)
    looks: list[object] = []

    def fail(now: datetime) -> None:
        looks.append(now)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(store, "read_all", fail)
    monkeypatch.setattr(store, "glance", fail)
    for folder in (store.layout.cards, store.layout.sessions, store.layout.inbox):
        os.utime(folder, (time.time() - 5, time.time() - 5))  # moved, and not in this very tick
    for _ in range(50):
        hub.snapshot(can_write=True)
    assert 2 <= len(looks) < 10


def test_events_are_left_alone_where_threads_are_greenlets(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def listens() -> bool:
        before = threading.active_count()
        events = triggers.Events(store.layout, threading.Event())
        events.start()
        listening = threading.active_count() > before
        events.stop()
        assert threading.active_count() == before
        return listening

    assert listens()
    green = SimpleNamespace(is_module_patched=lambda name: name == "threading")
    monkeypatch.setitem(sys.modules, "gevent.monkey", green)
    assert not listens()
