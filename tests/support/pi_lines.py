"""Where the real Pi of both lines is. `python3 tests` installs it; tests only look it up."""

from __future__ import annotations

import os
from pathlib import Path

from examples.bootstrap.environment import DEFAULT_DIR
from examples.bootstrap.node import LINES, NEW_LINE, OLD_LINE, pi_command

__all__ = ["NEW_LINE", "OLD_LINE", "VERSIONS", "cache", "command", "missing"]

VERSIONS = tuple(LINES)


def cache() -> Path:
    """The directory that holds all that tests install."""
    return Path(os.environ.get("PI_TASKBAR_TEST_CACHE") or DEFAULT_DIR).absolute()


def command(version: str) -> Path | None:
    """The command of this line of Pi, if it is installed."""
    return pi_command(cache(), LINES[version])


def missing() -> str | None:
    """Why tests cannot use the real Pi; None when they can."""
    absent = [version for version in VERSIONS if command(version) is None]
    return f"Pi {' and '.join(absent)} not installed in {cache()}; `python3 tests` installs it" if absent else None
