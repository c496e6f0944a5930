"""The command `python3 tests`. Runs on a bare Python: standard library only until the environment exists."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NoReturn

from examples.bootstrap import environment, node
from examples.bootstrap.console import Console
from examples.bootstrap.explain import SetupError
from tests.support import axe, chromium, engines, pi_lines

PACKAGES = ("-e", f"{environment.REPOSITORY}[test,lint]")

HELP = """\
usage: python3 tests [--without browser] [--without pi] [arguments for pytest]
       python3 tests --python [arguments for Python]

Sets up an environment below the checkout, with both supported lines of the real Pi, makes sure that there is a
Chromium with its driver (for the board's page Firefox and WebKitGTK too, where they can be had), and runs all tests, or
those that pytest's arguments choose. The first run takes a minute or more, later ones start at once.

examples:
  python3 tests                           everything
  python3 tests tests/contract -x         one folder, up to the first failure
  python3 tests -m "not browser and not pi"
  python3 tests --slow=3                  the long tests too, three times as long as the shortest useful run
  python3 tests --without browser         install and run nothing that needs a browser
  python3 tests --python -m tests.bench.bench_contract

PI_TASKBAR_TEST_CACHE names another directory for all that is installed (default: .env in the checkout; about 900 MB).
"""


def main(arguments: Sequence[str]) -> int:
    wanted, rest = {"browser", "pi"}, list(arguments)
    if rest[:1] in (["--help"], ["-h"]):
        print(HELP, end="")
        return 0
    while len(rest) > 1 and rest[0] == "--without" and rest[1] in ("browser", "pi"):
        wanted.discard(rest[1])
        del rest[:2]
    console = Console()
    try:
        made = prepare(wanted, console)
    except SetupError as problem:
        console.say(f"\n{problem}")
        return 1
    except KeyboardInterrupt:
        console.say("\nStopped.")
        return 130
    if rest[:1] == ["--python"]:
        command = [str(made.python), *rest[1:]]
    else:
        command = [str(made.python), "-m", "pytest", *rest]
    # What was asked for may not be skipped in silence: see tests/conftest.py.
    env = os.environ | {"PI_TASKBAR_REQUIRE": ",".join(sorted(wanted)), "PI_TASKBAR_TEST_CACHE": str(pi_lines.cache())}
    return _become(command, env)


def _become(command: list[str], env: dict[str, str]) -> NoReturn:
    os.chdir(environment.REPOSITORY)
    os.execve(command[0], command, env)


def prepare(wanted: set[str], console: Console) -> environment.Environment:
    """Make what is not there yet."""
    directory = pi_lines.cache()
    environment.check_directory(directory, 50 if (directory / "tests" / "finished.json").exists() else 1200)
    with environment.exclusive(directory, console):
        made = environment.prepared(directory / "tests", PACKAGES, console, directory / "logs")
        if "pi" in wanted:
            runtime = node.node(directory, made.pip, console)
            for line in node.LINES.values():
                node.pi(directory, line, runtime, console)
        if "browser" in wanted:
            chromium.ensure(console, directory / "logs")
            engines.ensure(console, directory / "logs")
            axe.ensure(directory, node.node(directory, made.pip, console), console)
    return made
