"""What we say in the developer's terminal: each thing once, and never what a page or a prompt contains.

Every room of the Flask side speaks through one `Notices` of its app, under the logger `flask_pi_taskbar`.
"""

from __future__ import annotations

import logging
from typing import Final

LOGGER: Final = logging.getLogger("flask_pi_taskbar")


class Notices:
    """The notices of one app. A key is said once for the life of the process."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def once(self, key: str, message: str, *values: object) -> None:
        """Log `message` unless `key` has been said. Two threads may say it at the same moment; that is all right."""
        if key not in self._said:
            self._said.add(key)
            # `logging.config.dictConfig` disables by default every logger that exists already, ours among them, without
            # anybody having meant it. Who wants us silent sets a level.
            LOGGER.disabled = False
            LOGGER.warning(f"pi-taskbar: {message}", *values)
