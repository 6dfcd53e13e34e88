"""Forget: a memory and what it replaced are erased, and neither id nor value comes back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unsay_core.application.cascade import cascade
from unsay_core.application.digests import value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.evidence import erase_evidence
from unsay_core.application.ledger import Reviewable, Waiting, erasure_ref, id_tombstone_ref, memory_ref
from unsay_core.application.settle import settle
from unsay_core.application.slots import leave_slot
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.erasure import Cascaded, Erasure
from unsay_core.domain.errors import AlreadyForgottenError, NotFoundError, UnsayError
from unsay_core.domain.lifecycle import Act, after, may
from unsay_core.domain.memory import Memory, Reason, Review, Status
from unsay_core.domain.tombstone import Tombstone, TombstoneKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from unsay_core.application.ports import OpenScope, World

LIMIT = 100  # items in one transaction, and keys in one read, of the ledger
RESERVED = 4  # head, audit entry, receipt, slot
ITEMS_EACH = 6  # memory, duplicate, marker, place in the review queue, two tombstones; and what it was
WEAKENED_AT_ONCE = 12  # memories, each with up to six items of a transaction
STRETCH = 40  # versions, and values, of one memory in one transaction


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of what a memory was, as much as a transaction holds; with the last it goes itself."""

    memory_id: str
    versions: range
    values: tuple[str, ...]
    is_last: bool

    @property
    def cost(self) -> int:
        """How many items of a transaction it needs at most."""
        return ITEMS_EACH + len(self.versions) + len(self.values)


@dataclass(frozen=True, slots=True)
class Forget:
    """One memory to forget; `bury` tells whether its value, too, may not be written again."""

    memory_id: str
    reason: Reason
    bury: TombstoneKind = TombstoneKind.VALUE
    note: str | None = None


def forget(command: Forget, opened: OpenScope, world: World) -> Erasure:
    """Erase a memory with what it superseded and what was derived from it alone.

    From the answer on no read returns any of it.
    Raises `NotFoundError`, `AlreadyForgottenError` (with the earlier erasure), `BusyError`.
    """
    erasure_id = world.new_id("era")
    return settle(lambda: _attempt(command, erasure_id, opened, world), world)


def _attempt(command: Forget, erasure_id: str, opened: OpenScope, world: World) -> Erasure:
    """One try; after a lost race it goes on with the receipt that an earlier try began."""
    target, grave = memory_ref(command.memory_id), id_tombstone_ref(command.memory_id)
    draft = Draft(opened, world.clock.now(), [target, grave, erasure_ref(erasure_id)])
    memory = draft.get(target)
    if memory is None:
        raise _absence(draft.get(grave))
    found = cascade(memory, draft)
    has_evidence = erase_evidence(found.going, command.reason, erasure_id, opened, world, bury=command.bury)
    if found.weakened:
        _weaken(found.weakened, erasure_id, opened, world)
    if found.weakened or has_evidence:
        draft = Draft(opened, world.clock.now(), [target, erasure_ref(erasure_id)])
    *earlier, last = _batches(found.going)
    for batch in earlier:
        _erase(batch, draft, command, erasure_id, opened, found.why)
        draft.commit()
        draft = Draft(opened, world.clock.now(), [target, erasure_ref(erasure_id)])
    also = tuple(Cascaded(weakened.id, "derived", "candidate") for weakened in found.weakened)
    erasure = _erase(last, draft, command, erasure_id, opened, found.why, also)
    draft.commit()
    return erasure


def _absence(tombstone: Tombstone | None) -> UnsayError:
    if tombstone is None:
        return NotFoundError("no such memory in this scope")
    return AlreadyForgottenError(erasure_id=tombstone.erasure_id or "")


