"""`docs/board-page.md` names the options, keys, settings and words that there are."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import msgspec

from flask_pi_taskbar.board.note import PageNote
from flask_pi_taskbar.board.text import one_line
from flask_pi_taskbar.commands import usage
from flask_pi_taskbar.commands.board import CALLS
from flask_pi_taskbar.page.alone import Limits
from flask_pi_taskbar.settings import PREFIX, PYPROJECT_TABLE, Settings
from tests.board_docs import document

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "board-page.md").read_text(encoding="utf-8")


def rows(head: str) -> list[list[str]]:
    """The table that begins with this line."""
    lines = TEXT[TEXT.index(head) :].splitlines()[2:]
    table = []
    for line in lines:
        if not line.startswith("|"):
            break
        table.append([cell.strip() for cell in line[1:-1].split("|")])
    return table


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def test_its_options_are_those_of_the_command() -> None:
    (call,) = [call for call in CALLS if call.name == "open"]
    common = {option for parameter in usage.common() for option in parameter.opts}
    real = {option for parameter in call.params for option in parameter.opts} - common
    told = {name.split()[0] for row in rows("| Option |") for name in quoted(row[0])}
    assert told - {"--json"} == real


def test_its_keys_are_those_of_the_sheet() -> None:
    source = (ROOT / "static" / "board" / "keys.js").read_text(encoding="utf-8")
    table = source[source.index("export const KEYS") : source.index("];")]
    sheet = [re.findall(r'"([^"]+)"', found) for found in re.findall(r"keys: \[([^\]]*)\]", table)]
    assert sorted(quoted(row[0]) for row in rows("| Key |")) == sorted(sheet)


def test_its_settings_have_the_defaults_that_it_names() -> None:
    defaults = {field.name: field.default for field in fields(Settings)}
    for name, default, _ in rows("| Setting |"):
        (setting,) = quoted(name)
        assert str(defaults[setting]) == default.replace("none", "None")
    assert f"[tool.{PYPROJECT_TABLE}]" in TEXT
    assert f"{PREFIX}BOARD_PORT" in TEXT


def test_it_says_how_long_a_page_lives() -> None:
    assert (Limits().left, Limits().unopened) == (60, 300)
    assert "a minute after its last tab, or five minutes after its start" in one_line(TEXT)


def test_the_note_of_the_format_is_the_one_that_is_written() -> None:
    shown = document.only_block("json page").encode()
    note = msgspec.json.decode(shown, type=PageNote)
    assert msgspec.json.format(msgspec.json.encode(note), indent=1) == shown.rstrip()
