"""Processes by number and start, trees by descent, group and marker, and the end of all of a tree."""

from __future__ import annotations

import os
import secrets
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from flask_pi_taskbar import osdep
from flask_pi_taskbar.osdep import processes
from flask_pi_taskbar.osdep.types import Process
from tests.support.waiting import until

SLEEP = [sys.executable, "-c", "import time; time.sleep(543)"]
# A parent with a plain child, one in a session of its own, and one that ignores TERM in a session of its own.
FAMILY = """
import signal, subprocess, sys, time
sleep = [sys.executable, "-c", "import time; time.sleep(543)"]
deaf = [sys.executable, "-c", "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(543)"]
subprocess.Popen(sleep)
subprocess.Popen(sleep, start_new_session=True)
subprocess.Popen(deaf, start_new_session=True)
print("ready", flush=True)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
time.sleep(543)
"""
# One whose parent has already gone: nobody finds it by descent.
ORPHAN = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(543)"], start_new_session=True)
print(child.pid, flush=True)
"""


def process(pid: int) -> Process:
    start = osdep.start_of(pid)
    assert start is not None
    return Process(pid, start)


@pytest.fixture
def marker() -> Iterator[str]:
    """A value for the variable TREE; what carries it is killed in the end."""
    value = secrets.token_hex(8)
    yield value
    for left in processes.members([], marker=f"TREE={value}".encode()):
        osdep.send_signal(left, signal.SIGKILL)


def start(command: list[str], marker: str, **more: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen(command, env={**os.environ, "TREE": marker}, **more)  # type: ignore[call-overload,no-any-return]


def end_of(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    if child.stdout:
        child.stdout.close()


def test_a_process_is_its_number_and_its_start(marker: str) -> None:
    child = start(SLEEP, marker)
    one = process(child.pid)
    assert processes.is_alive(one)
    assert not processes.is_alive(Process(child.pid, "another start"))
    assert osdep.start_of(child.pid) == one.start
    end_of(child)
    assert not processes.is_alive(one)


def test_two_processes_have_two_starts_or_two_numbers(marker: str) -> None:
    children = [start(SLEEP, marker) for _ in range(3)]
    assert len({process(child.pid) for child in children}) == 3
    for child in children:
        end_of(child)


def test_a_zombie_does_not_live(marker: str) -> None:
    child = start([sys.executable, "-c", ""], marker)
    until(lambda: psutil.Process(child.pid).status() == psutil.STATUS_ZOMBIE, "it is a zombie")
    assert osdep.start_of(child.pid) is None
    assert child.pid not in {row.pid for row in osdep.process_table()}
    child.wait()


def test_a_signal_reaches_only_the_process_that_is_meant(marker: str) -> None:
    child = start(SLEEP, marker)
    assert not osdep.send_signal(Process(child.pid, "another start"), signal.SIGKILL)
    assert child.poll() is None
    assert osdep.send_signal(process(child.pid), signal.SIGKILL)
    child.wait()
    assert not osdep.send_signal(Process(child.pid, "gone"), signal.SIGKILL)


def test_the_table_knows_parents_groups_and_sessions(marker: str) -> None:
    child = start(SLEEP, marker, start_new_session=True)
    rows = {row.pid: row for row in osdep.process_table()}
    assert rows[child.pid] == (child.pid, osdep.start_of(child.pid), os.getpid(), child.pid, child.pid)
    assert rows[os.getpid()].process == processes.me()
    end_of(child)


def test_a_name_with_parentheses_and_spaces_does_not_confuse_the_table(tmp_path: Path, marker: str) -> None:
    odd = tmp_path / ") Z 0 (x"
    odd.symlink_to("/bin/sleep")
    child = start([str(odd), "543"], marker)
    until(lambda: psutil.Process(child.pid).name().startswith(")"), "it has been executed")
    assert {row.pid: row.parent for row in osdep.process_table()}[child.pid] == os.getpid()
    end_of(child)


def test_the_environment_is_read_by_name_and_beginning(marker: str) -> None:
    child = start(SLEEP, marker)
    until(lambda: processes.carries(child.pid, b"TREE="), "it has been executed")
    assert processes.carries(child.pid, f"TREE={marker}".encode())
    assert processes.carries(child.pid, f"TREE={marker[:5]}".encode())
    assert not processes.carries(child.pid, f"REE={marker}".encode())
    assert not processes.carries(child.pid, b"TREE=another")
    end_of(child)


def test_a_tree_is_found_by_descent(marker: str) -> None:
    parent = start([sys.executable, "-c", FAMILY], marker, stdout=subprocess.PIPE)
    assert parent.stdout
    parent.stdout.readline()
    tree = processes.members([process(parent.pid)])
    assert len(tree) == 4
    assert processes.end(lambda: processes.members(tree)) == set()
    end_of(parent)


def test_a_root_whose_number_was_given_out_again_leads_nowhere(marker: str) -> None:
    child = start(SLEEP, marker)
    assert processes.members([Process(child.pid, "an earlier start")]) == set()
    end_of(child)


def test_an_orphan_is_found_by_its_marker_and_by_its_group(marker: str) -> None:
    parent = start([sys.executable, "-c", ORPHAN], marker, stdout=subprocess.PIPE)
    assert parent.stdout
    orphan = int(parent.stdout.readline())
    parent.wait()
    parent.stdout.close()
    assert processes.members([], marker=f"TREE={marker}".encode()) == {process(orphan)}
    assert processes.members([], groups=[orphan]) == {process(orphan)}
    assert processes.end(lambda: processes.members([], marker=f"TREE={marker}".encode())) == set()
    assert osdep.start_of(orphan) is None


def test_we_never_belong_to_a_tree_that_is_to_end(marker: str) -> None:
    assert processes.me() not in processes.members([processes.me()], groups=[os.getpgid(0), os.getsid(0)])


def test_a_tree_that_grows_while_it_is_ended_ends(marker: str) -> None:
    forks = "import os, time\nfor n in range(6):\n    os.fork()\n    time.sleep(0.02)\ntime.sleep(543)"
    child = start([sys.executable, "-c", forks], marker)
    assert processes.end(lambda: processes.members([], marker=f"TREE={marker}".encode())) == set()
    assert processes.members([], marker=f"TREE={marker}".encode()) == set()
    end_of(child)


@pytest.mark.skipif(sys.platform == "darwin", reason="macOS has no such descriptor; the broker polls there")
def test_the_end_of_a_child_can_be_awaited(marker: str) -> None:
    child = start([sys.executable, "-c", "input()"], marker, stdin=subprocess.PIPE)
    descriptor = osdep.exit_descriptor(child.pid)
    assert descriptor is not None
    assert select.select([descriptor], [], [], 0)[0] == []
    child.communicate(b"\n")
    assert select.select([descriptor], [], [], 5)[0] == [descriptor]
    os.close(descriptor)


def test_the_other_end_of_a_socket_is_known() -> None:
    one, other = socket.socketpair(socket.AF_UNIX)
    with one, other:
        assert osdep.peer_of(one) == (os.getpid(), os.getuid())


def test_a_durable_sync_of_a_file_succeeds(tmp_path: Path) -> None:
    with open(tmp_path / "file", "wb") as file:
        file.write(b"x")
        file.flush()
        osdep.durable_sync(file.fileno())


class TestMacOS:
    """The other implementation, as far as it runs here: psutil is the same, the socket's options are not."""

    def test_it_gives_the_same_table(self, marker: str) -> None:
        from flask_pi_taskbar.osdep import macos

        child = start(SLEEP, marker, start_new_session=True)
        row = {row.pid: row for row in macos.process_table()}[child.pid]
        assert (row.parent, row.group, row.session) == (os.getpid(), child.pid, child.pid)
        assert row.start == macos.start_of(child.pid)
        assert f"TREE={marker}".encode() in macos.environment_of(child.pid)
        assert not macos.send_signal(Process(child.pid, "another"), signal.SIGKILL)
        assert macos.send_signal(row.process, signal.SIGKILL)
        child.wait()
        assert macos.start_of(child.pid) is None
        assert macos.environment_of(child.pid) == b""

    def test_it_falls_back_where_a_full_sync_is_unknown(self, tmp_path: Path) -> None:
        from flask_pi_taskbar.osdep import macos

        with open(tmp_path / "file", "wb") as file:
            macos.durable_sync(file.fileno())

    def test_it_reads_the_peer_from_the_structures_of_the_system(self) -> None:
        import struct

        from flask_pi_taskbar.osdep import macos

        class Socket:
            def getsockopt(self, level: int, option: int, size: int) -> bytes:
                assert level == 0
                answers = {
                    1: struct.pack("=IIh16I", 0, 501, 1, *[20] * 16).ljust(size, b"\0"),
                    2: struct.pack("=i", 77),
                }
                return answers[option]

        assert macos.peer_of(Socket()) == (77, 501)  # type: ignore[arg-type]
