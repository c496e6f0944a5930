"""A broker from its first client to its end, with real processes: lazy, alone, tidy, and back after kill -9."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import psutil
import pytest

from flask_pi_taskbar.broker import launch
from flask_pi_taskbar.broker.client import BrokerClient, Unavailable
from flask_pi_taskbar.broker.election import is_held
from flask_pi_taskbar.broker.runtime import PrivateDirectory
from flask_pi_taskbar.contract import texts
from tests.broker.place import OVER, PEER, Place, all_at_once, gone, look, over, ready, task
from tests.support.waiting import until

CLIENT = """
import sys
from pathlib import Path
from flask_pi_taskbar.broker import client, reach
from flask_pi_taskbar.broker.client import BrokerClient, BrokerConfig
client.CALL_SECONDS = reach.CONNECT_SECONDS = 60
client = BrokerClient(BrokerConfig(project_root=Path(sys.argv[1]), executable=sys.argv[2], task_timeout=600))
"""


def _quietly(client: BrokerClient) -> None:
    with contextlib.suppress(Unavailable):
        client.submit(task("never recorded"))


class TestStart:
    def test_nothing_happens_before_the_first_call(self, place: Place) -> None:
        place.client()
        assert place.processes() == []
        assert not place.runtime.exists()

    def test_the_first_call_starts_a_broker_and_pi(self, place: Place) -> None:
        seen = ready(place.client())
        assert seen["session"]["model"] == "test/scripted-pi"
        assert seen["task"] is None
        assert len(place.brokers()) == 1
        assert len(place.pi_starts()) == 1

    def test_many_clients_in_one_process_meet_one_broker(self, place: Place) -> None:
        clients = [place.client() for _ in range(8)]
        all_at_once(8, lambda number: clients[number].state())
        ready(clients[0])
        assert len(place.brokers()) == 1
        assert len(place.pi_starts()) == 1

    def test_sixteen_processes_racing_meet_one_broker(self, place: Place) -> None:
        code = CLIENT + "sys.stdin.readline(); client.state(); sys.stdin.readline()"
        racers = [place.python(code, str(PEER), stdin=subprocess.PIPE) for _ in range(16)]
        for word in (b"go\n", b"end\n"):
            for racer in racers:
                assert racer.stdin
                racer.stdin.write(word)
                racer.stdin.flush()
        assert [racer.wait(60) for racer in racers] == [0] * 16
        for racer in racers:
            assert racer.stdin
            racer.stdin.close()
        ready(place.client())
        assert len(place.brokers()) == 1
        assert len(place.pi_starts()) == 1

    def test_sixteen_launchers_racing_leave_one_broker(self, place: Place) -> None:
        """Without the turn that clients take: the election alone decides."""
        import time

        won = all_at_once(16, lambda _: launch.launch(place.root, time.monotonic() + 30))
        assert won.count(True) == 1
        until(lambda: len(place.brokers()) == 1, "the losers have left")

    def test_a_project_that_shadows_the_standard_library_harms_nothing(self, place: Place) -> None:
        for name in ("json", "asyncio", "msgspec", "typing", "site", "flask_pi_taskbar"):
            (place.root / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
        os.environ["PYTHONPATH"] = str(place.root)
        assert ready(place.client())["session"]["status"] == "ready"

    def test_it_works_from_a_source_tree_that_is_not_installed(self, place: Place, tmp_path: Path) -> None:
        import flask_pi_taskbar

        tree = tmp_path / "tree"
        tree.mkdir()
        (tree / "flask_pi_taskbar").symlink_to(Path(flask_pi_taskbar.__file__).parent)
        code = f"import sys; sys.path.insert(0, {str(tree)!r})\n{CLIENT}print(client.state().result)"
        done = place.python(code, str(PEER), stdout=subprocess.PIPE)
        assert done.communicate(timeout=30)[0] == b"ok\n"

    def test_the_broker_lives_in_a_session_of_its_own_with_nothing_of_ours(self, place: Place) -> None:
        inherited, kept = os.pipe()
        os.set_inheritable(inherited, True)
        try:
            ready(place.client())
        finally:
            os.close(kept)
            os.close(inherited)
        broker = psutil.Process(place.broker())
        assert os.getsid(broker.pid) != os.getsid(0)
        assert broker.cwd() == str(place.root)
        assert os.getpid() not in [parent.pid for parent in broker.parents()]
        if sys.platform == "linux":
            streams = {os.readlink(f"/proc/{broker.pid}/fd/{fd}") for fd in (0, 1, 2)}
            assert streams == {"/dev/null"}

    def test_neither_the_broker_nor_a_client_ever_imports_flask(self, place: Place) -> None:
        code = CLIENT + "client.state(); print(sorted(m for m in sys.modules if m.split('.')[0] in sys.argv[3:]))"
        heavy = ("flask", "werkzeug", "jinja2", "click", "flask_wtf", "wtforms")
        client = place.python(code, str(PEER), *heavy, stdout=subprocess.PIPE)
        assert client.communicate(timeout=30)[0] == b"[]\n"
        code = (
            "import sys\nfrom pathlib import Path\nimport flask_pi_taskbar.broker.main\n"
            "print(sorted(m for m in sys.modules if m.split('.')[0] in sys.argv[2:]))"
        )
        broker = place.python(code, *heavy, stdout=subprocess.PIPE)
        assert broker.communicate(timeout=30)[0] == b"[]\n"

    def test_why_it_could_not_start_reaches_the_caller_and_the_log(self, place: Place) -> None:
        ready(place.client())
        other = place.base / "elsewhere"
        other.mkdir(mode=0o700)
        os.environ["XDG_RUNTIME_DIR"] = str(other)
        with pytest.raises(Unavailable) as failed:
            place.client().state()
        assert "XDG_RUNTIME_DIR" in failed.value.reason
        assert '"start failed"' in (place.state / "broker.log").read_text()

    def test_a_package_that_cannot_be_imported_is_named(
        self, place: Place, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        monkeypatch.setattr(launch, "_import_folders", lambda: [str(tmp_path)])
        with pytest.raises(Unavailable, match="No module named 'flask_pi_taskbar'"):
            place.client().state()

    def test_a_missing_project_is_named(self, place: Place) -> None:
        place.root.rmdir()
        with pytest.raises(Unavailable, match="could not be started"):
            place.client().state()


class TestEnd:
    def test_it_leaves_when_nobody_has_come_for_the_grace_time(self, place: Place) -> None:
        os.environ[launch.GRACE_VARIABLE] = "0.3"
        client = place.client()
        ready(client)
        pids = [place.broker(), place.pi()]
        assert [gone(pid) for pid in pids] == [False, False]
        client.close()
        until(lambda: all(map(gone, pids)), "broker and Pi have left")
        assert sorted(path.name for path in place.runtime.iterdir()) == ["launch.lock", "lock"]

    def test_it_stays_while_a_client_is_connected(self, place: Place) -> None:
        os.environ[launch.GRACE_VARIABLE] = "0.3"
        client = place.client()
        ready(client)
        broker = place.broker()
        with client.follow(None, heartbeat=0.5) as frames:
            next(frames)
            client.close()
            assert next(frames) is None  # half a second, and nobody but the follower
            assert not gone(broker)
        until(lambda: gone(broker), "it has left")

    def test_orphaned_work_is_finished_first(self, place: Place) -> None:
        os.environ[launch.GRACE_VARIABLE] = "0.3"
        client = place.client()
        ready(client)
        assert client.submit(task("work for 0.5 seconds")).result == "accepted"
        broker = place.broker()
        client.close()
        until(lambda: gone(broker), "it has left")
        log = (place.state / "broker.log").read_text()
        assert log.index("nobody came") > 0
        assert len(place.commands("prompt")) == 1
        assert look(place.client())["task"] is None  # it was settled, so nothing was interrupted

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
    def test_a_signal_ends_it_in_good_order(self, place: Place, number: signal.Signals) -> None:
        ready(place.client())
        broker, pi = place.broker(), place.pi()
        os.kill(broker, number)
        until(lambda: gone(broker) and gone(pi), "broker and Pi have left")
        assert sorted(path.name for path in place.runtime.iterdir()) == ["launch.lock", "lock"]
        assert [entry["how"] for entry in place.peer_events("exit")] in (["SIGTERM"], ["stdin closed"])

    def test_a_second_signal_changes_nothing(self, place: Place) -> None:
        ready(place.client())
        broker = place.broker()
        os.kill(broker, signal.SIGTERM)
        os.kill(broker, signal.SIGTERM)
        until(lambda: gone(broker), "it has left")

    def test_a_graceful_end_in_the_middle_of_a_task_shows_it_as_interrupted(self, place: Place) -> None:
        client = place.client()
        ready(client)
        client.submit(task("hold this task"))
        until(lambda: place.commands("prompt"), "Pi has the prompt")
        broker = place.broker()
        os.kill(broker, signal.SIGTERM)
        until(lambda: gone(broker), "it has left")
        seen = over(client)
        assert (seen["prompt"], seen["status"], seen["error"]) == ("hold this task", "failed", texts.INTERRUPTED)
        assert len(place.commands("prompt")) == 1

    def test_a_task_that_was_stopped_does_not_come_back_as_interrupted(self, place: Place) -> None:
        place.behaviour.write_text("never-abort")
        client = place.client()
        ready(client)
        client.submit(task("hold this task"))
        until(lambda: place.commands("prompt"), "Pi has the prompt")
        assert client.cancel(look(client)["task"]["id"]).result == "accepted"
        broker = place.broker()
        os.kill(broker, signal.SIGTERM)
        until(lambda: gone(broker), "it has left")
        assert ready(client)["task"] is None

    def test_a_disk_that_hangs_does_not_hold_up_the_end(self, place: Place) -> None:
        code = (
            "import sys, time, types\n"
            "from pathlib import Path\n"
            "from flask_pi_taskbar.broker import journal, main, server, shell\n"
            "journal.osdep = types.SimpleNamespace(durable_sync=lambda fd: time.sleep(600))\n"
            "server.ENDING_SECONDS = shell.CLOSE_SECONDS = 0.3\n"
            "sys.exit(main.main(Path(sys.argv[1])))\n"
        )
        broker = place.python(code, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        try:
            assert broker.stdout
            assert broker.stdout.readline() == b"ready\n"
            broker.stdout.close()
            client = place.client()
            ready(client)
            threading.Thread(target=lambda: _quietly(client), daemon=True).start()
            until(lambda: look(client)["session"]["status"] == "busy", "it hangs")
            broker.terminate()
            assert broker.wait(10) == 0
        finally:
            broker.kill()
            broker.wait()
        with PrivateDirectory.open(place.runtime) as directory:
            assert not is_held(directory)
        until(lambda: gone(place.pi()), "Pi has seen the end of its input")

    def test_what_was_left_running_on_purpose_outlives_it_and_later_brokers(self, place: Place) -> None:
        """… even one that is killed: what carries the marker of a dismissed Pi is nobody's leftover."""
        script = (
            "import os, sys\n"
            "if os.fork() == 0:\n"
            "    if os.fork():\n        os._exit(0)\n"
            "    os.setsid()\n"
            "    open(sys.argv[1], 'a').write(f'{os.getpid()}\\n')\n"
            "    os.execlp('sleep', 'sleep', '543')\n"
            "os.wait()\n"
            "os.execv(sys.argv[2], sys.argv[2:])\n"
        )
        (place.base / "script.py").write_text(script)
        pids, program = place.base / "pids", place.base / "pi-with-daemon"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} {place.base}/script.py {pids} {PEER} "$@"\n')
        program.chmod(0o755)

        def daemons() -> list[int]:
            return [int(line) for line in pids.read_text().split()]

        client = place.client(executable=str(program))
        try:
            ready(client)
            os.kill(broker := place.broker(), signal.SIGTERM)
            until(lambda: gone(broker), "it has left")
            ready(client)
            assert [gone(pid) for pid in daemons()] == [False, False]
            place.kill_broker()
            ready(client)
            assert [gone(pid) for pid in daemons()] == [False, True, False]
            assert client.submit(task("hold this task")).result == "accepted"
            os.kill(broker := place.broker(), signal.SIGTERM)
            until(lambda: gone(broker), "it has left")
            assert [gone(pid) for pid in daemons()] == [False, True, True]
        finally:
            for pid in daemons():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def test_a_new_broker_is_found_after_a_graceful_end(self, place: Place) -> None:
        client = place.client()
        ready(client)
        first = place.broker()
        os.kill(first, signal.SIGTERM)
        until(lambda: gone(first), "it has left")
        assert client.submit(task("after the end")).result == "unavailable"  # the new Pi is only starting
        ready(client)
        assert place.broker() != first

    def test_a_removed_runtime_directory_makes_it_leave(self, place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
        import asyncio
        import shutil

        from flask_pi_taskbar.broker import main, server

        monkeypatch.setattr(server, "STANDING_SECONDS", 0.05)
        monkeypatch.setattr(main, "_report", lambda line: started.set())
        monkeypatch.setattr(asyncio.AbstractEventLoop, "add_signal_handler", lambda *_: None)
        monkeypatch.setattr(asyncio.SelectorEventLoop, "add_signal_handler", lambda *_: None)
        monkeypatch.setattr(signal, "signal", lambda *_: None)
        started = threading.Event()
        codes: list[int] = []
        thread = threading.Thread(target=lambda: codes.append(main.main(place.root)))
        thread.start()
        assert started.wait(10)
        shutil.rmtree(place.runtime)
        thread.join(10)
        assert codes == [0]


class TestKill:
    def test_the_prompt_survives_and_the_next_task_runs_with_exactly_one_new_pi(self, place: Place) -> None:
        client = place.client()
        ready(client)
        assert client.submit(task("spawn a sleeper")).result == "accepted"
        sleeper = until(lambda: place.peer_events("sleeper"), "the tool runs")[0]["sleeper"]
        pi = place.pi()
        place.kill_broker()
        seen = over(client)
        assert (seen["prompt"], seen["status"], seen["error"]) == ("spawn a sleeper", "failed", texts.INTERRUPTED)
        assert gone(pi)
        assert gone(sleeper)
        assert len(place.pi_starts()) == 2
        assert client.submit(task("the next one")).result == "accepted"
        assert over(client)["status"] == "completed"
        prompts = [record["message"] for record in place.commands("prompt")]
        assert len(prompts) == 2  # the interrupted one was never sent again
        assert "the next one" in prompts[1]

    def test_a_pi_that_ignores_the_end_of_its_input_and_term_is_ended_by_the_next_broker(self, place: Place) -> None:
        place.behaviour.write_text("ignore-term")
        client = place.client()
        ready(client)
        pi = place.pi()
        place.kill_broker()
        assert not gone(pi)
        place.behaviour.write_text("")
        ready(client)
        assert gone(pi)

    def test_what_the_dead_broker_recorded_is_found_without_its_marker(self, place: Place) -> None:
        """A tool that has cleared its environment and lost its parent."""
        place.behaviour.write_text("ignore-term")
        client = place.client()
        ready(client)
        pi = place.pi()
        place.kill_broker()
        os.kill(pi, signal.SIGKILL)
        stray = subprocess.Popen(["sleep", "543"], start_new_session=True)
        from flask_pi_taskbar import osdep
        from flask_pi_taskbar.broker.recover import Ledger
        from flask_pi_taskbar.osdep.types import Process

        Ledger(place.state, place.state.name).write([Process(stray.pid, osdep.start_of(stray.pid) or "")])
        innocent = subprocess.Popen(["sleep", "543"], start_new_session=True)
        try:
            place.behaviour.write_text("")
            ready(client)
            assert stray.wait(10) in (-signal.SIGTERM, -signal.SIGKILL)
            assert innocent.poll() is None
        finally:
            innocent.kill()
            innocent.wait()

    def test_the_record_names_the_tools_of_a_busy_pi(self, place: Place) -> None:
        client = place.client()
        ready(client)
        client.submit(task("spawn a sleeper"))
        sleeper = until(lambda: place.peer_events("sleeper"), "the tool runs")[0]["sleeper"]

        def recorded() -> list[int]:
            with PrivateDirectory.open(place.state) as folder:
                data = folder.read("pi.json")
            return [pid for pid, _ in json.loads(data or b'{"processes":[]}')["processes"]]

        until(lambda: sleeper in recorded(), "the tool is recorded")
        assert place.pi() in recorded()

    def test_a_number_given_out_again_is_left_alone(self, place: Place) -> None:
        from flask_pi_taskbar.broker.recover import Ledger
        from flask_pi_taskbar.osdep.types import Process

        innocent = subprocess.Popen(["sleep", "543"], start_new_session=True)
        try:
            Ledger(place.state, place.state.name).write([Process(innocent.pid, "an earlier start")])
            ready(place.client())
            assert innocent.poll() is None
        finally:
            innocent.kill()
            innocent.wait()

    def test_a_stale_socket_and_endpoint_are_replaced(self, place: Place) -> None:
        client = place.client()
        ready(client)
        dead = place.kill_broker()
        assert json.loads((place.runtime / "endpoint.json").read_bytes())["pid"] == dead
        ready(client)
        assert json.loads((place.runtime / "endpoint.json").read_bytes())["pid"] == place.broker() != dead

    @pytest.mark.parametrize("times", [3])
    def test_killed_again_and_again_it_comes_back(self, place: Place, times: int) -> None:
        client = place.client()
        for _ in range(times):
            ready(client)
            assert client.submit(task("hold this task")).result == "accepted"
            place.kill_broker()
        assert over(client)["error"] == texts.INTERRUPTED
        assert len(place.pi_starts()) == times + 1
        assert len(place.brokers()) == 1

    def test_a_pi_killed_in_the_middle_of_a_task_is_replaced_and_its_tool_ended(self, place: Place) -> None:
        client = place.client()
        ready(client)
        client.submit(task("spawn a sleeper"))
        sleeper = until(lambda: place.peer_events("sleeper"), "the tool runs")[0]["sleeper"]
        broker = place.broker()
        os.kill(place.pi(), signal.SIGKILL)
        seen = over(client)
        assert (seen["status"], seen["error"]) == ("failed", texts.STOPPED_UNEXPECTEDLY)
        until(lambda: gone(sleeper), "the tool is gone")
        assert client.submit(task("the next one")).result == "accepted"
        assert over(client)["status"] == "completed"
        assert place.broker() == broker
        assert len(place.pi_starts()) == 2

    def test_the_finished_states_are_the_three_of_the_contract(self) -> None:
        assert OVER == ("completed", "failed", "cancelled")
