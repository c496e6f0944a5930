"""`wait`: the question about one card that is answered only when the card has moved.

Command line and tool ask it. It sleeps between looks at one file, so that an agent need not poll; it takes no lock and
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final

from flask_pi_taskbar.board import wording
from flask_pi_taskbar.board.model import Actor, Card, Entry, Lane
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.ranking import claimable
from flask_pi_taskbar.board.refusal import Code, Refusal
from flask_pi_taskbar.board.request import Action, Request, read_request
from flask_pi_taskbar.board.store import Store

LOOK_SECONDS: Final = 0.1
"""A tenth of a second is at once for whoever waits, and ten looks at one file in a second cost nothing."""


def wait(
    store: Store,
    fields: Mapping[str, object],
    actor: Actor,
    *,
    now: Callable[[], datetime],
    seconds: float | None = None,
) -> dict[str, object]:
    """Return when the card is as `until` says (done, if it is not given). Raises `Refusal`, also after `seconds`."""
    request = read_request(Action.WAIT, fields)
    until = request.until or Lane.DONE.value
    started = store.clock.monotonic()
    first: Entry | None = None
    looks = 0
    while True:
        world = store.live(now())
        entry = world.get(request.number)
        first, looks = (entry, 1) if looks == 0 else (first, looks + 1)
        arrived = entry is None if until == "gone" else entry != first if until == "changed" else False
        if not arrived and entry is None:
            raise _gone(request)
        if not arrived and isinstance(entry, Card) and until not in {"gone", "changed"}:
            arrived = claimable(entry, actor.id, world) if until == "claimable" else entry.lane == until
            if not arrived and entry.lane is Lane.DONE:
                message = f"#{entry.id} is done, and done is where a card stays; it will not be {until} again."
                raise Refusal(Code.FINISHED, message, action=request.action, card=entry)
        waited = store.clock.monotonic() - started
        if arrived:
            answer: dict[str, object] = {"ok": True, "action": "wait", "until": until, "seconds": round(waited, 3)}
            return answer | ({} if entry is None else {"card": as_json(entry)})
        if seconds is not None and waited >= seconds:
            state = wording.place(entry) if isinstance(entry, Card) else "unreadable"
            message = f"#{request.number} is still {state} after {waited:.0f} s of waiting until {until}."
            details = {"until": until, "seconds": round(waited, 3)}
            raise Refusal(Code.WAITING, message, action=request.action, card=entry, details=details)
        store.clock.sleep(LOOK_SECONDS if seconds is None else min(LOOK_SECONDS, max(0.001, seconds - waited)))


def _gone(request: Request) -> Refusal:
    message = f"There is no #{request.number}; list shows the cards that there are."
    return Refusal(Code.NO_SUCH_CARD, message, action=request.action, details={"card": request.number})
