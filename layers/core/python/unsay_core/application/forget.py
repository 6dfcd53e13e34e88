"""Forget: a memory and what it replaced are erased, and neither id nor value comes back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unsay_core.application.digests import value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.settle import settle
from unsay_core.application.slots import leave_slot
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import AlreadyForgottenError, NotFoundError, UnsayError
from unsay_core.domain.ledger import (
    Cascaded,
    Erasure,
    Tombstone,
    TombstoneKind,
    erasure_ref,
    id_tombstone_ref,
    memory_ref,
)
from unsay_core.domain.memory import Memory, Reason, Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unsay_core.application.ports import OpenScope, World

LIMIT = 100  # items in one transaction, and keys in one read, of the ledger
RESERVED = 4  # head, audit entry, receipt, slot
ITEMS_EACH = 5  # memory, duplicate, marker, two tombstones; and its earlier versions


@dataclass(frozen=True, slots=True)
class Forget:
    """One memory to forget; `bury` tells whether its value, too, may not be written again."""

    memory_id: str
    reason: Reason
    bury: TombstoneKind = TombstoneKind.VALUE


def forget(command: Forget, opened: OpenScope, world: World) -> Erasure:
    """Erase a memory with everything it superseded; from the answer on no read returns any of it.

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
    *earlier, last = _batches([memory, *_predecessors(memory, draft)])
    for batch in earlier:
        _erase(batch, draft, command, erasure_id, opened)
        draft.commit()
        draft = Draft(opened, world.clock.now(), [target, erasure_ref(erasure_id)])
    erasure = _erase(last, draft, command, erasure_id, opened)
    draft.commit()
    return erasure


def _absence(tombstone: Tombstone | None) -> UnsayError:
    if tombstone is None:
        return NotFoundError("no such memory in this scope")
    return AlreadyForgottenError(erasure_id=tombstone.erasure_id or "")


def _predecessors(memory: Memory, draft: Draft) -> list[Memory]:
    """What the memory replaced, and what that replaced: newest first, one read for each step back."""
    found: dict[str, Memory] = {}
    wanted = list(memory.supersedes)
    while wanted:
        refs = [memory_ref(memory_id) for memory_id in wanted]
        draft.load(*refs)
        step = [m for ref in refs if (m := draft.get(ref)) and m.id not in found]
        found.update((m.id, m) for m in step)
        wanted = [before for m in step for before in m.supersedes]
    return list(found.values())


def _batches(group: Sequence[Memory]) -> Iterator[list[str]]:
    """The ids of what fits into a transaction each, oldest first: the memory itself goes last."""
    batch: list[str] = []
    size = RESERVED
    for memory in reversed(group):
        cost = ITEMS_EACH + memory.version + len(memory.earlier_values)
        if batch and size + cost > LIMIT:
            yield batch
            batch, size = [], RESERVED
        batch.append(memory.id)
        size += cost
    yield batch


def _erase(
    batch: Sequence[str], draft: Draft, command: Forget, erasure_id: str, opened: OpenScope
) -> Erasure:
    refs = [memory_ref(memory_id) for memory_id in batch]
    draft.load(*refs)
    memories = [memory for ref in refs if (memory := draft.get(ref))]
    graves = _graves(memories, command, draft, erasure_id, opened)
    for grave in graves:
        draft.put(grave)
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
            erasure_id=erasure_id,
        )
    )
    started = draft.get(erasure_ref(erasure_id)) or _begun(command, erasure_id, draft, opened)
    erasure = replace(
        started,
        matched=1,
        erased=started.erased + len(ids),
        tombstones=started.tombstones + len(graves),
        cascade=(*started.cascade, *(Cascaded(i, "predecessor") for i in also)),
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
    batch: Sequence[Memory], command: Forget, draft: Draft, erasure_id: str, opened: OpenScope
) -> list[Tombstone]:
    """The tombstones of a batch: every id and, unless only ids are buried, every value it ever had."""
    names = {(TombstoneKind.ID, memory.id) for memory in batch}
    if command.bury is TombstoneKind.VALUE:
        for memory in batch:
            values = (value_digest(opened.keys, memory.fact.content), *memory.earlier_values)
            names |= {(TombstoneKind.VALUE, value) for value in values}
    return [
        Tombstone(digest, kind, draft.at, opened.principal.id, command.reason, erasure_id, seq=draft.seq)
        for kind, digest in sorted(names)
    ]
