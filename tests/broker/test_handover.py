"""Other settings, other versions: one Pi at a time, no task cut off, no taking turns."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from flask_pi_taskbar.broker import connection, reach
from flask_pi_taskbar.version import __version__
from tests.broker.place import PEER, Place, gone, look, over, ready, task
from tests.support.waiting import until


def other_pi(place: Place, name: str = "other-pi") -> str:
    """The scripted Pi under another name, which is another setting."""
    path = place.base / name
    path.write_text(f'#!/bin/sh\nexec {PEER} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


class TestSettings:
    def test_a_server_started_with_others_gets_them_in_the_same_broker(self, place: Place) -> None:
        first = place.client()
        ready(first)
        broker, pi = place.broker(), place.pi()
        second = place.client(executable=other_pi(place))
        second.state()
        until(lambda: len(place.pi_starts()) == 2, "the other Pi is started")
        assert gone(pi)
        ready(second)
        assert place.broker() == broker
        assert look(first) == look(second)

    def test_the_task_that_was_there_stays_to_be_seen(self, place: Place) -> None:
        first = place.client()
        ready(first)
        first.submit(task("quick"))
        done = over(first)
        second = place.client(executable=other_pi(place))
        revision = first.state().revision
        second.state()
        until(lambda: len(place.pi_starts()) == 2, "the other Pi is started")
        assert ready(second)["task"] == done
        assert second.state().revision > revision

    def test_a_busy_one_finishes_first(self, place: Place) -> None:
        first = place.client()
        ready(first)
        first.submit(task("work for 0.7 seconds"))
        second = place.client(executable=other_pi(place))
        assert look(second)["task"]["status"] == "running"
        assert len(place.pi_starts()) == 1
        until(lambda: len(place.pi_starts()) == 2, "the other Pi is started")
        assert ready(second)["task"]["status"] == "completed"

    def test_two_servers_side_by_side_do_not_take_turns(self, place: Place) -> None:
        first, second = place.client(), place.client(executable=other_pi(place))
        ready(first)
        second.state()
        until(lambda: len(place.pi_starts()) == 2, "the other Pi is started")
        for _ in range(10):
            for client in (first, second):
                client.close()
                ready(client)
        assert len(place.pi_starts()) == 2

    def test_requests_that_come_during_the_change_are_answered_after_it(self, place: Place) -> None:
        place.behaviour.write_text("ignore-term")  # the old Pi takes a second to end
        first = place.client()
        ready(first)
        pi = place.pi()
        place.behaviour.write_text("")
        place.client(executable=other_pi(place)).state()
        assert not gone(pi)
        assert first.cancel("unknown").result == "not_found"
        assert gone(pi)
        ready(first)
        assert len(place.pi_starts()) == 2

    def test_a_server_with_the_same_settings_restarts_nothing(self, place: Place) -> None:
        ready(place.client())
        os.environ["COLOUR"] = "green"
        for _ in range(3):
            ready(place.client())
        assert len(place.pi_starts()) == 1

    def test_its_environment_is_there_for_the_next_pi(self, place: Place) -> None:
        client = place.client()
        ready(client)
        os.environ["COLOUR"] = "green"
        ready(place.client())
        client.submit(task("die in the task"))
        assert over(client)["status"] == "failed"
        starts = place.peer_events("start")
        assert ["COLOUR" in start["env"] for start in starts] == [False, True]

    def test_a_key_that_is_added_reaches_a_pi_without_a_model_by_a_restart_of_the_server(self, place: Place) -> None:
        place.behaviour.write_text("no-model")
        assert ready(place.client())["session"]["model"] is None
        broker, pi = place.broker(), place.pi()
        place.behaviour.write_text("")
        os.environ["TEST_API_KEY"] = "secret"
        restarted = place.client()
        restarted.state()
        until(lambda: len(place.pi_starts()) == 2, "another Pi is started")
        assert ready(restarted)["session"]["model"] == "test/scripted-pi"
        assert (place.broker(), gone(pi)) == (broker, True)
        assert place.peer_events("start")[1]["env"]["TEST_API_KEY"] == "secret"

    def test_a_server_in_the_same_environment_restarts_no_pi_without_a_model(self, place: Place) -> None:
        place.behaviour.write_text("no-model")
        ready(place.client())
        os.environ["SHLVL"] = "7"
        ready(place.client())
        assert len(place.pi_starts()) == 1

    def test_a_new_conversation_is_held_in_the_new_environment(self, place: Place) -> None:
        client = place.client()
        ready(client)
        client.submit(task("quick"))
        over(client)
        os.environ["COLOUR"] = "green"
        ready(place.client())
        reply = client.reset()
        assert (reply.result, look(reply)["task"], look(reply)["session"]["status"]) == ("accepted", None, "ready")
        assert ["COLOUR" in start["env"] for start in place.peer_events("start")] == [False, True]
        assert client.reset().result == "accepted"
        assert len(place.pi_starts()) == 2

    def test_one_pi_lives_at_a_time(self, place: Place) -> None:
        ready(place.client())
        for number in range(2):
            client = place.client(executable=other_pi(place, f"pi-{number}"))
            client.state()
            if number == 0:
                until(lambda: len(place.pi_starts()) == 2, "the other Pi is started")
                ready(client)
            living = [pid for pid in place.pi_starts() if not gone(pid)]
            assert len(living) <= 1


class TestVersions:
    """A newer client is this process, which says so; what it starts is of its own version again."""

    def test_an_idle_broker_makes_room_for_a_newer_client(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        ready(place.client())
        broker, pi = place.broker(), place.pi()
        real = reach.launch

        def launch(root: Path, deadline: float) -> bool:
            monkeypatch.setattr(connection, "__version__", __version__)
            return real(root, deadline)

        monkeypatch.setattr(connection, "__version__", "99.0")
        monkeypatch.setattr(reach, "launch", launch)
        ready(place.client())
        assert gone(broker)
        assert gone(pi)
        assert place.broker() != broker

    def test_a_busy_broker_serves_it_and_leaves_after_the_task(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client = place.client()
        ready(client)
        client.submit(task("work for 0.7 seconds"))
        broker = place.broker()
        monkeypatch.setattr(connection, "__version__", "99.0")
        newer = place.client()
        assert look(newer)["task"]["status"] == "running"
        monkeypatch.setattr(connection, "__version__", __version__)
        until(lambda: gone(broker), "it has left")
        assert ready(newer)["session"]["status"] == "ready"
        assert len(place.commands("prompt")) == 1

    def test_an_older_client_is_served_by_a_newer_broker(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        ready(place.client())
        broker = place.broker()
        monkeypatch.setattr(connection, "__version__", "0.0.1")
        ready(place.client())
        assert place.broker() == broker
