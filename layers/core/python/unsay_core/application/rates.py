"""Rates: how many requests a caller may send below a root in a minute, over all processes together.

A process takes requests from the minute's count in lots, so that few of them cost a call; what it took and
did not use by the end of the minute is lost. Never more are let through than the limit, within one minute.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from unsay_core.domain.errors import ThrottledError, UnavailableError

if TYPE_CHECKING:
    from unsay_core.application.ports import World
    from unsay_core.application.quotas import RecentQuotas

MINUTE = 60  # seconds
LOTS = 20  # in which a limit is taken: as many calls a caller causes in a minute, and one for each process
CALLERS_MOST = 10_000  # whose lots a process keeps in mind


class Tally(Protocol):
    """Where requests are counted for all processes."""

    def add(self, root: str, name: str, amount: int, until: datetime) -> int:
        """Count up, and tell how far; nobody asks for this count after `until`."""


@dataclass(slots=True)
class Lot:
    """What a process may still let through in one minute."""

    minute: int
    left: int = 0
    is_last: bool = False


class Rates:
    """Holds callers to what the policy of a root lets them ask in a minute. Threads may share it."""

    def __init__(self, quotas: RecentQuotas, tally: Tally, world: World) -> None:
        self._quotas = quotas
        self._tally = tally
        self._world = world
        self._lots: dict[tuple[str, str], Lot] = {}
        self._lock = threading.Lock()

    def take(self, caller: str, root: str) -> None:
        """Count one request; raises `ThrottledError` with the seconds that are left of the minute.

        If the count is not to be had the request may pass: a guard is not worth an outage.
        """
        limit = self._quotas.known(root).requests_per_minute
        if limit is None:
            return
        now = int(self._world.clock.now().timestamp())
        with self._lock:
            lot = self._lot(caller, root, now // MINUTE)
            if lot.left == 0 and not lot.is_last:
                self._fill(lot, caller, root, limit)
            if lot.left == 0:
                raise ThrottledError(limit, retry_after=MINUTE - now % MINUTE)
            lot.left -= 1

    def _lot(self, caller: str, root: str, minute: int) -> Lot:
        lot = self._lots.get((caller, root))
        if lot is None or lot.minute != minute:
            if len(self._lots) >= CALLERS_MOST:
                self._lots.clear()
            lot = self._lots[caller, root] = Lot(minute)
        return lot

    def _fill(self, lot: Lot, caller: str, root: str, limit: int) -> None:
        wanted = max(1, limit // LOTS)
        until = datetime.fromtimestamp((lot.minute + 2) * MINUTE, UTC)
        try:
            taken = self._tally.add(root, f"{caller}#{lot.minute}", wanted, until)
        except UnavailableError:
            lot.left = wanted
            return
        lot.left = max(0, min(wanted, limit - (taken - wanted)))
        lot.is_last = taken >= limit
