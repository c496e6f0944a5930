"""How a request is normalized: line ends, controls, composition, white space, case, empties, order."""

from __future__ import annotations

import unicodedata
from typing import Any

import pytest

from flask_pi_taskbar.contract import InvalidTask, parse_task
from tests.contract.samples import at, body, changed, focus_point, full, hint, location, minimal, parsed, truncated

PROMPTS = [
    ("\u00a0\u2003\r\nImprove the checkout button.\u202e\u2003\u00a0", "Improve the checkout button."),
    (" \r\nExplain\u202ethe page. \r", "Explainthe page."),
    ("one\r\ntwo\rthree\nfour", "one\ntwo\nthree\nfour"),
    ("one\r\r\ntwo", "one\n\ntwo"),
    ("one\r\u202e\ntwo", "one\n\ntwo"),
    ("a\tb  c\n\n d", "a\tb  c\n\n d"),
    ("\u3000\u1680 \u2028\u2029 x \u205f\u202f", "x"),
    ("a\u2028b\u2029c\u0085d\u000be\u001cf", "a\u2028b\u2029cdef"),
    ("\ufeffx\ufeff", "\ufeffx\ufeff"),
    ("\u200bx\u200b", "\u200bx\u200b"),
    ("\u180ex", "\u180ex"),
    ("".join(map(chr, range(0x20))) + "x" + "".join(map(chr, range(0x7F, 0xA0))), "x"),
    ("\u202a\u202b\u202c\u202d\u202ex\u2066\u2067\u2068\u2069", "x"),
    ("\u2065x\u206a\u200e\u061c", "\u2065x\u206a\u200e\u061c"),
    ("e\u0301", "é"),
    ("e\u202e\u0301", "é"),
    ("e\u0000\u0301", "é"),
    ("\u1100\u2066\u1161\u202a\u11a8", "각"),
    ("a\u0327\u202e\u0301", "\u00e1\u0327"),
    ("\u212b \u2126", "\u00c5 \u03a9"),
    ("\ufb01 \u00bd", "\ufb01 \u00bd"),
    ("-1 <b>&</b> \\ \" '", "-1 <b>&</b> \\ \" '"),
]


@pytest.mark.parametrize(("given", "kept"), PROMPTS)
def test_a_prompt_keeps_its_inner_text_and_loses_controls_and_outer_space(given: str, kept: str) -> None:
    prompt = parse_task(body(minimal(), given)).prompt
    assert prompt == kept
    assert unicodedata.is_normalized("NFC", prompt)
    assert parse_task(body(minimal(), prompt)).prompt == prompt


@pytest.mark.parametrize("empty", ["", " ", "\r\n\t", "\u00a0\u3000", "\u202e", "\x00\x7f\u0085", "\u2028"])
def test_a_prompt_of_which_nothing_remains_is_refused(empty: str) -> None:
    with pytest.raises(InvalidTask):
        parse_task(body(minimal(), empty))


STRUCTURAL = [
    "location.query_names.0",
    "route.pattern",
    "route.handler",
    "route.action",
    "snapshot.role",
    "snapshot.name",
    "snapshot.text",
    "snapshot.id",
    "snapshot.classes.0",
    "snapshot.attributes.name",
    "snapshot.attributes.type",
    "snapshot.attributes.placeholder",
    "snapshot.attributes.data-testid",
    "snapshot.src.query_names.0",
    "snapshot.source.references.0.path",
    "snapshot.source.references.0.symbol",
    "snapshot.children.0.text",
    "focus_points.0.selector",
    "focus_points.0.ancestors.0.role",
    "focus_points.0.ancestors.0.name",
    "focus_points.0.ancestors.0.id",
]
LINES = [
    (" \t one\r\n\r two\u00a0\u3000three \n", "one two three"),
    ("one\u2028two\u2029three\u1680four\u205ffive", "one two three four five"),
    ("o\u202en\u0007e\u0085two", "onetwo"),
    ("one\u200btwo\ufeffthree", "one\u200btwo\ufeffthree"),
    ("e\u2067\u0301 \u0301", "é \u0301"),
    ("plain", "plain"),
]


@pytest.mark.parametrize(("given", "kept"), LINES)
@pytest.mark.parametrize("path", STRUCTURAL)
def test_a_string_of_the_context_is_brought_onto_one_line(path: str, given: str, kept: str) -> None:
    assert at(parsed(changed(full(), path, given)), path) == kept


@pytest.mark.parametrize("path", ["location.path", "snapshot.href.path", "snapshot.src.path"])
def test_so_are_url_paths(path: str) -> None:
    assert at(parsed(changed(full(), path, " /a \r\n b\u202e/c ")), path) == "/a b/c"


