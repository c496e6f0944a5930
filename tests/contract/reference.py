"""Normalization once more, as the contract tells it: one slow pass a step, no checks. The real one is compared with it.

Where a value has not the expected kind, it is left alone: whatever it is, it will be refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from typing import Any

WHITE_SPACE = "\t\n\u0020\u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000"
CONTROLS = [*range(0x09), 0x0B, 0x0C, *range(0x0E, 0x20), *range(0x7F, 0xA0)]
REMOVED = {*CONTROLS, *range(0x202A, 0x202F), *range(0x2066, 0x206A)}
ORDER = ["bytes", "nodes", "depth", "string"]
SECTIONS = ["page", *(f"focus:{number}" for number in range(1, 9))]


def normalized(context: Any) -> Any:
    context = _every_string(settled, context)
    if not isinstance(context, dict):
        return context
    _location(context.get("location"))
    if isinstance(route := context.get("route"), dict):
        _lines(route, "method", "pattern", "handler", "action")
        _change(route, "method", str.upper)
        if route.get("action") == "":
            route["action"] = None
    _node(context.get("snapshot"))
    for point in _list(context.get("focus_points")):
        if isinstance(point, dict):
            _lines(point, "selector")
            _hint(point.get("source"))
            for ancestor in _list(point.get("ancestors")):
                _summary(ancestor)
            _node(point.get("subtree"))
    _truncation(context)
    return context


def _every_string(change: Callable[[str], str], value: Any) -> Any:
    match value:
        case str():
            return change(value)
        case dict():
            return {key: _every_string(change, inner) for key, inner in value.items()}
        case list():
            return [_every_string(change, inner) for inner in value]
    return value


def settled(text: str) -> str:
    text = re.sub("\r\n?", "\n", text)
    while True:
        again = unicodedata.normalize("NFC", "".join(each for each in text if ord(each) not in REMOVED))
        if again == text:
            return text
        text = again


def one_line(text: str) -> str:
    return re.sub(f"[{WHITE_SPACE}]+", " ", text).strip(" ")


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _change(record: Any, field: str, change: Callable[[str], str]) -> None:
    if isinstance(record, dict) and isinstance(record.get(field), str):
        record[field] = change(record[field])


def _lines(record: Any, *fields: str) -> None:
    for field in fields:
        _change(record, field, one_line)


def _location(location: Any) -> None:
    if isinstance(location, dict):
        _lines(location, "origin", "path")
        location |= _every_string(one_line, {key: location[key] for key in ("query_names",) if key in location})


def _summary(summary: Any) -> None:
    if isinstance(summary, dict):
        _lines(summary, "tag", "role", "name", "id")
        _change(summary, "tag", str.lower)
        for field in ("role", "name", "id"):
            if summary.get(field) == "":
                del summary[field]


def _hint(hint: Any) -> None:
    if isinstance(hint, dict):
        _lines(hint, "status")
        _change(hint, "status", str.lower)
        for reference in _list(hint.get("references")):
            _lines(reference, "role", "path", "precision", "symbol")
            _change(reference, "role", str.lower)
            _change(reference, "precision", str.lower)


def _node(node: Any) -> None:
    if not isinstance(node, dict):
        return
    _summary(node)
    _lines(node, "text")
    if node.get("text") == "":
        del node["text"]
    if isinstance(node.get("classes"), list):
        node["classes"] = [one_line(each) if isinstance(each, str) else each for each in node["classes"]]
        if node["classes"] == []:
            del node["classes"]
    if isinstance(attributes := node.get("attributes"), dict):
        _lines(attributes, *attributes)
        for field in ("name", "type", "placeholder", "data-testid"):
            if attributes.get(field) == "":
                del attributes[field]
        if attributes == {}:
            del node["attributes"]
    if isinstance(state := node.get("state"), dict):
        _lines(state, *state)
        for field in state:
            _change(state, field, str.lower)
        if state == {}:
            del node["state"]
    for field in ("href", "src"):
        _location(node.get(field))
    _hint(node.get("source"))
    for child in _list(node.get("children")):
        _node(child)


def _truncation(context: dict[str, Any]) -> None:
    entries = _list(context.get("truncation"))
    for entry in entries:
        _lines(entry, "section")
        _change(entry, "section", str.lower)
        if isinstance(entry, dict) and isinstance(reasons := entry.get("reasons"), list):
            reasons = [one_line(each).lower() if isinstance(each, str) else each for each in reasons]
            entry["reasons"] = sorted(reasons, key=lambda reason: ORDER.index(reason) if reason in ORDER else 9)
    entries.sort(
        key=lambda entry: (
            SECTIONS.index(section) if isinstance(entry, dict) and (section := entry.get("section")) in SECTIONS else 99
        )
    )
