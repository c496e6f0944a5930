"""A wheel, an sdist and an editable install each hold everything and find it, wherever they are used from."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.package.conftest import ROOT, Distributions, run

SMOKE = Path(__file__).with_name("smoke.py")


def files_below(folder: Path) -> set[str]:
    """Relative POSIX paths of the project's own files below `folder`, links followed."""
    return {
        path
        for directory, _, names in os.walk(folder, followlinks=True)
        for name in names
        if "__pycache__" not in (path := (Path(directory) / name).relative_to(folder).as_posix())
    }


def expected_package_files(source: Path) -> set[str]:
    return {f"flask_pi_taskbar/{path}" for path in files_below(source / "flask_pi_taskbar")}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(distributions: Distributions) -> None:
    files = {name for name in distributions.wheel_files() if ".dist-info/" not in name}
    assert files == expected_package_files(distributions.source)


def test_the_wheel_carries_its_license_and_metadata(distributions: Distributions) -> None:
    with zipfile.ZipFile(distributions.wheel) as archive:
        (metadata,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        text = archive.read(metadata).decode()
        assert any(n.endswith("licenses/LICENSE") for n in archive.namelist())
    for line in ("Name: flask-pi-taskbar", "License-Expression: MIT", "Requires-Python: >=3.11"):
        assert line in text


def test_the_sdist_holds_the_package_the_tests_and_the_documents(distributions: Distributions) -> None:
    files = distributions.sdist_files()
    assert expected_package_files(distributions.source) <= files
    documents = {f"docs/{path}" for path in files_below(distributions.source / "docs")}
    assert documents | {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", "setup.cfg"} <= files
    assert {"tests/package/test_distributions.py", "examples/__main__.py"} <= files


def test_a_wheel_made_of_the_sdist_is_the_wheel_made_of_the_tree(distributions: Distributions) -> None:
    assert distributions.wheel_files(distributions.wheel_of_sdist) == distributions.wheel_files()
    with zipfile.ZipFile(distributions.wheel) as ours, zipfile.ZipFile(distributions.wheel_of_sdist) as theirs:
        different = [n for n in ours.namelist() if not n.endswith("RECORD") and ours.read(n) != theirs.read(n)]
    assert different == []


def test_every_package_folder_is_declared(distributions: Distributions) -> None:
    declared = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {
        str(Path(path).parent).replace("/", ".")
        for path in expected_package_files(distributions.source)
        if path.endswith("/__init__.py")
    }
    assert found == declared


@pytest.mark.parametrize("kind", ["wheel", "sdist", "editable"])
def test_an_installed_copy_finds_everything_it_needs(kind: str, distributions: Distributions, tmp_path: Path) -> None:
    python = environment_with_our_dependencies(tmp_path / "environment")
    target = {"wheel": [distributions.wheel], "sdist": [distributions.sdist], "editable": ["-e", distributions.source]}
    run(
        sys.executable, "-m", "pip", f"--python={python}", "install", "--quiet", "--no-deps", "--no-index",
        "--no-build-isolation", "--disable-pip-version-check", *target[kind], cwd=tmp_path,
    )  # fmt: skip
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environ = {"PATH": os.defpath, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}
    found = json.loads(run(python, "-W", "error", SMOKE, cwd=elsewhere, env=environ))

    package = distributions.source / "flask_pi_taskbar"
    modules = {path for path in files_below(package) if path.endswith(".py") and not path.endswith("__main__.py")}
    names = {f"flask_pi_taskbar.{path[:-3].replace('/', '.').removesuffix('.__init__')}" for path in modules}
    assert set(found["modules"]) == names - {"flask_pi_taskbar.__init__"}
    assert set(found["static"]) == {path for path in files_below(package) if path.startswith("static/")}
    assert found["asset"] == [200, "text/javascript"]
    assert found["version"] == found["metadata_version"]
    assert found["entry_points"] == [True, True]
    inside = Path(found["home"]).is_relative_to(tmp_path / "environment")
    assert inside == (kind != "editable")

    for script in ("pi-taskbar", "flask"):
        command = [python.with_name("pi-taskbar"), "--help"] if script == "pi-taskbar" else [
            python, "-m", "flask", "pi-taskbar", "--help"]  # fmt: skip
        assert "broker" in run(*command, cwd=elsewhere, env=environ)


def environment_with_our_dependencies(folder: Path) -> Path:
    """A virtual environment that sees the dependencies of the running one, but none of its editable installs."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin" / "python"
    (library,) = (folder / "lib").iterdir()
    borrowed = Path(sysconfig.get_path("purelib"))
    shelf = folder / "borrowed"
    shelf.mkdir()
    for entry in borrowed.iterdir():
        if entry.suffix != ".pth" and "flask_pi_taskbar" not in entry.name:
            (shelf / entry.name).symlink_to(entry)
    (library / "site-packages" / "borrowed.pth").write_text(f"{shelf}\n")
    return python
