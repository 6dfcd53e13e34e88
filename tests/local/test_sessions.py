"""Sessions of the local cloud: workers of many threads register theirs while others are dropped."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from ministack.services import sts

from local.lambda_worker import evict_sessions


def test_sessions_are_registered_and_dropped_from_many_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sts, "_sessions", {})
    monkeypatch.setattr(sts, "_evict_expired_sessions", evict_sessions)
    past, future = time.time() - 1, time.time() + 3600

    def register(thread: int) -> None:
        for number in range(300):
            expires = future if number % 10 == 0 else past
            sts.register_session(f"{thread}-{number}", {"Expiration": expires})

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(register, range(12)))
    evict_sessions()
    assert len(sts._sessions) == 12 * 30
