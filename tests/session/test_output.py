"""The text of a task: the newest bytes, valid, with blank lines between its pieces, and cheap to add to."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from flask_pi_taskbar.broker.output import Output
from flask_pi_taskbar.contract.bounds import OUTPUT_BYTES
from flask_pi_taskbar.contract.text import utf8_suffix

tries = settings(deadline=None, database=None)


def test_the_contracts_golden() -> None:
    output = Output()
    output.append("a" * 32_768)
    assert not output.truncated
    output.append("🙂z")
    assert len(output.text.encode()) == 32_768
    assert output.text.endswith("🙂z")
    assert output.truncated


def test_a_character_that_the_bound_divides_is_dropped() -> None:
    output = Output()
    output.append("🙂" + "a" * (OUTPUT_BYTES - 2))
    assert output.text == "a" * (OUTPUT_BYTES - 2)


def test_truncated_stays() -> None:
    output = Output()
    output.append("a" * (OUTPUT_BYTES + 1))
    output.seal()
    assert (output.truncated, len(output.text)) == (True, OUTPUT_BYTES)


def test_a_restored_text_keeps_what_was_known_of_it() -> None:
    output = Output("so far", truncated=True)
    assert (output.text, output.truncated) == ("so far", True)


def test_between_blocks_there_is_exactly_one_blank_line() -> None:
    for before, after, text in (
        ("a", "b", "a\n\nb"),
        ("a\n", "b", "a\n\nb"),
        ("a\n\n", "b", "a\n\nb"),
        ("a", "\nb", "a\n\nb"),
        ("a\n", "\nb", "a\n\nb"),
        ("a\n\n\n", "b", "a\n\n\nb"),
    ):
        output = Output()
        output.append(before, 1)
        output.append("", 2)
        output.append(after, 3)
        assert output.text == text


def test_the_first_block_has_nothing_before_it() -> None:
    output = Output()
    output.append("a", (1, 0))
    output.append("b", (1, 0))
    assert output.text == "ab"


def test_lone_surrogates_are_dropped() -> None:
    output = Output()
    output.append("a\ud83eb")
    assert output.text == "ab"


@tries
@given(
    st.lists(st.text(max_size=60) | st.sampled_from(["€" * 12_000, "é", "a", "₭" + "€" * 11_000, "\n"]), max_size=12)
)
def test_it_is_the_suffix_of_all_that_was_said_and_its_version_follows_its_text(deltas: list[str]) -> None:
    output, said = Output(), ""
    for delta in deltas:
        before = (output.text, output.truncated, output.version)
        output.append(delta)
        said += delta
        assert output.text == utf8_suffix(said, OUTPUT_BYTES)
        assert output.truncated == (len(said.encode()) > OUTPUT_BYTES)
        changed = (output.text, output.truncated) != before[:2]
        assert (output.version != before[2]) == changed


def test_old_text_is_moved_once_for_a_bound_of_new_text() -> None:
    """… and not with every delta; nor does the buffer grow."""
    output, cuts, size, total = Output(), 0, 0, 0
    for number in range(40_000):
        delta = f"{number} "
        output.append(delta)
        total += len(delta)
        cuts += len(output._buffer) < size
        size = len(output._buffer)
        assert size <= 2 * OUTPUT_BYTES
    assert cuts <= total / OUTPUT_BYTES
