"""The command line's own repository serves here too."""

from __future__ import annotations

from tests.board_cli.conftest import place

__all__ = ["place"]
