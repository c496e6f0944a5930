"""`pi-taskbar completion SHELL`: the script that makes a shell complete our commands, cards and labels."""

from __future__ import annotations

from typing import Final

import click
from click.shell_completion import get_completion_class

from flask_pi_taskbar.commands.completing import words

SHELLS: Final = ("bash", "zsh", "fish")
PROGRAM: Final = "pi-taskbar"
VARIABLE: Final = "_PI_TASKBAR_COMPLETE"


@click.command(
    epilog="""\b
Examples:
  pi-taskbar completion bash
  eval "$(pi-taskbar completion bash)"
  pi-taskbar completion fish > ~/.config/fish/completions/pi-taskbar.fish""",
)
@click.argument("shell", type=click.Choice(SHELLS), shell_complete=words(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print a script that completes commands, cards and labels.

    Put it into the file that your shell starts with: eval "$(pi-taskbar completion bash)" in ~/.bashrc, the same with
    zsh in ~/.zshrc; for fish, write it into ~/.config/fish/completions/pi-taskbar.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(ctx.find_root().command, {}, PROGRAM, VARIABLE).source())
