"""The file on its own in Node: what it registers, held to the board's actions, and what it draws."""

from __future__ import annotations

import json
import shlex
import subprocess
import unicodedata
from pathlib import Path
from typing import Any

import pytest

from flask_pi_taskbar.board.model import Lane, Priority
from flask_pi_taskbar.board.request import FIELDS, UNTIL_OTHER, Action
from flask_pi_taskbar.commands.tool import TEAM
from flask_pi_taskbar.pi_extension import extension_path
from tests.board_cli.place import Place
from tests.support import pi_lines

pytestmark = pytest.mark.pi

FOR_THE_PAGE = {"base"}
LOAD = """
const tools = [], commands = [], events = [];
const { default: load } = await import(process.argv[1]);
load({ registerTool: (t) => tools.push(t), registerCommand: (n) => commands.push(n), on: (n) => events.push(n) });
const [tool] = tools;
const say = (value) => console.log(JSON.stringify(value));
"""


def node(script: str, *arguments: str) -> Any:
    """What a script prints, after the extension was loaded into a Pi that only takes notes."""
    command = pi_lines.command(pi_lines.NEW_LINE.version)
    assert command is not None
    program = shlex.split(command.read_text().splitlines()[1])[1]
    done = subprocess.run(
        [program, "--no-warnings", "--input-type=module", "-e", LOAD + script, str(extension_path()), *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_tool_has_the_boards_actions_and_fields_and_no_others() -> None:
    schema = node("say(tool.parameters)")
    fields = schema["properties"]
    assert schema["required"] == ["action"]
    assert sorted(fields["action"]["enum"]) == sorted({*Action, *TEAM.values()})
    known = {name for needed, optional in FIELDS.values() for name in (*needed.split(), *optional.split())}
    assert set(fields) == (known - FOR_THE_PAGE) | {"action", "seconds"}
    assert fields["status"]["enum"] == list(Lane)
    assert fields["priority"]["enum"] == list(Priority)
    assert fields["until"]["enum"] == [*Lane, *UNTIL_OTHER]
    for action in fields["action"]["enum"]:
        assert f"{action}:" in fields["action"]["description"]


def test_the_tool_runs_alone_and_tells_what_it_may_do() -> None:
    hints = {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}
    assert node("say([tool.name, tool.executionMode, tool.annotations, commands])") == [
        "board", "sequential", hints, ["board", "team"],
    ]  # fmt: skip


def test_it_imports_nothing_of_pis() -> None:
    imported = [line for line in extension_path().read_text().splitlines() if line.startswith("import ")]
    assert imported
    assert all('from "node:' in line for line in imported)


PREPARED = [
    ({"action": "claim", "card": 4}, {"action": "claim", "card": "4"}),
    ({"action": "edit", "dependsOn": [1, "#2"]}, {"action": "edit", "dependsOn": ["1", "#2"]}),
    ({"action": "list", "status": None}, {"action": "list"}),
    ({"action": "finish"}, {"action": "list", "asked": {"action": "finish"}}),
    ({"action": "drop", "card": 4.5}, {"action": "drop", "asked": {"action": "drop", "card": 4.5}}),
    ({}, {"action": "list", "asked": {}}),
    ("claim 4", {"action": "list", "asked": {}}),
]  # fmt: skip


@pytest.mark.parametrize(("given", "becomes"), PREPARED, ids=str)
def test_what_does_not_fit_the_schema_reaches_the_board_as_it_was_asked(given: object, becomes: object) -> None:
    """And a guard of tools sees the action that will be done, never a milder one."""
    assert node("say(tool.prepareArguments(JSON.parse(process.argv[2])))", json.dumps(given)) == becomes


def test_no_line_that_it_draws_is_wider_than_the_terminal(tmp_path: Path) -> None:
    title = "Überweisung 日本語テキスト 👩‍🚀 \u001b[31mred\u0007 \t e\u0301 " * 5
    script = """
    const theme = { fg: (colour, words) => { if (colour === "toolTitle") return words; throw new Error(colour); } };
    const [title] = JSON.parse(process.argv[2]);
    const result = { content: [{ type: "text", text: Array(20).fill(title).join("\\n") }], details: { ok: true } };
    const out = {};
    for (const width of [1, 2, 10, 40, 80, 200]) {
        out[width] = [
            ...tool.renderCall({ action: "add", title }, theme, {}).render(width),
            ...tool.renderResult(result, { expanded: false }, theme, {}).render(width),
        ];
    }
    out.open = tool.renderResult(result, { expanded: true }, theme, {}).render(80);
    out.empty = tool.renderCall(undefined, theme, {}).render(80);
    say(out);
    """
    drawn = node(script, json.dumps([title]))
    assert (len(drawn.pop("open")), drawn.pop("empty")) == (20, ["board …"])
    for width, lines in drawn.items():
        assert len(lines) == 14
        assert all(columns(line) <= max(2, int(width)) for line in lines)
        assert not any(unicodedata.category(letter) == "Cc" for line in lines for letter in line)
    assert drawn["200"][0].startswith("board add Überweisung 日本語")
    assert drawn["200"][-1] == "… 8 more lines"


def columns(text: str) -> int:
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def test_the_command_line_says_where_it_is(place: Place) -> None:
    assert place.run("pi-extension").out == f"{extension_path()}\n"
    assert place.run("pi-extension", "--json").data == {"ok": True, "path": str(extension_path())}
