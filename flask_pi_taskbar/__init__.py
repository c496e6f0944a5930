"""A Pi taskbar for Flask apps in development.

`PiTaskbar` is loaded on first use, so that the broker, the command line and every other process that only needs a
part of the package never import Flask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flask_pi_taskbar.version import __version__

if TYPE_CHECKING:
    from flask_pi_taskbar.extension import PiTaskbar

__all__ = ["PiTaskbar", "__version__"]


def __getattr__(name: str) -> object:
    if name == "PiTaskbar":
        from flask_pi_taskbar.extension import PiTaskbar

        return PiTaskbar
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
