"""`docs/board.md` taken apart: its fenced blocks, its tables, and the commands that stand in its text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs" / "board.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")

_FENCED = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")


@dataclass(frozen=True)
class Block:
    """A fenced block: the word or words behind the fence, and what is inside."""

    kind: str
    text: str


@dataclass(frozen=True)
class Step:
    """One command of a console block, and what the document says that it prints."""

    command: str
    shown: str


Row = dict[str, str]


def blocks(kind: str | None = None) -> list[Block]:
    found = [Block(fence[1], fence[2]) for fence in _FENCED.finditer(TEXT)]
    return [block for block in found if kind in (None, block.kind)]


def only_block(kind: str) -> str:
    (block,) = blocks(kind)
    return block.text


def steps() -> list[Step]:
    """Every command of the document, in its order."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append(Step(command, shown.rstrip("\n")))
    return found


def tables() -> list[list[Row]]:
    """Every table, as rows by the names of their columns."""
    found: list[list[Row]] = []
    head: list[str] | None = None
    for line in _FENCED.sub("", TEXT).splitlines():
        if not line.startswith("|"):
            head = None
            continue
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if head is None:
            head = cells
            found.append([])
        elif not all(set(cell) <= set("-: ") for cell in cells):
            found[-1].append(dict(zip(head, cells, strict=True)))
    return found


def table(*columns: str) -> list[Row]:
    """The one table with these columns."""
    (rows,) = [rows for rows in tables() if rows and tuple(rows[0]) == columns]
    return rows


def code(cell: str) -> str:
    """What stands in backquotes in a cell."""
    (found,) = _INLINE.findall(cell)
    return str(found)


def codes(cell: str) -> list[str]:
    return _INLINE.findall(cell)


def inline() -> list[str]:
    """Everything in backquotes outside the fenced blocks."""
    return _INLINE.findall(_FENCED.sub("", TEXT))
