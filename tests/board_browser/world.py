"""A board with everything on it: each lane, each reason line, each kind of decision, each kind of teammate."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from flask_pi_taskbar.board.bus import Bus
from flask_pi_taskbar.board.identity import session
from tests.board_browser.place import ANN, BOB, Place

MEI = session("as:mei", "mei")


@dataclass(frozen=True)
class Full:
    """The numbers of the cards, by what they stand for."""

    reasons: dict[int, str]
    decisions: dict[str, str]
    """data-queue-row -> its kind"""


def full(place: Place) -> Full:
    """Fill the board of this place."""
    hour, day = 60, 60 * 24
    billing = place.add("Billing webhook accepts orders", MEI, paths=["src/billing", "tests/billing"], priority="high")
    place.do("claim", ANN, hour * 5, card=billing)
    waits = place.add("Retry branches merge cleanly", MEI, dependsOn=[billing])
    paths = ["src/search", "src/api", "docs/search.md"]
    search = place.add("Search answers within 200 ms on the whole catalogue", MEI, paths=paths)
    place.do("claim", BOB, hour * 2, card=search)
    place.do("plan", BOB, 100, card=search, path="docs/plans/search.md")
    both = place.add("Rate limits for the public API", MEI, dependsOn=[billing, search])
    free = place.add("Dark theme for the customer portal", MEI, priority="low")
    said = place.add("استيراد الفواتير من ملفات CSV", MEI, note="Asked for by accounting; see the contract.")
    three = place.add(
        "Invoices are numbered without gaps, also when two finish at once", MEI, dependsOn=[free, said, search]
    )
    reset = place.add("Password reset mails arrive within a minute", MEI, paths=["src/billing/mail.py"])
    place.do("claim", BOB, 90, card=reset)
    place.do("note", BOB, 60, card=reset, text="The mail relay refuses our key. Who can renew it?")
    place.do("move", BOB, 60, card=reset, status="blocked")
    parked = place.add("Upgrade to Flask 3.1", MEI)
    place.do("move", MEI, 50, card=parked, status="blocked")
    assigned = place.add("Emoji in names 👩‍👩‍👧‍👦 survive the export", MEI)
    place.do("assign", place.store.seat, hour * 3, card=assigned, label="ann")
    done = place.add('The XML tag <person> & "x" round-trips', MEI)
    place.do("claim", MEI, day * 3, card=done)
    place.do("move", MEI, day * 2, card=done, status="done")
    lost = place.add("Waits on a file that nobody can read", MEI)
    cards = Path(place.store.layout.cards)
    (cards / "40.json").write_text('{"v":1,"id":40,"title":"half a f')
    _edit(cards, lost, dependsOn=[40])
    missing = place.add("Waits on what is not there", MEI)
    _edit(cards, missing, dependsOn=[77])
    ring, other = place.add("A ring, one half", MEI), place.add("A ring, other half", MEI)
    _edit(cards, ring, dependsOn=[other])
    _edit(cards, other, dependsOn=[ring])
    nobody = place.add("Done by nobody", MEI)
    _edit(cards, nobody, status="done", finishedAt="2026-11-30T20:00:00.123Z")
    now = datetime.now(UTC)
    bus = Bus(place.store)
    bus.join(ANN, mode="rpc", cwd="/", now=now, listening=True)
    bus.join(BOB, mode="rpc", cwd="/", now=now, listening=False)
    return Full(
        reasons={
            billing: "no plan recorded",
            waits: f"waits on #{billing} (doing, ann)",
            search: "planned",
            both: f"waits on #{billing} and #{search}",
            free: "",
            said: "Asked for by accounting; see the contract.",
            three: f"waits on #{free}, #{said} and 1 more",
            reset: "The mail relay refuses our key. Who can renew it?",
            parked: "blocked, with nothing recorded",
            done: "✓ done by mei",
            lost: "waits on #40 (unreadable)",
            missing: "waits on #77 (missing)",
            nobody: "✓ done",
        },
        decisions={
            "40": "damaged",
            str(ring): "cycle",  # one row for the ring
            str(waits): "waiting",
            str(both): "waiting",
            str(search): "idle",
            str(reset): "blocked",
            str(parked): "blocked",
            str(three): "waiting",
            str(lost): "waiting",
            str(missing): "waiting",
            str(billing): "idle",
            str(assigned): "unstarted",
            str(free): "unassigned",
            str(said): "unassigned",
        },
    )


def _edit(cards: Path, number: int, **fields: object) -> None:
    """A change by hand, as an editor makes it."""
    path = next(cards.rglob(f"{number}.json"))
    path.write_text(json.dumps(json.loads(path.read_text()) | fields))
