"""The snapshot that page, command line and tool render: everything drawn, worked out once on the server (spec 15).

A page server calls `build` when something has moved and sends `snapshot` to those who come and `patch` to those who
stay. A view is content alone: it holds no time of day, no revision and no reader, so that two views with the same
`content` show the same, and one built from the former (`previous`) makes anew only the rows whose cards have moved.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

import msgspec

from flask_pi_taskbar.board.decisions import IDLE_MINUTES, take_queue
from flask_pi_taskbar.board.links import graph, open_dependencies
from flask_pi_taskbar.board.model import Actor, Card, Lane
from flask_pi_taskbar.board.order import by_lane
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.radar import collisions
from flask_pi_taskbar.board.rollup import take_round
from flask_pi_taskbar.board.rows import encode_row
from flask_pi_taskbar.board.stamps import after, stamp
from flask_pi_taskbar.board.team import take_team
from flask_pi_taskbar.board.world import World

VERSION: Final = 1
QUIET_AFTER: Final = timedelta(minutes=10)
SECTIONS: Final = ("round", "queue", "team", "damaged", "radar")
"""The parts of a frame that are sent whole when anything in them has moved."""

_ENCODE: Final = msgspec.json.Encoder().encode

_Cached = tuple[Card, tuple[object, ...], bytes]


class View:
    """What a board shows, as bytes ready for frames. Built by `build`; never changed."""

    def __init__(
        self,
        seat: Actor,
        rows: dict[int, _Cached],
        order: Mapping[Lane, bytes],
        sections: Mapping[str, bytes],
        due: datetime | None,
    ) -> None:
        self.seat = seat
        self.due = due
        """When time alone changes something (a card turns idle, a teammate quiet); None if never."""
        self._rows = rows
        self._order = order
        self._sections = sections

    @property
    def rows(self) -> Mapping[int, bytes]:
        """Each card's row, as JSON."""
        return {card_id: encoded for card_id, (_, _, encoded) in self._rows.items()}

    @cached_property
    def content(self) -> bytes:
        """A digest of all that is drawn; equal digests mean that no frame is needed."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(b"\n".join([encoded for _, _, encoded in self._rows.values()]))
        for part in (*self._order.values(), *self._sections.values()):
            digest.update(b"\0%b" % part)
        return digest.digest()

    def shows_the_same(self, other: View) -> bool:
        """Whether no frame is needed between the two; quick, since rows that did not move are the same bytes."""
        return (
            self._sections == other._sections
            and self._order == other._order
            and self._rows.keys() == other._rows.keys()
            and all(cached[2] == other._rows[card_id][2] for card_id, cached in self._rows.items())
        )

    def snapshot(
        self,
        *,
        epoch: str,
        rev: int,
        now: datetime,
        can_write: bool,
        store: Mapping[str, object],
        board: Mapping[str, object] | None = None,
    ) -> bytes:
        """The whole board as the JSON of a `snapshot` frame. Only `can` differs between lead and viewer.

        `store` says how the files are, `board` whose board this is and where its page is served.
        """
        head = {
            "v": VERSION,
            "epoch": epoch,
            "rev": rev,
            "digest": self.content.hex(),
            "now": stamp(now),
            "can": {"write": can_write},
            "seat": {"id": self.seat.id, "label": self.seat.label},
            "store": dict(store),
            "board": dict(board or {}),
        }
        rows = _rows_json((card_id, encoded) for card_id, (_, _, encoded) in self._rows.items())
        return _joined(head, {"rows": rows, "order": _order_json(self._order)} | dict(self._sections))

    def patch(
        self, before: View, *, from_rev: int, to_rev: int, now: datetime, store: Mapping[str, object] | None = None
    ) -> bytes:
        """What leads from `before` to this view, as the JSON of a `patch` frame: rows that moved, ids that are gone,
        lanes whose order moved, and the sections that moved."""
        old = before._rows
        moved = [
            (card_id, encoded)
            for card_id, (_, _, encoded) in self._rows.items()
            if (known := old.get(card_id)) is None or known[2] != encoded
        ]
        lanes = {lane: ids for lane, ids in self._order.items() if before._order[lane] != ids}
        head: dict[str, object] = {"from": from_rev, "to": to_rev, "digest": self.content.hex(), "now": stamp(now)}
        head["gone"] = [card_id for card_id in old if card_id not in self._rows]
        if store is not None:
            head["store"] = dict(store)
        sections = {name: part for name, part in self._sections.items() if before._sections[name] != part}
        return _joined(head, {"rows": _rows_json(moved), "order": _order_json(lanes)} | sections)


def build(
    world: World,
    seat: Actor,
    now: datetime,
    *,
    idle_minutes: int = IDLE_MINUTES,
    changed: Mapping[int, Iterable[str]] | None = None,
    previous: View | None = None,
) -> View:
    """The view of a board at a moment. `changed`: the files that a card's worktree has changed, for the radar.

    Rows of cards that did not move since `previous` (the same object, waiting for the same) are taken from it; all else
    is counted anew, in time linear in the cards.
    """
    known = previous._rows if previous is not None and previous.seat == seat else {}
    cards = sorted(world.cards(), key=lambda card: card.id)
    rows: dict[int, _Cached] = {}
    for card in cards:
        waits_on = open_dependencies(card, world) if card.depends_on else ()
        state = tuple(map(world.get, waits_on)) if waits_on else ()
        cached = known.get(card.id)
        if cached is None or cached[0] is not card or not _same(cached[1], state):
            cached = (card, state, encode_row(card, waits_on, seat.id, world))
        rows[card.id] = cached
    queue = take_queue(world, graph(cards), now, idle_minutes)
    lines = [msgspec.to_builtins(row) for row in queue.rows]
    if queue.in_progress:
        lines.append({"kind": "in_progress", "count": len(queue.in_progress), "cards": queue.in_progress[:50]})
    order = {lane: _ENCODE([card.id for card in inside]) for lane, inside in by_lane(cards, now).items()}
    sections = {
        "round": _ENCODE(take_round(world, now, idle_minutes)),
        "queue": _ENCODE(lines),
        "team": _ENCODE(take_team(world, seat=seat)),
        "damaged": _ENCODE([as_json(entry) for entry in sorted(world.damaged(), key=lambda entry: entry.name)]),
        "radar": _ENCODE(collisions(cards, changed)),
    }
    times = [after(session.heartbeat_at, QUIET_AFTER) for session in world.roster() if session.live]
    due = min([at for at in (queue.due, *times) if at is not None and at > now], default=None)
    return View(seat, rows, order, sections, due)


def _same(before: tuple[object, ...], after: tuple[object, ...]) -> bool:
    return len(before) == len(after) and all(one is other for one, other in zip(before, after, strict=True))


def _rows_json(rows: Iterable[tuple[int, bytes]]) -> bytes:
    return b"{%b}" % b",".join([b'"%d":%b' % row for row in rows])


def _order_json(order: Mapping[Lane, bytes]) -> bytes:
    return b"{%b}" % b",".join([b'"%b":%b' % (lane.encode(), ids) for lane, ids in order.items()])


def _joined(head: Mapping[str, object], parts: Mapping[str, bytes]) -> bytes:
    """One JSON object of values to encode and values that are encoded already."""
    encoded = [b'"%b":%b' % (name.encode(), part) for name, part in parts.items()]
    return b"%b,%b}" % (_ENCODE(head)[:-1], b",".join(encoded))
