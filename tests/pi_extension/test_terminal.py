"""The board in Pi's own terminal, of both lines: the call, its result and the chip are drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from flask_pi_taskbar.board.identity import default_label
from flask_pi_taskbar.pi_extension import extension_path
from tests.board_cli.place import Place, Terminal
from tests.pi_extension.session import calling

pytestmark = pytest.mark.pi


def test_a_call_reads_well_and_the_chip_names_the_session(
    version: str, place: Place, pi_commands: dict[str, Path]
) -> None:
    prompt = calling(action="add", title="Rechnungen 日本語テキスト zählen")
    words = [str(pi_commands[version]), "--extension", str(extension_path()), prompt]
    with Terminal(words, place.root, place.env, columns=60) as terminal:
        terminal.until("board add Rechnungen 日本語テキスト zählen")
        terminal.until("add: #1 todo 0s")
        (record,) = place.store.roster.records()
        assert (record.mode, record.label) == ("tui", default_label(record.id))
        terminal.until(f"board: {record.label}")
