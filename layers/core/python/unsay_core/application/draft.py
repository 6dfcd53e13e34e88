"""The one write path: a change of a scope is drafted here, recorded with audit entries and committed.

Nothing else builds a change, so nothing can be written without its link in the chain. A draft shows its
own changes to whoever reads through it, and it expects to find at commit what was read: two writers that
decided on the same state cannot both be right.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar, cast

from unsay_core.application.digests import duplicate_digest, keyed_wording, waiting_digest
from unsay_core.application.ledger import (
    HEAD,
    NEW_HEAD,
    Absent,
    Anything,
    Area,
    Check,
    Delete,
    Duplicate,
    Head,
    Holds,
    Pending,
    Put,
    Version,
    Work,
    audit_ref,
    duplicate_ref,
    memory_ref,
    ref_of,
    reviewable_ref,
    slot_ref,
    version_ref,
)
from unsay_core.domain.audit import AuditEntry, Before, sealed
from unsay_core.domain.errors import InvalidRequestError, UnavailableError
from unsay_core.domain.memory import Status
from unsay_core.domain.values import dataclass
from unsay_core.extraction.conversation import Ready
from unsay_core.jobs.erasure import Erasure
from unsay_core.jobs.job import Job
from unsay_core.tracing import here

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from unsay_core.application.ledger import Entry, Expectation, Ref
    from unsay_core.application.ports import OpenScope
    from unsay_core.domain.audit import Happening
    from unsay_core.domain.memory import Because, Fact, Memory
    from unsay_core.domain.quota import Usage
    from unsay_core.jobs.erasure import Fence

T = TypeVar("T")

# The whole-number field that moves with every change that matters to a decision. The head's guard is not
# enough: a read of several places is not one moment, and the head may be newer than what was read beside it.
_GUARDS = {
    Area.HEAD: "seq",
    Area.MEMORY: "version",
    Area.DUPLICATE: "seq",
    Area.SLOT: "revision",
    Area.ERASURE: "revision",
    Area.OUTCOME: "ttl",
    Area.TOMBSTONE: "seq",
    Area.CONVERSATION: "revision",
    Area.READY: "revision",
    Area.JOB: "revision",
}
_NEVER_TWICE = frozenset({Area.MEMORY, Area.VERSION, Area.AUDIT})
TIDIED_EVERY = timedelta(days=1)  # how often a scope's projections are held against its ledger
CHANGED_MOST = 100  # places in one transaction
READ_MOST = 100  # places in one read of the ledger


@dataclass(frozen=True, slots=True)
class Saved:
    """What was drafted up to a point."""

    parts: Mapping[Ref[Any], Put | Delete | Check]
    before: tuple[Before, ...]
    head: Head


class Draft:
    """A change in the making; `at` is its time, `seq` the place of its next audit entry."""

    def __init__(self, opened: OpenScope, at: datetime, refs: Iterable[Ref[Any]] = ()) -> None:
        self._opened = opened
        self.at = at
        self._found: dict[Ref[Any], Entry | None] = {}
        self._parts: dict[Ref[Any], Put | Delete | Check] = {}
        self._before: list[Before] = []
        self._beside_head: frozenset[Ref[Any]] = frozenset()
        self.load(HEAD, *refs)
        self._beside_head = frozenset([*self._found][:READ_MOST])
        self._head = self.get(HEAD) or NEW_HEAD

    @property
    def allows_secrets(self) -> bool:
        """Whether its root's policy lets credentials in."""
        return self._opened.policy().allows_secrets

    @property
    def seq(self) -> int:
        """The place of the next audit entry."""
        return self._head.seq + 1

    @property
    def head(self) -> Head:
        """The head as this change leaves it."""
        return self._head

    @property
    def size(self) -> int:
        """How many items the transaction has, its head included."""
        return len(self._kept()) + 1

    def saved(self) -> Saved:
        """What is drafted so far, for `restore`."""
        return Saved(dict(self._parts), tuple(self._before), self._head)

    def restore(self, saved: Saved) -> None:
        """Take back whatever was drafted since; what was read stays known."""
        self._parts, self._before, self._head = dict(saved.parts), list(saved.before), saved.head

    def load(self, *refs: Ref[Any]) -> None:
        """Read what is not known yet, in one go."""
        unknown = [ref for ref in dict.fromkeys(refs) if ref not in self._found]
        for at in range(0, len(unknown), READ_MOST):
            wanted = unknown[at : at + READ_MOST]
            snapshot = self._opened.ledger.read(wanted)
            self._found.update((ref, snapshot.get(ref)) for ref in wanted)

    def get(self, ref: Ref[T]) -> T | None:
        """What lies there, this draft's own changes included; read if nobody has."""
        part = self._parts.get(ref)
        if isinstance(part, Put):
            return cast("T", part.entry)
        if isinstance(part, Delete):
            return None
        self.load(ref)
        return cast("T | None", self._found[ref])

    def twin(self, fact: Fact) -> Memory | None:
        """The active memory that says exactly this."""
        known = self.get(duplicate_ref(duplicate_digest(self._opened.keys, fact)))
        memory = self.get(memory_ref(known.memory_id)) if known else None
        return memory if memory and memory.status_at(self.at) is Status.ACTIVE else None

    def waiting_twin(self, fact: Fact) -> Memory | None:
        """The memory that says exactly this and waits for a person."""
        known = self.get(duplicate_ref(waiting_digest(self._opened.keys, fact)))
        memory = self.get(memory_ref(known.memory_id)) if known else None
        return memory if memory and memory.waits_at(self.at) else None

    def put(self, entry: Entry) -> None:
        """Write an entry whole, where what was read still lies.

        What others go on with says in which trace it was asked for.
        """
        ref = ref_of(entry)
        if isinstance(entry, Pending | Ready | Erasure | Job) and entry.trace is None:
            entry = replace(entry, trace=here())
        self._parts[ref] = Put(entry, self._expectation(ref))

    def delete(self, ref: Ref[Any]) -> None:
        """Remove an entry; what is known to be absent needs no removing."""
        if self._found.get(ref, ref) is None:
            self._parts.pop(ref, None)
        else:
            known = ref in self._found
            self._parts[ref] = Delete(ref, self._expectation(ref) if known else Anything())

    def rely_on(self, ref: Ref[Any]) -> None:
        """Commit only if what was read there still lies there."""
        self.load(ref)
        self._parts.setdefault(ref, Check(ref, self._expectation(ref)))

    def believe(self, memory: Memory) -> Memory:
        """Store a new memory; an active one is known by its exact statement. Returns it as stored."""
        memory = replace(memory, seq=self.seq)
        self.put(memory)
        self._hold(memory)
        self.owe(memory)
        return memory

    def hold_waiting(self, memory: Memory) -> None:
        """Make the exact statement of what waits for a person lead to it, so that it waits once."""
        self.put(Duplicate(waiting_digest(self._opened.keys, memory.fact), memory.id, self.seq))

    def change(self, old: Memory, new: Memory) -> Memory:
        """Put a version in the place of another, which is kept. Returns it as stored."""
        new = replace(new, seq=self.seq)
        self._thread(old)
        self.put(Version(old))
        self._let_go(old)
        self._hold(new)
        self.put(new)
        self.owe(new)
        if old.review and old.review.decision is None and not new.waits_at(self.at):
            self.delete(reviewable_ref(old.id))
        return new

    def supersede(
        self, memory: Memory, *, by: Memory, because: Because, continued_by: str | None = None
    ) -> Memory:
        """Keep what was believed as a version, and put its successor's name on the memory."""
        new = memory.superseded(by=by, because=because, at=self.at, continued_by=continued_by)
        return self.change(memory, new)

    def erase_versions(self, memory_id: str, versions: Iterable[int]) -> None:
        """Remove some of what a memory was."""
        for version in versions:
            self.delete(version_ref(memory_id, version))

    def erase(self, memory: Memory) -> None:
        """Remove a memory, its versions apart, and tell the projections to do the same."""
        self._thread(memory)
        self._let_go(memory)
        self.delete(memory_ref(memory.id))
        if memory.review and memory.review.decision is None:
            self.delete(reviewable_ref(memory.id))
        self.owe_removal(memory.id)

    def owe_removal(self, memory_id: str) -> None:
        """Leave the marker by which the projections let go of what the ledger does not have."""
        root_id = self._opened.root_id
        self.put(Pending(memory_id, self.seq, Work.DELETE, root_id=root_id, at=self.at))

    def lapse(self, memory: Memory) -> None:
        """Tell the projections that a memory has come to its end; it stays as it is."""
        self._thread(memory)
        self.put(replace(memory, seq=self.seq, lapsed=True))
        self.owe(memory)

    def tidy_next(self, at: datetime) -> None:
        """Say when the projections are next held against the ledger."""
        self._head = replace(self._head, tidy_at=at)

    def fence_off(self, fence: Fence) -> None:
        """Hide and protect what a selection covers, from this change on; work that began before is stale."""
        self.new_epoch()
        self._head = replace(self._head, fences=(*self._head.fences, fence))

    def lift_fence(self, erasure_id: str) -> None:
        """Nothing is left of what a fence covered."""
        left = tuple(fence for fence in self._head.fences if fence.erasure_id != erasure_id)
        self._head = replace(self._head, fences=left)

    def forget_name(self) -> None:
        """Leave no name in the head: of the scope nothing is left, and nobody has to open it."""
        self._head = replace(self._head, scope=None, tidy_at=None)

    def note_messages(self, number: int) -> None:
        """Count messages of this day."""
        usage = self._head.usage and self._head.usage.talked(number, self.at)
        self._head = replace(self._head, usage=usage)

    def adopt(self, usage: Usage) -> None:
        """Put a count of what the scope holds into a head that has none."""
        self._head = replace(self._head, usage=usage)

    def new_epoch(self) -> None:
        """Mark an erasure: work that began before it must not commit after it."""
        self._head = replace(self._head, epoch=self._head.epoch + 1)

    def follow(self, entry: AuditEntry) -> None:
        """Go on behind this entry: a head that came from a backup lags behind its record."""
        self._head = replace(self._head, seq=entry.seq, hash=entry.hash)

    def record(self, happening: Happening) -> AuditEntry:
        """Add an audit entry; its hash binds everything before it."""
        happening = replace(happening, before=tuple(self._before))
        self._before.clear()
        actor = self._opened.principal.id
        entry = sealed(AuditEntry(self.seq, self.at, actor, happening, prev=self._head.hash))
        self._head = replace(
            self._head,
            seq=entry.seq,
            hash=entry.hash,
            scope=self._opened.scope.canonical,
            tidy_at=self._head.tidy_at or self.at + TIDIED_EVERY,
        )
        self.put(entry)
        return entry

    def commit(self) -> None:
        """Commit all of it or nothing; raises `ConflictError` if another writer was first.

        A store that fell silent may have done it all the same: whether it has is looked up, never guessed.
        """
        if self._head != (self._found[HEAD] or NEW_HEAD):
            self.put(self._head)
        if all(isinstance(part, Check) for part in self._parts.values()):
            return
        parts = self._kept()
        if len(parts) > CHANGED_MOST:
            raise InvalidRequestError("this touches too many memories or values to be done in one go")
        try:
            self._opened.ledger.commit(tuple(parts))
        except UnavailableError:
            if not self._is_committed():
                raise

    def _kept(self) -> list[Put | Delete | Check]:
        """The parts that are needed: what was read after the head cannot have changed if the head has not."""
        if self._head == (self._found[HEAD] or NEW_HEAD):
            return list(self._parts.values())
        return [
            part
            for part in self._parts.values()
            if not isinstance(part, Check) or part.ref in self._beside_head
        ]

    def _is_committed(self) -> bool:
        """True if the chain has the entry this change ends with; a change without one is safe to repeat."""
        place = audit_ref(self._head.seq)
        mine = self._parts.get(place)
        if not isinstance(mine, Put):
            return False
        return self._opened.ledger.read([place]).get(place) == mine.entry

    def _expectation(self, ref: Ref[Any]) -> Expectation:
        if ref not in self._found:
            return Absent() if ref.area in _NEVER_TWICE else Anything()
        found, guard = self._found[ref], _GUARDS.get(ref.area)
        if found is None:
            return Absent() if guard or ref.area in _NEVER_TWICE else Anything()
        return Holds(guard, getattr(found, guard)) if guard else Anything()

    def _hold(self, memory: Memory) -> None:
        """Count an active memory, and make its exact statement lead to it."""
        if memory.status is Status.ACTIVE:
            self.put(Duplicate(duplicate_digest(self._opened.keys, memory.fact), memory.id, self.seq))
            self._count(memory, 1)

    def held_by(self, memory: Memory) -> list[Ref[Any]]:
        """What has to be looked at before a memory is let go of: what leads to its statement, its slot."""
        digest = duplicate_digest if memory.status is Status.ACTIVE else waiting_digest
        slot = memory.fact.slot
        return [
            duplicate_ref(digest(self._opened.keys, memory.fact)),
            *([slot_ref(slot)] if slot else []),
        ]

    def _let_go(self, memory: Memory) -> None:
        """Undo `_hold`, unless the same has been said by another since this one came to its end.

        Or since it was fenced off, where an erasure buries no values.
        """
        if memory.status is Status.CANDIDATE:
            waiting = duplicate_ref(waiting_digest(self._opened.keys, memory.fact))
            if self._is_held_by(memory, waiting):
                self.delete(waiting)
        if memory.status is not Status.ACTIVE:
            return
        self._count(memory, -1)
        ref = duplicate_ref(duplicate_digest(self._opened.keys, memory.fact))
        is_sure = memory.status_at(self.at) is Status.ACTIVE and not self._head.fences
        if is_sure or self._is_held_by(memory, ref):
            self.delete(ref)

    def _is_held_by(self, memory: Memory, ref: Ref[Duplicate]) -> bool:
        known = self.get(ref)
        return known is not None and known.memory_id == memory.id

    def _count(self, memory: Memory, number: int) -> None:
        usage = self._head.usage and self._head.usage.heavier(number * memory.fact.weight)
        self._head = replace(self._head, memories=self._head.memories + number, usage=usage)

    def _thread(self, memory: Memory) -> None:
        self._before.append(Before(memory.id, memory.seq))

    def owe(self, memory: Memory) -> None:
        """Leave the outbox marker that the projections work from."""
        scope, root_id = self._opened.scope.canonical, self._opened.root_id
        words = keyed_wording(self._opened.keys, memory.fact.content)
        self.put(
            Pending(
                memory.id,
                self.seq,
                Work.PUT,
                fact=memory.fact,
                scope=scope,
                root_id=root_id,
                words=words,
                at=self.at,
            )
        )
