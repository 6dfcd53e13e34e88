"""Get and list: what the ledger holds, read by id or in order of time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unsay_core.domain.errors import NotFoundError
from unsay_core.domain.ledger import Area, memory_ref
from unsay_core.domain.memory import Because, Kind, Memory, Status, Trust

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from unsay_core.application.ports import OpenScope, World

PAGE = 100  # memories read at a time
READ_MOST = 1_000  # memories looked at for one page of answers; a rare match goes on with the cursor


@dataclass(frozen=True, slots=True)
class ListMemories:
    """Which memories to list; None is no restriction."""

    limit: int = 20
    after: str | None = None
    oldest_first: bool = False
    status: Status = Status.ACTIVE
    kind: Kind | None = None
    tag: str | None = None
    key: str | None = None
    trust: Trust | None = None
    run_id: str | None = None
    valid_at: datetime | None = None

    def matches(self, memory: Memory, now: datetime) -> bool:
        """True if a memory is one of those asked for."""
        fact = memory.fact
        return (
            self._has_status(memory, now)
            and self.kind in (None, fact.kind)
            and (self.tag is None or self.tag in fact.tags)
            and self.key in (None, fact.key)
            and self.trust in (None, memory.trust)
            and self.run_id in (None, memory.source.run_id)
            and (self.valid_at is None or fact.validity.contains(self.valid_at))
        )

    def _has_status(self, memory: Memory, now: datetime) -> bool:
        """What was true at `valid_at` counts as active, though the world has changed since."""
        status = memory.status_at(now)
        if self.valid_at is not None and self.status is Status.ACTIVE and status is Status.SUPERSEDED:
            return memory.superseded_because is Because.CHANGED
        return status is self.status


@dataclass(frozen=True, slots=True)
class Listing:
    """A page; `next_after` is None when there is nothing beyond it."""

    memories: tuple[Memory, ...]
    next_after: str | None


def get(memory_id: str, opened: OpenScope) -> Memory:
    """One memory, whatever its status; raises `NotFoundError`."""
    ref = memory_ref(memory_id)
    memory = opened.ledger.read([ref]).get(ref)
    if memory is None:
        raise NotFoundError("no such memory in this scope")
    return memory


def list_memories(query: ListMemories, opened: OpenScope, world: World) -> Listing:
    """A page in order of time; it may be short before the end when matches are rare."""
    now = world.clock.now()
    found: list[Memory] = []
    for looked_at, memory in enumerate(_memories(query, opened), start=1):
        if query.matches(memory, now):
            found.append(memory)
        if len(found) == query.limit or looked_at == READ_MOST:
            return Listing(tuple(found), next_after=memory.id)
    return Listing(tuple(found), next_after=None)


def _memories(query: ListMemories, opened: OpenScope) -> Iterator[Memory]:
    after = query.after
    while True:
        page = opened.ledger.page(Area.MEMORY, after=after, limit=PAGE, newest_first=not query.oldest_first)
        yield from (entry for entry in page if isinstance(entry, Memory))
        if len(page) < PAGE:
            return
        after = page[-1].id  # type: ignore[union-attr]  # an area holds one type of entry
