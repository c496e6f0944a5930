"""The browser context of Contract v1: its shape, its bounds and how it is normalized, as one table of rules.

The task parser calls `context`; nothing else does. The server only accepts or refuses: cutting a page to size is the
client's work, and a refusal never says which rule was broken.
"""

from __future__ import annotations

import re
from typing import Any, Final

from flask_pi_taskbar.contract import bounds
from flask_pi_taskbar.contract.compact import compact
from flask_pi_taskbar.contract.invalid import InvalidTask
from flask_pi_taskbar.contract.origin import is_http_origin
from flask_pi_taskbar.contract.rules import (
    Rule,
    ascii_in_case,
    flag,
    flag_or,
    listed,
    null_or,
    or_absent,
    record,
    text,
    text_or_absent,
    text_that,
    unique,
    word,
)

REASONS: Final = ("bytes", "nodes", "depth", "string")
SECTIONS: Final = ("page", *(f"focus:{number}" for number in range(1, bounds.FOCUS_POINTS + 1)))

_TAG: Final = re.compile(r"[a-z][a-z0-9-]*")
_METHOD: Final = re.compile(r"[A-Z]+")
_URL_PATH: Final = re.compile(r"/[^?#]*")
_FOREIGN_PATH: Final = re.compile(r"[A-Za-z]:|(?:deps|_build)(?:/|\Z)")


def _integer(value: Any) -> int:
    """JSON has one kind of number, so 1.0 is the integer 1; a boolean is none, though Python counts it as one."""
    if type(value) is float and value.is_integer():
        return int(value)
    if type(value) is not int:
        raise InvalidTask
    return value


def _version(value: Any) -> int:
    if _integer(value) != bounds.CONTRACT_VERSION:
        raise InvalidTask
    return bounds.CONTRACT_VERSION


def _line(value: Any) -> int:
    line = _integer(value)
    if line < 1:
        raise InvalidTask
    return line


def _is_project_path(path: str) -> bool:
    """Relative to the project, forward slashes, no way out of it, and no folder of fetched or built code."""
    return (
        "\\" not in path
        and _FOREIGN_PATH.match(path) is None
        and not any(segment in ("", ".", "..") for segment in path.split("/"))
    )


def _array(value: Any) -> list[Any]:
    if type(value) is not list:
        raise InvalidTask
    return value


_location: Final = record(
    {
        "origin": text_that(is_http_origin, bounds.ORIGIN_BYTES),
        "path": text_that(_URL_PATH.fullmatch, bounds.PATH_BYTES),
        "query_names": unique(listed(text(bounds.QUERY_NAME_BYTES), bounds.QUERY_NAMES)),
    }
)

_route: Final = record(
    {
        "method": ascii_in_case(str.upper, _METHOD.fullmatch, bounds.METHOD_BYTES),
        "pattern": text(bounds.PATTERN_BYTES),
        "handler": text(bounds.HANDLER_BYTES),
        "action": null_or(text_or_absent(bounds.ACTION_BYTES)),
    }
)

_reference: Final = record(
    {
        "role": word(("template", "definition", "caller")),
        "path": text_that(_is_project_path, bounds.SOURCE_PATH_BYTES),
        "precision": word(("line", "template")),
    },
    {"line": _line, "symbol": text(bounds.SYMBOL_BYTES)},
)

_hint: Final = record(
    {
        "status": word(("available", "ambiguous", "external", "unavailable")),
        "references": listed(_reference, bounds.SOURCE_REFERENCES),
    }
)


def _source(value: Any) -> dict[str, Any]:
    """References are there exactly when the hint is `available`."""
    hint: dict[str, Any] = _hint(value)
    if (hint["status"] == "available") != bool(hint["references"]):
        raise InvalidTask
    return hint


_tag: Final = ascii_in_case(str.lower, _TAG.fullmatch, bounds.TAG_BYTES)

