"""Builds the project once a session, from a copy of the tree, as a wheel, an sdist and a wheel made of that sdist."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: What never belongs to a build: environments, caches, earlier builds.
LEFT_OUT = shutil.ignore_patterns(
    ".git", ".env", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "node_modules"
)


@dataclass(frozen=True)
class Distributions:
    source: Path
    wheel: Path
    sdist: Path
    wheel_of_sdist: Path

    def wheel_files(self, wheel: Path | None = None) -> set[str]:
        with zipfile.ZipFile(wheel or self.wheel) as archive:
            return set(archive.namelist())

    def sdist_files(self) -> set[str]:
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}


def run(*argv: str | Path, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a command to its end and return what it printed; a failure shows all of it."""
    done = subprocess.run([str(word) for word in argv], cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, f"{argv} ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def build(source: Path, kind: str, out: Path) -> Path:
    """Build one distribution without a network: the build requirements come from the running environment."""
    run(sys.executable, "-m", "build", "--no-isolation", f"--{kind}", "--outdir", out, source, cwd=source)
    (built,) = out.iterdir()
    return built


@pytest.fixture(scope="session")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Distributions:
    base = tmp_path_factory.mktemp("distributions")
    source = base / "source"
    shutil.copytree(ROOT, source, symlinks=True, ignore=LEFT_OUT)
    wheel = build(source, "wheel", base / "wheel")
    sdist = build(source, "sdist", base / "sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(base / "unpacked", filter="data")
    (unpacked,) = (base / "unpacked").iterdir()
    return Distributions(source, wheel, sdist, build(unpacked, "wheel", base / "wheel-of-sdist"))
