"""Get, list and history: what the ledger holds, read by id or in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from unsay_core.application.digests import duplicate_digest
from unsay_core.application.ledger import (
    Area,
    audit_ref,
    duplicate_ref,
    id_tombstone_ref,
    memory_ref,
    version_ref,
)
from unsay_core.application.pages import Page, page_of
from unsay_core.domain.errors import NotFoundError
from unsay_core.domain.memory import Fact, Kind, Memory, Status, Trust
from unsay_core.domain.values import dataclass
from unsay_core.retrieval.filters import All, Filter, among, holds, narrowing

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.audit import AuditEntry

MOST_EVENTS = 200  # of one memory's history
READ_MOST = 100  # places in one read


@dataclass(frozen=True)
class ListMemories:
    """Which memories to list; None is no restriction."""

    limit: int = 20
    after: str | None = None
    oldest_first: bool = False
    status: Status | None = Status.ACTIVE
    kind: Kind | None = None
    tag: str | None = None
    key: str | None = None
    path: tuple[str, ...] | None = None
    trust: Trust | None = None
    run_id: str | None = None
    filter: Filter | None = None
    valid_at: datetime | None = None
    known_at: datetime | None = None

    @property
    def names_one_item(self) -> bool:
        """True if only the item that is at an address now can match."""
        asked_when = self.valid_at is not None or self.known_at is not None
        named = self.kind is Kind.ITEM and None not in (self.key, self.path)
        return named and self.status is Status.ACTIVE and not asked_when

    def matches(self, memory: Memory, now: datetime) -> bool:
        """True if a memory, as it was known at the time asked for, is one of those wanted."""
        return self._stands(memory, now) and self._is_wanted(memory, now)

    def _stands(self, memory: Memory, now: datetime) -> bool:
        asked_when = self.valid_at is not None or self.known_at is not None
        if asked_when and self.status is Status.ACTIVE:
            return memory.answers(now=now, valid_at=self.valid_at, known_at=self.known_at)
        within = self.valid_at is None or memory.fact.validity.contains(self.valid_at)
        return within and memory.status_at(self.known_at or now) is self.status

    def _is_wanted(self, memory: Memory, now: datetime) -> bool:
        return (
            self._is_trusted(memory, now)
            and self.run_id in (None, memory.source.run_id)
            and holds(self._narrowing, memory)
        )

    @cached_property
    def _narrowing(self) -> Filter:
        path = None if self.path is None else list(self.path)
        kind = among([self.kind] if self.kind else [])
        return All((kind, narrowing({"key": self.key, "path": path, "tags": self.tag}, self.filter)))

    def _is_trusted(self, memory: Memory, now: datetime) -> bool:
        """What is believed and disputed is withheld, unless it is asked for."""
        if self.trust is None:
            is_believed = memory.status_at(self.known_at or now) is Status.ACTIVE
            return not (is_believed and memory.trust is Trust.DISPUTED)
        return self.trust is memory.trust


def get(memory_id: str, opened: OpenScope, *, known_at: datetime | None = None) -> Memory:
    """One memory, whatever its status, now or as it was known then; raises `NotFoundError`."""
    ref = memory_ref(memory_id)
    memory = opened.ledger.read([ref]).get(ref)
    if memory is not None and known_at is not None:
        memory = as_known([memory], known_at, opened).get(memory_id)
    if memory is None:
        raise NotFoundError("no such memory in this scope")
    return memory


def found(draft: Draft, memory_id: str) -> Memory:
    """The memory a change is about; raises `NotFoundError`."""
    memory = draft.get(memory_ref(memory_id))
    if memory is None:
        raise NotFoundError("no such memory in this scope")
    return memory


def list_memories(query: ListMemories, opened: OpenScope, world: World) -> Page[Memory]:
    """A page in order of time; it may be short before the end when matches are rare.

    What has lost its form is set aside, and named: it holds up none of the others.
    """
    now = world.clock.now()
    if query.names_one_item:
        return _item(query, opened, now)
    page: Page[Memory] = page_of(
        opened.ledger,
        Area.MEMORY,
        limit=query.limit,
        after=query.after,
        newest_first=not query.oldest_first,
        wanted=None if query.known_at else lambda memory: query.matches(memory, now),
        set_aside=True,
    )
    if query.known_at is None:
        return page
    known = as_known(page.entries, query.known_at, opened).values()
    return replace(page, entries=tuple(memory for memory in known if query.matches(memory, now)))


def _item(query: ListMemories, opened: OpenScope, now: datetime) -> Page[Memory]:
    """The item at an address, by two reads instead of a walk through all there are."""
    address = Fact("", Kind.ITEM, query.key, query.path or ())
    place = duplicate_ref(duplicate_digest(opened.keys, address))
    known = opened.ledger.read([place]).get(place)
    found = opened.ledger.read([memory_ref(known.memory_id)]).memories() if known else []
    return Page(tuple(memory for memory in found if query.matches(memory, now)), None)


def as_known(memories: Sequence[Memory], known_at: datetime, opened: OpenScope) -> dict[str, Memory]:
    """The version of each memory that was current then; what was not recorded yet is left out."""
    known = {memory.id: memory for memory in memories if memory.updated_at <= known_at}
    later = [memory for memory in memories if memory.recorded_at <= known_at < memory.updated_at]
    refs = [version_ref(memory.id, n) for memory in later for n in range(1, memory.version)]
    for at in range(0, len(refs), READ_MOST):
        wanted = refs[at : at + READ_MOST]
        snapshot = opened.ledger.read(wanted)
        for ref in wanted:
            version = snapshot.get(ref)
            if version and version.memory.updated_at <= known_at:
                known[version.memory.id] = version.memory  # refs ascend: the last one that fits stays
    order = [memory.id for memory in memories if memory.id in known]
    return {memory_id: known[memory_id] for memory_id in order}


@dataclass(frozen=True, slots=True)
class History:
    """What a memory was, version by version, and what happened to it; a forgotten one has events only."""

    versions: tuple[Memory, ...]
    events: tuple[AuditEntry, ...]


def history(memory_id: str, opened: OpenScope) -> History:
    """Versions and events, oldest first; raises `NotFoundError` for an id that never was."""
    memory_at, grave_at = memory_ref(memory_id), id_tombstone_ref(memory_id)
    snapshot = opened.ledger.read([memory_at, grave_at])
    memory, grave = snapshot.get(memory_at), snapshot.get(grave_at)
    if memory is None and grave is None:
        raise NotFoundError("no such memory in this scope")
    last = memory.seq if memory else grave.seq if grave else 0
    return History(_versions(memory, opened), _thread(memory_id, last, opened))


def _versions(memory: Memory | None, opened: OpenScope) -> tuple[Memory, ...]:
    if memory is None:
        return ()
    refs = [version_ref(memory.id, n) for n in range(1, memory.version)][-READ_MOST:]
    snapshot = opened.ledger.read(refs) if refs else None
    earlier = [version.memory for ref in refs if snapshot and (version := snapshot.get(ref))]
    return (*earlier, memory)


def _thread(memory_id: str, last: int, opened: OpenScope) -> tuple[AuditEntry, ...]:
    """Follow a memory's own thread back through the chain."""
    events: list[AuditEntry] = []
    while last and len(events) < MOST_EVENTS:
        entry = opened.ledger.read([audit_ref(last)]).get(audit_ref(last))
        if entry is None:
            break
        events.append(entry)
        last = next((b.seq for b in entry.happening.before if b.memory_id == memory_id), 0)
    return tuple(reversed(events))
