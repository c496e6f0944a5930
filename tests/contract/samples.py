"""Requests of our own for the tests of the contract: the smallest one, one with every field, ways to change them."""

from __future__ import annotations

import copy
import json
from typing import Any

from flask_pi_taskbar.contract import InvalidTask, parse_task

PROMPT = "Make the total bold."


def location(**changes: Any) -> dict[str, Any]:
    return {"origin": "http://localhost:5000", "path": "/orders", "query_names": []} | changes


def minimal() -> dict[str, Any]:
    return {
        "contract_version": 1,
        "location": location(),
        "route": None,
        "snapshot": {"tag": "body", "children": []},
        "focus_points": [],
        "truncation": [],
    }


def full() -> dict[str, Any]:
    """A context in which every field that the contract knows occurs, already normalized."""
    return {
        "contract_version": 1,
        "location": location(query_names=["page", "sort"]),
        "route": {"method": "GET", "pattern": "/orders/<int:number>", "handler": "shop.orders", "action": "show"},
        "snapshot": {
            "tag": "main",
            "role": "main",
            "name": "Orders",
            "text": "All orders",
            "id": "orders",
            "classes": ["list", "wide"],
            "attributes": {"name": "q", "type": "search", "placeholder": "Find", "data-testid": "orders"},
            "state": {
                "disabled": False,
                "checked": "mixed",
                "selected": True,
                "expanded": False,
                "pressed": True,
                "required": False,
                "invalid": "spelling",
            },
            "href": location(path="/orders/7"),
            "src": location(path="/logo.png", query_names=["v"]),
            "source": {
                "status": "available",
                "references": [
                    {
                        "role": "template",
                        "path": "templates/orders/list.html",
                        "line": 12,
                        "symbol": "row",
                        "precision": "line",
                    },
                ],
            },
            "children": [{"tag": "p", "text": "One", "children": []}],
        },
        "focus_points": [focus_point()],
        "truncation": [{"section": "page", "reasons": ["bytes", "string"]}],
    }


def focus_point(**changes: Any) -> dict[str, Any]:
    return {
        "selector": "#total",
        "source": {"status": "unavailable", "references": []},
        "ancestors": [{"tag": "table", "role": "table", "name": "Totals", "id": "totals"}],
        "subtree": {"tag": "td", "children": []},
    } | changes


def reference(**changes: Any) -> dict[str, Any]:
    return {"role": "template", "path": "templates/a.html", "precision": "template"} | changes


def hint(*references: dict[str, Any], status: str = "available") -> dict[str, Any]:
    return {"status": status, "references": list(references)}


def truncated(section: str, *reasons: str) -> dict[str, Any]:
    return {"section": section, "reasons": list(reasons)}


def changed(value: Any, path: str, new: Any) -> Any:
    """A copy of `value` in which the place named by a dotted path (`snapshot.children.0.tag`) holds `new`."""
    value = copy.deepcopy(value)
    *way, last = path.split(".")
    place = value
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    place[int(last) if isinstance(place, list) else last] = new
    return value


def without(value: Any, path: str) -> Any:
    """A copy of `value` that lacks the field named by a dotted path."""
    value = copy.deepcopy(value)
    *way, last = path.split(".")
    place = value
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    del place[last]
    return value


def at(value: Any, path: str) -> Any:
    """What stands at a dotted path."""
    for step in path.split("."):
        value = value[int(step) if isinstance(value, list) else step]
    return value


def row_of(count: int) -> dict[str, Any]:
    """A tree of `count` nodes, all but the root side by side."""
    return {"tag": "ul", "children": [{"tag": "li", "children": []} for _ in range(count - 1)]}


def chain_of(depth: int) -> dict[str, Any]:
    """A tree whose deepest node lies `depth` below the root."""
    node: dict[str, Any] = {"tag": "i", "children": []}
    for _ in range(depth):
        node = {"tag": "div", "children": [node]}
    return node


def tree_of(size: int) -> dict[str, Any]:
    """A tree of exactly `size` bytes, for sizes from a few hundred up."""
    children: list[dict[str, Any]] = []
    root = {"tag": "body", "children": children}
    while (missing := size - length(root)) > 0:
        empty = length({"tag": "p", "text": "", "children": []}) + (1 if children else 0)
        # The last node but one leaves enough room for the last one to hold some text.
        text = missing - empty if missing - empty <= 900 else min(900, missing - 2 * empty - 100)
        children.append({"tag": "p", "text": "x" * text, "children": []})
    assert length(root) == size
    return root


def length(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def body(context: Any, prompt: Any = PROMPT) -> bytes:
    return json.dumps({"prompt": prompt, "context": context}, ensure_ascii=False).encode()


def parsed(context: Any) -> dict[str, Any]:
    return parse_task(body(context)).context


def is_taken(context: Any, prompt: Any = PROMPT) -> bool:
    try:
        parse_task(body(context, prompt))
    except InvalidTask:
        return False
    return True
