"""One Pi child: how it is found and called, what it may do to its pipes, and how its whole tree ends."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
import textwrap
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker import pi
from flask_pi_taskbar.broker.pi import POLICY, Events, PiChild, command, find_executable
from flask_pi_taskbar.broker.reception import Settings
from flask_pi_taskbar.broker.records import Fault, FaultKind
from flask_pi_taskbar.osdep import processes
from flask_pi_taskbar.osdep.types import Process
from tests.broker.place import gone
from tests.support.waiting import until


class Heard:
    """What a child has reported."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any] | Fault] = []
        self.exits = 0
        self.stalls = 0
        self.changed = asyncio.Event()

    def events(self) -> Events:
        return Events(self._records, self._exited, self._stalled)

    async def until(self, found: Callable[[], Any]) -> None:
        async with asyncio.timeout(15):
            while not found():
                self.changed.clear()
                await self.changed.wait()

    def _records(self, records: Sequence[dict[str, Any] | Fault]) -> None:
        self.records += records
        self.changed.set()

    def _exited(self) -> None:
        self.exits += 1
        self.changed.set()

    def _stalled(self) -> None:
        self.stalls += 1
        self.changed.set()


Play = Callable[[PiChild, Heard], Awaitable[None]]


def child_of(
    tmp_path: Path,
    code: str,
    play: Play,
    end: Callable[[PiChild], Awaitable[set[Process]]] = PiChild.stop,
    **environment: str,
) -> Heard:
    """Run `code` as Pi, let `play` deal with it, end it. Nothing of its tree is left but what was spared."""
    program = tmp_path / "pi"
    program.write_text(f"#!{sys.executable}\n{PRELUDE}{textwrap.dedent(code)}")
    program.chmod(0o755)
    marker = f"PI_TEST_TREE={secrets.token_hex(8)}".encode()
    variables = {**os.environ, **environment}
    settings = Settings(
        executable=str(program),
        task_timeout=60,
        environment={os.fsencode(name): os.fsencode(value) for name, value in variables.items()},
    )

    async def run() -> Heard:
        heard = Heard()
        child = PiChild(settings, tmp_path, marker, heard.events(), asyncio.to_thread)
        await child.spawn()
        try:
            await play(child, heard)
        finally:
            left = await end(child)
        assert left == set()
        spared.update(child.spared)
        return heard

    spared: set[Process] = set()
    try:
        return asyncio.run(run())
    finally:
        remaining = processes.members([], marker=marker)
        for process in remaining:
            osdep.send_signal(process, signal.SIGKILL)
        until(lambda: not processes.members([], marker=marker), "the daemons are gone")
        assert remaining == spared


PRELUDE = """
import json, os, signal, subprocess, sys, time
def say(**record):
    sys.stdout.write(json.dumps(record) + "\\n"); sys.stdout.flush()
def sleeper(code="import time; time.sleep(543)", **more):
    return subprocess.Popen([sys.executable, "-c", code], **more)
DAEMON = "import os, time; os.fork() and os._exit(0); os.setsid(); os.fork(); "
DAEMON += "print(os.getpid(), flush=True); time.sleep(543)"
def daemon():  # two processes in a session of their own, the first without a parent
    starter = sleeper(DAEMON, stdout=subprocess.PIPE)
    pids = sorted(int(starter.stdout.readline()) for _ in range(2))
    starter.wait()
    return pids
DEAF = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(543)"
"""


