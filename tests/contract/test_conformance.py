"""The contract's shared schemas and fixtures, run against ours.

They live outside this project. The environment variable PI_TASKBAR_CONTRACT_DIR names their folder; without it these
tests are skipped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flask_pi_taskbar.contract import encode_task, envelope, parse_task
from tests.contract.reference import normalized
from tests.contract.samples import body, changed, full, is_taken, minimal, parsed
from tests.contract.schema import judge_of, unknown_keywords
from tests.contract.strategies import broken_contexts, contexts, rough_contexts

VARIABLE = "PI_TASKBAR_CONTRACT_DIR"
FOLDER = Path(os.environ.get(VARIABLE) or "/nonexistent")
SCHEMA = FOLDER / "schemas" / "browser-context.v1.schema.json"
VALID = {
    "minimal-whole-page",
    "rich-whole-page",
    "one-focus-unavailable",
    "eight-focus-unavailable",
    "phoenix-source-hints",
    "rails-source-hints",
}

pytestmark = pytest.mark.skipif(
    not SCHEMA.is_file(), reason=f"{VARIABLE} names no folder with the contract's schemas and fixtures"
)
tries = settings(deadline=None, database=None, max_examples=80)


def fixtures(kind: str) -> list[Any]:
    return [pytest.param(file, id=file.stem) for file in sorted((FOLDER / kind).glob("*.json"))]


def read(file: Path) -> Any:
    return json.loads(file.read_text())


@cache
def schema_takes() -> Callable[[Any], bool]:
    return judge_of(SCHEMA)


def test_the_folder_holds_fixtures_of_each_kind() -> None:
    assert all(fixtures(kind) for kind in ("browser-context", "tasks", "prompts"))


def test_every_keyword_of_the_schema_is_judged() -> None:
    assert unknown_keywords(SCHEMA) == set()


@pytest.mark.parametrize("file", fixtures("browser-context"))
def test_a_context_is_taken_unchanged_or_refused_as_its_fixture_says(file: Path) -> None:
    context = read(file)
    assert is_taken(context) is schema_takes()(context) is (file.stem in VALID)
    if file.stem in VALID:
        assert parsed(context) == context


@pytest.mark.parametrize("file", fixtures("tasks"))
def test_a_task_is_taken_unchanged(file: Path) -> None:
    task = parse_task(file.read_bytes())
    assert json.loads(encode_task(task)) == read(file)


@pytest.mark.parametrize("file", fixtures("prompts"))
def test_a_prompt_is_the_golden_one_byte_for_byte(file: Path) -> None:
    golden = read(file)
    context = read(FOLDER / "browser-context" / Path(golden["context_fixture"]).name)
    assert envelope(parse_task(body(context, golden["instruction"]))) == golden["expected"]


def agreed(context: Any) -> bool:
    """The schema's verdict, and the one rule of the contract that the schema does not hold: a section occurs once."""
    if not schema_takes()(context):
        return False
    sections = [entry["section"] for entry in context["truncation"]]
    return len(set(sections)) == len(sections)


def test_our_own_samples_are_valid_by_the_schema() -> None:
    assert agreed(minimal())
    assert agreed(full())


@tries
@given(contexts)
def test_random_contexts_are_valid_by_the_schema_too(context: Any) -> None:
    assert agreed(context)
    assert is_taken(context)


@tries
@given(rough_contexts() | broken_contexts())
def test_a_context_is_taken_exactly_when_the_schema_takes_it_normalized(context: Any) -> None:
    assert is_taken(context) is agreed(normalized(context))


@tries
@given(st.data())
def test_odd_words_are_judged_like_the_schema_judges_them(data: st.DataObject) -> None:
    path = data.draw(
        st.sampled_from(
            [
                "location.origin",
                "location.path",
                "route.method",
                "snapshot.tag",
                "snapshot.source.references.0.path",
                "truncation.0.section",
            ]
        )
    )
    odd = data.draw(st.text("aZ19./:\\[]-_@?#%é ", max_size=12))
    start = data.draw(st.sampled_from(["", "http://", "https://[", "/", "deps/", "C:", "focus:"]))
    context = changed(full(), path, start + odd)
    assert is_taken(context) is agreed(normalized(context))
