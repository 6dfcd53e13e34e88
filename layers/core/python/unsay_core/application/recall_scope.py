"""One scope's part in a recall: opened, asked of every source at once, and loaded, each within its time."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from unsay_core.application.ports import SearchError
from unsay_core.application.recall_load import FILTER_INCOMPLETE, Loading
from unsay_core.application.recall_sources import PENDING, Asked, Proposal
from unsay_core.domain.errors import UnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Future

    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.recall_query import Recall
    from unsay_core.application.recall_sources import Source

T = TypeVar("T")

FOR_THE_SOURCES = 0.8  # share of the deadline within which candidates are proposed; the rest loads them
GRACE = 0.05  # seconds beyond the deadline for what is being loaded then


class ScopeRecall:
    """A question on its way through one scope; `started` is an instant of the monotonic clock.

    What is given up on is cancelled if it has not begun; what has begun ends by its client's own timeout.
    """

    def __init__(
        self,
        query: Recall,
        open_scope: Callable[[], OpenScope],
        sources: Sequence[Source],
        world: World,
        *,
        started: float,
    ) -> None:
        self._query, self._sources, self._world = query, sources, world
        self._gather_until = started + query.deadline * FOR_THE_SOURCES
        self._until = started + query.deadline
        self._asking: dict[Source, Future[Proposal]] = {}
        self._loading: Future[Loading] | None = None
        self.reasons: list[str] = []
        self._opening = world.executor.submit(self._open, open_scope)

    def gather(self) -> None:
        """Take what the sources say in time, and begin to load it; who is late or down is a reason."""
        opened = self._outcome(
            self._opening, self._gather_until, "credentials_timeout", "credentials_unavailable"
        )
        if opened is None:
            return
        proposals = {}
        for source, answer in self._asking.items():
            proposal = self._outcome(answer, self._gather_until, source.late, source.down)
            if proposal is not None:
                proposals[source] = proposal
                self._note(*proposal.reasons)
        judging = any(source.judges for source in proposals)
        has_searched = judging and not self.reasons and not self._query.asks_when
        loading = Loading(self._query, opened, proposals, has_searched, self._world)
        self._loading = self._world.executor.submit(_loaded, loading)

    def loaded(self) -> Loading | None:
        """What was loaded in time, or None: then a reason says why."""
        if self._loading is None:
            return None
        found = self._outcome(self._loading, self._until + GRACE, PENDING.late, PENDING.down)
        if found and found.needs_scan:
            scanning = self._world.executor.submit(found.scan, lambda: self._left(self._until) > 0)
            self._outcome(scanning, self._until, FILTER_INCOMPLETE, PENDING.down)
        if found:
            self._note(*found.reasons)
        return found

    def _open(self, open_scope: Callable[[], OpenScope]) -> OpenScope:
        """Open the scope, and put the question to every source at once."""
        opened = open_scope()
        asked = Asked(self._query, opened, self._left(self._gather_until))
        for source in self._sources:
            if self._query.says_something or not source.needs_words:
                self._asking[source] = self._world.executor.submit(source.propose, asked)
        return opened

    def _left(self, until: float) -> float:
        return max(0.0, until - self._world.clock.monotonic())

    def _outcome(self, future: Future[T], until: float, late: str, down: str) -> T | None:
        try:
            return future.result(self._left(until))
        except TimeoutError:
            future.cancel()
            self._note(late)
        except SearchError as failure:
            self._note(failure.reason)
        except UnavailableError:
            self._note(down)
        return None

    def _note(self, *reasons: str) -> None:
        self.reasons.extend(reason for reason in reasons if reason not in self.reasons)


def _loaded(loading: Loading) -> Loading:
    loading.load()
    return loading
