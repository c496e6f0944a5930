"""Which project a process belongs to, and where its files lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flask_pi_taskbar.project import NoHome, identity, project_key, project_root, runtime_dir, state_dir


@pytest.mark.parametrize("marker", [".git", "pyproject.toml", "setup.cfg"])
def test_the_root_is_the_nearest_folder_with_a_marker(tmp_path: Path, marker: str) -> None:
    inner = tmp_path / "outer" / "inner"
    (inner / "app" / "views").mkdir(parents=True)
    (tmp_path / "outer" / ".git").mkdir()
    (inner / marker).touch()
    assert project_root(inner / "app" / "views") == inner
    assert project_root(inner) == inner
    assert project_root(tmp_path / "outer") == tmp_path / "outer"


def test_a_git_file_of_a_worktree_is_a_marker(tmp_path: Path) -> None:
    (tmp_path / "tree" / "src").mkdir(parents=True)
    (tmp_path / "tree" / ".git").write_text("gitdir: elsewhere\n")
    assert project_root(tmp_path / "tree" / "src") == tmp_path / "tree"


def test_the_search_may_begin_at_a_file(tmp_path: Path) -> None:
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "app.py").touch()
    assert project_root(tmp_path / "app.py") == tmp_path


def test_without_a_marker_the_start_is_the_root(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("flask_pi_taskbar.project.ROOT_MARKERS", (".no-such-marker",))
    assert project_root(tmp_path) == tmp_path


def test_a_symlinked_checkout_is_the_same_project(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    (real / "app").mkdir(parents=True)
    (real / "pyproject.toml").touch()
    link.symlink_to(real)
    assert project_root(link / "app") == real
    assert project_key(link, 1000) == project_key(real, 1000)
    assert identity(link) == identity(real)


def test_keys_tell_checkouts_and_users_apart(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    keys = {project_key(tmp_path, 1000), project_key(tmp_path / "a", 1000), project_key(tmp_path, 1001)}
    assert len(keys) == 3
    assert all(len(key) == 12 and set(key) <= set("0123456789abcdef") for key in keys)


def test_a_root_that_is_not_utf_8_has_a_key_and_an_identity() -> None:
    root = Path(os.fsdecode(b"/tmp/caf\xe9"))
    assert len(project_key(root, 1)) == 12
    identity(root).encode()


class TestRuntimeDirectory:
    @pytest.fixture(autouse=True)
    def state_home(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
        return tmp_path / "state"

    def test_it_lies_in_the_private_runtime_folder_of_the_session(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "run").mkdir(mode=0o700)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
        key = project_key(tmp_path, os.getuid())
        assert runtime_dir(tmp_path) == tmp_path / "run" / "pi-taskbar" / key
        assert state_dir(tmp_path) == tmp_path / "state" / "pi-taskbar" / key

    def test_a_runtime_folder_that_others_may_enter_is_passed_over(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state_home: Path
    ) -> None:
        (tmp_path / "run").mkdir()
        (tmp_path / "run").chmod(0o755)
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
        assert runtime_dir(tmp_path).parent == state_home / "pi-taskbar" / "run"

    @pytest.mark.parametrize("value", ["", "relative", "/no/such/folder"])
    def test_a_useless_variable_is_passed_over(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state_home: Path, value: str
    ) -> None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", value)
        assert runtime_dir(tmp_path).parent == state_home / "pi-taskbar" / "run"

    def test_a_link_in_its_place_is_passed_over(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, state_home: Path
    ) -> None:
        (tmp_path / "run").mkdir(mode=0o700)
        (tmp_path / "link").symlink_to(tmp_path / "run")
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "link"))
        assert runtime_dir(tmp_path).parent == state_home / "pi-taskbar" / "run"


def test_without_a_state_home_the_home_is_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert state_dir(tmp_path).parent == tmp_path / ".local" / "state" / "pi-taskbar"


def test_without_any_home_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    monkeypatch.setenv("HOME", "nowhere")
    with pytest.raises(NoHome, match="XDG_STATE_HOME"):
        state_dir(tmp_path)
