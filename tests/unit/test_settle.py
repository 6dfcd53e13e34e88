"""Losing a race is tried again, for a while."""

from __future__ import annotations

import pytest

from tests.support.clock import FakeClock, fake_world
from unsay_core.application.ports import ConflictError
from unsay_core.application.settle import CAP, DEADLINE, settle
from unsay_core.domain.errors import BusyError, NotFoundError


def losing(times: int):
    left = iter([True] * times)

    def attempt() -> str:
        if next(left, False):
            raise ConflictError("another writer was first")
        return "done"

    return attempt


@pytest.mark.parametrize("times", [0, 1, 5, 20])
def test_a_lost_race_is_run_again_until_it_is_won(times: int) -> None:
    assert settle(losing(times), fake_world()) == "done"


def test_contention_that_outlasts_the_deadline_is_busy_and_says_when_to_come_back() -> None:
    clock = FakeClock()
    with pytest.raises(BusyError) as refusal:
        settle(losing(10_000), fake_world(clock))
    assert refusal.value.retry_after
    assert DEADLINE - CAP <= clock.monotonic() <= DEADLINE


def test_whatever_else_goes_wrong_goes_up_at_once() -> None:
    clock = FakeClock()

    def attempt() -> None:
        raise NotFoundError

    with pytest.raises(NotFoundError):
        settle(attempt, fake_world(clock))
    assert clock.monotonic() == 0
