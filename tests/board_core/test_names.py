"""Among the cards, one spelling of a number is a card, the others keep their number from being given (spec 7, 8)."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.board.names import Kind, classify


@pytest.mark.parametrize(
    ("name", "kind", "number"),
    [
        ("7.json", Kind.CARD, 7),
        ("2147483647.json", Kind.CARD, 2147483647),
        ("07.json", Kind.COPY, 7),
        ("7 (1).json", Kind.COPY, 7),
        ("7.JSON", Kind.COPY, 7),
        ("7-conflict.json", Kind.COPY, 7),
        ("7.sync-conflict-2026.json", Kind.COPY, 7),
        ("7 copy\n.json", Kind.COPY, 7),
        (".7.json.swp", Kind.OTHER, 0),
        ("7.json~", Kind.OTHER, 0),
        ("notes.txt", Kind.OTHER, 0),
        ("0.json", Kind.OTHER, 0),
        ("-7.json", Kind.OTHER, 0),
        ("٧.json", Kind.OTHER, 0),
        ("2147483648.json", Kind.OTHER, 0),
        ("7a.json", Kind.OTHER, 0),
        ("", Kind.OTHER, 0),
    ],
)
def test_a_name_says_what_a_file_is(name: str, kind: Kind, number: int) -> None:
    assert classify(name) == (kind, number)
