"""Which cards in flight touch the same files: a warning, never a lock (spec 19).

Two cards collide where a path hint of one is, or contains, a path hint of the other, or a file that the other's
worktree has changed (the caller passes those in). Cards of one holder never collide. The cost is one look-up for each
part of each path; of a path that many name, the first few are enough to warn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from flask_pi_taskbar.board.model import Card, Lane

MAX_SHOWN = 20


class Collision(Struct, frozen=True):
    """Two cards in flight, and the innermost path that both name."""

    cards: tuple[int, int]
    path: str


def collisions(cards: Iterable[Card], changed: Mapping[int, Iterable[str]] | None = None) -> Sequence[Collision]:
    """The collisions among cards that somebody works on, at most 20, lowest ids first."""
    flying = {card.id: card for card in cards if card.owner is not None and card.status in {Lane.DOING, Lane.BLOCKED}}
    named: dict[str, list[int]] = {}
    for card in flying.values():
        for path in {_plain(path) for path in (*card.paths, *((changed or {}).get(card.id, ())))}:
            holders = named.setdefault(path, [])
            if len(holders) < MAX_SHOWN:
                holders.append(card.id)
    found: dict[tuple[int, int], str] = {}
    for path, inside in named.items():
        for outer in _itself_and_parents(path):
            for one in named.get(outer, ()):
                for other in inside:
                    pair = (min(one, other), max(one, other))
                    if _apart(flying[one], flying[other]) and len(found.get(pair, "")) <= len(path):
                        found[pair] = path
    return [Collision(pair, path) for pair, path in sorted(found.items())[:MAX_SHOWN]]


def _apart(one: Card, other: Card) -> bool:
    return one.owner is not None and other.owner is not None and one.owner.id != other.owner.id


def _plain(path: str) -> str:
    return path.removeprefix("./").rstrip("/")


def _itself_and_parents(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts), 0, -1)]
