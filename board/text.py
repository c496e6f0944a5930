"""What people and agents write, as the board keeps it: one rule for each kind of text.

Every field goes through one of these functions before a rule sees it. They either return the text as it will be stored
or refuse with a sentence that names the field; nothing is ever cut short in silence. Cleaning what is clean changes
nothing. Lengths are counted in code points, here and in the page.
"""

from __future__ import annotations

import re
from typing import Final, TypeVar
from unicodedata import category, is_normalized, normalize

from flask_pi_taskbar.board import model
from flask_pi_taskbar.board.refusal import Code, Refusal

_T = TypeVar("_T")

_REMOVED: Final = re.compile("[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b\u2060\ufeff\u202a-\u202e\u2066-\u2069]")
_KEY: Final = re.compile(r"[A-Za-z0-9._:-]+")
_CARD: Final = re.compile(r"#?([1-9][0-9]{0,9})")
_MARKS_IN_A_ROW: Final = 8
_MARKS: Final = frozenset({"Mn", "Me"})
_NOTHING_TO_READ: Final = frozenset({"Mn", "Me", "Cf", "Zs", "Zl", "Zp", "Cc"})


def settled(text: str) -> str:
    """`text` in NFC without what cannot be seen and can mislead: controls, zero-width and bidirectional marks.

    Joiners, combining marks (at most eight in a row), emoji and every script stay. Lines end with a line feed.
    """
    if text.isascii():
        if text.isprintable():
            return text
        return _REMOVED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _REMOVED.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return _few_marks(text if is_normalized("NFC", text) else normalize("NFC", text))


def one_line(text: str) -> str:
    """`text` settled, with one space for every run of white space and none at the ends."""
    return " ".join(settled(text).split())


def is_clean_line(text: str) -> bool:
    """Whether `one_line` leaves this as it is; quick for what is mostly written."""
    if text.isascii() and text.isprintable():
        return "  " not in text and text[:1] != " " and text[-1:] != " "
    return one_line(text) == text


def _few_marks(text: str) -> str:
    kept: list[str] = []
    row = 0
    for letter in text:
        row = row + 1 if category(letter) in _MARKS else 0
        if row <= _MARKS_IN_A_ROW:
            kept.append(letter)
    return text if len(kept) == len(text) else "".join(kept)


def clean_title(value: object, field: str = "title") -> str:
    """One line of 1 to 120 code points."""
    return _bounded(_readable(one_line(_text(value, field)), field), model.MAX_TITLE, field)


def clean_note(value: object, field: str = "text") -> str:
    """1 to 4,000 code points; line feeds and tabs stay, blank lines around it go."""
    return _bounded(_readable(settled(_text(value, field)).strip(), field), model.MAX_NOTE, field)


def clean_label(value: object, field: str = "label") -> str:
    """A session's name: 1 to 40 letters, digits and `-_. `."""
    label = _bounded(_readable(one_line(_text(value, field)), field), model.MAX_LABEL, field)
    if not all(letter.isalnum() or letter in "-_. " or category(letter)[0] == "M" for letter in label):
        raise bad(field, f"{field} may hold letters, digits, spaces and - _ . only.")
    return label


def clean_actor_id(value: object, field: str = "id") -> str:
    """What ownership is compared by: one line, 1 to 200 code points."""
    return _bounded(_readable(one_line(_text(value, field)), field), model.MAX_ACTOR_ID, field)


def clean_path(value: object, field: str = "paths") -> str:
    """A path hint of 1 to 200 code points with forward slashes; it is shown and compared, never opened."""
    path = _text(value, field)
    if "\0" in path or "\n" in path or "\r" in path:
        raise bad(field, f"A path in {field} holds a line break or NUL; give one path for each entry.")
    return _bounded(_readable(one_line(path.replace("\\", "/")), field), model.MAX_PATH, field)


def clean_paths(value: object, field: str = "paths") -> tuple[str, ...]:
    """At most 20 path hints, without repetitions, in the order given."""
    if not isinstance(value, list | tuple):
        raise bad(field, f'{field} must be a list of paths, such as ["src/billing"].')
    return tuple(_few(list(dict.fromkeys(clean_path(item, field) for item in value)), model.MAX_PATHS, field))


def clean_plan(value: object, field: str = "path") -> str:
    """The path of a plan file, 1 to 400 code points on one line."""
    return _bounded(_readable(one_line(_text(value, field)), field), model.MAX_PLAN, field)


def clean_query(value: object, field: str = "query") -> str:
    """What a list is filtered by; at most 200 code points, empty means all."""
    return _bounded(one_line(_text(value, field)), model.MAX_QUERY, field)


def clean_key(value: object, field: str = "key") -> str:
    """An idempotency key: 1 to 64 of letters, digits and `._:-`."""
    key = _bounded(_text(value, field), model.MAX_KEY, field)
    if not is_key(key):
        raise bad(field, f"{field} may hold letters, digits and . _ : - only.")
    return key


def is_key(text: str) -> bool:
    """Whether these are the letters of an idempotency key."""
    return _KEY.fullmatch(text) is not None


def clean_card_id(value: object, field: str = "card") -> int:
    """A card's number as `4`, `"4"` or `"#4"`; any other spelling is refused, so that each card has one name."""
    if isinstance(value, str) and (found := _CARD.fullmatch(value)):
        value = int(found[1])
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= model.MAX_ID:
        return value
    raise bad(field, f'{field} must be a card\'s number, such as 4 or "#4".')


def clean_card_ids(value: object, field: str = "dependsOn") -> tuple[int, ...]:
    """At most 50 distinct cards' numbers, in the order given."""
    if not isinstance(value, list | tuple):
        raise bad(field, f'{field} must be a list of cards\' numbers, such as [1, "#4"]; [] removes every link.')
    return tuple(_few(list(dict.fromkeys(clean_card_id(item, field) for item in value)), model.MAX_LINKS, field))


def bad(field: str, message: str, **details: object) -> Refusal:
    """The refusal of a field that cannot be used as it is."""
    return Refusal(Code.BAD_FIELD, message, details={"field": field} | details)


def _text(value: object, field: str) -> str:
    if not isinstance(value, str):
        raise bad(field, f"{field} must be text.")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise bad(
                field, f"{field} holds half of a character (a lone surrogate); send it as valid Unicode."
            ) from None
    return value


def _readable(text: str, field: str) -> str:
    if not text or (not text.isascii() and all(category(letter) in _NOTHING_TO_READ for letter in text)):
        raise bad(field, f"{field} is empty; give it something to read.")
    return text


def _bounded(text: str, limit: int, field: str) -> str:
    if len(text) > limit:
        raise _too_long(field, limit, len(text), "characters")
    return text


def _few(items: list[_T], limit: int, field: str) -> list[_T]:
    if len(items) > limit:
        raise _too_long(field, limit, len(items), "entries")
    return items


def _too_long(field: str, limit: int, got: int, unit: str) -> Refusal:
    message = f"{field} has {got:,} {unit}; at most {limit:,} fit. Nothing was cut or saved."
    return Refusal(Code.TOO_LONG, message, details={"field": field, "limit": limit, "got": got})
