"""The private directory: hostile ones are refused with the reason, ours is kept private, its files are whole."""

from __future__ import annotations

import errno
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from flask_pi_taskbar import osdep
from flask_pi_taskbar.broker import runtime
from flask_pi_taskbar.broker.runtime import PrivateDirectory, Refused, check_socket, secret, socket_path
from tests.broker.place import all_at_once


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def ours(base: Path) -> Path:
    return base / "pi-taskbar" / "0123456789ab"


def test_it_is_made_private_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        PrivateDirectory.open(ours(tmp_path)).close()
    finally:
        os.umask(old)
    assert mode(ours(tmp_path)) == 0o700
    assert mode(ours(tmp_path).parent) == 0o700


def test_what_others_may_only_read_is_narrowed(tmp_path: Path) -> None:
    ours(tmp_path).mkdir(parents=True)
    ours(tmp_path).chmod(0o755)
    PrivateDirectory.open(ours(tmp_path)).close()
    assert mode(ours(tmp_path)) == 0o700


def put_link(path: Path, elsewhere: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o700)
    path.symlink_to(elsewhere)


def put_link_above(path: Path, elsewhere: Path) -> None:
    path.parent.symlink_to(elsewhere)


def put_file(path: Path, _: Path) -> None:
    path.parent.mkdir(parents=True, mode=0o700)
    path.touch()


def put_writable(path: Path, _: Path) -> None:
    path.mkdir(parents=True)
    path.chmod(0o777)


def put_writable_above(path: Path, _: Path) -> None:
    path.mkdir(parents=True)
    path.parent.chmod(0o770)


