"""The theme: every role in both, and the same dark for who chose it and for who has it from the system."""

from __future__ import annotations

import re
from pathlib import Path

THEME = Path(__file__).parents[2] / "static" / "board" / "theme.css"


def test_the_dark_theme_is_one_however_it_is_come_by() -> None:
    blocks = re.findall(r"\{([^{}]*--page[^{}]*)\}", THEME.read_text())
    light, system, chosen = (dict(re.findall(r"(--[\w-]+):\s*([^;]+);", block)) for block in blocks)
    assert system == chosen
    assert {name for name in light if name in system} == set(system)
    assert {name for name, value in light.items() if "#" in value or "rgb" in value} == set(system)
