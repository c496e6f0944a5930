"""What a page needs to know of its board: the store, the live view of it, the keys, and where it is served.

Made by whoever serves the page (alone, or inside an app) and handed to `create_page`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flask_pi_taskbar.board.live.hub import Hub
from flask_pi_taskbar.board.serving.keys import Role
from flask_pi_taskbar.board.store import Store


class KeyRing(Protocol):
    """The page's credentials, wherever they are kept."""

    @property
    def epoch(self) -> str:
        """Names this start of the page."""

    def role_of(self, key: str) -> Role | None:
        """What a key is good for."""

    def viewer_address(self) -> str:
        """The link that may be handed out."""

    def revoke(self) -> str:
        """Make the lead's key worthless, and return the new one. Raises `Refusal`."""


@dataclass(frozen=True, kw_only=True)
class PageBoard:
    """One board as a page serves it."""

    store: Store
    hub: Hub
    keys: KeyRing
    port: int | None = None
    """The one port that the page is served on; None inside an app."""
    path: str = ""
    taskbar: str = ""
    """Where the page's and the taskbar's routes are inside an app, below whatever prefix that is served at."""
    max_streams: int | None = None
    """At most so many streams at a time in this process."""

    @property
    def alone(self) -> bool:
        """The page has a server of its own."""
        return self.port is not None
