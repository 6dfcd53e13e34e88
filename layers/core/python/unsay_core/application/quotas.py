"""Quotas at work: what a change would make of its scope is held against what the root's policy grants.

What a scope holds is counted in its head, in the transaction of the change itself: any number of writers
together stay within a quota, and nobody reads or writes anything more for it.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import TYPE_CHECKING, TypeVar

from unsay_core.domain.errors import QuotaExceededError, UnavailableError
from unsay_core.domain.quota import Quotas

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Head
    from unsay_core.application.policies import Policies
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.extraction.steering import Steering

T = TypeVar("T")

BELIEVED = 60.0  # seconds for which a policy that was changed may still be held to
ROOTS_MOST = 1_000  # whose policies a process keeps in mind
LATER = 3_600  # seconds: room in a scope comes from somebody who forgets or retracts, whenever that is


@dataclass(frozen=True, slots=True)
class Left:
    """A quota, and how much of it is left after a change."""

    limit: int
    remaining: int


class Allowance:
    """What one opened scope may hold, and what the last change through it left of that."""

    def __init__(self, quotas: Callable[[], Quotas]) -> None:
        self._quotas = quotas
        self.left: Mapping[str, Left] = {}

    def require(self, before: Head, after: Head, at: datetime) -> None:
        """Raise `QuotaExceededError` if a change takes more than is left; what takes nothing always may."""
        limits = self._quotas().limits()
        had, has = _held(before, at), _held(after, at)
        for name, limit in limits.items():
            if has.get(name, 0) > max(limit, had.get(name, 0)):
                raise QuotaExceededError(name, limit, had[name], retry_after=_retry_after(name, at))
        self.left = {n: Left(limit, max(0, limit - has[n])) for n, limit in limits.items() if n in has}


def unlimited() -> Allowance:
    """The allowance of whoever is held to none."""
    return Allowance(Quotas)


def within_quota(draft: Draft, opened: OpenScope, act: Callable[[], T]) -> T:
    """Let a use case draft something; what its scope has no room for is taken out of the draft again."""
    before, saved = draft.head, draft.saved()
    outcome = act()
    try:
        opened.allowance.require(before, draft.head, draft.at)
    except QuotaExceededError:
        draft.restore(saved)
        raise
    return outcome


class RecentQuotas:
    """The quotas of roots as they were a minute ago at the most. Threads may share it."""

    def __init__(self, policies: Policies, world: World) -> None:
        self._policies = policies
        self._world = world
        self._asked: dict[str, tuple[float, Future[Steering]]] = {}
        self._known: dict[str, Quotas] = {}

    def of(self, root: str) -> Quotas:
        """What a root's policy grants; raises `UnavailableError` if that is not to be had."""
        try:
            self._known[root] = self._answer(root).result().quotas
        except UnavailableError:  # asked beside another request, perhaps in a process that stood still since
            self._asked.pop(root, None)
            self._known[root] = self._policies.of(root).quotas
        return self._known[root]

    def known(self, root: str) -> Quotas:
        """What is known of them without waiting: nothing at first, and what is to be known is asked for."""
        answer = self._answer(root)
        if not answer.done():
            return self._known.get(root, Quotas())
        if answer.exception() is not None:
            self._asked.pop(root, None)
            return self._known.get(root, Quotas())
        self._known[root] = answer.result().quotas
        return self._known[root]

    def _answer(self, root: str) -> Future[Steering]:
        now = self._world.clock.monotonic()
        asked = self._asked.get(root)
        if asked is None or now - asked[0] >= BELIEVED:
            if len(self._asked) >= ROOTS_MOST:
                self._asked.clear()
                self._known.clear()
            asked = self._asked[root] = now, self._world.executor.submit(self._policies.of, root)
        return asked[1]


def _held(head: Head, at: datetime) -> dict[str, int]:
    """What a scope holds of what can be limited; a head of an earlier release has counted less."""
    if head.usage is None:
        return {"memories": head.memories}
    return {
        "memories": head.memories,
        "bytes": head.usage.bytes,
        "messages": head.usage.messages_on(at),
    }


def _retry_after(name: str, at: datetime) -> int:
    """Seconds until there may be room: messages have it on the next day."""
    if name != "messages":
        return LATER
    midnight = datetime.combine(at.date() + timedelta(days=1), time(), at.tzinfo)
    return max(1, int((midnight - at).total_seconds()))
