"""The document's reader and writer as the program of somebody else: `python foreign.py STORE WHO COUNT`.

It adds COUNT cards and as many notes to card 1, and prints the numbers that it got.
"""

from __future__ import annotations

import sys
from typing import Any

from tests.board_docs import document


def example(kind: str) -> dict[str, Any]:
    """The names that an example of the document defines."""
    names: dict[str, Any] = {"__name__": kind}
    exec(compile(document.only_block(f"python {kind}"), f"docs/board.md ({kind})", "exec"), names)
    return names


if __name__ == "__main__":
    store, label, count = sys.argv[1:]
    writer, who = example("writer"), {"id": f"x-{label}", "label": label}
    for number in range(int(count)):
        print(writer["add_card"](store, who, f"Card {number} of {label}")["id"])
        writer["add_note"](store, who, 1, f"{label} {number}")
