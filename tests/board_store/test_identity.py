"""Whose board it is and who acts on it: sections 2 and 4 of the rules."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from flask_pi_taskbar.board import identity
from flask_pi_taskbar.board.model import ActorKind
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.text import clean_label

GIT = shutil.which("git")
needs_git = pytest.mark.skipif(GIT is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    quiet = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "PATH": os.environ["PATH"]}
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "init.defaultBranch=main")
    run = subprocess.run(["git", *who, *arguments], cwd=folder, env=quiet, capture_output=True, text=True, check=True)
    return run.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "My Shop"
    folder.mkdir()
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


@needs_git
def test_all_worktrees_of_a_repository_share_one_board(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "elsewhere"))
    (repo / "src" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(repo)
    starts = [repo, repo / "src" / "deep", tmp_path / "elsewhere", tmp_path / "link" / "src", repo / ".git"]
    keys = {identity.repository(start).key for start in starts}
    assert len(keys) == 1
    assert re.fullmatch(r"my-shop-[0-9a-f]{12}", keys.pop())


@needs_git
def test_the_key_comes_from_gits_own_common_directory(repo: Path, tmp_path: Path) -> None:
    git(repo, "worktree", "add", "-q", str(tmp_path / "elsewhere"))
    found = identity.repository(tmp_path / "elsewhere")
    common = git(tmp_path / "elsewhere", "rev-parse", "--path-format=absolute", "--git-common-dir")
    assert found.is_git
    assert found.root == Path(os.path.realpath(tmp_path / "elsewhere"))
    assert found.key == identity.repository(Path(common)).key


@needs_git
def test_a_clone_and_a_submodule_have_boards_of_their_own(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repo), "clone")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(tmp_path / "clone"), "part")
    keys = {identity.repository(start).key for start in (repo, tmp_path / "clone", repo / "part")}
    assert len(keys) == 3


@needs_git
def test_a_bare_repository_and_its_worktrees_share_one_board(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repo), "shop.git")
    git(tmp_path / "shop.git", "worktree", "add", "-q", str(tmp_path / "work"), "main")
    bare, work = identity.repository(tmp_path / "shop.git"), identity.repository(tmp_path / "work")
    assert bare.key == work.key
    assert bare.key.startswith("shop-")


def test_outside_git_the_projects_root_is_the_key_and_it_says_so(tmp_path: Path) -> None:
    (tmp_path / "app" / "inner").mkdir(parents=True)
    (tmp_path / "app" / "pyproject.toml").touch()
    found = identity.repository(tmp_path / "app" / "inner")
    assert not found.is_git
    assert found.root == Path(os.path.realpath(tmp_path / "app"))
    assert found.key == identity.repository(tmp_path / "app").key


def test_an_empty_git_folder_is_no_repository_as_for_git(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert not identity.repository(tmp_path).is_git


@needs_git
def test_a_worktree_whose_repository_is_gone_does_not_fall_to_the_one_above(repo: Path) -> None:
    inner = repo / "inner"
    inner.mkdir()
    (inner / ".git").write_text("gitdir: /nowhere/.git/worktrees/inner\n")
    found = identity.repository(inner)
    assert not found.is_git
    assert found.root == Path(os.path.realpath(inner))


def test_a_key_is_short_and_safe_whatever_the_folder_is_called(tmp_path: Path) -> None:
    for name in ("ä" * 60, "x" * 200, " ", "日本", "..."):
        folder = tmp_path / name
        folder.mkdir()
        key = identity.repository(folder).key
        assert re.fullmatch(r"[a-z0-9._-]{1,40}-[0-9a-f]{12}", key)
        assert not key.startswith((".", "-"))


def test_the_store_lies_in_pis_own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    repo = identity.Repository(tmp_path, "shop-0123456789ab", True)
    assert identity.store_dir(repo, {}) == tmp_path / ".pi/agent/pi-taskbar/board/shop-0123456789ab"
    given = {"PI_CODING_AGENT_DIR": "~/other"}
    assert identity.store_dir(repo, given) == tmp_path / "other/pi-taskbar/board/shop-0123456789ab"


def test_the_seat_is_one_actor_for_one_repository() -> None:
    one, again, other = identity.seat("a-1"), identity.seat("a-1"), identity.seat("b-2")
    assert one == again
    assert one.id != other.id
    assert one.label == "team-lead"
    assert one.kind is ActorKind.SEAT
    assert re.fullmatch(r"seat:[0-9a-f]{16}", one.id)


@pytest.mark.parametrize(
    ("environ", "label", "actor_id", "called"),
    [
        ({"PI_TASKBAR_SESSION": "abc"}, None, "abc", identity.default_label("abc")),
        ({"PI_TASKBAR_SESSION": "abc", "PI_TASKBAR_LABEL": "kim"}, None, "abc", "kim"),
        ({}, "bob", "as:bob", "bob"),
        ({}, "  bob  ", "as:bob", "bob"),
        ({"PI_TASKBAR_LABEL": "kim"}, None, "as:kim", "kim"),
        ({"PI_TASKBAR_SESSION": "abc"}, "bob", "as:bob", "bob"),
    ],
)
def test_a_caller_is_who_it_says(environ: dict[str, str], label: str | None, actor_id: str, called: str) -> None:
    found = identity.caller(environ, label)
    assert (found.actor.id, found.actor.label, found.anonymous) == (actor_id, called, False)


def test_a_caller_that_says_nothing_is_its_user_on_its_host_and_is_told_so() -> None:
    found = identity.caller({})
    assert found.anonymous
    assert found.actor.id == f"u-{os.getuid()}@{os.uname().nodename}"


def test_a_label_that_cannot_be_one_is_refused_before_anything_happens() -> None:
    for label in ("a/b", "x" * 41, "\x1b[31m", "   "):
        with pytest.raises(Refusal) as caught:
            identity.caller({}, label)
        assert caught.value.code in {Code.BAD_FIELD, Code.TOO_LONG}


def test_a_default_label_is_always_the_same_for_a_session_and_always_allowed() -> None:
    labels = {identity.default_label(f"s-{number}") for number in range(2000)}
    assert len(labels) > 1000
    assert all(clean_label(label) == label and label.startswith("agent-") for label in labels)
    assert identity.default_label("s-1") == identity.default_label("s-1")
