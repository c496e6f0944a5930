"""What Pi loads: `board.js`, one file for every supported line of Pi. Here is only the way to find it."""

from __future__ import annotations

from pathlib import Path


def extension_path() -> Path:
    """The file to give to `pi --extension`, or to link into a folder of extensions."""
    return Path(__file__).with_name("board.js")
