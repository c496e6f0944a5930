"""What holds for every request, tried on random ones."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from flask_pi_taskbar.contract import InvalidTask, TaskRequest, encode_task, envelope, parse_task
from flask_pi_taskbar.contract.prompt import BEGIN, END
from tests.contract.reference import normalized
from tests.contract.samples import body, full, is_taken
from tests.contract.strategies import (
    CONTROLS,
    LETTERS,
    Context,
    broken_contexts,
    contexts,
    json_values,
    prompt,
    rough_contexts,
)

tries = settings(deadline=None, database=None, max_examples=150)


def attempt(raw: bytes) -> TaskRequest | None:
    """The task in `raw`, or None where it is refused; every other exception ends the test."""
    try:
        return parse_task(raw)
    except InvalidTask:
        return None


def strings(value: Any) -> list[str]:
    match value:
        case str():
            return [value]
        case dict():
            return [text for inner in value.values() for text in strings(inner)]
        case list():
            return [text for inner in value for text in strings(inner)]
    return []


@tries
@given(contexts, prompt())
def test_a_normalized_request_is_taken_unchanged_and_survives_being_handed_on(context: Context, text: str) -> None:
    task = parse_task(body(context, text))
    assert task.context == context
    assert task.prompt == text
    assert parse_task(encode_task(task)) == task


@tries
@given(rough_contexts(), st.text(LETTERS + CONTROLS, max_size=30))
def test_what_is_taken_is_normalized_for_good(context: Context, text: str) -> None:
    task = attempt(body(context, text))
    if task is None:
        return
    assert parse_task(encode_task(task)) == task
    for each in strings(task.context):
        assert each == " ".join(each.split())
        assert unicodedata.is_normalized("NFC", each)
        assert each.isprintable() or not set(each) & set(CONTROLS)
    assert task.prompt == task.prompt.strip() != ""


@tries
@given(rough_contexts() | broken_contexts())
def test_a_context_is_taken_as_its_normalized_form_is(context: Any) -> None:
    expected = normalized(context)
    task, again = attempt(body(context)), attempt(body(expected))
    assert task == again
    assert task is None or task.context == expected


@tries
@given(broken_contexts())
def test_a_broken_context_is_refused_or_taken_but_never_raises_anything_else(context: Any) -> None:
    task = attempt(body(context))
    assert task is None or parse_task(encode_task(task)) == task


@tries
@given(json_values)
def test_any_json_is_answered(value: Any) -> None:
    attempt(json.dumps(value).encode())
    attempt(json.dumps({"prompt": value, "context": value}).encode())


@tries
@given(st.binary(max_size=200))
def test_any_bytes_are_answered(raw: bytes) -> None:
    attempt(raw)


RAW = body(full())


@tries
@given(st.data())
def test_flipped_cut_and_doubled_bytes_are_answered(data: st.DataObject) -> None:
    raw = bytearray(RAW)
    for _ in range(data.draw(st.integers(1, 4))):
        where = data.draw(st.integers(0, len(raw) - 1))
        length = data.draw(st.integers(0, 8))
        raw[where : where + length] = data.draw(st.sampled_from([b"", b"\\u", b"\xff", b'"', b"[", b"1e999", b"NaN"]))
    attempt(bytes(raw))


@tries
@given(contexts, prompt())
def test_the_message_is_pythons_own_json_with_html_escaped(context: Context, text: str) -> None:
    data = json.dumps(context, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    data = data.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    assert envelope(parse_task(body(context, text))) == f"{text}\n\n{BEGIN}\n{data}\n{END}"


@tries
@given(contexts, st.lists(st.sampled_from([BEGIN, END, END.lower(), "-", " ", "x", "---"]), max_size=6).map("".join))
def test_no_page_text_adds_a_fence_or_changes_its_value(context: Context, text: str) -> None:
    context["snapshot"]["text"] = f"x{text}"[:1000]
    task = parse_task(body(context))
    message = envelope(task)
    assert (message.count(BEGIN), message.count(END), message.lower().count(END.lower())) == (1, 1, 1)
    assert json.loads(message.split(f"\n{BEGIN}\n")[1].split(f"\n{END}")[0]) == task.context


@tries
@given(st.text(st.characters(codec="utf-8"), max_size=8))
def test_any_character_in_a_text_is_taken_or_refused_alone_by_the_contracts_rules(text: str) -> None:
    """A string that Python can encode is always a fit node text, since what is not printable goes."""
    context = full()
    context["snapshot"]["text"] = text
    assert is_taken(context)
