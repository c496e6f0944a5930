"""The kinds of rule that a browser context is described with: strings, words, lists, records.

A rule takes one parsed JSON value and returns it normalized, or raises `InvalidTask`. Normalizing and checking are one
step here, because every check of the contract applies to the normalized value of the same field. A rule of an optional
field returns `None` for a value that normalization leaves out. `context` composes rules; nothing else uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from flask_pi_taskbar.contract.invalid import InvalidTask
from flask_pi_taskbar.contract.text import composed, without_controls

Rule = Callable[[Any], Any]


def fitting(text: str, max_bytes: int) -> str:
    """`text` composed, if it fits its bound; the controls and spaces that go have gone before.

    In that order one round is enough: a letter and an accent that a control kept apart would otherwise stay apart.
    """
    result = composed(text, max_bytes)
    if result is None:
        raise InvalidTask
    return result


def line(value: object, max_bytes: int) -> str:
    """A string with one space for every run of white space and none at its ends, within its bound; it may be empty."""
    if type(value) is not str:
        raise InvalidTask
    if value.isascii() and value.isprintable():  # most strings of most pages: nothing to remove or to compose
        value = " ".join(value.split())
        if len(value) > max_bytes:
            raise InvalidTask
        return value
    return fitting(" ".join(without_controls(value).split()), max_bytes)


def text(max_bytes: int) -> Rule:
    """A non-empty string."""

    def rule(value: object) -> str:
        cleaned = line(value, max_bytes)
        if not cleaned:
            raise InvalidTask
        return cleaned

    return rule


def text_or_absent(max_bytes: int) -> Rule:
    """A string that is left out when nothing of it remains."""
    return lambda value: line(value, max_bytes) or None


def text_that(holds: Callable[[str], object], max_bytes: int) -> Rule:
    """A string for which `holds` is true."""

    def rule(value: object) -> str:
        cleaned = line(value, max_bytes)
        if not holds(cleaned):
            raise InvalidTask
        return cleaned

    return rule


def ascii_in_case(change: Callable[[str], str], holds: Callable[[str], object], max_bytes: int) -> Rule:
    """A string for which `holds` is true once its case is changed; only ASCII may hold. The result has to fit."""

    def rule(value: object) -> str:
        cleaned = change(line(value, _BEFORE_CASE * max_bytes))
        if len(cleaned) > max_bytes or not holds(cleaned):
            raise InvalidTask
        return cleaned

    return rule


def word(words: Iterable[str]) -> Rule:
    """One of `words`, in whatever case it comes."""
    known = frozenset(words)
    return ascii_in_case(str.lower, known.__contains__, max(map(len, known)))


# A letter outside ASCII that becomes an ASCII one with its case takes at most this many bytes.
_BEFORE_CASE: Final = 4


def flag(value: object) -> bool:
    """True or false; 0 and 1 are neither."""
    if value is True or value is False:
        return value
    raise InvalidTask


def flag_or(*words: str) -> Rule:
    """True, false or one of `words`."""
    known_word = word(words)

    def rule(value: Any) -> bool | str:
        return value if value is True or value is False else known_word(value)

    return rule


def null_or(inner: Rule) -> Rule:
    """JSON's null, or what `inner` takes; null as well where `inner` leaves the value out."""
    return lambda value: None if value is None else inner(value)


def listed(item: Rule, max_items: int) -> Rule:
    """A list of at most `max_items`."""

    def rule(value: Any) -> list[Any]:
        if type(value) is not list or len(value) > max_items:
            raise InvalidTask
        return [item(each) for each in value]

    return rule


def unique(inner: Rule) -> Rule:
    """What `inner` makes, without a repeated item once it is normalized."""

    def rule(value: Any) -> Any:
        items = inner(value)
        if len(set(items)) != len(items):
            raise InvalidTask
        return items

    return rule


def or_absent(inner: Rule) -> Rule:
    """What `inner` makes, left out when that is empty."""
    return lambda value: inner(value) or None


def record(required: Mapping[str, Rule], optional: Mapping[str, Rule] | None = None) -> Rule:
    """An object with all `required` fields, any of the `optional` ones, and no other."""
    rules: Final = {**required, **(optional or {})}
    needed: Final = frozenset(required)

    def rule(value: Any) -> dict[str, Any]:
        if type(value) is not dict or not needed <= value.keys():
            raise InvalidTask
        fields = {}
        for key, raw in value.items():
            field_rule = rules.get(key)
            if field_rule is None:
                raise InvalidTask
            field = field_rule(raw)
            if field is not None or key in needed:
                fields[key] = field
        return fields

    return rule
