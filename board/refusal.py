"""How the board says no: one exception with a stable code, a sentence that says what to do, and what is true instead.

Rules, store, page, CLI and tool raise and render it. The table of codes with their HTTP status and exit code is the
only one there is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from flask_pi_taskbar.board.model import Entry
from flask_pi_taskbar.board.plain import as_json

Call = dict[str, object]
"""A call that would be accepted now: `action`, its fields, and perhaps `why`."""


class Code(StrEnum):
    """A refusal's code; the member is the wire word itself."""

    http: int
    exit: int

    def __new__(cls, code: str, http: int, exit_code: int) -> Code:
        member = str.__new__(cls, code)
        member._value_ = code
        member.http = http
        member.exit = exit_code
        return member

    BAD_FIELD = "bad_field", 422, 2
    TOO_LONG = "too_long", 422, 2
    NOTHING_TO_DO = "nothing_to_do", 422, 2
    UNKNOWN_ACTION = "unknown_action", 422, 2
    HELD = "held", 409, 3
    NOT_HOLDER = "not_holder", 409, 3
    NOT_HELD = "not_held", 409, 3
    WRONG_LANE = "wrong_lane", 409, 3
    WAITING = "waiting", 409, 3
    FINISHED = "finished", 409, 3
    STALE = "stale", 409, 3
    WAITED_ON = "waited_on", 409, 3
    CYCLE = "cycle", 409, 3
    SELF = "self", 409, 3
    KEY_REUSED = "key_reused", 409, 3
    CARD_FULL = "card_full", 409, 3
    NO_SUCH_TEAMMATE = "no_such_teammate", 409, 3
    AMBIGUOUS = "ambiguous", 409, 3
    NO_SUCH_CARD = "no_such_card", 404, 4
    BUSY = "busy", 503, 5
    DAMAGED = "damaged", 409, 6
    NEWER = "newer", 409, 6
    READ_ONLY = "read_only", 403, 7
    NO_TOKEN = "no_token", 401, 7
    WRONG_HOST = "wrong_host", 403, 7
    CROSS_SITE = "cross_site", 403, 7
    STORE_UNWRITABLE = "store_unwritable", 507, 8


class Refusal(Exception):  # noqa: N818  (an answer, not a fault)
    """A call that was not accepted; nothing was changed.

    `card` is the card (or damaged file) as it was read for the decision, None if there is none. `next` holds at most
    three calls that the rules would accept now. `retry` says that the very same call may be accepted a moment later.
    """

    def __init__(
        self,
        code: Code,
        message: str,
        *,
        action: str | None = None,
        card: Entry | None = None,
        details: Mapping[str, object] | None = None,
        next: Sequence[Call] = (),  # noqa: A002  (the wire's word)
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.action = action
        self.card = card
        self.details: dict[str, object] = dict(details or {})
        self.next: tuple[Call, ...] = tuple(next)

    @property
    def retry(self) -> bool:
        """Whether the same call may be accepted a moment later."""
        return self.code is Code.BUSY

    def __str__(self) -> str:
        return self.message

    def as_dict(self) -> dict[str, object]:
        """The refusal as page, CLI and tool answer it (spec 6.2)."""
        answer: dict[str, object] = {
            "ok": False,
            "action": self.action,
            "code": self.code.value,
            "message": self.message,
        }
        if self.card is not None:
            answer["card"] = as_json(self.card)
        return answer | {"details": self.details, "next": list(self.next), "retry": self.retry}
