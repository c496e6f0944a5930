"""The text tools that other rooms share."""

from __future__ import annotations

from typing import Literal
from unicodedata import normalize

import pytest

from flask_pi_taskbar.contract import text as text_module
from flask_pi_taskbar.contract.text import clean_label, composed, utf8_prefix, utf8_suffix
from tests.contract.samples import PROMPT, changed, full, is_taken, minimal


@pytest.mark.parametrize(
    ("text", "max_bytes", "start", "end"),
    [
        ("abc", 3, "abc", "abc"),
        ("abc", 2, "ab", "bc"),
        ("abc", 0, "", ""),
        ("", 5, "", ""),
        ("éé", 3, "é", "é"),
        ("a字b", 3, "a", "b"),
        ("🙂🙂", 7, "🙂", "🙂"),
        ("🙂z", 4, "🙂", "z"),
        ("🙂", 3, "", ""),
        ("a\ud83db", 2, "ab", "ab"),
        ("\udfff", 5, "", ""),
    ],
)
def test_text_is_cut_between_code_points(text: str, max_bytes: int, start: str, end: str) -> None:
    assert utf8_prefix(text, max_bytes) == start
    assert utf8_suffix(text, max_bytes) == end


def test_the_newest_32_kib_of_output_end_in_whole_code_points() -> None:
    kept = utf8_suffix("a" * 32_768 + "🙂z", 32_768)
    assert len(kept.encode()) == 32_768
    assert kept.endswith("a🙂z")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("openai/gpt", "openai/gpt"),
        ("  two \t\r\n words\u3000", "two words"),
        ("a\x00b\x7fc\u202ed\u2069e", "a b c d e"),
        ("\x1b[31mred", "[31mred"),
        ("\u0085", ""),
        ("x" * 300, "x" * 256),
        ("字" * 100, "字" * 85),
        ("x" * 255 + " y", "x" * 255),
    ],
)
def test_a_label_is_one_clean_line_within_its_bound(text: str, label: str) -> None:
    assert clean_label(text, 256) == label


@pytest.mark.parametrize(
    ("text", "max_bytes", "result"),
    [
        ("", 0, ""),
        ("abc", 3, "abc"),
        ("abc", 2, None),
        ("é", 2, "é"),
        ("é", 1, None),
        ("e\u0301", 2, "é"),
        ("\u212a", 1, "K"),
        ("\u1100\u1161\u11a8" * 5, 15, "각" * 5),
        ("\u0958", 6, "\u0915\u093c"),
        ("\u0958", 5, None),
        ("a\u0301\u0327", 4, "\u00e1\u0327"),
    ],
)
def test_a_text_is_measured_composed(text: str, max_bytes: int, result: str | None) -> None:
    assert composed(text, max_bytes) == result


def test_composing_leaves_at_least_a_quarter_of_every_text() -> None:
    """Whatever composes to a character is made of its parts, or of characters that stand for one of its parts."""
    characters = map(chr, (*range(0xD800), *range(0xE000, 0x110000)))
    made = {each: parts for each in characters if (parts := normalize("NFD", each)) != each}
    longest = {part: len(part.encode()) for parts in made.values() for part in parts}
    for each, parts in made.items():
        if len(parts) == 1:
            longest[parts] = max(longest[parts], len(each.encode()))
    for each, parts in made.items():
        assert len(each.encode()) <= sum(longest[part] for part in parts) <= 4 * len(each.encode())
    assert all(size <= 4 * len(part.encode()) for part, size in longest.items())


def test_what_cannot_fit_is_refused_before_its_accents_are_put_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python orders accents in quadratic time: a whole request of them would take seconds."""
    sizes: list[int] = []

    def noted(form: Literal["NFC"], given: str) -> str:
        sizes.append(len(given.encode()))
        return normalize(form, given)

    monkeypatch.setattr(text_module, "normalize", noted)
    accents = "x" + "\u0301\u0327" * 32_000
    for context, prompt in (
        (minimal(), accents),
        (changed(full(), "snapshot.text", accents), PROMPT),
        (changed(full(), "snapshot.tag", accents), PROMPT),
        (changed(full(), "truncation.0.section", accents), PROMPT),
    ):
        assert not is_taken(context, prompt)
    assert all(size <= 4 * 4_000 for size in sizes)
    assert is_taken(changed(full(), "snapshot.text", accents[:250]))
    assert sizes
