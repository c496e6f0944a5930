"""Contexts made at random: valid ones, ones that normalization has work with, and ones broken somewhere."""

from __future__ import annotations

import copy
import unicodedata
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from tests.contract.reference import one_line, settled

Context = dict[str, Any]

# Plain letters, what JSON and HTML escape, what the fence is made of, and code points that normalization is about.
LETTERS = "aB9 -_/<>&\"'\\é字🙂\u0301\u0327\u0958\u212b\u1100\u1161\u200b\ufeff"
CONTROLS = "\t\n\r\x00\x0b\x1c\x7f\x85\u00a0\u2028\u202e\u2066\u3000"


def fits(text: str, max_bytes: int) -> bool:
    return 0 < len(text.encode()) <= max_bytes


def line(max_bytes: int) -> st.SearchStrategy[str]:
    """A normalized, non-empty string of one line."""
    return (
        st.text(LETTERS, min_size=1, max_size=24).map(settled).map(one_line).filter(lambda text: fits(text, max_bytes))
    )


def prompt() -> st.SearchStrategy[str]:
    return (
        st.text(LETTERS + "\n\t\u2028", min_size=1, max_size=60)
        .map(lambda text: unicodedata.normalize("NFC", text).strip())
        .filter(lambda text: fits(text, 4000))
    )


def word(pattern: str) -> st.SearchStrategy[str]:
    return st.from_regex(pattern, fullmatch=True)


def partly(fields: dict[str, st.SearchStrategy[Any]], **required: st.SearchStrategy[Any]) -> st.SearchStrategy[Context]:
    return st.fixed_dictionaries(required, optional=fields)


origins = st.sampled_from(["http://localhost:5000", "https://a-b.example", "http://[::1]:80", "http://127.0.0.1"])
paths = st.text(LETTERS, max_size=12).map(lambda text: one_line(settled("/" + text)))
tags = st.sampled_from(["a", "div", "my-el", "h1", "input"])
locations = st.fixed_dictionaries(
    {"origin": origins, "path": paths, "query_names": st.lists(line(128), max_size=3, unique=True)}
)
routes = st.none() | st.fixed_dictionaries(
    {
        "method": word("[A-Z]{1,8}"),
        "pattern": line(1000),
        "handler": line(500),
        "action": st.none() | line(256),
    }
)
references = partly(
    {"line": st.integers(1, 10**6), "symbol": line(256)},
    role=st.sampled_from(["template", "definition", "caller"]),
    path=word("[ab][a-z.]{0,5}(/[ab][a-z.]{0,5}){0,2}"),
    precision=st.sampled_from(["line", "template"]),
)
hints = st.fixed_dictionaries(
    {"status": st.just("available"), "references": st.lists(references, min_size=1, max_size=2)}
) | st.fixed_dictionaries(
    {"status": st.sampled_from(["ambiguous", "external", "unavailable"]), "references": st.just([])}
)
flags = st.booleans()
identity = {"role": line(64), "name": line(512), "id": line(256)}
node_fields: dict[str, st.SearchStrategy[Any]] = {
    **identity,
    "text": line(1000),
    "classes": st.lists(line(128), min_size=1, max_size=3, unique=True),
    "attributes": st.dictionaries(
        st.sampled_from(["name", "type", "placeholder", "data-testid"]), line(256), min_size=1
    ),
    "state": partly(
        {
            **dict.fromkeys(("disabled", "selected", "expanded", "required"), flags),
            **dict.fromkeys(("checked", "pressed"), flags | st.just("mixed")),
            "invalid": flags | st.sampled_from(["grammar", "spelling"]),
        }
    ).filter(bool),
    "href": locations,
    "src": locations,
    "source": hints,
}


def nodes(levels: int) -> st.SearchStrategy[Context]:
    children = st.lists(nodes(levels - 1), max_size=3) if levels else st.just([])
    return partly(node_fields, tag=tags, children=children)


focus_points = st.fixed_dictionaries(
    {
        "selector": line(1000),
        "source": hints,
        "ancestors": st.lists(partly(identity, tag=tags), max_size=2),
        "subtree": nodes(1),
    }
)
truncations = st.dictionaries(
    st.sampled_from(["page", *(f"focus:{number}" for number in range(1, 9))]),
    st.sets(st.sampled_from(["bytes", "nodes", "depth", "string"]), min_size=1),
    max_size=3,
).map(
    lambda entries: [
        {"section": section, "reasons": sorted(reasons, key=["bytes", "nodes", "depth", "string"].index)}
        for section, reasons in sorted(entries.items(), key=lambda entry: entry[0].replace("page", "!"))
    ]
)
contexts: st.SearchStrategy[Context] = st.fixed_dictionaries(
    {
        "contract_version": st.just(1),
        "location": locations,
        "route": routes,
        "snapshot": nodes(2),
        "focus_points": st.lists(focus_points, max_size=2, unique_by=lambda point: point["selector"]),
        "truncation": truncations,
    }
)

json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats() | st.text(LETTERS + CONTROLS, max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(LETTERS, max_size=4), inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, way: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The way to everything in `value`, the whole of it left out."""
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, inner in steps for found in ((*way, key), *places(inner, (*way, key)))]


def _roughened(draw: Callable[[st.SearchStrategy[Any]], Any], text: str) -> str:
    """`text` with controls, odd spaces or another case, so that it may or may not be the same when normalized."""
    where = draw(st.integers(0, len(text)))
    rough = text[:where] + draw(st.text(CONTROLS + " ", max_size=3)) + text[where:]
    return draw(st.sampled_from([str, str.upper, str.title]))(rough)


@st.composite
def rough_contexts(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Context:
    """A valid context in which some strings have not been normalized."""
    context = copy.deepcopy(draw(contexts))
    for way in draw(st.lists(st.sampled_from(places(context)), max_size=4)):
        *outer, last = way
        place: Any = context
        for step in outer:
            place = place[step]
        if isinstance(place[last], str):
            place[last] = _roughened(draw, place[last])
    return context


@st.composite
def broken_contexts(draw: Callable[[st.SearchStrategy[Any]], Any]) -> Any:
    """A valid context with a field removed, renamed, added, repeated or replaced; it may still be valid."""
    context: Any = copy.deepcopy(draw(contexts))
    for _ in range(draw(st.integers(1, 2))):
        found = places(context)
        if not found:
            break
        *outer, last = draw(st.sampled_from(found))
        place = context
        for step in outer:
            place = place[step]
        match draw(st.sampled_from(["remove", "replace", "empty", "add", "repeat", "swap"])):
            case "remove":
                del place[last]
            case "replace":
                place[last] = draw(json_values)
            case "empty":
                place[last] = type(place[last])()
            case "add" if isinstance(place, dict):
                place[draw(st.sampled_from(["value", "tag", "name", "line", "href", "html"]))] = draw(json_values)
            case "repeat" if isinstance(place, list):
                place.append(copy.deepcopy(place[last]))
            case "swap":
                *far, other = draw(st.sampled_from(found))
                source = context
                try:
                    for step in far:
                        source = source[step]
                    place[last] = copy.deepcopy(source[other])
                except (KeyError, IndexError, TypeError):
                    continue
            case _:
                continue
    return context
