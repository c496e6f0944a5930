"""Shell completion: the scripts, and what they offer from the store."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess

import pytest

from tests.board_cli.place import SCRIPT, Place


def offered(place: Place, typed: str, incomplete: str = "") -> list[str]:
    """What bash is offered after `pi-taskbar typed incomplete`."""
    words = f"pi-taskbar {typed} {incomplete}"
    said = place.run(_PI_TASKBAR_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=str(len(typed.split()) + 1))
    assert (said.code, said.err) == (0, "")
    return [line.partition(",")[2] for line in said.out.splitlines() if line]


@pytest.fixture
def full(place: Place) -> Place:
    place.do("add", title="Free")
    place.do("add", title="Waiting", dependsOn=[1])
    place.do("add", title="Held")
    place.do("claim", "bob", card=3)
    place.do("add", title="Over")
    place.do("claim", card=4)
    place.do("move", card=4, status="done")
    return place


OFFERED = [
    ("board", "cl", ["claim"]),
    ("board", "", ["list", "add", "claim"]),
    ("board claim --as ann", "", ["1"]),
    ("board release --as bob", "", ["3"]),
    ("board release --as ann", "", []),
    ("board reclaim --as ann", "", ["3"]),
    ("board move --as ann", "", ["1", "2", "3"]),
    ("board note", "", ["1", "2", "3", "4"]),
    ("board list --card", "4", ["4"]),
    ("board move 1", "", ["todo", "doing", "blocked", "done"]),
    ("board move 1", "d", ["doing", "done"]),
    ("board list --status", "b", ["blocked"]),
    ("board add T --priority", "", ["high", "normal", "low"]),
    ("board edit 2 --depends-on", "1,", ["1,2", "1,3"]),
    ("board assign --as ann 1", "", ["bob", "team-lead"]),
    ("board wait 1 --until", "c", ["claimable", "changed"]),
    ("board list --as", "b", ["bob"]),
    ("team", "", ["round", "assign", "offer", "reclaim", "inbox"]),
    ("team offer --as ann", "", ["1"]),
    ("completion", "", ["bash", "zsh", "fish"]),
]


@pytest.mark.parametrize(("typed", "incomplete", "expected"), OFFERED, ids=[f"{row[0]} {row[1]}" for row in OFFERED])
def test_what_is_offered_is_what_would_be_accepted(
    full: Place, typed: str, incomplete: str, expected: list[str]
) -> None:
    found = offered(full, typed, incomplete)
    assert found[: len(expected)] == expected
    assert len(found) == len(expected) or typed == "board"


def test_the_store_of_another_folder_is_asked_where_one_is_named(full: Place) -> None:
    assert offered(full, f"board claim --repo {full.root.parent}") == []


def test_completing_changes_nothing_and_survives_a_broken_store(full: Place) -> None:
    assert offered(full, "board claim --as a/b") == []
    full.environ["PI_CODING_AGENT_DIR"] = "/dev/null/nothing"
    assert offered(full, "board claim") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_one_that_its_shell_accepts(place: Place, shell: str) -> None:
    said = place.run("completion", shell)
    assert said.code == 0
    assert "_PI_TASKBAR_COMPLETE" in said.out
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"{shell} is not installed")
    checked = subprocess.run([found, "-n"], input=said.out, text=True, capture_output=True)
    assert (checked.returncode, checked.stderr) == (0, "")


def test_in_bash_the_tab_key_finds_a_card(full: Place) -> None:
    program = full.root.parent / "bin" / "pi-taskbar"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(SCRIPT)} "$@"\n')
    program.chmod(0o755)
    script = """
eval "$(pi-taskbar completion bash)"
COMP_WORDS=(pi-taskbar board claim --as ann ''); COMP_CWORD=5
_pi_taskbar_completion pi-taskbar
printf '%s\\n' "${COMPREPLY[@]}"
"""
    env = full.env | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", script], cwd=full.root, env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_an_unknown_shell_is_wrong_usage(place: Place) -> None:
    assert place.run("completion", "tcsh").code == 2
