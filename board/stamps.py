"""Time as cards hold it: UTC, ISO 8601, milliseconds, `Z`, always 24 characters.

Because every stamp has the same shape, comparing two of them as strings compares the moments, and "older than half an
hour" is one comparison with a cutoff. Nothing here reads a clock: `now` is always passed in, as an aware datetime.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Final

Stamp = str
"""A moment as `2026-11-30T20:00:00.123Z`."""

EPOCH: Final[Stamp] = "1970-01-01T00:00:00.000Z"
SKEW: Final = timedelta(minutes=5)
"""How far ahead of us another machine's clock may be before its stamp is no longer believed (spec 11)."""

_SHAPE: Final = "0000-00-00T00:00:00.000Z"
_DIGITS: Final = {ord(digit): "0" for digit in "123456789"}


def stamp(moment: datetime) -> Stamp:
    """`moment` (aware) as a stamp; what is finer than a millisecond is cut off."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def moment(text: Stamp) -> datetime:
    """The aware datetime that a stamp names."""
    return datetime.fromisoformat(text)


def after(text: Stamp, length: timedelta) -> datetime:
    """The moment so long after a stamp; the last one that there is where a stamp lies at the end of time."""
    try:
        return moment(text) + length
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)


def well_formed(stamps: Collection[Stamp]) -> bool:
    """Whether every one of these strings is a stamp: the one shape, and a day and time that exist."""
    if "".join(stamps).translate(_DIGITS) != _SHAPE * len(stamps):
        return False
    try:
        for text in stamps:
            datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def restamp(value: object) -> Stamp | None:
    """The stamp that another spelling of a moment means (an offset, no milliseconds), or None if it means none.

    A time without an offset is refused: nobody can say which moment it is.
    """
    if not isinstance(value, str) or len(value) > 64:
        return None
    try:
        found = datetime.fromisoformat(value)
        return None if found.tzinfo is None else stamp(found)
    except (ValueError, OverflowError):
        return None


def cutoff(now: datetime, back: timedelta) -> Stamp:
    """The stamp `back` before now: what is equal or less is at least that old, to the millisecond."""
    return stamp(now - back)


def ahead(text: Stamp, now: datetime) -> bool:
    """Whether a stamp lies so far in the future that its clock was wrong; such a stamp counts as now."""
    return text > stamp(now + SKEW)


def settled(text: Stamp, now: datetime) -> Stamp:
    """The stamp itself, or now where it is ahead."""
    return stamp(now) if ahead(text, now) else text


def later(previous: Stamp, now: datetime) -> Stamp:
    """What `touchedAt` becomes: never earlier than it was, unless what it was lies ahead of us."""
    current = stamp(now)
    return current if ahead(previous, now) else max(current, previous)


def seconds_since(text: Stamp, now: datetime) -> float:
    """The age of a stamp in seconds, never negative."""
    return max(0.0, (now - moment(text)).total_seconds())


def age(text: Stamp, now: datetime) -> str:
    """The age of a stamp for people: `45s`, `21m`, `2h`, `3d`, or `clock?` where it is ahead."""
    return "clock?" if ahead(text, now) else span(seconds_since(text, now))


def span(seconds: float) -> str:
    """A length of time in its largest whole unit."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m"
    return f"{whole // 3600}h" if whole < 86400 else f"{whole // 86400}d"
