"""The one write path: a change of a scope is drafted here, sealed with its audit entry and committed.

Nothing else builds a change, so nothing can be written without its link in the chain.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import duplicate_digest
from unsay_core.domain.audit import AuditEntry, sealed
from unsay_core.domain.ledger import (
    HEAD,
    Absent,
    Anything,
    Delete,
    Duplicate,
    Head,
    Holds,
    Pending,
    Put,
    Version,
    Work,
    duplicate_ref,
    memory_ref,
    version_ref,
)
from unsay_core.domain.memory import Status

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.ports import OpenScope, Snapshot
    from unsay_core.domain.audit import Happening
    from unsay_core.domain.ledger import Entry, Expectation, Ref
    from unsay_core.domain.memory import Because, Memory


class Draft:
    """A change in the making, on the head that was read; `seq` is its place in the chain.

    A place is changed once: what is stated of it last holds. So a statement given up by one memory and
    taken by its successor is one write.
    """

    def __init__(self, opened: OpenScope, snapshot: Snapshot, at: datetime) -> None:
        self._opened = opened
        self._known = snapshot.get(HEAD)
        self._head = self._known or Head()
        self._parts: dict[Ref[Entry], Put | Delete] = {}
        self.seq = self._head.seq + 1
        self.at = at

    def add(self, part: Put | Delete) -> None:
        """Add a part that was stated elsewhere."""
        self._parts[part.ref] = part

    def put(self, entry: Entry, expect: Expectation | None = None) -> None:
        """Write an entry."""
        self.add(Put(entry, expect or Anything()))

    def delete(self, ref: Ref[Any], expect: Expectation | None = None) -> None:
        """Remove an entry."""
        self.add(Delete(ref, expect or Anything()))

    def believe(self, memory: Memory) -> None:
        """Store a new memory, known by its exact statement and owed to the projections."""
        self.put(memory, Absent())
        self.put(Duplicate(duplicate_digest(self._opened.keys, memory.fact), memory.id))
        self._owe(memory)
        self._count(+1)

    def supersede(self, memory: Memory, *, by: Memory, because: Because) -> None:
        """Keep what was believed as a version, and put its successor's name on the memory."""
        after = memory.superseded(by=by, because=because, at=self.at)
        self.put(Version(memory), Absent())
        self.put(after, Holds("version", memory.version))
        self.delete(duplicate_ref(duplicate_digest(self._opened.keys, memory.fact)))
        self._owe(after)
        self._count(-1)

    def erase(self, memory: Memory, *, erasure_id: str) -> None:
        """Remove a memory with every version of it, and tell the projections to do the same."""
        self.delete(memory_ref(memory.id), Holds("version", memory.version))
        for version in range(1, memory.version):
            self.delete(version_ref(memory.id, version))
        if memory.status is Status.ACTIVE:
            self._give_up_duplicate(memory)
            self._count(-1)
        self.put(Pending(memory.id, self.seq, Work.DELETE, erasure_id=erasure_id))

    def new_epoch(self) -> None:
        """Mark an erasure: work that began before it must not commit after it."""
        self._head = replace(self._head, epoch=self._head.epoch + 1)

    def seal(self, happening: Happening) -> AuditEntry:
        """Add the audit entry and the new head; the entry's hash binds everything before it."""
        entry = sealed(
            AuditEntry(self.seq, self.at, self._opened.principal.id, happening, prev=self._head.hash)
        )
        expect = Holds("seq", self._known.seq) if self._known else Absent()
        self.put(replace(self._head, seq=entry.seq, hash=entry.hash), expect)
        self.put(entry, Absent())
        return entry

    def commit(self) -> None:
        """Commit all of it or nothing; raises `ConflictError` if another writer was first."""
        self._opened.ledger.commit(tuple(self._parts.values()))

    def _give_up_duplicate(self, memory: Memory) -> None:
        """Remove a memory's exact statement, unless another said the same after this one had expired."""
        ref = duplicate_ref(duplicate_digest(self._opened.keys, memory.fact))
        if memory.status_at(self.at) is Status.EXPIRED:
            known = self._opened.ledger.read([ref]).get(ref)
            if known is None or known.memory_id != memory.id:
                return
        self.delete(ref)

    def _owe(self, memory: Memory) -> None:
        self.put(Pending(memory.id, self.seq, Work.PUT, fact=memory.fact))

    def _count(self, difference: int) -> None:
        self._head = replace(self._head, memories=self._head.memories + difference)
