"""The two credentials of a page: the lead's, which writes, and the viewer's, which reads.

Both are 128 random bits, new whenever a page starts, and live in memory only; the viewer's also stands in the page's
note. They travel in an address's fragment and in a header, so that no server, proxy or referrer records them.
"""

from __future__ import annotations

import hmac
import secrets
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import replace

KEY_BYTES = 16


class Role(StrEnum):
    """What a credential is good for."""

    LEAD = "lead"
    VIEWER = "viewer"


class Keys(Struct, frozen=True):
    """The credentials of one page."""

    lead: str
    viewer: str

    @classmethod
    def new(cls) -> Keys:
        return cls(_key(), _key())

    def revoked(self) -> Keys:
        """The same with another lead: whoever has the old one has nothing any more. Viewers stay."""
        return replace(self, lead=_key())

    def role_of(self, key: str) -> Role | None:
        """What `key` is good for, found out in a time that does not tell how much of it is right."""
        given = key.encode("utf-8", "surrogatepass")
        lead = hmac.compare_digest(given, self.lead.encode())
        viewer = hmac.compare_digest(given, self.viewer.encode())
        return Role.LEAD if lead else Role.VIEWER if viewer else None


def _key() -> str:
    return secrets.token_hex(KEY_BYTES)
