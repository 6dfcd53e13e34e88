"""What a scope may hold, and how it is counted."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from tests.support.clock import FakeClock
from unsay_core.domain.memory import Fact
from unsay_core.domain.quota import Quotas, Usage

NOW = FakeClock().now()


def test_only_what_is_limited_is_named() -> None:
    assert Quotas().limits() == {}
    every = Quotas(memories=1, bytes=2, messages_per_day=3, requests_per_minute=4)
    assert every.limits() == {"memories": 1, "bytes": 2, "messages": 3}


def test_messages_are_counted_by_the_day() -> None:
    usage = Usage(bytes=7).talked(2, NOW).talked(3, NOW)
    assert usage.messages_on(NOW) == 5
    tomorrow = NOW + timedelta(days=1)
    assert usage.messages_on(tomorrow) == 0
    assert usage.talked(1, tomorrow).messages_on(tomorrow) == 1
    assert usage.talked(1, tomorrow).heavier(-3).bytes == 4


@pytest.mark.parametrize(
    ("more", "weight"),
    [
        ({}, 2),
        ({"data": {"k": ["abc", None, Decimal("1.0"), True]}}, 2 + 1 + 3 + 3 + 4),
        ({"metadata": {"team": "red"}}, 2 + 7),
        ({"tags": ("x",) * 9}, 2),
    ],
)
def test_a_fact_weighs_what_a_caller_can_make_long(more: dict, weight: int) -> None:
    assert Fact("é", **more).weight == weight
