"""What each file system gives, and that less of it never means a race: section 10 of the rules."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from flask_pi_taskbar.board import filesystem
from flask_pi_taskbar.board.faults import LEVELS, FlockForNothing, NoExclusiveRename, NoLinks
from flask_pi_taskbar.board.filesystem import Creation, Disk, create_exclusively, kind_of, notice_of, probe_creation
from flask_pi_taskbar.board.refusal import Code
from tests.board_store.boards import ANN, Board

LINK_ERRORS = ("EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EXDEV", "EMLINK", "EINVAL", "EACCES")


class NothingExcludes(NoExclusiveRename):
    """Not even `mkdir` excludes anybody, and locks cannot be had."""

    def flock(self, fd: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "no locks")

    def mkdir(self, path: str) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)


class LandedWithAnError(Disk):
    """NFS: the reply to `link` was lost, the call was repeated, and the repetition found the name taken."""

    def link(self, source: str, target: str) -> None:
        super().link(source, target)
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), source, None, target)


@pytest.mark.parametrize("name", LINK_ERRORS)
def test_an_add_works_where_link_answers(name: str, tmp_path: Path) -> None:
    board = Board(tmp_path, disk=NoLinks(getattr(errno, name)))
    assert [board.add(), board.add()] == [1, 2]
    assert board.store.known_level == 1
    assert board.ids() == [1, 2]


def test_an_error_of_link_that_is_not_about_links_is_not_passed_over(tmp_path: Path) -> None:
    board = Board(tmp_path)
    board.add()
    broken = Board(tmp_path, disk=NoLinks(errno.EIO))
    assert broken.code(ANN, "add", title="Second") is Code.STORE_UNWRITABLE
    assert board.ids() == [1]


@pytest.mark.parametrize("how", list(Creation))
def test_every_way_of_creating_leaves_a_taken_name_alone(how: Creation, tmp_path: Path) -> None:
    temp, target = tmp_path / "temp", tmp_path / "target"
    temp.write_text("new")
    target.write_text("old")
    with pytest.raises(FileExistsError):
        create_exclusively(Disk(), how, str(temp), str(target), str(tmp_path / "reserved"))
    assert (temp.read_text(), target.read_text()) == ("new", "old")
    assert sorted(os.listdir(tmp_path)) == ["target", "temp"]


def test_a_reserved_name_counts_as_taken(tmp_path: Path) -> None:
    (tmp_path / "temp").touch()
    (tmp_path / "reserved").mkdir()
    with pytest.raises(FileExistsError):
        create_exclusively(
            Disk(), Creation.RESERVE, str(tmp_path / "temp"), str(tmp_path / "target"), str(tmp_path / "reserved")
        )
    assert not (tmp_path / "target").exists()


def test_a_link_that_landed_counts_whatever_was_answered(tmp_path: Path) -> None:
    board = Board(tmp_path, disk=LandedWithAnError())
    assert [board.add(), board.add()] == [1, 2]
    assert board.store.known_level == 0
    assert not list((board.path / "tmp").iterdir())


@pytest.mark.parametrize(("level", "expected"), [("0", 0), ("1", 1), ("1 reserved", 1), ("2", 2)])
def test_the_level_is_found_out_by_trying(level: str, expected: int, tmp_path: Path) -> None:
    board = Board(tmp_path, disk=LEVELS[level]())
    board.add()
    assert board.store.known_level == expected


def test_a_flock_that_excludes_nobody_is_no_lock(tmp_path: Path) -> None:
    board = Board(tmp_path, disk=FlockForNothing())
    board.add()
    assert board.store.known_level == 2


def test_where_no_lock_can_be_had_nothing_is_written_and_the_reason_is_told(tmp_path: Path) -> None:
    Board(tmp_path).add()
    board = Board(tmp_path, disk=NothingExcludes())
    refusal = board.refused(ANN, "add", title="Second")
    assert refusal.code is Code.STORE_UNWRITABLE
    assert os.strerror(errno.EROFS) in refusal.message
    assert board.ids() == [1], "reading goes on"


def test_the_probe_leaves_nothing(tmp_path: Path) -> None:
    assert probe_creation(Disk(), str(tmp_path / "probe")) is Creation.LINK
    assert probe_creation(NoLinks(), str(tmp_path / "probe")) is Creation.RENAME
    assert probe_creation(NoExclusiveRename(), str(tmp_path / "probe")) is Creation.RESERVE
    assert not list(tmp_path.iterdir())


def test_a_network_file_system_gets_a_notice_and_no_refusal() -> None:
    assert kind_of("/proc") in {"proc", None}
    for kind in ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p"):
        assert notice_of(kind) == filesystem.NETWORK_NOTICE
    for kind in ("ext4", "apfs", "overlay", "tmpfs", None):
        assert notice_of(kind) is None
