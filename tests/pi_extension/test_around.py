"""What people type, and what happens where the board cannot be had: Pi itself goes on, and says what to do."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from flask_pi_taskbar.board.identity import default_label
from flask_pi_taskbar.pi_extension import extension_path
from tests.board_cli.place import SCRIPT, Place
from tests.pi_extension.conftest import Start
from tests.pi_extension.session import words

if TYPE_CHECKING:
    from examples.model_server import ModelServer

pytestmark = pytest.mark.pi

SYSTEM_PATH = "/usr/bin:/bin"


def test_people_have_commands_and_none_of_them_reaches_the_model(
    start: Start, place: Place, model: ModelServer
) -> None:
    place.do("add", title="T")
    pi = start()
    for typed, level, said in (
        ("/board status", "info", f"you have not joined (you would be {default_label(pi.id)})"),
        ("/team", "info", "0 owners · 1 feature · 1 unassigned"),
        ("/board stop", "error", "No page is served."),
        ("/board nonsense", "error", "There is no /board nonsense"),
    ):
        (notice,) = pi.typed(typed)
        assert (notice["notifyType"], said in notice["message"]) == (level, True), notice
    assert model.count == 0


@pytest.mark.parametrize("names", ["board", "other, pi-taskbar"])
def test_it_can_be_switched_off(start: Start, model: ModelServer, names: str) -> None:
    pi = start(PI_DISABLED_EXTENSIONS=names)
    pi.prompt("SCENE:text hello")
    assert "board" not in model.requests[-1].ask.tools
    assert pi.chip() is None


def test_others_names_switch_nothing_off(start: Start, model: ModelServer) -> None:
    start(PI_DISABLED_EXTENSIONS="boards,session-bus,").prompt("SCENE:text hello")
    assert "board" in model.requests[-1].ask.tools


def test_a_named_command_may_have_arguments(start: Start) -> None:
    pi = start(PI_TASKBAR_COMMAND=json.dumps(SCRIPT), PATH=SYSTEM_PATH)
    assert words(pi.tool(action="add", title="T")).startswith("add: #1 todo")


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("", "Install it (pip install flask-pi-taskbar) or set PI_TASKBAR_COMMAND"),
        ("/nowhere/pi-taskbar", "PI_TASKBAR_COMMAND names no program: /nowhere/pi-taskbar"),
        ("false", "The board's helper gave no answer"),
    ],
)
def test_without_its_command_it_says_what_to_do_and_pi_goes_on(start: Start, named: str, said: str) -> None:
    pi = start(PI_TASKBAR_COMMAND=named, PATH=SYSTEM_PATH)
    end = pi.tool(action="list")
    assert end["isError"] is True
    assert said in words(end)
    (notice,) = pi.typed("/board status")
    assert notice["notifyType"] == "error"
    assert pi.tool(action="list")["isError"] is True


def test_a_command_that_answers_something_else_is_no_board(start: Start) -> None:
    pi = start(PI_TASKBAR_COMMAND=json.dumps(["sh", "-c", "read line; echo hello"]))
    for _ in range(2):
        assert "said something else than an answer: hello" in words(pi.tool(action="list"))


def test_loaded_twice_it_is_there_once(start: Start, model: ModelServer, tmp_path: Path) -> None:
    copy = tmp_path / "copy.js"
    shutil.copy(extension_path(), copy)
    pi = start("--extension", str(copy))
    assert pi.tool(action="add", title="T")["isError"] is False
    assert model.requests[-1].ask.tools.count("board") == 1
    assert pi.command("new_session")["success"]
    assert pi.tool(action="add", title="Another")["isError"] is False


def test_a_board_that_cannot_be_written_is_an_answer(start: Start, place: Place) -> None:
    (place.agent / "pi-taskbar").write_text("in the way")
    end = start().tool(action="add", title="T")
    assert (end["isError"], end["result"]["details"]["code"]) == (True, "store_unwritable")