def _weaken(memories: Sequence[Memory], erasure_id: str, opened: OpenScope, world: World) -> None:
    """Ask a person about what has lost one of its sources; until they say so, no read answers with it."""
    for at in range(0, len(memories), WEAKENED_AT_ONCE):
        refs = [memory_ref(memory.id) for memory in memories[at : at + WEAKENED_AT_ONCE]]
        draft = Draft(opened, world.clock.now(), refs)
        found = [memory for ref in refs if (memory := draft.get(ref)) and may(memory, Act.WEAKEN, draft.at)]
        for memory in found:
            review = Review(("source_forgotten",), since=draft.at)
            leave_slot(draft, memory)
            status = after(memory, Act.WEAKEN, draft.at)
            draft.change(memory, memory.next_version(draft.at, status, review=review))
            draft.put(Reviewable(memory.id, Waiting.CANDIDATE, draft.at))
        ids = tuple(memory.id for memory in found)
        draft.record(Happening(Event.WEAKENED, related=ids, erasure_id=erasure_id))
        draft.commit()


def _batches(group: Sequence[Memory]) -> Iterator[list[_Piece]]:
    """What fits into a transaction each, oldest first: the memory itself goes last."""
    batch: list[_Piece] = []
    for piece in (piece for memory in reversed(group) for piece in _pieces(memory)):
        if batch and RESERVED + sum(p.cost for p in batch) + piece.cost > LIMIT:
            yield batch
            batch = []
        batch.append(piece)
    yield batch


def _pieces(memory: Memory) -> Iterator[_Piece]:
    """A memory's versions and former values in stretches."""
    versions, values = range(1, memory.version), memory.earlier_values
    starts = range(0, max(len(versions), len(values), 1), STRETCH)
    for start in starts:
        part = slice(start, start + STRETCH)
        yield _Piece(memory.id, versions[part], values[part], is_last=start == starts[-1])


def _erase(
    batch: Sequence[_Piece],
    draft: Draft,
    command: Forget,
    erasure_id: str,
    opened: OpenScope,
    why: Mapping[str, str],
    changed: tuple[Cascaded, ...] = (),
) -> Erasure:
    refs = [memory_ref(piece.memory_id) for piece in batch if piece.is_last]
    draft.load(*refs)
    memories = [memory for ref in refs if (memory := draft.get(ref))]
    graves = _graves(batch, memories, command, draft, erasure_id, opened)
    for grave in graves:
        draft.put(grave)
    for piece in batch:
        draft.erase_versions(piece.memory_id, piece.versions)
    for memory in memories:
        if memory.status is Status.ACTIVE:
            leave_slot(draft, memory)
        draft.erase(memory, erasure_id=erasure_id)
    draft.new_epoch()
    ids = tuple(memory.id for memory in memories)
    also = tuple(i for i in ids if i != command.memory_id)
    entry = draft.record(
        Happening(
            Event.FORGOTTEN,
            command.memory_id,
            related=also,
            reason=command.reason.value,
            note_digest=opened.keys.note_digest(command.note) if command.note else None,
            erasure_id=erasure_id,
        )
    )
    started = draft.get(erasure_ref(erasure_id)) or _begun(command, erasure_id, draft, opened)
    erasure = replace(
        started,
        matched=1,
        erased=started.erased + len(ids),
        tombstones=started.tombstones + len(graves),
        cascade=(*started.cascade, *(Cascaded(i, why[i]) for i in also), *changed),
        remaining=(*started.remaining, *ids),
        audit_seq=entry.seq,
        digest=entry.hash,
        revision=started.revision + 1,
    )
    draft.put(erasure)
    return erasure


def _begun(command: Forget, erasure_id: str, draft: Draft, opened: OpenScope) -> Erasure:
    return Erasure(
        id=erasure_id,
        selector={"ids": [command.memory_id]},
        reason=command.reason,
        requested_at=draft.at,
        actor=opened.principal.id,
    )


def _graves(
    batch: Sequence[_Piece],
    memories: Sequence[Memory],
    command: Forget,
    draft: Draft,
    erasure_id: str,
    opened: OpenScope,
) -> list[Tombstone]:
    """The tombstones of a batch: every id and, unless only ids are buried, every value it ever had."""
    names = {(TombstoneKind.ID, memory.id) for memory in memories}
    if command.bury is TombstoneKind.VALUE:
        values = {value_digest(opened.keys, m.fact.content) for m in memories if not m.fact.is_item}
        values |= {value for piece in batch for value in piece.values}
        names |= {(TombstoneKind.VALUE, value) for value in values}
    return [
        Tombstone(digest, kind, draft.at, opened.principal.id, command.reason, erasure_id, seq=draft.seq)
        for kind, digest in sorted(names)
    ]