class TestExecutable:
    @pytest.fixture
    def root(self, tmp_path: Path) -> Path:
        for name in ("bin/pi", "other/pi", "tools/pi"):
            path = tmp_path / name
            path.parent.mkdir()
            path.write_text("#!/bin/sh\n")
            path.chmod(0o755)
        return tmp_path

    def test_a_bare_name_is_looked_up_on_the_path(self, root: Path) -> None:
        assert find_executable("pi", f"/nowhere:{root}/other:{root}/bin", root) == root / "other" / "pi"

    def test_a_relative_entry_of_the_path_starts_at_the_project(self, root: Path) -> None:
        assert find_executable("pi", "/nowhere:bin", root) == root / "bin" / "pi"

    def test_a_name_with_a_slash_starts_at_the_project(self, root: Path) -> None:
        assert find_executable("tools/pi", "/nowhere", root) == root / "tools" / "pi"
        assert find_executable("./tools/pi", "", root) == root / "tools" / "pi"
        assert find_executable(f"{root}/bin/pi", "", Path("/")) == root / "bin" / "pi"

    def test_one_that_cannot_be_run_is_passed_over(self, root: Path) -> None:
        (root / "bin" / "pi").chmod(0o644)
        assert find_executable("pi", "bin:other", root) == root / "other" / "pi"
        with pytest.raises(PermissionError):
            find_executable("bin/pi", "", root)

    def test_a_folder_of_that_name_is_passed_over(self, root: Path) -> None:
        (root / "x" / "pi").mkdir(parents=True)
        assert find_executable("pi", "x:other", root) == root / "other" / "pi"

    @pytest.mark.parametrize("name", ["missing", "./missing", "/no/such/pi"])
    def test_a_missing_one_is_not_found(self, root: Path, name: str) -> None:
        with pytest.raises(FileNotFoundError):
            find_executable(name, "bin:other", root)


def test_the_policy_is_one_line_and_no_file_name() -> None:
    assert "\n" not in POLICY
    assert len(POLICY.encode()) > 255  # NAME_MAX: Pi would take the content of a file of that name instead
    assert command("/bin/pi") == ["/bin/pi", "--mode", "rpc", "--append-system-prompt", POLICY]


def test_it_gets_its_arguments_folder_environment_and_a_session_of_its_own(tmp_path: Path) -> None:
    code = (
        "say(argv=sys.argv[1:], cwd=os.getcwd(), env=os.environ['COLOUR'], sid=os.getsid(0), pid=os.getpid())\ninput()"
    )

    async def play(child: PiChild, heard: Heard) -> None:
        await heard.until(lambda: heard.records)

    heard = child_of(tmp_path, code, play, COLOUR="green")
    (record,) = heard.records
    assert isinstance(record, dict)
    assert record["argv"] == command("x")[1:]
    assert (record["cwd"], record["env"]) == (str(tmp_path), "green")
    assert record["sid"] == record["pid"]


def test_a_program_that_cannot_be_run_raises(tmp_path: Path) -> None:
    program = tmp_path / "pi"
    program.write_bytes(b"\x7fELF nonsense")
    program.chmod(0o755)
    settings = Settings(executable=str(program), task_timeout=60, environment={})

    async def spawn() -> None:
        await PiChild(settings, tmp_path, b"A=b", Heard().events(), asyncio.to_thread).spawn()

    with pytest.raises(OSError, match="Exec format"):
        asyncio.run(spawn())


