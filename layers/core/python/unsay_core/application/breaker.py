"""A circuit breaker before a store that keeps failing: callers are told at once, and it can recover."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from unsay_core.application.ports import SearchError
from unsay_core.retrieval.filters import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsay_core.application.ports import Hit, Search
    from unsay_core.retrieval.filters import All

FAILURES = 5  # in a row, before nobody is let through
PAUSE = 10.0  # seconds between two who are


class Breaker:
    """Shut while calls succeed, open after a row of failures, half open for one probe after each pause.

    One of these stands for one store in one process; `now` is a monotonic clock, in seconds.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self._failures = 0
        self._probe_at = 0.0
        self._lock = threading.Lock()

    def admits(self) -> bool:
        """True if a call may go through: any while shut, one for each pause while open."""
        with self._lock:
            if self._failures < FAILURES:
                return True
            if self.now() < self._probe_at:
                return False
            self._probe_at = self.now() + PAUSE
            return True

    def note(self, *, succeeded: bool) -> None:
        """How a call that was let through ended."""
        with self._lock:
            self._failures = 0 if succeeded else self._failures + 1
            if self._failures == FAILURES:
                self._probe_at = self.now() + PAUSE


class GuardedSearch:
    """See `Search`: one that is asked only while its breaker lets calls through.

    An answer after `timeout` is a failure too: nobody waits for it any longer.
    """

    def __init__(self, search: Search, breaker: Breaker) -> None:
        self._search = search
        self._breaker = breaker

    def nearest(
        self, query: str, *, limit: int, live_only: bool, timeout: float, wanted: All = EVERYTHING
    ) -> Sequence[Hit]:
        """As the search answers; `knowledge_base_unavailable` at once while it is left to recover."""
        if not self._breaker.admits():
            raise SearchError("knowledge_base_unavailable")
        began, succeeded = self._breaker.now(), False
        try:
            hits = self._search.nearest(
                query, limit=limit, live_only=live_only, timeout=timeout, wanted=wanted
            )
            succeeded = self._breaker.now() - began <= timeout
            return hits
        finally:
            self._breaker.note(succeeded=succeeded)
