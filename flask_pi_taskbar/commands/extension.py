"""`pi-taskbar pi-extension`: where the file is that puts the board into Pi."""

from __future__ import annotations

import click

from flask_pi_taskbar.commands.speaking import encoded
from flask_pi_taskbar.pi_extension import extension_path


@click.command(
    "pi-extension",
    epilog="""\b
Examples:
  pi-taskbar pi-extension
  pi --extension "$(pi-taskbar pi-extension)"
  ln -s "$(pi-taskbar pi-extension)" ~/.pi/agent/extensions/pi-taskbar.js""",
)
@click.option("--json", "as_json", is_flag=True, help="Answer with one JSON object.")
def extension(as_json: bool) -> None:
    """Print the path of the extension that gives the board to the agents inside Pi."""
    path = str(extension_path())
    click.echo(encoded({"ok": True, "path": path}) if as_json else path)
