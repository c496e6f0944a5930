"""A card's file: bytes to card and back.

The store calls `parse` for every file it reads and `serialize` for every card it writes; neither touches a disk. A file
as we write it takes the quick way, one typed decoding; whatever differs (unknown fields, a newer version, a hand's
mistake, an enemy's) goes to `repair`, which never raises.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final
from unicodedata import is_normalized

import msgspec

from flask_pi_taskbar.board import repair
from flask_pi_taskbar.board.model import MAX_FILE_BYTES, VERSION, Card, Damaged, Kept
from flask_pi_taskbar.board.plain import as_json
from flask_pi_taskbar.board.stamps import Stamp, well_formed
from flask_pi_taskbar.board.text import is_clean_line, is_key

_DECODER: Final = msgspec.json.Decoder(Card)
_ANYTHING: Final = msgspec.json.Decoder()
RAW: Final = "x-was"
"""The unknown field in which a rewrite keeps the raw values that could not be used."""


def parse(data: bytes, file_id: int, mtime: Stamp | None = None, *, limit: int = MAX_FILE_BYTES) -> Card | Damaged:
    """The card in the file `<file_id>.json`, or why it cannot be shown as one. Never raises.

    `mtime` stands in for the times of a file that gives none (one written by hand). What is larger than `limit` is no
    card.
    """
    if len(data) <= limit:
        try:
            card = _DECODER.decode(data)
        except (ValueError, RecursionError):  # every decoding error is a ValueError
            pass
        else:
            if card.id == file_id and card.v == VERSION and _as_written(card, data):
                return card
        card_with_unknown = _with_unknown_fields(data, file_id)
        if card_with_unknown is not None:
            return card_with_unknown
    return repair.read(data, file_id, mtime, limit)


def _with_unknown_fields(data: bytes, file_id: int) -> Card | None:
    """The card, if all that is unusual about it are fields that this version does not know."""
    try:
        raw = _ANYTHING.decode(data)
        if not isinstance(raw, dict) or raw.get("id") != file_id:
            return None
        unknown = {name: raw.pop(name) for name in raw.keys() - repair.CARD_FIELDS}
        card = msgspec.convert(raw, Card)
    except (ValueError, RecursionError):
        return None
    if not unknown or card.v != VERSION or not _as_written(card, data):
        return None
    return msgspec.structs.replace(card, kept=Kept(unknown))


def serialize(card: Card) -> bytes:
    """The card's file: sorted keys, one space of indent, a final line feed."""
    plain = as_json(with_raw_kept(card))
    compact = json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))  # takes integers of any size
    return msgspec.json.format(compact.encode(), indent=1) + b"\n"


def with_raw_kept(card: Card) -> Card:
    """The card with what was repaired on reading moved under the unknown field `x-was`, as an accepted write does."""
    if isinstance(card.kept, msgspec.UnsetType) or not card.kept.was:
        return card
    earlier = card.unknown.get(RAW)
    if not isinstance(earlier, dict):
        earlier = {} if earlier is None else {RAW: earlier}
    return msgspec.structs.replace(card, kept=Kept({**card.unknown, RAW: {**earlier, **card.kept.was}}))


def etag(card_id: int, rev: int, data: bytes) -> str:
    """Names one content of one file; the hash catches a hand's edit that forgot `rev`."""
    return f"{card_id}.{rev}.{hashlib.sha256(data).hexdigest()[:8]}"


def _as_written(card: Card, data: bytes) -> bool:
    """Whether the types, which the decoder has checked, also hold what we would have written."""
    stamps = {card.created_at, card.touched_at}
    stamps.update([at for at in (card.held_touched_at, card.claimed_at, card.finished_at) if at is not None])
    stamps.update([note.at for note in card.notes])
    return (
        well_formed(stamps)
        and is_clean_line(card.title)
        and (_is_plain(data) or _is_clean(card))
        and (len(card.paths) < 2 or len(set(card.paths)) == len(card.paths))
        and (len(card.depends_on) < 2 or len(set(card.depends_on)) == len(card.depends_on))
        and (card.key is None or is_key(card.key))
    )


def _is_plain(data: bytes) -> bool:
    """Whether the file is ASCII and its strings hold no control: JSON allows one only as an escape."""
    return data.isascii() and b"\\" not in data and b"\x7f" not in data


def _is_clean(card: Card) -> bool:
    """Whether every text is as `text` would have left it, letter by letter."""
    lines = [*card.paths]
    if card.plan is not None:
        lines.append(card.plan)
    for who in (card.owner, card.created_by, *(note.by for note in card.notes)):
        if who is not None:
            lines += (who.id, who.label)
    together = "".join(lines)
    said = "".join([note.text for note in card.notes])
    return (
        together.isprintable()
        and said.replace("\n", "").replace("\t", "").isprintable()
        and is_normalized("NFC", together)
        and is_normalized("NFC", said)
    )
