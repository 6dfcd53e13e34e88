"""A store that keeps failing is left alone for a while, and asked again by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.support.clock import FakeClock
from unsay_core.application.breaker import FAILURES, PAUSE, Breaker, GuardedSearch
from unsay_core.application.ports import Hit, SearchError


class Base:
    """A search that fails, is slow, or answers, as it is told."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.asked = 0
        self.failing = False
        self.takes = 0.0

    def nearest(self, query: str, **_: Any) -> Sequence[Hit]:
        self.asked += 1
        self.clock.sleep(self.takes)
        if self.failing:
            raise SearchError("knowledge_base_timeout")
        return [Hit("mem_1", 0.5)]


@pytest.fixture
def base() -> Base:
    return Base(FakeClock())


@pytest.fixture
def search(base: Base) -> GuardedSearch:
    return GuardedSearch(base, Breaker(base.clock.monotonic))


def reason(search: GuardedSearch) -> str | None:
    try:
        search.nearest("tea", limit=1, live_only=True, timeout=2.0)
    except SearchError as failure:
        return failure.reason
    return None


def fail(search: GuardedSearch, base: Base, times: int = FAILURES) -> None:
    base.failing = True
    for _ in range(times):
        assert reason(search) == "knowledge_base_timeout"


def test_after_a_row_of_failures_nobody_asks(search: GuardedSearch, base: Base) -> None:
    fail(search, base)
    assert reason(search) == "knowledge_base_unavailable"
    assert base.asked == FAILURES


def test_one_success_in_between_is_no_row(search: GuardedSearch, base: Base) -> None:
    for _ in range(3):
        fail(search, base, FAILURES - 1)
        base.failing = False
        assert reason(search) is None
    assert base.asked == 3 * FAILURES


def test_after_a_pause_one_probes_and_a_success_lets_all_through(search: GuardedSearch, base: Base) -> None:
    fail(search, base)
    base.clock.sleep(PAUSE)
    base.failing = False
    assert reason(search) is None
    assert reason(search) is None
    assert base.asked == FAILURES + 2


def test_while_one_probes_the_others_are_told_at_once() -> None:
    clock = FakeClock()
    breaker = Breaker(clock.monotonic)
    for _ in range(FAILURES):
        breaker.note(succeeded=False)
    assert not breaker.admits()
    clock.sleep(PAUSE)
    assert [breaker.admits() for _ in range(3)] == [True, False, False]
    breaker.note(succeeded=False)
    assert not breaker.admits()
    clock.sleep(PAUSE)
    assert [breaker.admits() for _ in range(3)] == [True, False, False], (
        "a probe that never ended is followed"
    )


def test_an_answer_that_comes_too_late_is_a_failure(search: GuardedSearch, base: Base) -> None:
    base.takes = 2.5
    for _ in range(FAILURES):
        assert reason(search) is None
    assert reason(search) == "knowledge_base_unavailable"
    base.clock.sleep(PAUSE)
    base.takes = 0.1
    assert reason(search) is None


def test_a_fault_of_ours_is_a_failure_and_goes_up(search: GuardedSearch, base: Base) -> None:
    base.clock.sleep = lambda _: 1 / 0  # type: ignore[method-assign, assignment]
    for _ in range(FAILURES):
        with pytest.raises(ZeroDivisionError):
            reason(search)
    assert reason(search) == "knowledge_base_unavailable"
