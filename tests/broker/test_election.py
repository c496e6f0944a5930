"""The election: one winner, losers that touch nothing, endpoints that can be trusted."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from flask_pi_taskbar.broker import election
from flask_pi_taskbar.broker.election import Election, Endpoint, Lost, hold_state, is_held, load_endpoint
from flask_pi_taskbar.broker.runtime import ENDPOINT, LOCK, SOCKET, PrivateDirectory, Refused
from tests.broker.place import all_at_once


def endpoint(folder: PrivateDirectory, **more: object) -> Endpoint:
    fields: dict[str, object] = {
        "generation": 1,
        "identity": "i",
        "token": "t",
        "socket": str(folder.path / SOCKET),
        "pid": os.getpid(),
        "start": "now",
        "version": "0.1.0",
    }
    return Endpoint(**(fields | more))  # type: ignore[arg-type]


def contents(folder: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.lstat().st_ino, path.lstat().st_mtime_ns) for path in folder.iterdir()}


def test_only_one_of_many_wins(folder: PrivateDirectory) -> None:
    def stand(_: int) -> Election | None:
        try:
            return Election.win(folder)
        except Lost:
            return None

    won = [result for result in all_at_once(16, stand) if result]
    assert len(won) == 1
    assert is_held(folder)


def test_a_loser_touches_nothing(folder: PrivateDirectory) -> None:
    winner = Election.win(folder)
    with winner.bind():
        winner.publish(endpoint(folder))
        before = contents(folder.path)
        with pytest.raises(Lost):
            Election.win(folder)
        assert contents(folder.path) == before


def test_the_lock_of_a_dead_process_is_free(folder: PrivateDirectory) -> None:
    code = (
        "import sys; from pathlib import Path; from flask_pi_taskbar.broker.runtime import PrivateDirectory;"
        "from flask_pi_taskbar.broker.election import Election;"
        "e = Election.win(PrivateDirectory.open(Path(sys.argv[1]))); print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(folder.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"held\n"
        assert is_held(folder)
        holder.kill()
    assert not is_held(folder)
    Election.win(folder)


def test_the_winner_takes_the_place_of_a_stale_socket(folder: PrivateDirectory) -> None:
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(folder.path / SOCKET))
    stale.close()
    with Election.win(folder).bind() as listener, socket.socket(socket.AF_UNIX) as client:
        client.connect(str(folder.path / SOCKET))
        assert listener.getsockname() == str(folder.path / SOCKET)
        assert (folder.path / SOCKET).stat().st_mode & 0o777 == 0o600


def test_a_replaced_lock_file_is_noticed_by_who_locks_it(folder: PrivateDirectory) -> None:
    winner = Election.win(folder)
    assert winner.still_stands()
    (folder.path / LOCK).rename(folder.path / "old")
    assert not winner.still_stands()
    successor = Election.win(folder)
    assert successor.still_stands()


def test_stepping_down_removes_what_it_published_and_keeps_the_lock(folder: PrivateDirectory) -> None:
    winner = Election.win(folder)
    with winner.bind():
        winner.publish(endpoint(folder))
    winner.step_down()
    assert [path.name for path in folder.path.iterdir()] == [LOCK]
    assert is_held(folder)


def test_stepping_down_leaves_a_successors_files(folder: PrivateDirectory) -> None:
    winner = Election.win(folder)
    winner.bind().close()
    winner.publish(endpoint(folder))
    (folder.path / LOCK).unlink()
    successor = Election.win(folder)
    with successor.bind():
        successor.publish(endpoint(folder, token="next"))
        before = contents(folder.path)
        winner.step_down()
        assert contents(folder.path) == before


def test_stepping_down_survives_a_removed_folder(folder: PrivateDirectory) -> None:
    winner = Election.win(folder)
    winner.bind().close()
    winner.publish(endpoint(folder))
    shutil.rmtree(folder.path)
    assert not winner.still_stands()
    winner.step_down()


class TestEndpoint:
    def test_there_may_be_none(self, folder: PrivateDirectory) -> None:
        assert load_endpoint(folder) is None

    def test_a_published_one_is_read(self, folder: PrivateDirectory) -> None:
        Election.win(folder).publish(endpoint(folder))
        assert load_endpoint(folder) == endpoint(folder)

    def test_a_newer_one_with_more_fields_is_read(self, folder: PrivateDirectory) -> None:
        fields = msgspec.to_builtins(endpoint(folder, generation=9)) | {"colour": "green"}
        folder.write(ENDPOINT, msgspec.json.encode(fields))
        assert load_endpoint(folder) == endpoint(folder, generation=9)

    @pytest.mark.parametrize("junk", [b"", b"{", b"[]", b"{}", b'{"generation":1}', b"\xff"])
    def test_one_that_makes_no_sense_counts_as_none(self, folder: PrivateDirectory, junk: bytes) -> None:
        folder.write(ENDPOINT, junk)
        assert load_endpoint(folder) is None

    def test_one_that_leads_elsewhere_counts_as_none(self, folder: PrivateDirectory) -> None:
        folder.write(ENDPOINT, msgspec.json.encode(endpoint(folder, socket="/tmp/evil")))
        assert load_endpoint(folder) is None

    def test_one_that_others_may_write_is_refused(self, folder: PrivateDirectory) -> None:
        folder.write(ENDPOINT, msgspec.json.encode(endpoint(folder)))
        (folder.path / ENDPOINT).chmod(0o666)
        with pytest.raises(Refused):
            load_endpoint(folder)


class TestStateLock:
    def test_a_second_broker_with_another_runtime_directory_is_told_so(self, folder: PrivateDirectory) -> None:
        hold_state(folder)
        with pytest.raises(Refused, match="XDG_RUNTIME_DIR"):
            hold_state(folder)

    def test_a_file_system_without_locks_is_accepted(
        self, folder: PrivateDirectory, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        import errno

        def unsupported(*_: object) -> None:
            raise OSError(errno.ENOLCK, "no locks")

        monkeypatch.setattr(election.fcntl, "flock", unsupported)
        hold_state(folder)
