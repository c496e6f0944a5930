"""The kinds of rule that a browser context is described with: strings, words, lists, records.

A rule takes one parsed JSON value and returns it normalized, or raises `InvalidTask`. Normalizing and checking are one
step here, because every check of the contract applies to the normalized value of the same field. A rule of an optional
field returns `None` for a value that normalization leaves out. `context` composes rules; nothing else uses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from flask_pi_taskbar.contract.invalid import InvalidTask
from flask_pi_taskbar.contract.text import exceeds, on_one_line

Rule = Callable[[Any], Any]


def text(max_bytes: int) -> Rule:
    """A non-empty string, on one line."""

    def rule(value: object) -> str:
        if type(value) is not str:
            raise InvalidTask
        value = on_one_line(value)
        if not value or exceeds(value, max_bytes):
            raise InvalidTask
        return value

    return rule


def text_or_absent(max_bytes: int) -> Rule:
    """A string that is left out when nothing of it remains."""

    def rule(value: object) -> str | None:
        if type(value) is not str:
            raise InvalidTask
        value = on_one_line(value)
        if exceeds(value, max_bytes):
            raise InvalidTask
        return value or None

    return rule


def text_that(holds: Callable[[str], object], max_bytes: int) -> Rule:
    """A non-empty string for which `holds` is true."""
    clean = text(max_bytes)

    def rule(value: object) -> str:
        cleaned: str = clean(value)
        if not holds(cleaned):
            raise InvalidTask
        return cleaned

    return rule


def text_in_case(change: Callable[[str], str], holds: Callable[[str], object], max_bytes: int) -> Rule:
    """A non-empty string, its case changed by `change`, for which `holds` is true."""

    def rule(value: object) -> str:
        if type(value) is not str:
            raise InvalidTask
        value = change(on_one_line(value))
        if not holds(value) or exceeds(value, max_bytes):
            raise InvalidTask
        return value

    return rule


def word(words: Iterable[str]) -> Rule:
    """One of `words`, in whatever case it comes."""
    known = frozenset(words)

    def rule(value: object) -> str:
        if type(value) is not str:
            raise InvalidTask
        value = on_one_line(value).lower()
        if value not in known:
            raise InvalidTask
        return value

    return rule


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
