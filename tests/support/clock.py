"""Time and chance for tests: they move only when told to."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

from unsay_core.application.ports import World

BEGIN = datetime(2026, 5, 1, 9, 30, 0, 123456, tzinfo=UTC)
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_EXECUTOR = ThreadPoolExecutor(24, thread_name_prefix="test")


class FakeClock:
    """See `Clock`; sleeping moves it, and every look at the day moves it a microsecond."""

    def __init__(self, now: datetime = BEGIN) -> None:
        self._now = now
        self._slept = 0.0
        self._lock = threading.Lock()

    def now(self) -> datetime:
        with self._lock:
            self._now += timedelta(microseconds=1)
            return self._now

    def monotonic(self) -> float:
        return self._slept

    def sleep(self, seconds: float) -> None:
        with self._lock:
            self._slept += seconds
            self._now += timedelta(seconds=seconds)

    def pass_(self, **duration: float) -> None:
        """Let time pass: `pass_(hours=24)`."""
        self.sleep(timedelta(**duration).total_seconds())

    def stand_at(self, now: datetime) -> None:
        """The next look says exactly this."""
        with self._lock:
            self._now = now - timedelta(microseconds=1)


class CountedIds:
    """Ids of the real form that count up, so that they sort in the order they were made."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def __call__(self, prefix: str) -> str:
        number = next(self._numbers)
        digits = (_DIGITS[(number >> shift) & 31] for shift in range(125, -1, -5))
        return f"{prefix}_{''.join(digits)}"


def fake_world(clock: FakeClock | None = None) -> World:
    """A world in which the same calls give the same answers."""
    nonces = itertools.count(1)
    return World(
        clock=clock or FakeClock(),
        new_id=CountedIds(),
        new_nonce=lambda: f"{next(nonces):032x}",
        uniform=lambda low, high: (low + high) / 2,
        executor=_EXECUTOR,
    )
