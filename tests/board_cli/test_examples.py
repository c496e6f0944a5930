"""Every example that a help page prints works as it stands, typed into a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from flask_pi_taskbar.board.torture import torture
from flask_pi_taskbar.cli import group
from flask_pi_taskbar.commands.board import CALLS as BOARD
from flask_pi_taskbar.commands.completion import completion
from flask_pi_taskbar.commands.team import CALLS as TEAM
from flask_pi_taskbar.commands.team import team
from flask_pi_taskbar.page.alone import AlonePage
from tests.board_cli.place import SCRIPT, Place


def nothing(place: Place) -> None:
    pass


def held(place: Place) -> None:
    place.do("claim", "agent-3", card=4)


def finished(place: Place) -> None:
    held(place)
    place.do("move", "agent-3", card=4, status="done")


def dropped(place: Place) -> None:
    assert place.call("board", "drop", "4", who=None).code == 0


def serving(place: Place) -> None:
    assert place.call("board", "open", "--background", "--no-browser", who=None).code == 0


def letter(place: Place) -> None:
    place.do("handoff", "ann", card=4, label="agent-3")


BEFORE: dict[str, Callable[[Place], None]] = {
    # what has to be so before the examples of a command
    "release": held,
    "reclaim": held,
    "move": held,
    "undo": dropped,
    "reopen": finished,
    "stop": serving,
    "revoke": serving,
    "wait": finished,
    "inbox": letter,
}
SPECIAL: dict[str, Callable[[Place], None]] = {
    "pi-taskbar board wait --card 4 --until claimable --timeout 60": nothing,
}


def of_epilog(epilog: str | None) -> list[str]:
    return [line.strip() for line in (epilog or "").splitlines() if line.startswith("  ")]


EXAMPLES = [
    *[(str(call.name), example) for call in (*BOARD, *TEAM) for example in call.examples],
    *[("", example) for example in (*of_epilog(team.epilog), *of_epilog(completion.epilog))],
]


@pytest.fixture
def furnished(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    """Six free cards, agent-3 on the team, a report, and a home to write a script into."""
    for number in range(1, 7):
        place.do("add", "ann", title=f"Card {number}")
    place.do("note", "agent-3", card=1, text="I am here.")
    (place.root / "report.txt").write_text("12 passed\n")
    home = place.root.parent / "home"
    (home / ".config" / "fish" / "completions").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr("flask_pi_taskbar.commands.torturing.torture", small_torture)
    monkeypatch.setattr(AlonePage, "serve", AlonePage.close)
    yield place
    for who in (("--as", "agent-3"), ()):
        CliRunner().invoke(group, ["board", "stop", *who], prog_name="pi-taskbar", env=place.environ)


def small_torture(folder: Path, *, seconds: float, workers: int, **options: object) -> object:
    """A torture as short as it gets; how long the example's lasts is for its user."""
    assert seconds >= 5
    return torture(folder, seconds=0.2, workers=2)


@pytest.mark.parametrize(("name", "example"), EXAMPLES, ids=[row[1] for row in EXAMPLES])
def test_an_example_works_as_it_stands(furnished: Place, name: str, example: str) -> None:
    SPECIAL.get(example, BEFORE.get(name, nothing))(furnished)
    words = shlex.split(example)
    if words[0] == "pi-taskbar" and not set(words) & {"<", ">", "|"}:
        said = furnished.call(*words[1:], who=None)
        assert said.code == 0, said.err
        assert words[-1] != "--json" or said.data["ok"] is True
        return
    program = furnished.root.parent / "bin" / "pi-taskbar"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.join(SCRIPT)} "$@"\n')
    program.chmod(0o755)
    env = furnished.env | {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", example], cwd=furnished.root, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("family", ["board", "team"])
def test_every_command_prints_its_examples_on_lines_of_their_own(family: str) -> None:
    for call in {"board": BOARD, "team": TEAM}[family]:
        shown = CliRunner().invoke(group, [family, str(call.name), "--help"], prog_name="pi-taskbar").stdout
        assert call.examples
        for example in call.examples:
            assert f"\n    {example}\n" in shown


def test_the_names_that_scripts_hold_on_to_are_there() -> None:
    names = {call.name for call in BOARD}
    assert names >= {
        "status", "list", "add", "claim", "release", "reclaim", "move", "note", "plan", "edit", "drop", "assign",
        "next", "why", "wait", "undo", "doctor", "torture",
    }  # fmt: skip
    assert {call.name for call in TEAM} >= {"round", "assign", "offer", "reclaim", "inbox"}
    for call in (*BOARD, *TEAM):
        assert {"--json", "--as", "--repo"} <= {name for param in call.params for name in param.opts}