HOSTILE: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "a link": (put_link, "not a folder"),
    "a link above": (put_link_above, "not a folder"),
    "a file": (put_file, "not a folder"),
    "writable by others": (put_writable, "may be used by others"),
    "writable by others above": (put_writable_above, "may be used by others"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_folder_is_refused_and_left_as_it_is(tmp_path: Path, what: str) -> None:
    put, reason = HOSTILE[what]
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    elsewhere.chmod(0o755)
    put(ours(tmp_path), elsewhere)
    with pytest.raises(Refused, match=reason) as refused:
        PrivateDirectory.open(ours(tmp_path))
    assert "pi-taskbar" in refused.value.reason
    assert mode(elsewhere) == 0o755
    assert list(elsewhere.iterdir()) == []


@pytest.mark.skipif(os.getuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_is_refused(tmp_path: Path) -> None:
    ours(tmp_path).mkdir(parents=True, mode=0o700)
    os.chown(ours(tmp_path), 12345, -1)
    with pytest.raises(Refused, match=r"another user \(uid 12345\)"):
        PrivateDirectory.open(ours(tmp_path))


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(Refused, match=r"file.*cannot be used"):
        PrivateDirectory.open(ours(tmp_path / "file"))


def test_a_folder_swapped_while_it_is_opened_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours(tmp_path).mkdir(parents=True, mode=0o700)
    real_open = os.open

    def swap(path: str | Path, *arguments: int, **keywords: int) -> int:
        if path == ours(tmp_path):
            ours(tmp_path).rename(tmp_path / "kept")  # kept, so that its inode is not given out again
            ours(tmp_path).mkdir(mode=0o700)
        return real_open(path, *arguments, **keywords)

    monkeypatch.setattr(os, "open", swap)
    with pytest.raises(Refused, match="was replaced"):
        PrivateDirectory.open(ours(tmp_path))


def test_a_removed_folder_is_noticed(folder: PrivateDirectory) -> None:
    assert folder.is_still_there()
    folder.path.rmdir()
    assert not folder.is_still_there()
    folder.path.mkdir()
    assert not folder.is_still_there()


class TestFiles:
    def test_what_is_written_is_read(self, folder: PrivateDirectory) -> None:
        assert folder.read("file") is None
        folder.write("file", b"content")
        assert folder.read("file") == b"content"
        assert mode(folder.path / "file") == 0o600
        assert [path.name for path in folder.path.iterdir()] == ["file"]

    @pytest.mark.parametrize("bits", [0o640, 0o604, 0o660])
    def test_a_file_that_others_may_touch_is_refused(self, folder: PrivateDirectory, bits: int) -> None:
        folder.write("file", b"content")
        (folder.path / "file").chmod(bits)
        with pytest.raises(Refused, match="may be used by others"):
            folder.read("file")

    def test_a_link_is_refused(self, folder: PrivateDirectory, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").write_text("secret")
        (folder.path / "file").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(Refused, match="cannot be read"):
            folder.read("file")

    def test_a_pipe_is_refused_and_does_not_hang(self, folder: PrivateDirectory) -> None:
        os.mkfifo(folder.path / "file", 0o600)
        with pytest.raises(Refused, match="not a regular file"):
            folder.read("file")

    def test_an_endless_file_is_refused(self, folder: PrivateDirectory) -> None:
        folder.write("file", b"x" * (runtime.SMALL_FILE_BYTES + 1))
        with pytest.raises(Refused, match="larger"):
            folder.read("file")

    @pytest.mark.parametrize("step", ["write", "durable_sync", "rename"])
    def test_a_failure_at_any_step_leaves_the_old_file_and_no_other(
        self, folder: PrivateDirectory, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        folder.write("file", b"old")

        def fail(*_: object, **__: object) -> None:
            raise OSError(errno.ENOSPC, "full")

        monkeypatch.setattr(osdep if step == "durable_sync" else os, step, fail)
        with pytest.raises(OSError, match="full"):
            folder.write("file", b"new")
        monkeypatch.undo()
        assert folder.read("file") == b"old"
        assert [path.name for path in folder.path.iterdir()] == ["file"]

    def test_a_lock_file_that_is_a_link_is_refused(self, folder: PrivateDirectory, tmp_path: Path) -> None:
        (folder.path / "lock").symlink_to(tmp_path / "elsewhere")
        with pytest.raises(OSError, match="symbolic"):
            folder.open_lock("lock")
        assert not (tmp_path / "elsewhere").exists()


class TestSecret:
    def test_it_is_random_and_stays(self, folder: PrivateDirectory, tmp_path: Path) -> None:
        first = secret(folder)
        assert len(first) == 32
        assert secret(folder) == first
        with PrivateDirectory.open(tmp_path / "pi-taskbar" / "other") as other:
            assert secret(other) != first

    def test_all_who_ask_at_once_get_the_same(self, folder: PrivateDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
        made: list[bytes] = []
        real, guard = os.urandom, threading.Lock()

        def count(size: int) -> bytes:
            with guard:
                made.append(real(size))
                return made[-1]

        monkeypatch.setattr(os, "urandom", count)
        secrets = all_at_once(8, lambda _: secret(folder))
        assert len(set(secrets)) == 1
        assert len([one for one in made if len(one) == 32]) == 1

    def test_a_damaged_one_is_named(self, folder: PrivateDirectory) -> None:
        folder.write(runtime.SECRET, b"short")
        with pytest.raises(Refused, match="32 bytes; remove it"):
            secret(folder)


class TestSocketPath:
    def test_one_that_fits_is_given(self, tmp_path: Path) -> None:
        assert socket_path(Path("/run/user/1000/pi-taskbar/0123456789ab")).name == "sock"

    def test_the_longest_one_fits_and_one_more_does_not(self) -> None:
        longest = osdep.SOCKET_PATH_BYTES - len("/sock")
        assert len(str(socket_path(Path("/" + "x" * (longest - 1))))) == osdep.SOCKET_PATH_BYTES
        with pytest.raises(Refused, match=r"XDG_RUNTIME_DIR.*shorter"):
            socket_path(Path("/" + "x" * longest))

    def test_length_is_counted_in_bytes(self) -> None:
        with pytest.raises(Refused, match="bytes"):
            socket_path(Path("/" + "é" * 60))

    def test_a_file_in_its_place_is_refused(self, folder: PrivateDirectory) -> None:
        folder.write("sock", b"")
        with pytest.raises(Refused, match="not a socket"):
            check_socket(folder.path / "sock")
