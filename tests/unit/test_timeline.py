"""Valid time: half-open intervals with unknown ends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from unsay_core.domain.timeline import Interval, rfc3339

T0 = datetime(2020, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
instants = st.datetimes(timezones=st.just(UTC), min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30))
intervals = st.builds(Interval, st.none() | instants, st.none() | instants)


def test_the_start_belongs_to_an_interval_and_the_end_does_not() -> None:
    year = Interval(T0, T0 + timedelta(days=366))
    assert year.contains(T0)
    assert not year.contains(T0 - TICK)
    assert year.contains(T0 + timedelta(days=366) - TICK)
    assert not year.contains(T0 + timedelta(days=366))


@given(instants)
def test_an_interval_without_ends_holds_every_instant(instant: datetime) -> None:
    assert Interval().contains(instant)


def test_neighbours_do_not_overlap() -> None:
    one, next_ = Interval(T0, T0 + TICK), Interval(T0 + TICK, None)
    assert not one.overlaps(next_)
    assert not next_.overlaps(one)
    assert one.overlaps(Interval(None, T0 + TICK))


@given(intervals, intervals, instants)
def test_two_intervals_overlap_if_and_only_if_some_instant_lies_in_both(
    one: Interval, other: Interval, instant: datetime
) -> None:
    assert one.overlaps(other) == other.overlaps(one)
    if one.contains(instant) and other.contains(instant):
        assert one.overlaps(other)


@given(intervals)
def test_an_empty_interval_overlaps_nothing_and_any_other_itself(interval: Interval) -> None:
    assert interval.overlaps(interval) is not interval.is_empty
    assert interval.overlaps(Interval()) is not interval.is_empty


@given(intervals, instants, instants)
def test_what_is_ended_by_an_instant_holds_what_was_before_it(
    interval: Interval, end: datetime, instant: datetime
) -> None:
    left = interval.ended_by(end)
    assert left.contains(instant) == (interval.contains(instant) and instant < end)


def test_an_instant_is_written_in_utc_with_microseconds() -> None:
    assert rfc3339(T0) == "2020-01-01T00:00:00.000000Z"
    east = datetime(2020, 1, 1, 2, 0, 0, 7, tzinfo=timezone(timedelta(hours=2)))
    assert rfc3339(east) == "2020-01-01T00:00:00.000007Z"
    assert rfc3339(datetime(1, 1, 1, tzinfo=UTC)) == "0001-01-01T00:00:00.000000Z"


@given(instants)
def test_what_is_written_is_read_back_as_the_same_instant(instant: datetime) -> None:
    assert datetime.fromisoformat(rfc3339(instant)) == instant