class TestPipes:
    def test_what_is_sent_arrives_in_order_and_whole(self, tmp_path: Path) -> None:
        code = "for line in sys.stdin.buffer:\n    r = json.loads(line); say(n=r['n'], size=len(line))"
        texts = ["x" * size for size in (0, 10, 300_000, 5)]

        async def play(child: PiChild, heard: Heard) -> None:
            for number, text in enumerate(texts):
                child.send({"n": number, "text": text})
            await heard.until(lambda: len(heard.records) == len(texts))

        heard = child_of(tmp_path, code, play)
        assert [(record["n"], record["size"] > len(texts[record["n"]])) for record in heard.records] == [  # type: ignore[index]
            (number, True) for number in range(len(texts))
        ]

    def test_one_that_stops_reading_is_noticed(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pi, "WRITE_SECONDS", 0.2)

        async def play(child: PiChild, heard: Heard) -> None:
            child.send({"text": "x" * 1_000_000})
            await heard.until(lambda: heard.stalls)

        assert child_of(tmp_path, "time.sleep(543)", play).stalls == 1

    def test_one_that_reads_slowly_but_does_is_not_stalled(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(pi, "WRITE_SECONDS", 1.0)
        code = (
            "total = 0\nwhile total < 600_000:\n    total += len(os.read(0, 65536)); time.sleep(0.2)\nsay(total=total)"
        )

        async def play(child: PiChild, heard: Heard) -> None:
            child.send({"text": "x" * 600_000})
            await heard.until(lambda: heard.records)

        heard = child_of(tmp_path, code, play)
        assert heard.stalls == 0

    def test_a_write_to_a_dead_one_harms_nothing(self, tmp_path: Path) -> None:
        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.exits)
            child.send({"text": "x" * 200_000})

        assert child_of(tmp_path, "sys.exit(3)", play).exits == 1

    def test_a_flood_on_stderr_blocks_nobody(self, tmp_path: Path) -> None:
        code = "sys.stderr.write('noise ' * 200_000); sys.stderr.flush(); say(done=1); input()"

        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.records)

        assert child_of(tmp_path, code, play).records == [{"done": 1}]

    def test_everything_written_before_the_end_is_read(self, tmp_path: Path) -> None:
        code = "for n in range(5_000): sys.stdout.write(json.dumps({'n': n, 'x': 'y' * 100}) + '\\n')"

        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.exits)

        heard = child_of(tmp_path, code, play)
        assert len(heard.records) == 5_000
        assert heard.exits == 1

    def test_half_a_record_at_the_end_is_a_fault_before_the_exit(self, tmp_path: Path) -> None:
        order: list[str] = []

        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.exits)
            order.append(f"{len(heard.records)} records, {heard.exits} exit")

        heard = child_of(tmp_path, "sys.stdout.write('{\"half'); sys.stdout.flush()", play)
        assert heard.records == [Fault(FaultKind.UNTERMINATED)]
        assert order == ["1 records, 1 exit"]

    def test_an_end_of_stdout_counts_as_an_exit_even_if_the_process_goes_on(self, tmp_path: Path) -> None:
        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.exits)
            assert child.process
            assert processes.is_alive(child.process)

        assert child_of(tmp_path, "os.close(1); time.sleep(543)", play).exits == 1

    def test_a_death_is_noticed_although_a_grandchild_holds_stdout_open(self, tmp_path: Path) -> None:
        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.exits)
            assert heard.records == [{"last": 1}]

        assert child_of(tmp_path, "sleeper(start_new_session=True); say(last=1); os._exit(1)", play).exits == 1

    def test_without_exit_descriptors_it_is_noticed_by_looking(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(osdep, "exit_descriptor", lambda _: None)

        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.exits)

        assert child_of(tmp_path, "sleeper(start_new_session=True); say(last=1); os._exit(1)", play).exits == 1


