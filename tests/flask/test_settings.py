"""Where each setting comes from, and what it may be."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from flask_pi_taskbar.settings import PARSERS, PREFIX, SettingError, Settings, resolve


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'shop'\n")
    (tmp_path / "shop").mkdir()
    return tmp_path


def settle(
    project: Path,
    keywords: Mapping[str, object] | None = None,
    config: Mapping[str, object] | None = None,
    environ: Mapping[str, str] | None = None,
) -> Settings:
    return resolve(config or {}, keywords or {}, environ or {}, project / "shop")


def test_the_defaults_need_nothing_but_a_place(project: Path) -> None:
    settings = settle(project)
    assert settings == Settings(project_root=project)
    assert (settings.enabled, settings.allowed_hosts, settings.executable) == (True, (), "pi")
    assert (settings.task_timeout, settings.mount_path) == (1800, "/dev/pi-browser-taskbar")


def test_every_field_has_a_parser_and_every_default_passes_it() -> None:
    fields = {field.name: field for field in dataclasses.fields(Settings)}
    assert set(fields) == set(PARSERS)
    for name, field in fields.items():
        if name != "project_root":
            assert PARSERS[name](field.default) == field.default


def test_settings_are_frozen(project: Path) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        settle(project).enabled = False  # type: ignore[misc]


SOURCES = ["keyword", "config", "environ", "pyproject"]


@pytest.mark.parametrize("strongest", range(len(SOURCES)))
def test_the_strongest_source_that_says_anything_decides(project: Path, strongest: int) -> None:
    given = {source: str(100 + place) for place, source in enumerate(SOURCES) if place >= strongest}
    if "pyproject" in given:
        (project / "pyproject.toml").write_text(f"[tool.pi-taskbar]\ntask_timeout = {given['pyproject']}\n")
    settings = settle(
        project,
        {"task_timeout": given["keyword"]} if "keyword" in given else None,
        {"PI_BROWSER_TASKBAR_TASK_TIMEOUT": given["config"]} if "config" in given else None,
        {"PI_BROWSER_TASKBAR_TASK_TIMEOUT": given["environ"]} if "environ" in given else None,
    )
    assert settings.task_timeout == 100 + strongest


@pytest.mark.parametrize(
    ("name", "falsy", "environment", "outcome"),
    [
        ("enabled", False, "true", False),
        ("allowed_hosts", [], "devbox.example", ()),
        ("allowed_hosts", "", "devbox.example", ()),
        ("exclude", (), "/login", ()),
        ("inject", 0, "1", False),
        ("max_streams", None, "4", None),
    ],
)
def test_a_falsy_value_in_the_app_beats_the_environment(
    project: Path, name: str, falsy: object, environment: str, outcome: object
) -> None:
    key = PREFIX + name.upper()
    for keywords, config in [({name: falsy}, {}), ({}, {key: falsy})]:
        assert getattr(settle(project, keywords, config, {key: environment}), name) == outcome


@pytest.mark.parametrize("off", [False, "false", "0", 0])
def test_a_disabled_taskbar_looks_at_nothing_else(project: Path, off: object) -> None:
    nonsense = {name: object() for name in PARSERS if name != "enabled"}
    (project / "pyproject.toml").write_text("[tool.pi-taskbar]\nno_such = 1\ntask_timeout = 'soon'\n")
    settings = settle(project, {**nonsense, "no_such_setting": 1, "enabled": off}, None, {PREFIX + "BOARD_PORT": "x"})
    assert settings == Settings(project_root=project, enabled=False)


@pytest.mark.parametrize(
    ("name", "value", "outcome"),
    [
        ("enabled", "true", True),
        ("enabled", "1", True),
        ("enabled", 1, True),
        ("allowed_hosts", "a.example, 10.0.0.7 ,A.example.", ("a.example", "10.0.0.7")),
        ("allowed_hosts", ["2001:0DB8:0:0:0:0:0:1", "Box"], ("2001:db8::1", "box")),
        ("allowed_hosts", {"box"}, ("box",)),
        ("executable", "/opt/my pi/bin/pi", "/opt/my pi/bin/pi"),
        ("executable", Path("/opt/pi"), "/opt/pi"),
        ("task_timeout", 60, 60),
        ("task_timeout", 86_400, 86_400),
        ("task_timeout", "+90", 90),
        ("mount_path", "/pi", "/pi"),
        ("mount_path", "/internal/pi.v2/~me///", "/internal/pi.v2/~me"),
        ("exclude", "/login,admin.index", ("/login", "admin.index")),
        ("max_streams", "3", 3),
        ("board_path", "/cards/", "/cards"),
        ("board_port", 8765, 8765),
        ("tabs_suspend_idle_after_minutes", 0, 0),
        ("tabs_prewarm", "2", 2),
    ],
)
def test_what_a_setting_accepts(project: Path, name: str, value: object, outcome: object) -> None:
    assert getattr(settle(project, {name: value}), name) == outcome
    assert getattr(settle(project, None, {PREFIX + name.upper(): value}), name) == outcome
    if isinstance(value, str):
        assert getattr(settle(project, environ={PREFIX + name.upper(): value}), name) == outcome


REFUSED: list[tuple[str, list[object]]] = [
    ("enabled", ["yes", "True", "", " true", "on", 2, -1, 1.0, None, [], "maybe"]),
    ("allowed_hosts", [",", "a,", ",a", "a,,b", [""], [" "], [1], None, 7, "a b", True]),
    ("allowed_hosts", ["http://a", "a:80", "a/b", "*", "*.a", ".a", "10.0.0.0/8", "[::1]", "fe80::1%eth0", "127.1"]),
    ("executable", ["", "  ", None, 3, "pi\0", ["pi"], b"pi"]),
    ("project_root", ["", "/no/such/folder", None, 3, "\0", __file__]),
    ("task_timeout", [59, 86_401, 0, -60, 60.0, "60.0", "1e3", "", " 60", "١٠٠", True, None, "9" * 30]),
    ("mount_path", ["", "/", "//", "dev", "dev/pi", "/a//b", "/a/../b", "/./a", "/a b", "/a?b", "/a#b", "/%61", None]),
    ("mount_path", ["http://h/a", "//h/a", "/a\n", "/a:b", "/ä", 7, ["/a"]]),
    ("inject", ["no", 3, None]),
    ("exclude", [3, ["", "/a"], "/a,,/b", [None]]),
    ("max_streams", [0, 1001, "", "many", True]),
    ("board_path", ["/", "board", "/a//b"]),
    ("board_port", [80, 65_536, "http"]),
    ("board_idle_minutes", [0, 1441, None]),
    ("tabs_max", [0, 51]),
    ("tabs_max_concurrent_starts", [0, 9]),
    ("tabs_suspend_idle_after_minutes", [-1, 1441]),
    ("tabs_prewarm", [-1, 3]),
    ("tabs_unresponsive_restart_seconds", [29, 3601]),
    ("tabs_stall_notice_seconds", [29, 3601]),
]


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in REFUSED for value in values])
def test_what_a_setting_refuses_names_it_and_its_source(project: Path, name: str, value: object) -> None:
    with pytest.raises(SettingError, match=f"^{name} ") as refused:
        settle(project, None, {PREFIX + name.upper(): value})
    assert refused.value.setting == name
    assert PREFIX + name.upper() in str(refused.value)


def test_a_name_that_is_no_setting_is_refused_with_those_that_are(project: Path) -> None:
    with pytest.raises(SettingError, match=r"^allowed_host .*allowed_hosts"):
        settle(project, {"allowed_host": []})
    (project / "pyproject.toml").write_text("[tool.pi-taskbar]\ntimeout = 7\n")
    with pytest.raises(SettingError, match=r"^timeout \(from pyproject.toml\)"):
        settle(project)


def test_mount_and_board_must_not_lie_inside_each_other(project: Path) -> None:
    for mount, board in [("/dev", "/dev/board"), ("/board/pi", "/board"), ("/a", "/a")]:
        with pytest.raises(SettingError, match=r"^board_path"):
            settle(project, {"mount_path": mount, "board_path": board})
    assert settle(project, {"mount_path": "/board-pi"}).board_path == "/board"


def test_the_root_is_the_real_path_of_the_folder_given(project: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(project / "shop")
    assert settle(project, {"project_root": str(tmp_path / "link")}).project_root == project / "shop"
    assert settle(project, {"project_root": tmp_path / "link"}).project_root == project / "shop"


def test_pyproject_is_read_in_the_root_that_the_app_named(
    project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("other")
    (other / "pyproject.toml").write_text("[tool.pi-taskbar]\nexecutable = 'other-pi'\n")
    assert settle(project, {"project_root": other}).executable == "other-pi"


def test_a_root_in_pyproject_is_relative_to_that_file(project: Path) -> None:
    (project / "pyproject.toml").write_text("[tool.pi-taskbar]\nproject_root = 'shop'\nallowed_hosts = ['box']\n")
    settings = settle(project)
    assert settings.project_root == project / "shop"
    assert settings.allowed_hosts == ("box",)


@pytest.mark.parametrize("text", ["[tool.pi-taskbar]\nexecutable = ", "[tool]\npi-taskbar = 3\n"])
def test_a_broken_pyproject_is_named(project: Path, text: str) -> None:
    (project / "pyproject.toml").write_text(text)
    with pytest.raises(SettingError, match=r"^pyproject\.toml"):
        settle(project)


def test_someone_elses_broken_pyproject_is_not_our_business(project: Path) -> None:
    (project / "pyproject.toml").write_text("[project\n")
    assert settle(project).executable == "pi"


def test_the_settings_never_import_flask() -> None:
    code = (
        "import sys, flask_pi_taskbar, flask_pi_taskbar.settings, flask_pi_taskbar.broker.client\n"
        "print([name for name in ('flask', 'werkzeug', 'jinja2', 'flask_wtf') if name in sys.modules])"
    )
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "[]"
