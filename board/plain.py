"""Cards as plain JSON values, in the order in which the format lists the fields.

Files, answers and refusals are made from this one form. Unknown fields of the file stand behind the known ones.
"""

from __future__ import annotations

from flask_pi_taskbar.board.model import Card, Entry, Note, Who


def as_json(entry: Entry) -> dict[str, object]:
    """A card, or a damaged file, as answers carry it."""
    if not isinstance(entry, Card):
        return {
            "damaged": True,
            "id": entry.id,
            "name": entry.name,
            "why": entry.why,
            "size": entry.size,
            "mtime": entry.mtime,
            "head": entry.head,
        }
    return {
        "v": entry.v,
        "id": entry.id,
        "rev": entry.rev,
        "title": entry.title,
        "status": entry.status.value,
        "priority": entry.priority.value,
        "paths": list(entry.paths),
        "dependsOn": list(entry.depends_on),
        "plan": entry.plan,
        "owner": who_json(entry.owner),
        "createdAt": entry.created_at,
        "createdBy": who_json(entry.created_by),
        "touchedAt": entry.touched_at,
        "heldTouchedAt": entry.held_touched_at,
        "claimedAt": entry.claimed_at,
        "finishedAt": entry.finished_at,
        "notes": [note_json(note) for note in entry.notes],
        "key": entry.key,
    } | dict(entry.unknown)


def who_json(who: Who | None) -> dict[str, object] | None:
    """Whoever did something, or nobody."""
    return None if who is None else {"id": who.id, "label": who.label} | dict(who.unknown)


def note_json(note: Note) -> dict[str, object]:
    """One entry of the history; `via` stands only where it says something."""
    plain: dict[str, object] = {
        "n": note.n,
        "at": note.at,
        "by": who_json(note.by),
        "kind": note.kind.value,
        "text": note.text,
    }
    if note.via is not None:
        plain["via"] = note.via
    return plain | dict(note.unknown)
