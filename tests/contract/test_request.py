"""The request as bytes: what is no JSON, what Python would read too kindly, and what hides in well-formed JSON."""

from __future__ import annotations

import json
import sys

import pytest

from flask_pi_taskbar.contract import InvalidTask, TaskRequest, encode_task, parse_task
from flask_pi_taskbar.contract.bounds import REQUEST_BYTES
from flask_pi_taskbar.contract.codes import Code
from tests.contract.samples import PROMPT, body, changed, full, hint, minimal, reference

MINIMAL = body(minimal()).decode()

NOT_JSON = {
    "nothing": b"",
    "white space": b" \n",
    "a lone brace": b"{",
    "a cut request": body(full())[:-1],
    "more after the end": body(minimal()) + b"{}",
    "single quotes": b"{'prompt': 'x'}",
    "a trailing comma": body(minimal())[:-1] + b",}",
    "a raw line feed in a string": b'{"prompt":"a\nb","context":{}}',
    "a byte order mark": b"\xef\xbb\xbf" + body(minimal()),
    "UTF-16": body(minimal()).decode().encode("utf-16"),
    "UTF-32": body(minimal()).decode().encode("utf-32"),
    "a cut code point": MINIMAL.replace("/orders", "/é").encode().replace(b"\xc3\xa9", b"\xc3"),
    "an overlong slash": MINIMAL.encode().replace(b"/orders", b"\xc0\xaf"),
    "a surrogate as UTF-8": MINIMAL.encode().replace(b"/orders", b"/\xed\xa0\x80"),
    "Latin-1": MINIMAL.replace("/orders", "/é").encode("latin-1"),
    "NaN": MINIMAL.replace('"contract_version": 1', '"contract_version": NaN').encode(),
    "Infinity": MINIMAL.replace('"contract_version": 1', '"contract_version": Infinity').encode(),
    "minus Infinity": MINIMAL.replace('"contract_version": 1', '"contract_version": -Infinity').encode(),
}

NO_TASK = {
    "null": b"null",
    "a list": b"[]",
    "a string": b'"prompt"',
    "a number": b"1",
    "an empty object": b"{}",
    "no context": json.dumps({"prompt": PROMPT}).encode(),
    "no prompt": json.dumps({"context": minimal()}).encode(),
    "one field too many": json.dumps({"prompt": PROMPT, "context": minimal(), "model": "x"}).encode(),
    "a context of null": body(None),
    "a context that is a list": body([minimal()]),
    "a prompt of null": body(minimal(), None),
    "a prompt that is a number": body(minimal(), 5),
    "a prompt that is a list": body(minimal(), ["x"]),
}


@pytest.mark.parametrize("raw", NOT_JSON.values(), ids=NOT_JSON.keys())
def test_what_is_not_clean_json_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidTask):
        parse_task(raw)


@pytest.mark.parametrize("raw", NO_TASK.values(), ids=NO_TASK.keys())
def test_json_of_another_shape_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidTask):
        parse_task(raw)


@pytest.mark.parametrize("opening", [b"[", b'{"a":', b'{"prompt":"x","context":{"snapshot":', b'[{"children":'])
def test_nesting_to_the_last_byte_is_refused(opening: bytes) -> None:
    with pytest.raises(InvalidTask):
        parse_task((opening * REQUEST_BYTES)[:REQUEST_BYTES])


@pytest.mark.parametrize("levels", [50, 500, sys.getrecursionlimit() - 100, 20_000])
@pytest.mark.parametrize("field", ["snapshot", "truncation", "route"])
def test_well_formed_nesting_of_any_depth_is_refused(levels: int, field: str) -> None:
    raw = body(changed(minimal(), field, "HERE")).replace(b'"HERE"', b"[" * levels + b"]" * levels)
    with pytest.raises(InvalidTask):
        parse_task(raw)


def test_a_request_of_exactly_the_bound_is_taken_and_one_more_byte_is_not() -> None:
    raw = body(minimal()).ljust(REQUEST_BYTES)
    assert parse_task(raw).prompt == PROMPT
    with pytest.raises(InvalidTask):
        parse_task(raw + b" ")


def test_a_request_that_outgrows_the_bound_once_its_numbers_are_spelled_out_is_refused() -> None:
    hinted = changed(full(), "snapshot.source", hint(reference(line="LINE")))
    raw = body(changed(hinted, "snapshot.text", "TEXT")).replace(b": ", b":").replace(b", ", b",")
    short = raw.replace(b'"LINE"', b"1E5")
    short = short.replace(b"TEXT", b" " * (REQUEST_BYTES - len(short) + len(b"TEXT")))
    plain = short.replace(b"1E5", b"100")
    assert len(short) == len(plain) == REQUEST_BYTES
    assert parse_task(plain).context["snapshot"]["source"]["references"][0]["line"] == 100
    with pytest.raises(InvalidTask):
        parse_task(short)


