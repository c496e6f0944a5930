"""axe, the accessibility checker that tests put into a page: fetched by npm for `python3 tests`, never part of ours."""

from __future__ import annotations

import os
from pathlib import Path

from examples.bootstrap.console import Console, run
from examples.bootstrap.environment import stamp, stamped, unstamp
from examples.bootstrap.node import Node
from tests.support import pi_lines

PACKAGE = "axe-core@4.14.1"


def script() -> Path | None:
    """The script to put into a page, if it is installed."""
    found = _script(pi_lines.cache())
    return found if found.exists() else None


def _script(directory: Path) -> Path:
    return directory / "axe" / "node_modules" / "axe-core" / "axe.min.js"


def ensure(directory: Path, runtime: Node, console: Console) -> None:
    """Install it below `directory` when it is not there yet."""
    root = directory / "axe"
    facts: dict[str, object] = {"package": PACKAGE, "place": str(root)}
    if _script(directory).exists() and stamped(root, facts):
        return
    root.mkdir(parents=True, exist_ok=True)
    unstamp(root)
    (root / "package.json").write_text('{"private": true}\n')
    environ = os.environ | {"PATH": f"{runtime.node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")
    with console.step("Installing axe"):
        run([*runtime.npm, "install", *options, PACKAGE], log=directory / "logs" / "npm-axe.log", cwd=root, env=environ)
    stamp(root, facts)