class TestStop:
    """`child_of` checks after each of these that nothing of the tree is left."""

    @staticmethod
    async def once_ready(child: PiChild, heard: Heard) -> None:
        await heard.until(lambda: heard.records)

    def test_a_well_behaved_one_ends_by_itself(self, tmp_path: Path) -> None:
        code = f"""
        signal.signal(signal.SIGTERM, lambda *_: None)
        say(ready=1)
        sys.stdin.read()
        open({str(tmp_path / "tidy")!r}, "w").write("tidy")
        """
        heard = child_of(tmp_path, code, self.once_ready)
        assert (tmp_path / "tidy").read_text() == "tidy"
        assert heard.exits == 0  # it was asked for, so it is not reported

    def test_one_that_ignores_everything_is_killed_with_its_children(self, tmp_path: Path) -> None:
        code = """
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tool = sleeper(DEAF, start_new_session=True, stdout=subprocess.PIPE)
        tool.stdout.readline()
        say(tool=tool.pid)
        time.sleep(543)
        """
        heard = child_of(tmp_path, code, self.once_ready)
        (record,) = heard.records
        assert isinstance(record, dict)
        assert gone(record["tool"])

    def test_an_orphan_of_a_dead_one_is_told_to_end_and_may_tidy_up(self, tmp_path: Path) -> None:
        tidy = tmp_path / "tidy"
        tool = (
            "import signal, sys, time\n"
            f"signal.signal(signal.SIGTERM, lambda *_: (open({str(tidy)!r}, 'w').close(), sys.exit()))\n"
            "print(1, flush=True)\ntime.sleep(543)"
        )
        code = f"""
        tool = sleeper({tool!r}, start_new_session=True, stdout=subprocess.PIPE)
        tool.stdout.readline()
        os._exit(1)
        """

        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.exits)

        child_of(tmp_path, code, play)
        assert tidy.exists()

    def test_a_tool_that_lost_its_parent_and_its_environment_is_known_from_an_earlier_look(
        self, tmp_path: Path
    ) -> None:
        code = """
        tool = sleeper(DEAF, start_new_session=True, stdout=subprocess.PIPE, env={})
        tool.stdout.readline()
        say(tool=tool.pid)
        time.sleep(543)
        """

        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.records)
            assert await child.census()
            assert not await child.census()
            assert child.process
            os.kill(child.process.pid, signal.SIGKILL)
            await heard.until(lambda: heard.exits)

        heard = child_of(tmp_path, code, play)
        (record,) = heard.records
        assert isinstance(record, dict)
        until(lambda: gone(record["tool"]), "the tool is gone")

    def test_a_dead_one_is_collected(self, tmp_path: Path) -> None:
        pids: list[int] = []

        async def play(child: PiChild, heard: Heard) -> None:
            assert child.process
            pids.append(child.process.pid)
            await heard.until(lambda: heard.exits)

        child_of(tmp_path, "sys.exit()", play)
        with pytest.raises(ChildProcessError):
            os.waitpid(pids[0], os.WNOHANG)


class TestDismiss:
    """`child_of` checks after each of these that only what was spared is left."""

    TREE = """
    tool = sleeper(start_new_session=True)
    plain = sleeper("import os, time; os.fork() and os._exit(0); time.sleep(543)")
    plain.wait()
    say(daemons=daemon(), tool=tool.pid)
    """

    @staticmethod
    async def once_ready(child: PiChild, heard: Heard) -> None:
        await heard.until(lambda: heard.records)

    def test_a_daemon_and_its_children_stay_and_nothing_else(self, tmp_path: Path) -> None:
        alive: list[bool] = []

        async def dismiss(child: PiChild) -> set[Process]:
            left = await child.dismiss()
            alive.extend(processes.is_alive(process) for process in child.spared)
            spared.extend(sorted(process.pid for process in child.spared))
            return left

        spared: list[int] = []
        code = f"{textwrap.dedent(self.TREE)}\nsys.stdin.read()"
        (record,) = child_of(tmp_path, code, self.once_ready, dismiss).records
        assert isinstance(record, dict)
        assert (spared, alive) == (record["daemons"], [True, True])
        assert gone(record["tool"])

    def test_a_stop_ends_them_too(self, tmp_path: Path) -> None:
        code = f"{textwrap.dedent(self.TREE)}\nsys.stdin.read()"
        (record,) = child_of(tmp_path, code, self.once_ready).records
        assert isinstance(record, dict)
        assert all(gone(pid) for pid in [*record["daemons"], record["tool"]])

    def test_where_pi_is_dead_nobody_can_tell_a_daemon_from_a_tool(self, tmp_path: Path) -> None:
        async def play(child: PiChild, heard: Heard) -> None:
            await heard.until(lambda: heard.exits)

        code = f"{textwrap.dedent(self.TREE)}\nos._exit(1)"
        (record,) = child_of(tmp_path, code, play, PiChild.dismiss).records
        assert isinstance(record, dict)
        assert all(gone(pid) for pid in [*record["daemons"], record["tool"]])
