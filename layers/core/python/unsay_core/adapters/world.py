"""Clock, ids and chance as they are outside of tests."""

from __future__ import annotations

import secrets
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from datetime import UTC, datetime
from functools import partial
from random import SystemRandom
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from unsay_core.application.ports import World

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford's base 32, lower case
THREADS = 24  # up to 8 scopes, each with two reads side by side


class SystemClock:
    """See `Clock`."""

    def now(self) -> datetime:
        """The time of day, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)


class Ulids:
    """Ids that sort by the time they were made, in this process strictly (ulid spec, 48 + 80 bits)."""

    def __init__(self, clock: SystemClock) -> None:
        self._clock = clock
        self._last = 0
        self._lock = threading.Lock()

    def new(self, prefix: str) -> str:
        """An id such as `mem_01j…`."""
        fresh = (int(self._clock.now().timestamp() * 1000) << 80) | secrets.randbits(80)
        with self._lock:
            self._last = value = max(fresh, self._last + 1)
        digits = (_ALPHABET[(value >> shift) & 31] for shift in range(125, -1, -5))
        return f"{prefix}_{''.join(digits)}"


class Threads(ThreadPoolExecutor):
    """Threads that go on with the trace of whoever asks them."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """See `Executor`."""
        return super().submit(copy_context().run, partial(fn, *args, **kwargs))


def real_world() -> World:
    """The world a λ runs in."""
    clock = SystemClock()
    return World(
        clock=clock,
        new_id=Ulids(clock).new,
        new_nonce=lambda: secrets.token_hex(16),
        uniform=SystemRandom().uniform,
        executor=Threads(THREADS, thread_name_prefix="unsay"),
    )
