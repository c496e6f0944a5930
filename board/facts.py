"""The facts of a store for `doctor` and `status`: where it is, what its file system gives, and what in it is odd.

Unlike a list it may take the lock for a moment, to find out what the file system can do. It changes no card and mends
nothing.
"""

from __future__ import annotations

from datetime import datetime

from flask_pi_taskbar.board.filesystem import exists, kind_of, notice_of
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.refusal import Refusal
from flask_pi_taskbar.board.store import Store


def facts(store: Store, now: datetime) -> dict[str, object]:
    """All that is known of the store, ready for JSON; `readOnly` says why nothing can be written, if so."""
    disk, layout = store.disk, store.layout
    level: int | None = None
    trouble: str | None = None
    holder = store.holder()
    if exists(disk, layout.root):
        try:
            level = store.level(now)
        except Refusal as refusal:
            trouble = refusal.message
    board = store.read_all(now)
    kind = kind_of(layout.root)
    return {
        "path": layout.root,
        "level": level,
        "readOnly": trouble,
        "creation": None if store.creation is None else store.creation.value,
        "filesystem": kind,
        "notice": notice_of(kind),
        "bytes": store.size(),
        "cards": sum(1 for _ in board.cards()),
        "newer": [card.id for card in board.cards() if card.newer],
        "damaged": [as_json(entry) for entry in board.damaged()],
        "otherFiles": list(board.others),
        "tooOpen": layout.too_open(disk),
        "holder": None if holder is None else {"pid": holder.pid, "label": holder.label, "since": holder.since},
        "sessions": len(board.roster()),
    }
