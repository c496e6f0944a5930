"""Debian's packages, installed where that is ours to do: as root, on Debian itself."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from examples.bootstrap.console import Console, run


def may_install() -> bool:
    """Root on Debian: its own packages of browsers and drivers fit each other."""
    if os.geteuid() != 0:
        return False
    try:
        lines = Path("/etc/os-release").read_text().splitlines()
    except OSError:
        return False
    return "ID=debian" in lines and shutil.which("apt-get") is not None


def install(packages: tuple[str, ...], title: str, console: Console, logs: Path) -> None:
    """Install the packages; raises `SetupError` when apt cannot."""
    env = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with console.step(f"Installing {title} from Debian's packages"):
        run(["apt-get", "update"], log=logs / "apt-update.log", env=env)
        command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
        run(command, log=logs / f"apt-{packages[0]}.log", env=env)
