"""The client in a worker: threads, forks, greenlets, brokers that hang or vanish, nothing that is sent twice."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from flask_pi_taskbar.broker import client as client_module
from flask_pi_taskbar.broker import reach, wire
from flask_pi_taskbar.broker.client import BrokerClient, BrokerConfig, Unavailable, session_secret
from flask_pi_taskbar.broker.connection import Broken, Connection
from flask_pi_taskbar.broker.launch import scrubbed_environment
from flask_pi_taskbar.contract import texts
from tests.broker.place import PATIENCE, PEER, Place, all_at_once, gone, look, over, ready, task
from tests.support.waiting import until


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    """A process that hangs."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


class TestCalls:
    def test_a_task_runs_to_its_end(self, place: Place) -> None:
        client = place.client()
        ready(client)
        reply = client.submit(task("edit file made.txt => hello"))
        assert reply.result == "accepted"
        assert look(reply)["task"]["status"] == "running"
        assert over(client)["status"] == "completed"
        assert (place.root / "made.txt").read_text() == "hello\n"

    def test_pi_gets_the_prompt_in_its_envelope(self, place: Place) -> None:
        client = place.client()
        ready(client)
        client.submit(task("a special prompt"))
        over(client)
        assert "a special prompt" in place.commands("prompt")[0]["message"]

    def test_of_many_submits_at_once_one_is_accepted(self, place: Place) -> None:
        clients = [place.client() for _ in range(8)]
        ready(clients[0])
        for other in clients:
            other.state()
        results = all_at_once(8, lambda number: clients[number].submit(task("hold this task")).result)
        assert sorted(results) == ["accepted"] + ["busy"] * 7
        assert len(until(lambda: place.commands("prompt"), "the prompt has arrived")) == 1

    def test_a_task_can_be_stopped_and_pi_stays(self, place: Place) -> None:
        client = place.client()
        session = ready(client)["session"]["id"]
        for _ in range(3):
            running = look(client.submit(task("hold this task")))["task"]["id"]
            assert client.cancel(running).result == "accepted"
            assert over(client)["status"] == "cancelled"
            assert client.cancel(running).result == "cancelled"
        assert client.cancel("another").result == "not_found"
        assert look(client)["session"]["id"] == session
        assert len(place.pi_starts()) == 1

    def test_a_finished_task_cannot_be_stopped(self, place: Place) -> None:
        client = place.client()
        ready(client)
        client.submit(task("quick"))
        assert client.cancel(over(client)["id"]).result == "not_cancellable"

    def test_a_new_conversation_forgets_the_task_also_on_disk(self, place: Place) -> None:
        client = place.client()
        first = ready(client)["session"]["id"]
        client.submit(task("quick"))
        over(client)
        reply = client.reset()
        assert (reply.result, look(reply)["task"]) == ("accepted", None)
        assert look(reply)["session"]["id"] != first
        until(lambda: (place.state / "journal").read_bytes() == b"", "the prompt is gone from the disk")
        assert len(place.pi_starts()) == 1

    def test_a_reset_is_refused_while_a_task_runs(self, place: Place) -> None:
        client = place.client()
        ready(client)
        client.submit(task("hold this task"))
        assert client.reset().result == "reset_while_busy"

    def test_a_reset_that_takes_its_time_blocks_no_reads(self, place: Place) -> None:
        place.behaviour.write_text("never-reset")
        client = place.client()
        ready(client)
        results: list[str] = []
        thread = threading.Thread(target=lambda: results.append(_result(client.reset)), daemon=True)
        thread.start()
        until(lambda: look(client)["session"]["status"] == "resetting", "it is resetting")
        for _ in range(20):
            assert look(client)["session"]["status"] == "resetting"
        assert client.submit(task("meanwhile")).result in ("busy", "unavailable")
        assert results == []
        place.kill_broker()
        thread.join(10)
        assert ["no answer" in result for result in results] == [True]

    def test_a_snapshot_that_has_not_changed_is_not_sent_again_and_still_right(self, place: Place) -> None:
        client = place.client()
        ready(client)
        first, second = client.state(), client.state()
        assert first == second
        assert place.client().state() == first

    def test_a_missing_pi_leaves_the_session_unavailable(self, place: Place) -> None:
        client = place.client(executable="no-such-pi")
        seen = until(lambda: (seen := look(client))["session"]["status"] == "unavailable" and seen, "Pi is unavailable")
        assert seen["session"]["error"] == texts.RESTART_FAILED
        assert client.submit(task("anything")).result == "unavailable"

    def test_an_executable_is_looked_up_on_the_path_of_the_server(self, place: Place) -> None:
        (place.base / "bin").mkdir()
        (place.base / "bin" / "my-pi").symlink_to(PEER)
        os.environ["PATH"] = f"{place.base / 'bin'}:{os.environ['PATH']}"
        assert ready(place.client(executable="my-pi"))["session"]["model"] == "test/scripted-pi"

    def test_a_task_that_cannot_be_recorded_is_not_sent(self, place: Place) -> None:
        client = place.client()
        ready(client)
        (place.state / "journal").mkdir()
        assert client.submit(task("quick")).result == "unavailable"
        assert over(client)["error"] == texts.NOT_RECORDED
        assert place.commands("prompt") == []
        (place.state / "journal").rmdir()
        assert client.submit(task("quick")).result == "accepted"


