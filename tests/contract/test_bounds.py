"""Every bound of the contract: the last value inside it is taken, the first one outside it is not."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from tests.contract.samples import (
    at,
    chain_of,
    changed,
    focus_point,
    full,
    hint,
    is_taken,
    length,
    location,
    minimal,
    parsed,
    reference,
    row_of,
    tree_of,
    truncated,
)

ORIGIN_LABELS = ".".join(["a" * 63] * 7)  # 447 bytes of host


class Text(NamedTuple):
    """A string field, its bound in UTF-8 bytes, and what its value has to begin with."""

    path: str
    max_bytes: int
    start: str = ""


TEXTS = [
    Text("location.path", 2048, "/"),
    Text("location.query_names.0", 128),
    Text("route.pattern", 1000),
    Text("route.handler", 500),
    Text("route.action", 256),
    Text("snapshot.role", 64),
    Text("snapshot.name", 512),
    Text("snapshot.text", 1000),
    Text("snapshot.id", 256),
    Text("snapshot.classes.1", 128),
    Text("snapshot.attributes.name", 256),
    Text("snapshot.attributes.type", 256),
    Text("snapshot.attributes.placeholder", 256),
    Text("snapshot.attributes.data-testid", 256),
    Text("snapshot.href.path", 2048, "/"),
    Text("snapshot.href.query_names", 128),
    Text("snapshot.src.path", 2048, "/"),
    Text("snapshot.src.query_names.0", 128),
    Text("snapshot.source.references.0.path", 500),
    Text("snapshot.source.references.0.symbol", 256),
    Text("snapshot.children.0.text", 1000),
    Text("focus_points.0.selector", 1000),
    Text("focus_points.0.ancestors.0.role", 64),
    Text("focus_points.0.ancestors.0.name", 512),
    Text("focus_points.0.ancestors.0.id", 256),
]
FILLINGS = {"ASCII": "x", "two bytes": "é", "three bytes": "字", "four bytes": "🙂"}


def filled(max_bytes: int, start: str, filling: str) -> str:
    """A string of exactly `max_bytes`, as much of it as possible made of `filling`."""
    room = max_bytes - len(start)
    count, rest = divmod(room, len(filling.encode()))
    return start + "x" * rest + filling * count


@pytest.mark.parametrize("filling", FILLINGS.values(), ids=FILLINGS.keys())
@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.path)
def test_a_string_may_fill_its_bound_in_bytes_and_not_a_byte_more(text: Text, filling: str) -> None:
    def holding(value: str) -> Any:
        return changed(full(), text.path, [value] if text.path.endswith("query_names") else value)

    longest = filled(text.max_bytes, text.start, filling)
    assert len(longest.encode()) == text.max_bytes
    assert is_taken(holding(longest))
    assert not is_taken(holding(longest + "x"))
    assert not is_taken(holding(longest[:-1] + filling + filling))


CASED = [
    ("snapshot.tag", "a", 64),
    ("snapshot.children.0.tag", "a", 64),
    ("focus_points.0.subtree.tag", "a", 64),
    ("focus_points.0.ancestors.0.tag", "a", 64),
    ("route.method", "A", 16),
]


@pytest.mark.parametrize(("path", "letter", "max_bytes"), CASED)
def test_tags_and_methods_have_their_bounds_too(path: str, letter: str, max_bytes: int) -> None:
    assert is_taken(changed(full(), path, letter * max_bytes))
    assert not is_taken(changed(full(), path, letter * (max_bytes + 1)))


@pytest.mark.parametrize("path", ["location.origin", "snapshot.href.origin", "snapshot.src.origin"])
def test_an_origin_may_have_512_bytes(path: str) -> None:
    longest = f"http://{ORIGIN_LABELS}.{'b' * 51}:65535"
    assert len(longest) == 512
    assert is_taken(changed(full(), path, longest))
    assert not is_taken(changed(full(), path, longest.replace("http:", "https:")))


@pytest.mark.parametrize("filling", FILLINGS.values(), ids=FILLINGS.keys())
def test_a_prompt_may_have_4000_bytes(filling: str) -> None:
    longest = filled(4000, "", filling)
    assert is_taken(minimal(), longest)
    assert is_taken(minimal(), f" \n{longest}\u3000")
    assert not is_taken(minimal(), longest + "x")


# Each row: a place, the longest list it may hold, and the shortest one that is too long.
LISTS = {
    "query names": ("location.query_names", [f"q{i}" for i in range(32)], [f"q{i}" for i in range(33)]),
    "query names of a link": ("snapshot.href.query_names", [f"q{i}" for i in range(32)], [f"q{i}" for i in range(33)]),
    "classes": ("snapshot.classes", [f"c{i}" for i in range(32)], [f"c{i}" for i in range(33)]),
    "focus points": (
        "focus_points",
        [focus_point(selector=f"#p{i}") for i in range(8)],
        [focus_point(selector=f"#p{i}") for i in range(9)],
    ),
    "ancestors": ("focus_points.0.ancestors", [{"tag": "div"}] * 8, [{"tag": "div"}] * 9),
    "references": ("snapshot.source", hint(*[reference()] * 2), hint(*[reference()] * 3)),
    "references of a mark": ("focus_points.0.source", hint(*[reference()] * 2), hint(*[reference()] * 3)),
    "page nodes": ("snapshot", row_of(750), row_of(751)),
    "page depth": ("snapshot", chain_of(12), chain_of(13)),
    "focus nodes": ("focus_points.0.subtree", row_of(100), row_of(101)),
    "focus depth": ("focus_points.0.subtree", chain_of(6), chain_of(7)),
    "truncated sections": (
        "truncation",
        [truncated("page", "bytes"), *[truncated(f"focus:{i}", "bytes") for i in range(1, 9)]],
        [truncated("page", "bytes"), *[truncated(f"focus:{i}", "bytes") for i in range(1, 10)]],
    ),
    "reasons": (
        "truncation.0.reasons",
        ["bytes", "nodes", "depth", "string"],
        ["bytes", "nodes", "depth", "string", "bytes"],
    ),
    "page bytes": ("snapshot", tree_of(49_152), tree_of(49_153)),
}


@pytest.mark.parametrize(("path", "longest", "too_long"), LISTS.values(), ids=LISTS.keys())
def test_lists_and_trees_may_fill_their_bounds_and_no_more(path: str, longest: Any, too_long: Any) -> None:
    assert is_taken(changed(full(), path, longest))
    assert not is_taken(changed(full(), path, too_long))


def marks_of(size: int) -> list[dict[str, Any]]:
    """Eight focus points that take exactly `size` bytes together."""
    points = [focus_point(selector=f"#p{i}", subtree=tree_of(5_500)) for i in range(8)]
    points[0]["subtree"] = tree_of(5_500 + size - length(points))
    assert length(points) == size
    return points


def test_the_marks_together_may_have_49152_bytes() -> None:
    assert is_taken(changed(minimal(), "focus_points", marks_of(49_152)))
    assert not is_taken(changed(minimal(), "focus_points", marks_of(49_153)))


def test_the_whole_context_may_have_98304_bytes() -> None:
    context = changed(minimal(), "snapshot", tree_of(49_152))
    room = 98_304 - length(context) + length([])
    largest = changed(context, "focus_points", marks_of(room))
    assert length(largest) == 98_304
    assert is_taken(largest)
    assert not is_taken(changed(largest, "location.path", "/orders/"))


def test_sizes_are_those_of_the_normalized_context() -> None:
    spaced = changed(minimal(), "snapshot", tree_of(49_152))
    spaced["snapshot"]["children"][0]["text"] += "\n \u202e\u0000"
    assert parsed(spaced)["snapshot"] == tree_of(49_152)


def test_bytes_count_as_they_are_written_with_escapes() -> None:
    tree = tree_of(49_152)
    tree["children"][0]["text"] = tree["children"][0]["text"][:-1] + '"'
    assert not is_taken(changed(minimal(), "snapshot", tree))


def test_a_string_is_measured_after_it_is_composed() -> None:
    decomposed = "e\u0301" * 256
    assert len(decomposed.encode()) == 768
    assert at(parsed(changed(full(), "snapshot.name", decomposed)), "snapshot.name") == "é" * 256


def test_a_string_that_grows_when_it_is_composed_is_measured_grown() -> None:
    grows = "\u0958"  # three bytes that NFC takes apart into six
    assert is_taken(changed(full(), "snapshot.role", grows * 10))
    assert not is_taken(changed(full(), "snapshot.role", grows * 11))


def test_the_bound_of_a_location_is_the_same_wherever_it_stands() -> None:
    longest = location(path="/" + "x" * 2047, query_names=["q" * 128])
    for path in ("location", "snapshot.href", "snapshot.src"):
        assert is_taken(changed(full(), path, longest))
