"""The private Python environment: made once, made again when something that it depends on has changed."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.bootstrap.console import Console, run
from examples.bootstrap.explain import SetupError

REPOSITORY = Path(__file__).resolve().parents[2]
DEFAULT_DIR = REPOSITORY / ".env"


@dataclass(frozen=True)
class Environment:
    """A virtual environment that is complete."""

    root: Path

    @property
    def python(self) -> Path:
        return self.root / "bin" / "python"

    @property
    def pip(self) -> list[str]:
        return [str(self.python), "-m", "pip"]


def check_directory(directory: Path, megabytes: int) -> None:
    """Raise `SetupError` unless `directory` can be made, written to, and has room for so much more."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe = directory / f".write-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as problem:
        raise SetupError(
            f"{directory} cannot be written to: {problem.strerror}", "Choose another directory with --dir DIRECTORY."
        ) from None
    free = shutil.disk_usage(directory).free // 2**20
    if free < megabytes:
        raise SetupError(
            f"{directory} needs about {megabytes} MB and its disk has {free} MB left",
            "Make room, or choose a directory on another disk with --dir DIRECTORY.",
        )


@contextlib.contextmanager
def exclusive(directory: Path, console: Console) -> Iterator[None]:
    """Only one set-up at a time works in `directory`."""
    with (directory / "setup.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            with console.step("Waiting for another set-up to end"):
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def prepared(root: Path, packages: Sequence[str], console: Console, logs: Path) -> Environment:
    """The environment at `root` with `packages` (arguments of pip install) and the checkout's own needs."""
    environment = Environment(root)
    facts = _facts(root, packages)
    if stamped(root, facts) and environment.python.exists():
        return environment
    unstamp(root)
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        raise SetupError(
            "This Python cannot make a virtual environment: its module ensurepip is missing",
            "On Debian and Ubuntu: sudo apt install python3-venv (or "
            f"python{sys.version_info.major}.{sys.version_info.minor}-venv), and run the same command again.",
        )
    with console.step(f"Making a Python environment in {shown(root)}"):
        run([sys.executable, "-m", "venv", "--clear", root], log=logs / "venv.log")
    with console.step("Installing flask-pi-taskbar and what it needs"):
        run(
            [*environment.pip, "install", *packages],
            log=logs / f"pip-{root.name}.log",
            cwd=REPOSITORY,
        )
    stamp(root, facts)
    return environment


def _facts(root: Path, packages: Sequence[str]) -> dict[str, object]:
    """All that a finished environment depends on: another Python, place or list of requirements makes it anew."""
    return {
        "python": [sys.version, sys.base_prefix],
        "place": [str(root), str(REPOSITORY)],
        "packages": list(packages),
        "project": hashlib.sha256((REPOSITORY / "pyproject.toml").read_bytes()).hexdigest(),
    }


# ---- stamps --------------------------------------------------------------------------------------------------


def stamped(root: Path, facts: dict[str, object]) -> bool:
    """Whether `root` was finished with just these facts."""
    try:
        return bool(json.loads((root / "finished.json").read_text()) == facts)
    except (OSError, ValueError):
        return False


def stamp(root: Path, facts: dict[str, object]) -> None:
    whole = root / "finished.json.new"
    whole.write_text(json.dumps(facts, indent=1))
    whole.replace(root / "finished.json")


def unstamp(root: Path) -> None:
    (root / "finished.json").unlink(missing_ok=True)


def shown(path: Path) -> str:
    """A path as short as it can be said from where the user stands."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)
