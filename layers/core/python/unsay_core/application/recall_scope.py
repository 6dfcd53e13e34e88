"""One scope's part in a recall: opened, asked of every source at once, and loaded, each within its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from unsay_core.application.ledger import HEAD, memory_ref
from unsay_core.application.look_up import as_known
from unsay_core.application.ports import SearchError
from unsay_core.application.recall_sources import (
    INDEX_BACKLOG,
    PENDING,
    Asked,
    Proposal,
    interleaved,
    newest,
)
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.memory import Memory, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Future

    from unsay_core.application.ports import OpenScope, Snapshot, World
    from unsay_core.application.recall_query import Recall
    from unsay_core.application.recall_sources import Source

T = TypeVar("T")

HYDRATED = 99  # memories loaded in one read of 100, beside the head
CHASES = 3  # reads beside the first, for what is replaced while it is being recalled


@dataclass(frozen=True, slots=True)
class Loaded:
    """What of a scope may be shown, with what the sources said of it; `is_empty` if it holds nothing."""

    opened: OpenScope
    memories: Sequence[Memory]
    scores: Mapping[str, Mapping[str, float | None]]
    is_empty: bool


class ScopeRecall:
    """A question on its way through one scope; `gather_until` and `load_until` are instants of the clock.

    What is given up on is cancelled if it has not begun; what has begun ends by its client's own timeout.
    """

    def __init__(
        self,
        query: Recall,
        open_scope: Callable[[], OpenScope],
        sources: Sequence[Source],
        world: World,
        *,
        gather_until: float,
        load_until: float,
    ) -> None:
        self._query, self._sources, self._world = query, sources, world
        self._gather_until, self._load_until = gather_until, load_until
        self._proposals: dict[Source, Proposal] = {}
        self._asking: dict[Source, Future[Proposal]] = {}
        self._loading: Future[Loaded] | None = None
        self.reasons: list[str] = []
        self._opening = world.executor.submit(self._open, open_scope)

    def gather(self) -> None:
        """Take what the sources say in time, and begin to load it; who is late or down is a reason."""
        opened = self._outcome(
            self._opening, self._gather_until, "credentials_timeout", "credentials_unavailable"
        )
        if opened is None:
            return
        for source, answer in self._asking.items():
            proposal = self._outcome(answer, self._gather_until, source.late, source.down)
            if proposal is not None:
                self._proposals[source] = proposal
                self._note(*proposal.reasons)
        self._loading = self._world.executor.submit(self._load, opened)

    def loaded(self) -> Loaded | None:
        """What was loaded in time, or None: then a reason says why."""
        if self._loading is None:
            return None
        return self._outcome(self._loading, self._load_until, PENDING.late, PENDING.down)

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

    def _load(self, opened: OpenScope) -> Loaded:
        """The head and every candidate, in one consistent read.

        A candidate that was replaced since it was chosen leads to its successor: else a fact that is being
        corrected would be found neither as it was nor as it is.
        """
        wanted = self._candidates(opened)
        snapshot = _read(opened, wanted)
        for _ in range(CHASES):
            missed = [i for i in self._successors(snapshot) if i not in wanted]
            if not missed:
                break
            wanted = [*missed, *wanted][:HYDRATED]
            snapshot = _read(opened, wanted)
        now, head = self._world.clock.now(), snapshot.get(HEAD)
        return Loaded(
            opened,
            [m for m in self._as_known(snapshot.memories(), opened) if self._query.admits(m, now)],
            {s.judges: proposal.scores for s, proposal in self._proposals.items() if s.judges},
            is_empty=head is None or not head.memories,
        )

    def _candidates(self, opened: OpenScope) -> list[str]:
        proposals = list(self._proposals.values())
        if not self._has_searched:
            proposals.append(newest(Asked(self._query, opened, 0), HYDRATED))
        chosen = interleaved(proposals, HYDRATED)
        pending = self._proposals.get(PENDING)
        if pending and not set(pending.scores) <= set(chosen):
            self._note(INDEX_BACKLOG)
        return chosen

    @property
    def _has_searched(self) -> bool:
        """True if every source that judges has answered, for the time that is asked about."""
        judging = [source for source in self._asking if source.judges]
        return bool(judging) and not self.reasons and not self._query.asks_when

    def _successors(self, snapshot: Snapshot) -> list[str]:
        chosen_at = max((proposal.seq for proposal in self._proposals.values()), default=0)
        return [m.superseded_by for m in snapshot.memories() if m.superseded_by and m.seq > chosen_at]

    def _as_known(self, memories: list[Memory], opened: OpenScope) -> list[Memory]:
        """The versions that were current at the time asked for.

        Now, what another names as replaced is not: a store reads place by place, and the change may have
        been committed between the two.
        """
        if self._query.known_at is None:
            replaced = {i for memory in memories for i in memory.supersedes}
            return [m for m in memories if m.id not in replaced or m.status is not Status.ACTIVE]
        return list(as_known(memories, self._query.known_at, opened).values())


def _read(opened: OpenScope, memory_ids: Sequence[str]) -> Snapshot:
    return opened.ledger.read([HEAD, *map(memory_ref, memory_ids)])
