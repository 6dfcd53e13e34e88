"""Statistics: how much a scope holds, and how far its index lags."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING

from unsay_core.application.index_memories import INDEXABLE
from unsay_core.application.ledger import Area, ref_of
from unsay_core.domain.memory import Memory
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.ports import Ledger, OpenScope, World

READ_AT_ONCE = 200
MOST = 20_000  # memories counted; beyond that the counts say that they are not complete


@dataclass(frozen=True, slots=True)
class Statistics:
    """Counts of a scope's memories, and what its projections still owe."""

    kinds: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    trusts: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    pending: int = 0
    oldest_pending: datetime | None = None
    complete: bool = True


def statistics(opened: OpenScope, world: World) -> Statistics:
    """Count what the scope holds, page by page."""
    now = world.clock.now()
    memories = list(islice(_memories(opened.ledger), MOST + 1))
    counted = memories[:MOST]
    indexable = [memory for memory in counted if memory.status in INDEXABLE]
    waiting = [memory.updated_at for memory in indexable if memory.indexed_at is None]
    return Statistics(
        kinds=Counter(memory.fact.kind.value for memory in counted),
        statuses=Counter(memory.status_at(now).value for memory in counted),
        trusts=Counter(memory.trust.value for memory in counted),
        bytes=sum(len(memory.fact.content.encode()) for memory in counted),
        pending=len(waiting),
        oldest_pending=min(waiting, default=None),
        complete=len(memories) <= MOST,
    )


def _memories(ledger: Ledger) -> Iterator[Memory]:
    after: str | None = None
    while True:
        page = ledger.page(Area.MEMORY, after=after, limit=READ_AT_ONCE)
        yield from (entry for entry in page if isinstance(entry, Memory))
        if len(page) < READ_AT_ONCE:
            return
        after = ref_of(page[-1]).id
