"""The copy of the example that the taskbar works on, so that the checkout itself stays as it is.

Copies live in numbered slots, one for each start that runs at the same time. A start takes a fresh copy; what the last
one left behind is kept beside it as `quickstart.previous`.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "quickstart"


@dataclass(frozen=True)
class Slot:
    """A place for one running example."""

    root: Path

    @property
    def project(self) -> Path:
        return self.root / "quickstart"

    @property
    def server(self) -> Path:
        """Where the number of the running server stands."""
        return self.root / "server.pid"


@contextlib.contextmanager
def slot(directory: Path) -> Iterator[Slot]:
    """The first slot that no other start is using, ours until the block ends."""
    number = 0
    while True:
        number += 1
        root = directory / "demo" / str(number)
        root.mkdir(parents=True, exist_ok=True)
        with (root / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                continue
            yield Slot(root)
            return


def fresh_copy(place: Slot) -> Path:
    """A new copy of the example in this slot."""
    previous = place.root / "quickstart.previous"
    if place.project.exists():
        shutil.rmtree(previous, ignore_errors=True)
        place.project.rename(previous)
    copy_example(place.project)
    return place.project


def copy_example(target: Path) -> Path:
    shutil.copytree(SOURCE, target, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    return target


def fingerprint(project: Path) -> dict[str, str]:
    """The files of a project with a digest of each: two of them tell what has changed."""
    return {
        str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(project.rglob("*"))
        if path.is_file() and "__pycache__" not in path.parts
    }
