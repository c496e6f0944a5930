"""Every setting of the project in one table: where a value comes from, what it may be, what it becomes.

The extension resolves them at `init_app`, commands at their start; the result is frozen. A value given as a keyword or
in `app.config` counts even when it is falsy, then the environment, then `[tool.pi-taskbar]` of the project's
`pyproject.toml`, then the default. When `enabled` is false nothing else is looked at. Nothing here imports Flask or
changes anything.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from flask_pi_taskbar.hosts import canonical_host
from flask_pi_taskbar.project import project_root as find_project_root

PREFIX: Final = "PI_BROWSER_TASKBAR_"
PYPROJECT_TABLE: Final = "pi-taskbar"
DEFAULT_MOUNT: Final = "/dev/pi-browser-taskbar"


class SettingError(ValueError):
    """A value that cannot be used. The text names the setting, where it came from and what would do."""

    def __init__(self, setting: str, where: str, problem: str) -> None:
        super().__init__(f"{setting} (from {where}): {problem}")
        self.setting = setting


@dataclass(frozen=True, kw_only=True, slots=True)
class Settings:
    """What was settled at start. Times are in the unit that the name says, `task_timeout` in seconds."""

    project_root: Path
    enabled: bool = True
    allowed_hosts: tuple[str, ...] = ()
    executable: str = "pi"
    task_timeout: int = 1800
    mount_path: str = DEFAULT_MOUNT
    inject: bool = True
    exclude: tuple[str, ...] = ()
    annotate: bool = True
    annotate_exclude: tuple[str, ...] = ("*mail*",)
    max_streams: int | None = None
    board_path: str = "/board"
    board_port: int | None = None
    board_idle_minutes: int = 30
    tabs_enabled: bool = True
    tabs_max: int = 10
    tabs_max_concurrent_starts: int = 2
    tabs_suspend_idle_after_minutes: int = 60
    tabs_prewarm: int = 1
    tabs_auto_name: bool = True
    tabs_unresponsive_restart_seconds: int = 120
    tabs_stall_notice_seconds: int = 300


class _BadValueError(ValueError):
    """What is wrong with a value, before anybody has said which setting it is."""


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    # 0 and 1 as numbers are what `app.config.from_prefixed_env()` makes of them
    known = {"true": True, "1": True, "false": False, "0": False, 1: True, 0: False}
    if isinstance(value, str | int) and value in known:
        return known[value]
    raise _BadValueError(f"{value!r} is neither true nor false; write true or false")


def _whole(low: int, high: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]{1,9}", value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise _BadValueError(f"{value!r} is not a whole number from {low} to {high}")
        return value

    return parse


def _optional(parse: Callable[[object], int]) -> Callable[[object], int | None]:
    return lambda value: None if value is None else parse(value)


def _items(value: object) -> tuple[str, ...]:
    """A list of texts, or one text with commas between its items; the empty text is the empty list."""
    if isinstance(value, str):
        value = value.split(",") if value else ()
    if not isinstance(value, list | tuple | set | frozenset):
        raise _BadValueError(f"{value!r} is not a list; give a list of texts, in the environment one text with commas")
    items = []
    for item in value:
        if not isinstance(item, str) or not item.strip():
            raise _BadValueError(f"the item {item!r} is empty or not a text; remove it")
        items.append(item.strip())
    return tuple(dict.fromkeys(items))


def _hosts(value: object) -> tuple[str, ...]:
    hosts = []
    for item in _items(value):
        host = canonical_host(item)
        if host is None:
            raise _BadValueError(
                f"{item!r} is not an exact host name or address; write it bare, as in 'devbox.example' or "
                "'192.168.0.7', without scheme, port, path, brackets or wildcard"
            )
        hosts.append(host)
    return tuple(dict.fromkeys(hosts))


def _executable(value: object) -> str:
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise _BadValueError(f"{value!r} is not a command; give the name of a program on PATH, or its path")
    return value


def _directory(value: object) -> Path:
    if not isinstance(value, str | os.PathLike) or not os.fspath(value) or "\0" in os.fsdecode(value):
        raise _BadValueError(f"{value!r} is not the path of a folder")
    path = Path(os.path.realpath(os.fsdecode(value)))
    if not path.is_dir():
        raise _BadValueError(f"{os.fsdecode(value)!r} is not an existing folder; create it or name another")
    return path


def _mount(value: object) -> str:
    path = value.rstrip("/") if isinstance(value, str) else ""
    segments = path.split("/")
    if segments[0] or len(segments) < 2 or not all(_is_segment(segment) for segment in segments[1:]):
        raise _BadValueError(
            f"{value!r} is not a path such as {DEFAULT_MOUNT!r}; it starts with a slash and its parts are letters, "
            "digits and . _ ~ -"
        )
    return path


def _is_segment(text: str) -> bool:
    return text not in (".", "..") and re.fullmatch(r"[A-Za-z0-9._~-]+", text) is not None


PARSERS: Final[Mapping[str, Callable[[object], Any]]] = {
    "enabled": _flag,
    "allowed_hosts": _hosts,
    "executable": _executable,
    "project_root": _directory,
    "task_timeout": _whole(60, 86_400),
    "mount_path": _mount,
    "inject": _flag,
    "exclude": _items,
    "annotate": _flag,
    "annotate_exclude": _items,
    "max_streams": _optional(_whole(1, 1_000)),
    "board_path": _mount,
    "board_port": _optional(_whole(1_024, 65_535)),
    "board_idle_minutes": _whole(1, 1_440),
    "tabs_enabled": _flag,
    "tabs_max": _whole(1, 50),
    "tabs_max_concurrent_starts": _whole(1, 8),
    "tabs_suspend_idle_after_minutes": _whole(0, 1_440),
    "tabs_prewarm": _whole(0, 2),
    "tabs_auto_name": _flag,
    "tabs_unresponsive_restart_seconds": _whole(30, 3_600),
    "tabs_stall_notice_seconds": _whole(30, 3_600),
}


def resolve(
    app_config: Mapping[str, object],
    keywords: Mapping[str, object],
    environ: Mapping[str, str],
    root_path: str | os.PathLike[str],
) -> Settings:
    """The settings of an app, or of a command when `app_config` and `keywords` are empty.

    `root_path` is where the search for the project begins: the app's own folder, or the current directory. Raises
    `SettingError` for the first value that cannot be used, and for a name that is no setting.
    """
    sources = _Sources(app_config, keywords, environ, Path(root_path))
    if not sources.parsed("enabled", default=True):
        return Settings(enabled=False, project_root=sources.discovered_root)
    sources.refuse_unknown_names()
    root = sources.parsed("project_root", default=sources.discovered_root)
    others = {
        field.name: sources.parsed(field.name, default=field.default)
        for field in dataclasses.fields(Settings)
        if field.name != "project_root"
    }
    if _overlap(others["mount_path"], others["board_path"]):
        raise SettingError("board_path", "all settings together", "it and mount_path must not lie inside each other")
    return Settings(project_root=root, **others)


def _overlap(one: str, other: str) -> bool:
    return f"{one}/".startswith(f"{other}/") or f"{other}/".startswith(f"{one}/")


class _Sources:
    """The places where a value may stand, asked in the order of their precedence."""

    def __init__(
        self,
        app_config: Mapping[str, object],
        keywords: Mapping[str, object],
        environ: Mapping[str, str],
        start: Path,
    ) -> None:
        self._app_config = app_config
        self._keywords = keywords
        self._environ = environ
        self.discovered_root = find_project_root(start)
        self._pyproject: Mapping[str, object] | None = None

    def parsed(self, name: str, *, default: Any) -> Any:
        found = self._given(name) or self._in_pyproject(name)
        if found is None:
            return default
        value, where = found
        try:
            return PARSERS[name](value)
        except _BadValueError as problem:
            raise SettingError(name, where, str(problem)) from None

    def refuse_unknown_names(self) -> None:
        for name in self._keywords:
            if name not in PARSERS:
                raise SettingError(name, "a keyword of PiTaskbar", f"no such setting; there are {', '.join(PARSERS)}")
        for name in self._table():
            if name not in PARSERS:
                raise SettingError(name, "pyproject.toml", f"no such setting; there are {', '.join(PARSERS)}")

    def _given(self, name: str) -> tuple[object, str] | None:
        key = PREFIX + name.upper()
        if name in self._keywords:
            return self._keywords[name], f"the keyword {name} of PiTaskbar"
        if key in self._app_config:
            return self._app_config[key], f"app.config[{key!r}]"
        if key in self._environ:
            return self._environ[key], f"the environment variable {key}"
        return None

    def _in_pyproject(self, name: str) -> tuple[object, str] | None:
        if name not in self._table():
            return None
        value = self._table()[name]
        if name == "project_root" and isinstance(value, str):
            value = self._pyproject_folder() / value
        return value, f"[tool.{PYPROJECT_TABLE}] in pyproject.toml"

    def _table(self) -> Mapping[str, object]:
        if self._pyproject is None:
            self._pyproject = _read_pyproject(self._pyproject_folder() / "pyproject.toml")
        return self._pyproject

    def _pyproject_folder(self) -> Path:
        given = self._given("project_root")
        if given is None:
            return self.discovered_root
        try:
            return _directory(given[0])
        except _BadValueError:  # named when its turn comes
            return self.discovered_root


def _read_pyproject(path: Path) -> Mapping[str, object]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingError("pyproject.toml", str(path), f"it cannot be read ({type(error).__name__})") from None
    if PYPROJECT_TABLE not in text:
        return {}
    import tomllib  # only for a project that has something to say to us

    try:
        tools = tomllib.loads(text).get("tool", {})
    except tomllib.TOMLDecodeError as error:
        raise SettingError("pyproject.toml", str(path), f"it is not valid TOML: {error}") from None
    table = tools.get(PYPROJECT_TABLE, {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise SettingError("pyproject.toml", str(path), f"[tool.{PYPROJECT_TABLE}] is not a table")
    return table