# What a node and the summary of an ancestor share.
_identity: Final[dict[str, Rule]] = {
    "role": text_or_absent(bounds.ROLE_BYTES),
    "name": text_or_absent(bounds.NAME_BYTES),
    "id": text_or_absent(bounds.ID_BYTES),
}

_ancestor: Final = record({"tag": _tag}, _identity)

_node: Final = record(
    {"tag": _tag, "children": _array},
    {
        **_identity,
        "text": text_or_absent(bounds.TEXT_BYTES),
        "classes": or_absent(unique(listed(text(bounds.CLASS_BYTES), bounds.CLASSES))),
        "attributes": or_absent(
            record(
                {},
                dict.fromkeys(("name", "type", "placeholder", "data-testid"), text_or_absent(bounds.ATTRIBUTE_BYTES)),
            )
        ),
        "state": or_absent(
            record(
                {},
                {
                    "disabled": flag,
                    "checked": flag_or("mixed"),
                    "selected": flag,
                    "expanded": flag,
                    "pressed": flag_or("mixed"),
                    "required": flag,
                    "invalid": flag_or("grammar", "spelling"),
                },
            )
        ),
        "href": _location,
        "src": _location,
        "source": _source,
    },
)


def _tree(max_nodes: int, max_depth: int) -> Rule:
    """A node with all that is below it. Level by level, so that no page can exhaust Python's stack."""

    def rule(value: Any) -> dict[str, Any]:
        roots: list[dict[str, Any]] = []
        level = [(value, roots)]
        nodes = 0
        for _ in range(max_depth + 1):
            nodes += len(level)
            if nodes > max_nodes:
                raise InvalidTask
            below: list[tuple[Any, list[dict[str, Any]]]] = []
            for raw, siblings in level:
                node = _node(raw)
                siblings.append(node)
                if raw_children := node["children"]:
                    children: list[dict[str, Any]] = []
                    node["children"] = children
                    below += [(child, children) for child in raw_children]
            if not below:
                return roots[0]
            level = below
        raise InvalidTask

    return rule


_focus_point: Final = record(
    {
        "selector": text(bounds.SELECTOR_BYTES),
        "source": _source,
        "ancestors": listed(_ancestor, bounds.ANCESTORS),
        "subtree": _tree(bounds.FOCUS_NODES, bounds.FOCUS_DEPTH),
    }
)

_truncation_entry: Final = record(
    {
        "section": word(SECTIONS),
        "reasons": unique(listed(word(REASONS), len(REASONS))),
    }
)


def _truncation(value: Any) -> list[dict[str, Any]]:
    """One entry a section, page first, then the focus points; reasons in their fixed order."""
    entries: list[dict[str, Any]] = [_truncation_entry(entry) for entry in _array(value)]
    if len({entry["section"] for entry in entries}) != len(entries) or not all(entry["reasons"] for entry in entries):
        raise InvalidTask
    for entry in entries:
        entry["reasons"].sort(key=REASONS.index)
    return sorted(entries, key=lambda entry: SECTIONS.index(entry["section"]))


_context: Final = record(
    {
        "contract_version": _version,
        "location": _location,
        "route": null_or(_route),
        "snapshot": _tree(bounds.PAGE_NODES, bounds.PAGE_DEPTH),
        "focus_points": listed(_focus_point, bounds.FOCUS_POINTS),
        "truncation": _truncation,
    }
)


def context(value: Any) -> dict[str, Any]:
    """The normalized context in the parsed JSON `value`; raises `InvalidTask` where there is none."""
    normalized: dict[str, Any] = _context(value)
    selectors = {point["selector"] for point in normalized["focus_points"]}
    if (
        len(selectors) != len(normalized["focus_points"])
        or len(compact(normalized["snapshot"])) > bounds.PAGE_BYTES
        or len(compact(normalized["focus_points"])) > bounds.FOCUS_BYTES
        or len(compact(normalized)) > bounds.CONTEXT_BYTES
    ):
        raise InvalidTask
    return normalized
