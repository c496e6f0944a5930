"""Moments compare as strings, to the millisecond, and clocks that run ahead do no harm (spec 11)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flask_pi_taskbar.board import stamps
from tests.board_core.boards import NOW, tries

SPANS = json.loads((Path(__file__).parent / "age_vectors.json").read_text(encoding="utf-8"))["spans"]
MOMENTS = st.datetimes(datetime(1970, 1, 2), datetime(2200, 1, 1), timezones=st.just(UTC))


@tries(100)
@given(MOMENTS, MOMENTS)
def test_stamps_sort_like_their_moments(one: datetime, other: datetime) -> None:
    texts = [stamps.stamp(one), stamps.stamp(other)]
    assert sorted(texts) == [stamps.stamp(moment) for moment in sorted((one, other))]
    assert stamps.well_formed(texts)
    assert all(stamps.stamp(stamps.moment(text)) == text for text in texts)


@pytest.mark.parametrize(
    ("spelled", "meant"),
    [
        ("2026-11-30T20:00:00Z", "2026-11-30T20:00:00.000Z"),
        ("2026-11-30T21:00:00.5+01:00", "2026-11-30T20:00:00.500Z"),
        ("2026-11-30 20:00:00.123456+00:00", "2026-11-30T20:00:00.123Z"),
        ("2026-11-30T20:00:00", None),
        ("2026-02-30T20:00:00Z", None),
        ("0001-01-01T00:00:00+23:00", None),
        ("yesterday", None),
        (1764532800, None),
    ],
)
def test_other_spellings_of_a_moment_are_understood_where_they_name_one(spelled: object, meant: str | None) -> None:
    assert stamps.restamp(spelled) == meant
    assert not isinstance(spelled, str) or not stamps.well_formed([spelled])


@pytest.mark.parametrize(("seconds", "shown"), SPANS)
def test_an_age_is_its_largest_whole_unit(seconds: float, shown: str) -> None:
    assert stamps.span(seconds) == shown


def test_a_stamp_a_little_ahead_is_now_and_far_ahead_is_a_wrong_clock() -> None:
    soon, far = (stamps.stamp(NOW + timedelta(minutes=minutes)) for minutes in (4, 6))
    assert (stamps.age(soon, NOW), stamps.age(far, NOW)) == ("0s", "clock?")
    assert (stamps.settled(soon, NOW), stamps.settled(far, NOW)) == (soon, stamps.stamp(NOW))


def test_touched_at_never_goes_back_unless_it_was_ahead() -> None:
    earlier, soon, far = (stamps.stamp(NOW + timedelta(minutes=minutes)) for minutes in (-1, 4, 6))
    assert stamps.later(earlier, NOW) == stamps.stamp(NOW)
    assert stamps.later(soon, NOW) == soon
    assert stamps.later(far, NOW) == stamps.stamp(NOW)
