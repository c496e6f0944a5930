"""The text tools that other rooms share."""

from __future__ import annotations

import pytest

from flask_pi_taskbar.contract.text import clean_label, exceeds, on_one_line, settled, utf8_prefix, utf8_suffix


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


def test_settling_a_text_twice_changes_nothing_more() -> None:
    for text in ("e\u202e\u0301", "\r\r\n", "a\x00\u0300\u0301", "\u1100\u2066\u1161", "\u0958", "\u0344"):
        assert settled(settled(text)) == settled(text)
        assert on_one_line(on_one_line(text)) == on_one_line(text)


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("字a", 4), ("🙂", 4)])
def test_bytes_are_counted_as_utf8(text: str, size: int) -> None:
    assert not exceeds(text, size)
    assert size == 0 or exceeds(text, size - 1)