class TestEnvironment:
    def test_pi_gets_the_servers_environment_without_what_would_harm(self, place: Place) -> None:
        harm = {"WERKZEUG_SERVER_FD": "3", "WERKZEUG_RUN_MAIN": "true", "FLASK_RUN_FROM_CLI": "true"}
        private = {"PI_BROWSER_TASKBAR_BROKER_ROOT": "x"}
        kept = {"FLASK_APP": "app", "PI_BROWSER_TASKBAR_EXECUTABLE": "pi", "COLOUR": "green"}
        os.environ.update(harm | private | kept)
        ready(place.client())
        env = place.peer_events("start")[0]["env"]
        assert not set(harm | private) & set(env)
        assert {name: env[name] for name in kept} == kept
        ours = [name for name in env if name.startswith("PI_BROWSER_TASKBAR_BROKER_")]
        assert ours == ["PI_BROWSER_TASKBAR_BROKER_CHILD"]

    @pytest.mark.parametrize("from_cli", [True, False])
    def test_the_debug_mode_of_flask_run_stays_with_it(self, monkeypatch: pytest.MonkeyPatch, from_cli: bool) -> None:
        """`flask run --debug` exports it; a `FLASK_DEBUG` under any other program is the user's own."""
        monkeypatch.setenv("FLASK_DEBUG", "1")
        if from_cli:
            monkeypatch.setenv("FLASK_RUN_FROM_CLI", "true")
        else:
            monkeypatch.delenv("FLASK_RUN_FROM_CLI", raising=False)
        assert (b"FLASK_DEBUG" in scrubbed_environment()) is not from_cli

    def test_a_value_that_is_not_utf_8_arrives(self, place: Place) -> None:
        os.environb[b"ODD"] = b"caf\xe9"
        assert ready(place.client())["session"]["status"] == "ready"

    def test_the_policy_and_the_mode_are_on_the_command_line(self, place: Place) -> None:
        ready(place.client())
        start = place.peer_events("start")[0]
        assert start["argv"][1:4] == ["--mode", "rpc", "--append-system-prompt"]
        assert start["cwd"] == str(place.root)

    def test_an_environment_beyond_all_bounds_is_named(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        huge = {b"A": b"x" * 5_000_000}
        monkeypatch.setattr("flask_pi_taskbar.broker.reach.scrubbed_environment", lambda: huge)
        with pytest.raises(Unavailable, match="environment"):
            place.client().state()


class TestTrouble:
    def test_a_broker_that_died_idle_is_replaced_without_an_error(self, place: Place) -> None:
        client = place.client()
        ready(client)
        place.kill_broker()
        assert client.state().result == "ok"
        ready(client)
        place.kill_broker()
        assert client.submit(task("quick")).result == "unavailable"  # the new Pi is still starting
        assert place.commands("prompt") == []

    def test_a_mutation_is_never_sent_twice(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        client = place.client()
        ready(client)
        sent: list[str] = []
        mutations = ["Submit", "Cancel", "Reset"]
        real_send, real_receive = Connection.send, Connection.receive

        def send(self: Connection, message: wire.FromClient, deadline: float) -> None:
            sent.append(type(message).__name__)
            real_send(self, message, deadline)

        def receive(self: Connection, deadline: float) -> wire.FromBroker:
            if sent[-1] in mutations:
                raise Broken("cut")
            return real_receive(self, deadline)

        monkeypatch.setattr(Connection, "send", send)
        monkeypatch.setattr(Connection, "receive", receive)
        for call in (lambda: client.submit(task("quick")), lambda: client.cancel("x"), client.reset):
            with pytest.raises(Unavailable, match="cut"):
                call()
        assert [name for name in sent if name in mutations] == mutations

    def test_a_hanging_broker_is_unavailable_within_the_deadline_and_left_alive(
        self, place: Place, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        client = place.client()
        ready(client)
        broker = place.broker()
        with frozen(broker), monkeypatch.context() as hurried:
            hurried.setattr(client_module, "CALL_SECONDS", 0.5)
            for call in (client.state, lambda: client.submit(task("quick")), lambda: client.cancel("x")):
                with pytest.raises(Unavailable):
                    call()
            assert not gone(broker)
        assert client.state().result == "ok"
        assert place.broker() == broker

    @pytest.mark.parametrize("connected", [True, False])
    def test_a_hanging_broker_holds_only_the_threads_that_came_first(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, connected: bool
    ) -> None:
        monkeypatch.setattr(client_module, "STUCK_SECONDS", 0.2)
        client = place.client()
        ready(client)
        if not connected:
            client.close()
        with frozen(place.broker()):
            first = threading.Thread(target=lambda: _result(client.state), daemon=True)
            first.start()
            until(lambda: any(since < time.monotonic() - 0.2 for since in client._waiting.values()), "it waits")
            for _ in range(20):
                with pytest.raises(Unavailable, match="earlier read"):
                    client.state()
            assert first.is_alive()
        first.join(10)
        assert client.state().result == "ok"

    def test_a_launch_that_takes_its_time_refuses_nobody(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(client_module, "STUCK_SECONDS", -1.0)  # whoever waits for an answer has waited too long
        client = place.client()
        launching, go_on = threading.Event(), threading.Event()
        waiting: list[str] = []
        real_launch, real_wait = reach.launch, reach._Launches.wait

        def launch(root: Path, deadline: float) -> bool:
            launching.set()
            assert go_on.wait(PATIENCE)
            return real_launch(root, deadline)

        def wait(launches: reach._Launches, problem: str) -> None:
            waiting.append(problem)
            real_wait(launches, problem)

        monkeypatch.setattr(reach, "launch", launch)
        monkeypatch.setattr(reach._Launches, "wait", wait)
        monkeypatch.setattr(reach, "TURN_SECONDS", PATIENCE)
        with ThreadPoolExecutor(2) as pool:
            first = pool.submit(lambda: client.state().result)
            assert launching.wait(PATIENCE)
            second = pool.submit(lambda: client.state().result)
            until(lambda: waiting or second.done(), "the second call has come")
            go_on.set()
            assert (first.result(), second.result()) == ("ok", "ok")

    def test_calls_of_many_threads_do_not_mix(self, place: Place) -> None:
        client = place.client()
        ready(client)

        def work(number: int) -> list[str]:
            if number % 4:
                return [client.state().result for _ in range(50)]
            return [client.cancel(f"task {number}").result for _ in range(50)]

        for number, results in enumerate(all_at_once(8, work)):
            assert set(results) == {"ok" if number % 4 else "not_found"}
        assert len(client._idle) <= client_module.KEPT_CONNECTIONS

    def test_an_abandoned_client_leaves_no_open_socket(self, place: Place) -> None:
        client = BrokerClient(BrokerConfig(project_root=place.root, executable=str(PEER)))
        client.state()
        del client  # pytest turns the warning about an unclosed socket into an error


class TestFork:
    def test_a_child_has_its_own_connection_and_the_parent_keeps_its(self, place: Place) -> None:
        client = place.client()
        ready(client)
        parents = client._idle[:]
        assert len(parents) == 1
        reader, writer = os.pipe()
        if (pid := os.fork()) == 0:
            code = 1
            try:
                answers = {client.state().result for _ in range(20)}
                shared = [one for one in client._idle if one in parents]
                os.write(writer, f"{sorted(answers)} {shared}".encode())
                code = 0
            finally:
                os._exit(code)
        results = {client.state().result for _ in range(20)}
        assert os.waitpid(pid, 0)[1] == 0
        assert os.read(reader, 1000) == b"['ok'] []"
        os.close(reader)
        os.close(writer)
        assert results == {"ok"}
        assert client._idle == parents
        assert len(place.brokers()) == 1

    def test_a_preloaded_server_is_one_program_to_the_broker(self, place: Place) -> None:
        """Its forked workers do not each bring settings."""
        client = place.client()
        if (pid := os.fork()) == 0:
            try:
                client.state()
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        instance = client._greeting.instance
        assert client.state().result == "ok"
        assert client._greeting.instance == instance

    def test_two_children_forked_before_the_first_call_meet_one_broker(self, place: Place) -> None:
        client = place.client()
        pids = []
        for _ in range(4):
            if (pid := os.fork()) == 0:
                code = 1
                try:
                    code = 0 if client.state().result == "ok" else 1
                finally:
                    os._exit(code)
            pids.append(pid)
        assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
        ready(client)
        assert len(place.brokers()) == 1
        assert len(place.pi_starts()) == 1


GREENLETS = """
from gevent import monkey; monkey.patch_all()
import sys, time
from pathlib import Path
import gevent
from flask_pi_taskbar.broker import client, reach
from flask_pi_taskbar.broker.client import BrokerClient, BrokerConfig
client.CALL_SECONDS = reach.CONNECT_SECONDS = 60
client = BrokerClient(BrokerConfig(project_root=Path(sys.argv[1]), executable=sys.argv[2], task_timeout=600))
assert [one.get() for one in [gevent.spawn(lambda: client.state().result) for _ in range(10)]] == ["ok"] * 10
ticks = []
def tick():
    while True:
        ticks.append(time.monotonic()); gevent.sleep(0.02)
ticker = gevent.spawn(tick)
frames = []
with client.follow(None, heartbeat=0.5) as follow:
    for frame in follow:
        frames.append(frame)
        if frame is None:
            break
ticker.kill()
longest = max(later - one for one, later in zip(ticks, ticks[1:]))
print(len(ticks) > 10, longest < 0.4, frames[-1])
client.close()
"""


def test_it_works_in_greenlets_and_blocks_none_of_them(place: Place) -> None:
    pytest.importorskip("gevent")
    done = place.python(GREENLETS, str(PEER), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, errors = done.communicate(timeout=60)
    assert out == b"True True None\n", errors.decode()[-2000:]
    assert len(place.brokers()) == 1


class TestSecret:
    def test_every_worker_gets_the_same(self, place: Place) -> None:
        secrets = all_at_once(8, lambda _: session_secret(place.root))
        assert len(set(secrets)) == 1
        assert len(secrets[0]) == 32
        assert place.processes() == []  # no broker is needed for it

    def test_a_symlinked_checkout_has_the_same(self, place: Place) -> None:
        link = place.base / "link"
        link.symlink_to(place.root)
        assert session_secret(link) == session_secret(place.root)

    def test_a_hostile_folder_is_named(self, place: Place) -> None:
        session_secret(place.root)
        place.runtime.chmod(0o777)
        with pytest.raises(Unavailable, match="may be used by others"):
            session_secret(place.root)


@pytest.mark.parametrize("what", ["link", "file", "writable"])
def test_a_hostile_runtime_folder_is_never_used(place: Place, what: str) -> None:
    place.runtime.parent.mkdir(mode=0o700)
    elsewhere = place.base / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if what == "link":
        place.runtime.symlink_to(elsewhere)
    elif what == "file":
        place.runtime.touch()
    else:
        place.runtime.mkdir()
        place.runtime.chmod(0o777)
    with pytest.raises(Unavailable) as failed:
        place.client().state()
    assert str(place.runtime) in failed.value.reason
    assert list(elsewhere.iterdir()) == []
    assert place.processes() == []


def test_a_path_too_long_for_a_socket_is_named(place: Place) -> None:
    long = place.base / ("x" * 100)
    long.mkdir(mode=0o700)
    os.environ["XDG_RUNTIME_DIR"] = str(long)
    with pytest.raises(Unavailable, match="shorter"):
        place.client().state()


def test_a_user_without_a_home_is_told_so(place: Place) -> None:
    os.environ.update({"XDG_RUNTIME_DIR": "", "XDG_STATE_HOME": "", "HOME": "nowhere"})
    with pytest.raises(Unavailable, match="HOME"):
        place.client().state()
    with pytest.raises(Unavailable, match="HOME"):
        session_secret(Path("/"))


def _result(call: object) -> str:
    try:
        return str(call().result)  # type: ignore[operator]
    except Unavailable as error:
        return error.reason