@pytest.mark.parametrize("path", ["location.origin", "snapshot.href.origin", "snapshot.src.origin"])
def test_so_are_origins_whose_case_stays(path: str) -> None:
    assert at(parsed(changed(full(), path, "\nhttp://LocalHost:80\u202e ")), path) == "http://LocalHost:80"


CASES = [
    ("route.method", " get\n", "GET"),
    ("route.method", "straße", "STRASSE"),
    ("snapshot.tag", " MAIN\u202e ", "main"),
    ("snapshot.tag", "\u212a", "k"),
    ("snapshot.children.0.tag", "H1", "h1"),
    ("focus_points.0.subtree.tag", "My-El", "my-el"),
    ("focus_points.0.ancestors.0.tag", "BODY", "body"),
    ("snapshot.state.checked", " MIXED", "mixed"),
    ("snapshot.state.invalid", "Grammar\n", "grammar"),
    ("snapshot.source.references.0.role", "Caller ", "caller"),
    ("snapshot.source.references.0.precision", "LINE", "line"),
    ("focus_points.0.source.status", " External", "external"),
    ("truncation.0.section", "PAGE\r\n", "page"),
    ("truncation.0.section", "Focus:3", "focus:3"),
]


@pytest.mark.parametrize(("path", "given", "kept"), CASES)
def test_words_of_the_contract_are_brought_into_their_case(path: str, given: str, kept: str) -> None:
    assert at(parsed(changed(full(), path, given)), path) == kept


KEPT_CASE = ["snapshot.role", "snapshot.name", "snapshot.id", "snapshot.classes.0", "route.pattern", "route.handler"]


@pytest.mark.parametrize("path", KEPT_CASE)
def test_the_pages_own_words_keep_their_case(path: str) -> None:
    assert at(parsed(changed(full(), path, "MixedCase")), path) == "MixedCase"


DROPPED = [
    *[f"snapshot.{field}" for field in ("role", "name", "text", "id")],
    *[f"snapshot.attributes.{field}" for field in ("name", "type", "placeholder", "data-testid")],
    *[f"focus_points.0.ancestors.0.{field}" for field in ("role", "name", "id")],
]


@pytest.mark.parametrize("empty", ["", " \t", "\u202e", "\u00a0\r\n"])
@pytest.mark.parametrize("path", DROPPED)
def test_an_optional_string_of_which_nothing_remains_is_left_out(path: str, empty: str) -> None:
    place, _, field = path.rpartition(".")
    assert field in at(full(), place)
    assert field not in at(parsed(changed(full(), path, empty)), place)


@pytest.mark.parametrize(
    ("field", "empty"),
    [
        ("classes", []),
        ("attributes", {}),
        ("attributes", {"name": "", "type": " \n"}),
        ("state", {}),
    ],
)
def test_containers_of_which_nothing_remains_are_left_out(field: str, empty: Any) -> None:
    assert field not in parsed(changed(full(), f"snapshot.{field}", empty))["snapshot"]


@pytest.mark.parametrize("empty", ["", " ", "\u202e"])
def test_an_action_of_which_nothing_remains_is_null(empty: str) -> None:
    assert parsed(changed(full(), "route.action", empty))["route"]["action"] is None


def test_false_is_a_state_and_stays() -> None:
    assert parsed(changed(full(), "snapshot.state", {"disabled": False}))["snapshot"]["state"] == {"disabled": False}


def test_reasons_and_sections_are_brought_into_their_order() -> None:
    given = [
        truncated("focus:8", "string", "bytes"),
        truncated("focus:2", "string", "depth", "nodes", "bytes"),
        truncated("page", "nodes"),
    ]
    assert parsed(changed(full(), "truncation", given))["truncation"] == [
        truncated("page", "nodes"),
        truncated("focus:2", "bytes", "nodes", "depth", "string"),
        truncated("focus:8", "bytes", "string"),
    ]


def test_focus_points_query_names_classes_references_and_children_keep_their_order() -> None:
    context = full()
    context["location"] = location(query_names=["z", "a", "m"])
    context["snapshot"]["classes"] = ["z", "a"]
    context["snapshot"]["children"] = [{"tag": tag, "children": []} for tag in ("p", "a", "ul")]
    context["focus_points"] = [focus_point(selector=selector) for selector in ("#z", "#a", "#m")]
    context["focus_points"][0]["source"] = hint(
        {"role": "template", "path": "z.html", "precision": "template"},
        {"role": "caller", "path": "a.html", "precision": "template"},
    )
    assert parsed(context) == context


def test_names_of_fields_are_not_normalized() -> None:
    with pytest.raises(InvalidTask):
        parsed(changed(full(), "snapshot.ROLE", "main"))
    with pytest.raises(InvalidTask):
        parsed(changed(full(), "snapshot.role\u202e", "main"))
