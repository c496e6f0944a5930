"""Texts are cleaned by one rule for each kind (spec 12): never cut, never ambiguous, and clean stays clean."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_pi_taskbar.board import text
from flask_pi_taskbar.board.refusal import Code, Refusal
from tests.board_core.boards import tries


@pytest.mark.parametrize(
    ("given_title", "kept"),
    [
        ("  Two\t\n words ", "Two words"),
        ('The XML tag <person> & "x"', 'The XML tag <person> & "x"'),
        ("e\u0301t\u00e9", "\u00e9t\u00e9"),
        ("bell\u0007 and \u009besc", "bell and esc"),
        ("zero\u200bwidth\u2060\ufeff", "zerowidth"),
        ("evil\u202egnp.exe\u2066x\u2069", "evilgnp.exex"),
        ("family 👩\u200d👩\u200d👧 stays", "family 👩\u200d👩\u200d👧 stays"),
        ("نام\u200cها", "نام\u200cها"),
        ("non\u00a0breaking\u3000wide", "non breaking wide"),
        ("z" + "\u0301" * 30, unicodedata.normalize("NFC", "z" + "\u0301" * 9)[:9]),
    ],
)
def test_a_title_is_one_visible_line(given_title: str, kept: str) -> None:
    assert text.clean_title(given_title) == kept


def test_a_note_keeps_its_lines_and_tabs_and_loses_other_controls() -> None:
    assert text.clean_note("\r\n one\r\n\ttwo\x1b[31m\rthree\x00 \n") == "one\n\ttwo[31m\nthree"


@pytest.mark.parametrize(
    ("clean", "longest", "limit"),
    [
        (text.clean_title, "😀" * 120, 120),
        (text.clean_note, "é" * 4000, 4000),
        (text.clean_label, "a" * 40, 40),
        (text.clean_path, "p" * 200, 200),
        (text.clean_plan, "p" * 400, 400),
        (text.clean_query, "q" * 200, 200),
        (text.clean_key, "k" * 64, 64),
    ],
)
def test_what_is_too_long_is_refused_with_both_numbers_and_never_cut(clean, longest: str, limit: int) -> None:
    assert clean(longest) == longest
    with pytest.raises(Refusal) as refused:
        clean(longest + longest[0])
    assert refused.value.code is Code.TOO_LONG
    assert (refused.value.details["limit"], refused.value.details["got"]) == (limit, limit + 1)


@pytest.mark.parametrize(
    "clean", [text.clean_title, text.clean_note, text.clean_label, text.clean_path, text.clean_plan]
)
@pytest.mark.parametrize("nothing", ["", "  \n", "\u200b\u2060", "\u202e", "\u0301", None, 7, ["x"], "half \ud800"])
def test_what_cannot_be_read_is_a_bad_field(clean, nothing: object) -> None:
    with pytest.raises(Refusal) as refused:
        clean(nothing)
    assert refused.value.code is Code.BAD_FIELD
    assert refused.value.details["field"]


@pytest.mark.parametrize(("spelled", "number"), [(4, 4), ("4", 4), ("#4", 4), (2**31 - 1, 2**31 - 1)])
def test_a_card_has_three_spellings(spelled: object, number: int) -> None:
    assert text.clean_card_id(spelled) == number


@pytest.mark.parametrize(
    "spelled",
    ["04", "4.0", "-1", "#", "##4", " 4", "4 ", "٤", "", 0, -1, 4.0, True, None, 2**31, "2147483648", [4], "9" * 5000],
)
def test_every_other_spelling_of_a_card_is_refused(spelled: object) -> None:
    with pytest.raises(Refusal) as refused:
        text.clean_card_id(spelled)
    assert refused.value.code is Code.BAD_FIELD


def test_links_are_distinct_and_at_most_fifty() -> None:
    assert text.clean_card_ids([3, "#1", "3", 2]) == (3, 1, 2)
    assert len(text.clean_card_ids([*range(1, 51), 1])) == 50
    with pytest.raises(Refusal) as refused:
        text.clean_card_ids([*range(1, 52)])
    assert refused.value.code is Code.TOO_LONG


def test_paths_keep_their_order_once_each_with_forward_slashes() -> None:
    assert text.clean_paths(["src\\billing", "docs", " src/billing "]) == ("src/billing", "docs")
    with pytest.raises(Refusal) as refused:
        text.clean_paths([f"p{n}" for n in range(21)])
    assert refused.value.details["limit"] == 20


@pytest.mark.parametrize("path", ["a\nb", "a\0b", "a\rb"])
def test_a_path_with_a_line_break_or_nul_is_refused(path: str) -> None:
    with pytest.raises(Refusal):
        text.clean_paths([path])


@pytest.mark.parametrize("label", ["a/b", "<b>", "a\u2028b;", "x&y"])
def test_a_label_holds_letters_digits_and_four_signs(label: str) -> None:
    assert text.clean_label("Zoë-2_b. ") == "Zoë-2_b."
    with pytest.raises(Refusal):
        text.clean_label(label)


@pytest.mark.parametrize("key", ["a b", "ключ", "", "a/b"])
def test_a_key_is_plain(key: str) -> None:
    with pytest.raises(Refusal):
        text.clean_key(key)


@tries(100)
@given(st.text(max_size=200))
def test_cleaning_twice_changes_nothing(raw: str) -> None:
    for clean in (text.one_line, text.settled):
        once = clean(raw)
        assert clean(once) == once
        assert unicodedata.is_normalized("NFC", once)
    assert text.is_clean_line(raw) == (text.one_line(raw) == raw)
