"""How long the largest valid request takes from raw bytes to the message for Pi, beside Python's own JSON.

    python -m tests.bench.bench_contract [--save]

The request fills the context bound with one kind of page after another, because what costs time differs: many small
nodes, fewer nodes with every field, text beyond ASCII, lists of tiny strings, strings that normalization must change.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from flask_pi_taskbar.contract import encode_task, envelope, parse_task
from flask_pi_taskbar.contract.bounds import CONTEXT_BYTES, FOCUS_POINTS, PAGE_BYTES, REQUEST_BYTES
from tests.bench.measure import Figure, medians, report

ROUNDS = 150
MILLISECONDS = 8
TIMES_JSON = 6

Node = dict[str, Any]


def small_nodes(number: int) -> Node:
    return {"tag": "li", "text": f"item {number:04d} of a list", "children": []}


def whole_nodes(number: int) -> Node:
    reference = {"role": "template", "path": "templates/cards/list.html", "line": number + 1, "precision": "line"}
    return {
        "tag": "a",
        "role": "button",
        "name": f"Open card {number}",
        "text": "Some text of a card, a dozen words long, with the number 12 in it",
        "id": f"card-{number}",
        "classes": ["btn", "btn-primary", "wide"],
        "attributes": {"type": "submit", "data-testid": f"card-{number}"},
        "state": {"disabled": False, "pressed": "mixed"},
        "href": {"origin": "http://localhost:5000", "path": f"/cards/{number}", "query_names": ["page"]},
        "source": {"status": "available", "references": [reference]},
        "children": [],
    }


def foreign_text(number: int) -> Node:
    return {"tag": "p", "name": f"Größe №{number}", "text": "Zażółć gęślą jaźń 日本語のテキスト 🙂", "children": []}


def tiny_strings(number: int) -> Node:
    return {"tag": "i", "classes": [f"{chr(97 + i % 26)}{i}" for i in range(32)], "children": []}


def rough_strings(number: int) -> Node:
    return {"tag": "P", "name": f" e\u0301\u202e\t{number} ", "text": "\u2067a \r\n b  é \u00a0" * 12, "children": []}


KINDS = [small_nodes, whole_nodes, foreign_text, tiny_strings, rough_strings]


def largest(kind: Callable[[int], Node]) -> bytes:
    """A valid request with as many nodes of this kind as the page's share and the marks' share hold."""
    marked = CONTEXT_BYTES - PAGE_BYTES - 2_000
    context = {
        "contract_version": 1,
        "location": {"origin": "http://localhost:5000", "path": "/cards", "query_names": ["page"]},
        "route": None,
        "snapshot": _tree(kind, 750, PAGE_BYTES),
        "focus_points": [
            {
                "selector": f"#card-{number}",
                "source": {"status": "unavailable", "references": []},
                "ancestors": [{"tag": "main"}],
                "subtree": _tree(kind, 100, marked // FOCUS_POINTS - 200),
            }
            for number in range(FOCUS_POINTS)
        ],
        "truncation": [{"section": "page", "reasons": ["bytes"]}],
    }
    return _compact({"prompt": "Make the cards wider. " * 180, "context": context})


def _tree(kind: Callable[[int], Node], max_nodes: int, max_bytes: int) -> Node:
    root: Node = {"tag": "main", "children": []}
    size = len(_compact(root))
    for number in range(max_nodes - 1):
        node = kind(number)
        size += len(_compact(node)) + 1
        if size > max_bytes:
            break
        root["children"].append(node)
    return root


def _compact(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def figures_of(kind: Callable[[int], Node]) -> list[Figure]:
    body = largest(kind)
    assert len(body) <= REQUEST_BYTES
    task = parse_task(body)
    plain = json.loads(body)
    taken = medians(
        {
            "request to message": lambda: envelope(parse_task(body)),
            "handing on": lambda: encode_task(task),
            "json": lambda: (json.loads(body), json.dumps(plain)),
        },
        ROUNDS,
    )
    what = f"{kind.__name__.replace('_', ' ')}, {len(body):,} B"
    ours = taken["request to message"]
    return [
        Figure(f"{what}: parse_task + envelope, p50", ours * 1e3, "ms", at_most=MILLISECONDS),
        Figure(f"{what}: over json.loads + json.dumps", ours / taken["json"], "x", at_most=TIMES_JSON),
        Figure(f"{what}: encode_task, p50", taken["handing on"] * 1e3, "ms"),
    ]


def main() -> None:
    report("contract", [figure for kind in KINDS for figure in figures_of(kind)])


if __name__ == "__main__":
    main()
