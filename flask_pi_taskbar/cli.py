"""The command line: `pi-taskbar …`, and the same tree as `flask pi-taskbar …`.

Only the names of the commands stand here; the module of a command is loaded when it is called or when its help is
shown. So a command brings in what it needs and no more: `pi-taskbar broker` never imports Flask.
"""

from __future__ import annotations

from importlib import import_module
from typing import Final

import click

from flask_pi_taskbar.version import __version__

COMMANDS: Final = {
    "board": "flask_pi_taskbar.commands.board:board",
    "broker": "flask_pi_taskbar.broker.commands:broker",
    "completion": "flask_pi_taskbar.commands.completion:completion",
    "pi-extension": "flask_pi_taskbar.commands.extension:extension",
    "team": "flask_pi_taskbar.commands.team:team",
}
"""Name of the command to `module:object`."""


class _Tree(click.Group):
    """A group whose commands are loaded on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted({*super().list_commands(ctx), *COMMANDS})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        target = COMMANDS.get(cmd_name)
        if target is None:
            return super().get_command(ctx, cmd_name)
        module, _, name = target.partition(":")
        command: click.Command = getattr(import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            from difflib import get_close_matches

            near = get_close_matches(args[0], self.list_commands(ctx), 1)
            if near:
                ctx.fail(f"No such command {args[0]!r}. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)


@click.group("pi-taskbar", cls=_Tree)
@click.version_option(__version__, prog_name="pi-taskbar")
def group() -> None:
    """The Pi taskbar of a Flask app in development.

    Commands work on the project around the current folder: the nearest parent that holds .git, pyproject.toml or
    setup.cfg, or the folder that project_root of [tool.pi-taskbar] in its pyproject.toml names.
    """


def main() -> None:
    """The console script `pi-taskbar`."""
    group(prog_name="pi-taskbar")
