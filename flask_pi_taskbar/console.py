"""How every command of `pi-taskbar` speaks: text for people, one JSON object for programs, the same exit codes.

A command built on `Command` returns what it has to say, or raises `Failure`. Exit 0 is done, 1 failed, 2 wrong usage.
With `--json` stdout holds exactly one object, `{"ok": true, …}` or `{"ok": false, "code": …, "message": …}`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import IO, Any

import click

from flask_pi_taskbar.project import NoHome, project_root


class Failure(click.ClickException):
    """A command could not do what it was asked; `code` is for programs and stays, `message` is for people."""

    exit_code = 1

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.as_json = False

    def show(self, file: IO[Any] | None = None) -> None:
        if self.as_json:
            click.echo(json.dumps({"ok": False, "code": self.code, "message": self.message}))
        else:
            click.echo(f"Error: {self.message}", err=file is None, file=file)


class _WrongUsage(Failure):
    exit_code = 2


class Command(click.Command):
    """A command with `--json` and `--project`. Its function gets `root`, and returns the fields and the text to say."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self.params += [
            click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON object."),
            click.Option(
                ["--project", "start"],
                type=click.Path(exists=True, file_okay=False, path_type=Path),
                envvar="PI_BROWSER_TASKBAR_PROJECT_ROOT",
                default=None,
                help="The project's folder (default: the one around the current folder, or the project_root that its "
                "pyproject.toml names).",
            ),
        ]

    def make_context(self, info_name: str | None, args: list[str], *rest: Any, **extra: Any) -> click.Context:
        as_json = "--json" in args
        try:
            return super().make_context(info_name, args, *rest, **extra)
        except click.UsageError as error:
            if not as_json:
                raise
            failure = _WrongUsage("usage", error.format_message())
            failure.as_json = True
            raise failure from None

    def invoke(self, ctx: click.Context) -> None:
        as_json = ctx.params.pop("as_json")
        start = ctx.params.pop("start")
        ctx.params["root"] = start.resolve() if start else _configured_root(project_root(Path.cwd()))
        try:
            try:
                fields, text = super().invoke(ctx)
            except NoHome as error:
                raise Failure("no-home", str(error)) from error
        except Failure as failure:
            failure.as_json = as_json
            raise
        click.echo(json.dumps({"ok": True, **fields}) if as_json else text)


def _configured_root(found: Path) -> Path:
    """The project as the app sees it: `found`, or the folder that `[tool.pi-taskbar]` in its pyproject.toml names.

    Only this one key is looked at: whatever else may be wrong there must not keep anybody from stopping a broker.
    """
    try:
        text = (found / "pyproject.toml").read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return found
    if "project_root" not in text:
        return found
    import tomllib  # like the settings, only for a project that has something to say to us

    from flask_pi_taskbar.settings import PARSERS, PYPROJECT_TABLE

    try:
        tables = tomllib.loads(text).get("tool", {})
        table = tables.get(PYPROJECT_TABLE, {}) if isinstance(tables, dict) else {}
        if not isinstance(table, dict) or "project_root" not in table:
            return found
        value = table["project_root"]
        root: Path = PARSERS["project_root"](found / value if isinstance(value, str) else value)
    except ValueError as error:  # a value that cannot be used, or no TOML at all
        click.echo(f"Warning: project_root in {found / 'pyproject.toml'}: {error}; taking {found}", err=True)
        return found
    return root


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
