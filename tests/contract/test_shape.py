"""The shape of a context: which fields there are, which must be there, and what each may hold."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.samples import (
    changed,
    focus_point,
    full,
    hint,
    is_taken,
    location,
    minimal,
    parsed,
    reference,
    truncated,
    without,
)

RECORDS = {
    "context": "",
    "location": "location.",
    "route": "route.",
    "node": "snapshot.",
    "child": "snapshot.children.0.",
    "attributes": "snapshot.attributes.",
    "state": "snapshot.state.",
    "href": "snapshot.href.",
    "src": "snapshot.src.",
    "hint": "snapshot.source.",
    "reference": "snapshot.source.references.0.",
    "focus point": "focus_points.0.",
    "focus hint": "focus_points.0.source.",
    "ancestor": "focus_points.0.ancestors.0.",
    "focus node": "focus_points.0.subtree.",
    "truncation": "truncation.0.",
}


def test_the_samples_are_taken_as_they_are() -> None:
    assert parsed(minimal()) == minimal()
    assert parsed(full()) == full()


@pytest.mark.parametrize("name", ["unknown", "raw_html", "Tag", "value", "", "__proto__", "tag "])
@pytest.mark.parametrize("record", RECORDS.values(), ids=RECORDS.keys())
def test_an_unknown_field_is_refused_at_every_level(record: str, name: str) -> None:
    assert not is_taken(changed(full(), f"{record}{name}", "x"))


REQUIRED = [
    "contract_version",
    "location",
    "route",
    "snapshot",
    "focus_points",
    "truncation",
    *[f"{place}.{field}" for place in ("location", "snapshot.href") for field in ("origin", "path", "query_names")],
    *[f"route.{field}" for field in ("method", "pattern", "handler", "action")],
    *[f"{place}.{field}" for place in ("snapshot", "snapshot.children.0") for field in ("tag", "children")],
    *[f"snapshot.source.{field}" for field in ("status", "references")],
    *[f"snapshot.source.references.0.{field}" for field in ("role", "path", "precision")],
    *[f"focus_points.0.{field}" for field in ("selector", "source", "ancestors", "subtree")],
    "focus_points.0.ancestors.0.tag",
    "truncation.0.section",
    "truncation.0.reasons",
]

OPTIONAL = [
    *[
        f"snapshot.{field}"
        for field in ("role", "name", "text", "id", "classes", "attributes", "state", "href", "src", "source")
    ],
    *[f"snapshot.attributes.{field}" for field in ("name", "type", "placeholder", "data-testid")],
    *[
        f"snapshot.state.{field}"
        for field in ("disabled", "checked", "selected", "expanded", "pressed", "required", "invalid")
    ],
    *[f"snapshot.source.references.0.{field}" for field in ("line", "symbol")],
    *[f"focus_points.0.ancestors.0.{field}" for field in ("role", "name", "id")],
]


@pytest.mark.parametrize("path", REQUIRED)
def test_a_required_field_must_be_there(path: str) -> None:
    assert not is_taken(without(full(), path))


@pytest.mark.parametrize("path", OPTIONAL)
def test_an_optional_field_may_be_absent(path: str) -> None:
    assert parsed(without(full(), path)) == without(full(), path)


@pytest.mark.parametrize("path", [path for path in REQUIRED + OPTIONAL if path not in ("route", "route.action")])
def test_null_is_not_a_value_of_any_field_but_route_and_its_action(path: str) -> None:
    assert not is_taken(changed(full(), path, None))


@pytest.mark.parametrize("path", ["route", "route.action"])
def test_null_says_that_there_is_no_route_or_no_action(path: str) -> None:
    assert parsed(changed(full(), path, None)) == changed(full(), path, None)


WRONG_KINDS: list[Any] = [0, 1.5, True, False, "x", [], ["x"], [[]], {}, {"x": "x"}]
KINDS: dict[str, tuple[type, ...]] = {
    "location": (),
    "location.origin": (),
    "location.path": (),
    "location.query_names": (list,),
    "location.query_names.0": (str,),
    "route": (),
    "route.method": (str,),
    "route.pattern": (str,),
    "route.handler": (str,),
    "route.action": (str,),
    "snapshot": (),
    "snapshot.tag": (str,),
    "snapshot.children": (list,),
    "snapshot.children.0": (),
    "snapshot.role": (str,),
    "snapshot.name": (str,),
    "snapshot.text": (str,),
    "snapshot.id": (str,),
    "snapshot.classes": (list,),
    "snapshot.classes.0": (str,),
    "snapshot.attributes": (dict,),
    "snapshot.attributes.type": (str,),
    "snapshot.state": (dict,),
    "snapshot.state.disabled": (bool,),
    "snapshot.state.checked": (bool,),
    "snapshot.state.invalid": (bool,),
    "snapshot.href": (),
    "snapshot.src": (),
    "snapshot.source": (),
    "snapshot.source.status": (),
    "snapshot.source.references": (),
    "snapshot.source.references.0": (),
    "snapshot.source.references.0.role": (),
    "snapshot.source.references.0.path": (str,),
    "snapshot.source.references.0.symbol": (str,),
    "snapshot.source.references.0.precision": (),
    "focus_points": (list,),
    "focus_points.0": (),
    "focus_points.0.selector": (str,),
    "focus_points.0.source": (),
    "focus_points.0.ancestors": (list,),
    "focus_points.0.ancestors.0": (),
    "focus_points.0.ancestors.0.name": (str,),
    "focus_points.0.subtree": (),
    "truncation": (list,),
    "truncation.0": (),
    "truncation.0.section": (),
    "truncation.0.reasons": (),
    "truncation.0.reasons.0": (),
}


@pytest.mark.parametrize("path", KINDS)
def test_a_value_of_another_kind_is_refused(path: str) -> None:
    """Where the kind fits, the plainest value of it may be taken; every other kind must be refused."""
    taken = [wrong for wrong in WRONG_KINDS if is_taken(changed(full(), path, wrong))]
    assert [kind for kind in map(type, taken) if kind not in KINDS[path]] == []


@pytest.mark.parametrize("wrong", [["x"], [[]], [{}], [0], [None], [["x"]]])
@pytest.mark.parametrize("path", ["snapshot.children", "focus_points", "focus_points.0.ancestors", "truncation"])
def test_a_list_of_records_holds_nothing_else(path: str, wrong: list[Any]) -> None:
    assert not is_taken(changed(full(), path, wrong))


FLAGS = {
    "disabled": [True, False],
    "selected": [True, False],
    "expanded": [True, False],
    "required": [True, False],
    "checked": [True, False, "mixed"],
    "pressed": [True, False, "mixed"],
    "invalid": [True, False, "grammar", "spelling"],
}


@pytest.mark.parametrize("field", FLAGS)
@pytest.mark.parametrize("value", [True, False, "mixed", "grammar", "spelling", "true", "", 0, 1, 1.0, None, []])
def test_a_state_holds_its_own_values_and_numbers_are_no_booleans(field: str, value: Any) -> None:
    allowed = any(value is each or (type(value) is str and value == each) for each in FLAGS[field])
    assert is_taken(changed(full(), f"snapshot.state.{field}", value)) is allowed


WORDS = {
    "snapshot.tag": (
        ["a", "h1", "my-el", "a-", "x" * 64],
        ["", " ", "1h", "-a", "fb:like", "my_widget", "my-el.v2", "é", "a b", "a\u200b"],
    ),
    "focus_points.0.ancestors.0.tag": (["a", "h1", "my-el"], ["", "1h", "my_widget", "ſ"]),
    "route.method": (["GET", "PROPFIND"], ["", "GE T", "GET1", "M-SEARCH", "É"]),
    "snapshot.source.references.0.role": (["template", "definition", "caller"], ["", "page", "templates"]),
    "snapshot.source.references.0.precision": (["line", "template"], ["", "column"]),
    "truncation.0.section": (
        ["page", "focus:1", "focus:8"],
        ["", "focus", "focus:", "focus:0", "focus:9", "focus:10", "focus:01", "page:1", "focus:１"],
    ),
    "truncation.0.reasons.0": (["nodes", "depth"], ["", "byte", "string", "time"]),
    "location.path": (["/", "/a b", "//", "/é"], ["", "orders", "?", "/a?b", "/a#b", "/?", "/#", "\\"]),
    "snapshot.source.references.0.path": (
        ["a", "a/b.html", "a b/c", "templates/deps/x", "x_build", "depsx/a", "..a/b..", "ab:c"],
        [
            "",
            "/a",
            "\\a",
            "a\\b",
            "C:/a",
            "c:a",
            "a//b",
            "a/",
            ".",
            "..",
            "./a",
            "../a",
            "a/./b",
            "a/../b",
            "a/..",
            "deps",
            "deps/a",
            "_build",
            "_build/a",
        ],
    ),
    "snapshot.classes.0": (["x", "md:w-1/2"], ["", " ", "wide"]),
    "location.query_names.0": (["x", "a[b]"], ["", " ", "sort"]),
    "snapshot.source.references.0.symbol": (["x"], ["", " "]),
    "focus_points.0.selector": (["#a > b"], ["", "\t"]),
    "route.pattern": (["/"], ["", " "]),
    "route.handler": (["x"], ["", " "]),
}


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, row in WORDS.items() for value in row[0]])
def test_a_value_that_follows_the_rule_of_its_field_is_taken(path: str, value: str) -> None:
    assert parsed(changed(full(), path, value)) is not None


@pytest.mark.parametrize(("path", "value"), [(path, value) for path, row in WORDS.items() for value in row[1]])
def test_a_value_that_breaks_the_rule_of_its_field_is_refused(path: str, value: str) -> None:
    assert not is_taken(changed(full(), path, value))


@pytest.mark.parametrize(
    ("source", "taken"),
    [
        (hint(reference()), True),
        (hint(reference(), reference()), True),
        (hint(), False),
        (hint(status="ambiguous"), True),
        (hint(status="external"), True),
        (hint(status="unavailable"), True),
        (hint(reference(), status="ambiguous"), False),
        (hint(reference(), status="external"), False),
        (hint(reference(), status="unavailable"), False),
        (hint(status="unknown"), False),
        (hint(reference(precision="line")), True),
        (hint(reference(line=3)), True),
    ],
)
@pytest.mark.parametrize("place", ["snapshot.source", "focus_points.0.source"])
def test_a_hint_has_references_exactly_when_it_is_available(place: str, source: Any, taken: bool) -> None:
    assert is_taken(changed(full(), place, source)) is taken


def test_classes_query_names_selectors_sections_and_reasons_occur_once_each() -> None:
    assert not is_taken(changed(full(), "snapshot.classes", ["a", "b", "a"]))
    assert not is_taken(changed(full(), "location.query_names", ["a", "a"]))
    assert not is_taken(changed(full(), "snapshot.href.query_names", ["a", "a"]))
    assert not is_taken(changed(full(), "focus_points", [focus_point(), focus_point()]))
    assert not is_taken(changed(full(), "truncation", [truncated("page", "bytes"), truncated("page", "depth")]))
    assert not is_taken(changed(full(), "truncation.0.reasons", ["depth", "depth"]))
    assert not is_taken(changed(full(), "truncation.0.reasons", []))


def test_what_only_normalization_makes_equal_counts_as_repeated() -> None:
    assert not is_taken(changed(full(), "snapshot.classes", ["é", "e\u0301"]))
    assert not is_taken(changed(full(), "location.query_names", ["a b", " a  b"]))
    assert not is_taken(changed(full(), "focus_points", [focus_point(), focus_point(selector="#total\u202e ")]))
    assert not is_taken(changed(full(), "truncation", [truncated("page", "bytes"), truncated("PAGE", "bytes")]))
    assert not is_taken(changed(full(), "truncation.0.reasons", ["depth", " Depth"]))


def test_different_letter_case_keeps_classes_query_names_and_selectors_apart() -> None:
    assert is_taken(changed(full(), "snapshot.classes", ["a", "A"]))
    assert is_taken(changed(full(), "location.query_names", ["a", "A"]))
    assert is_taken(changed(full(), "focus_points", [focus_point(selector="#a"), focus_point(selector="#A")]))


def test_empty_lists_of_required_fields_stay() -> None:
    context = changed(minimal(), "focus_points", [focus_point(ancestors=[])])
    assert parsed(context) == context
    assert parsed(context)["location"] == location()
