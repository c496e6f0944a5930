"""Every command of the document does what the document shows."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import click
import pytest

from flask_pi_taskbar.board.card import parse
from flask_pi_taskbar.board.model import Card
from flask_pi_taskbar.cli import group
from tests.board_cli.conftest import make_repository
from tests.board_cli.place import SCRIPT, Terminal
from tests.board_docs import document

COLUMNS = 100
MARK = "\x01"
ANYTHING = "…"

# What differs between two runs, and one value for it: moments, ages, sizes, hosts, keys of folders.
VARYING = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"), "2026-11-30T20:00:00.123Z"),
    (re.compile(r"\b\d+[sm]\b"), "0s"),
    (re.compile(r"\b\d+ (?:bytes|KB)"), "4 KB"),
    (re.compile(r"u-\d+@[\w.-]+, shown as agent-[a-z]+-[a-z]+"), "u-1000@host, shown as agent-amber-harbor"),
    (re.compile(r"\bshop-[0-9a-f]{12}"), "shop-59e6e4de8d35"),
    (re.compile(r" +"), " "),
)


def settled(text: str, home: Path | None = None) -> str:
    if home is not None:
        text = text.replace(str(home), "~")
    for pattern, plain in VARYING:
        text = pattern.sub(plain, text)
    return "\n".join(line.rstrip() for line in text.strip("\n").splitlines())


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a repository `shop`, and the programs that a reader of the document has."""
    make_repository(tmp_path / "shop")
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, words in {"pi-taskbar": SCRIPT, "python3": [sys.executable]}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (programs / name).chmod(0o755)
    return tmp_path


def printed_by_all(home: Path) -> list[str]:
    """What each command of the document prints, all typed into one shell."""
    script = home / "script"
    lines = [f"{step.command}\nstatus=$?; printf '\\n{MARK}'; (exit $status)" for step in document.steps()]
    script.write_text("\n".join(lines) + "\n")
    env = {name: value for name, value in os.environ.items() if not name.startswith("PI_")}
    env |= {"HOME": str(home), "PATH": f"{home / 'bin'}:{env['PATH']}", "NO_COLOR": "1", "LC_ALL": "C.UTF-8"}
    with Terminal([shutil.which("bash") or "/bin/bash", str(script)], home, env, COLUMNS) as terminal:
        shown = terminal.rest()
    *parts, rest = shown.split(MARK)
    assert not rest.strip()
    return parts


def fits(shown: Any, real: Any) -> bool:
    """Whether a sample tells of this value: equal, but for what is left out (`…`)."""
    if shown == ANYTHING:
        return True
    if isinstance(shown, dict) and isinstance(real, dict):
        return list(shown) == list(real) and all(fits(shown[name], real[name]) for name in shown)
    if isinstance(shown, list) and isinstance(real, list):
        return len(shown) == len(real) and all(map(fits, shown, real))
    return type(shown) is type(real) and shown == real


def agrees(shown: str, real: str) -> bool:
    if shown.startswith("{"):
        return real.startswith("{") and fits(json.loads(settled(shown)), json.loads(real))
    return settled(shown) == real


def test_every_command_of_the_document_prints_what_the_document_shows(home: Path) -> None:
    parts = printed_by_all(home)
    assert len(parts) == len(document.steps()) > 50
    said = [(step, settled(part, home)) for step, part in zip(document.steps(), parts, strict=True)]
    wrong = [f"$ {step.command}\n{real}" for step, real in said if not agrees(step.shown, real)]
    assert not wrong, "\n".join(wrong)


def test_what_can_vary_between_two_runs_hides_no_difference_of_words() -> None:
    assert settled("#4  12s  One") == settled("#4 0s One")
    assert settled("#4 0s One") != settled("#5 0s One")
    assert fits({"a": "…", "b": [1, "…"]}, {"a": 3, "b": [1, 2]})
    assert not fits({"a": 1}, {"a": 1, "b": 2})
    assert not fits({"a": 1}, {"a": True})
    assert not fits({"a": [1]}, {"a": [1, 2]})


def samples_of_cards() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for step in document.steps():
        if step.shown.startswith("{"):
            answer = json.loads(step.shown)
            found += [card for card in [answer.get("card"), *answer.get("cards", [])] if isinstance(card, dict)]
    return found


def test_every_card_that_a_sample_shows_is_a_card() -> None:
    cards = samples_of_cards()
    assert len(cards) >= 2
    for shown in cards:
        plain = {name: value for name, value in shown.items() if value != ANYTHING and value is not None}
        entry = parse(json.dumps(plain).encode(), shown["id"])
        assert isinstance(entry, Card)
        assert not entry.repaired


def test_every_command_in_the_text_exists_with_its_options() -> None:
    named = [shlex.split(text) for text in document.inline() if text.startswith("pi-taskbar ")]
    assert len(named) > 10
    for words in named:
        command: click.Command = group
        context = click.Context(group)
        rest = words[1:]
        while rest and isinstance(command, click.Group) and not rest[0].startswith("-"):
            found = command.get_command(context, rest.pop(0))
            assert found is not None, words
            command = found
        options = {name for param in command.params for name in param.opts} | {"--help"}
        assert {word for word in rest if word.startswith("--")} <= options, words


def test_every_block_is_of_a_kind_that_a_test_looks_at() -> None:
    kinds = {"console", "json card", "json journal", "json session", "json letter", "json page"}
    kinds |= {"python reader", "python writer"}
    assert {block.kind for block in document.blocks()} == kinds


def test_every_link_inside_the_document_leads_to_a_heading() -> None:
    headings = re.findall(r"^#+ (.+)$", document.TEXT, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", document.TEXT)) <= anchors
