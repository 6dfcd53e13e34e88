"""What was proposed, loaded from the ledger of one scope and judged as it stands there now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unsay_core.application.ledger import HEAD, Area, Head, memory_ref, ref_of
from unsay_core.application.look_up import as_known
from unsay_core.application.pages import intact_page
from unsay_core.application.recall_sources import INDEX_BACKLOG, PENDING, interleaved, newest
from unsay_core.domain.memory import Memory, Status

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from unsay_core.application.ports import OpenScope, Snapshot, World
    from unsay_core.application.recall_query import Recall
    from unsay_core.application.recall_sources import Proposal, Source

HYDRATED = 99  # memories loaded in one read of 100, beside the head
CHASES = 3  # reads beside the first, for what is replaced while it is being recalled
SCAN_PAGE = 250
SCANNED = 25_000  # memories looked at when the candidates do not hold enough of what is wanted
FILTER_INCOMPLETE = "filter_incomplete"
UNREADABLE = "memory_unreadable"  # damaged where it lies; none of the others is held up by it


@dataclass
class Loading:
    """The reads of one recall in one scope: the candidates, and where these do not suffice, more.

    `memories` grows while `scan` runs; whoever waits no longer takes what is there.
    """

    query: Recall
    opened: OpenScope
    proposals: Mapping[Source, Proposal]
    has_searched: bool
    world: World
    memories: list[Memory] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    is_empty: bool = False
    needs_scan: bool = False
    _seen: set[str] = field(default_factory=set)

    @property
    def scores(self) -> Mapping[str, Mapping[str, float | None]]:
        """What the sources that judge said of the ids they proposed."""
        return {source.judges: p.scores for source, p in self.proposals.items() if source.judges}

    def load(self) -> None:
        """The head and every candidate, in one consistent read.

        A candidate that was replaced since it was chosen leads to its successor: else a fact that is being
        corrected would be found neither as it was nor as it is.
        """
        wanted, is_cut = self._candidates()
        snapshot = self._read(wanted)
        for _ in range(CHASES):
            missed = [i for i in self._successors(snapshot) if i not in wanted]
            if not missed:
                break
            wanted = [*missed, *wanted][:HYDRATED]
            snapshot = self._read(wanted)
        self._take(snapshot.intact_memories())
        if snapshot.unreadable:
            self.reasons.append(UNREADABLE)
        head = snapshot.get(HEAD) or Head()
        self.is_empty = not head.memories
        too_few = len(self.memories) < self.query.limit and len(self._seen) < head.memories
        self.needs_scan = too_few and (is_cut or self.query.narrows)

    def scan(self, has_time: Callable[[], bool]) -> None:
        """Look through the ledger itself, newest first, for what the candidates were cut off before.

        Ends with as many as any recall judges.
        """
        beyond = None
        for _ in range(0, SCANNED, SCAN_PAGE):
            page = intact_page(
                self.opened.ledger, [], Area.MEMORY, after=beyond, limit=SCAN_PAGE, newest_first=True
            )
            self._take([m for m in page if isinstance(m, Memory) and m.id not in self._seen])
            if len(page) < SCAN_PAGE or len(self.memories) >= HYDRATED:
                return
            beyond = ref_of(page[-1]).id
            if not has_time():
                break
        if len(self.memories) < self.query.limit:
            self.reasons.append(FILTER_INCOMPLETE)

    def unreplaced(self) -> list[Memory]:
        """What was found, without what another names as replaced.

        A store reads place by place, and the change may have been committed between the two.
        """
        found = list(self.memories)
        if self.query.known_at is not None:
            return found
        replaced = {i for memory in found for i in memory.supersedes}
        return [m for m in found if m.id not in replaced or m.superseded_by or m.status is not Status.ACTIVE]

    def _candidates(self) -> tuple[list[str], bool]:
        """The ids to load, and whether there may be more that would have fitted."""
        proposals = list(self.proposals.values())
        if not self.has_searched:
            proposals.append(newest(self.opened, HYDRATED))
        chosen = interleaved(proposals, HYDRATED)
        pending = self.proposals.get(PENDING)
        if pending and not set(pending.scores) <= set(chosen):
            self.reasons.append(INDEX_BACKLOG)
        return chosen, len(chosen) == HYDRATED or any(proposal.is_cut for proposal in proposals)

    def _read(self, memory_ids: Sequence[str]) -> Snapshot:
        return self.opened.ledger.read([HEAD, *map(memory_ref, memory_ids)])

    def _successors(self, snapshot: Snapshot) -> list[str]:
        chosen_at = max((proposal.seq for proposal in self.proposals.values()), default=0)
        changed = [m for m in snapshot.intact_memories() if m.seq > chosen_at]
        return [i for m in changed for i in (m.superseded_by, m.continued_by) if i]

    def _take(self, memories: list[Memory]) -> None:
        """Keep what may be shown, in the version that was current at the time asked for."""
        now, known_at = self.world.clock.now(), self.query.known_at
        self._seen.update(memory.id for memory in memories)
        if known_at is not None:
            memories = list(as_known(memories, known_at, self.opened).values())
        self.memories.extend(memory for memory in memories if self.query.admits(memory, now))