@pytest.mark.parametrize(
    "raw",
    [
        MINIMAL.replace('"prompt":', '"prompt": "another", "prompt":'),
        MINIMAL.replace('"prompt":', '"prompt": null, "prompt":'),
        MINIMAL[:-1] + ', "context": {}}',
        MINIMAL.replace('"route":', '"route": {}, "route":'),
        MINIMAL.replace('"tag":', '"tag": "script", "tag":'),
        MINIMAL.replace('"tag":', '"t\\u0061g": "body", "tag":'),
        MINIMAL.replace('"path":', '"path": "/orders", "path":'),
    ],
)
def test_a_name_that_occurs_twice_is_refused_whatever_its_values(raw: str) -> None:
    with pytest.raises(InvalidTask):
        parse_task(raw.encode())


@pytest.mark.parametrize("escape", [r"\ud800", r"\udfff", r"\uD83D", r"\ude42\ud83d", r"\ud83d x \ude42"])
@pytest.mark.parametrize("place", ["prompt", "value", "name"])
def test_lone_surrogates_are_refused_wherever_they_stand(escape: str, place: str) -> None:
    raw = {
        "prompt": body(minimal(), "say X"),
        "value": body(changed(minimal(), "location.path", "/X")),
        "name": body(changed(minimal(), "location.X", "x")),
    }[place]
    with pytest.raises(InvalidTask):
        parse_task(raw.replace(b"X", escape.encode()))


def test_a_surrogate_pair_is_the_code_point_it_stands_for() -> None:
    assert parse_task(body(minimal(), "say X").replace(b"X", rb"\ud83d\ude42")).prompt == "say 🙂"


VERSIONS_TAKEN = ["1", "1.0", "1e0", "10E-1"]
VERSIONS_REFUSED = [
    "true",
    "false",
    "null",
    '"1"',
    "0",
    "2",
    "-1",
    "1.5",
    "1.0000000000000002",
    "1e400",
    "-1e400",
    "1" + "0" * 30,
    "1" + "0" * 5000,
    "[1]",
]


@pytest.mark.parametrize("number", VERSIONS_TAKEN)
def test_every_spelling_of_the_number_one_is_version_one(number: str) -> None:
    raw = MINIMAL.replace('"contract_version": 1', f'"contract_version": {number}').encode()
    version = parse_task(raw).context["contract_version"]
    assert version == 1
    assert type(version) is int


@pytest.mark.parametrize("number", VERSIONS_REFUSED, ids=lambda number: number[:12])
def test_no_other_version_is_taken(number: str) -> None:
    with pytest.raises(InvalidTask):
        parse_task(MINIMAL.replace('"contract_version": 1', f'"contract_version": {number}').encode())


@pytest.mark.parametrize(
    ("number", "line"), [("1", 1), ("12.0", 12), ("9007199254740993", 2**53 + 1), ("1" + "0" * 40, 10**40)]
)
def test_a_line_is_any_whole_number_from_one_up(number: str, line: int) -> None:
    raw = body(changed(full(), "snapshot.source.references.0.line", "LINE")).replace(b'"LINE"', number.encode())
    task = parse_task(raw)
    assert task.context["snapshot"]["source"]["references"][0]["line"] == line
    assert parse_task(encode_task(task)) == task


@pytest.mark.parametrize("number", ["0", "-1", "0.0", "1.5", "true", "null", '"1"', "1e400", "9" * 5000])
def test_no_other_line_is_taken(number: str) -> None:
    raw = body(changed(full(), "snapshot.source.references.0.line", "LINE")).replace(b'"LINE"', number.encode())
    with pytest.raises(InvalidTask):
        parse_task(raw)


def test_a_refusal_says_one_fixed_sentence_and_holds_on_to_nothing_of_the_request() -> None:
    with pytest.raises(InvalidTask) as refusal:
        parse_task(b'{"prompt": "my secret", "context": ')
    assert str(refusal.value) == Code.INVALID_TASK.message == "Task request is invalid"
    assert refusal.value.__cause__ is None
    assert refusal.value.__context__ is None


def test_a_task_never_shows_its_text_when_it_is_printed() -> None:
    task = parse_task(body(full(), "my secret"))
    assert "secret" not in f"{task!r} {task}"
    assert "orders" not in f"{task!r} {task}"


def test_a_task_cannot_be_given_another_prompt() -> None:
    task = parse_task(body(minimal()))
    with pytest.raises(AttributeError):
        task.prompt = "something else"  # type: ignore[misc]


def test_a_task_is_handed_on_as_compact_json_that_reads_back_equal() -> None:
    task = parse_task(body(full(), 'Größer, bitte: "25 €" \\ <b>\tnow\u2028then\x7f🙂'))
    encoded = encode_task(task)
    assert (
        encoded
        == json.dumps(
            {"prompt": task.prompt, "context": task.context}, ensure_ascii=False, separators=(",", ":")
        ).encode()
    )
    assert parse_task(encoded) == task


def test_the_largest_prompt_fits_a_handed_on_request_even_where_every_byte_is_escaped() -> None:
    task = TaskRequest('"' * 4000, minimal())
    assert len(encode_task(task)) > 8000
    assert parse_task(encode_task(task)) == task
