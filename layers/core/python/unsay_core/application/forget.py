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
    HEAD,
    Absent,
    Cascaded,
    Erasure,
    Holds,
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
    target, tombstone = memory_ref(command.memory_id), id_tombstone_ref(command.memory_id)
    snapshot = opened.ledger.read([HEAD, target, tombstone, erasure_ref(erasure_id)])
    memory = snapshot.get(target)
    if memory is None:
        raise _absence(snapshot.get(tombstone))
    for batch in _batches([memory, *_predecessors(memory, opened)]):
        draft = Draft(opened, snapshot, world.clock.now())
        erasure = _erase(batch, draft, command, snapshot.get(erasure_ref(erasure_id)), erasure_id, opened)
        draft.commit()
        snapshot = opened.ledger.read([HEAD, erasure_ref(erasure_id)]) if memory not in batch else snapshot
    return erasure


def _absence(tombstone: Tombstone | None) -> UnsayError:
    if tombstone is None:
        return NotFoundError("no such memory in this scope")
    return AlreadyForgottenError(erasure_id=tombstone.erasure_id or "")


def _predecessors(memory: Memory, opened: OpenScope) -> list[Memory]:
    """What the memory replaced, and what that replaced: newest first, one read for each step back."""
    found: dict[str, Memory] = {}
    wanted = list(memory.supersedes)
    while wanted:
        refs = [memory_ref(memory_id) for memory_id in wanted[:LIMIT]]
        snapshot = opened.ledger.read(refs)
        step = [m for ref in refs if (m := snapshot.get(ref)) and m.id not in found]
        found.update((m.id, m) for m in step)
        wanted = [*wanted[LIMIT:], *(before for m in step for before in m.supersedes)]
    return list(found.values())


def _batches(group: Sequence[Memory]) -> Iterator[list[Memory]]:
    """What fits into a transaction each, oldest first, so that the memory itself goes last."""
    batch: list[Memory] = []
    size = RESERVED
    for memory in reversed(group):
        cost = ITEMS_EACH + memory.version
        if batch and size + cost > LIMIT:
            yield batch
            batch, size = [], RESERVED
        batch.append(memory)
        size += cost
    yield batch


def _erase(
    batch: Sequence[Memory],
    draft: Draft,
    command: Forget,
    earlier: Erasure | None,
    erasure_id: str,
    opened: OpenScope,
) -> Erasure:
    graves = _graves(batch, command, draft, erasure_id, opened)
    for grave in graves:
        draft.put(grave)
    for memory in batch:
        draft.erase(memory, erasure_id=erasure_id)
        if memory.status is Status.ACTIVE:
            leave_slot(draft, memory, opened)
    draft.new_epoch()
    ids = tuple(memory.id for memory in batch)
    entry = draft.seal(
        Happening(
            Event.FORGOTTEN,
            command.memory_id,
            related=tuple(i for i in ids if i != command.memory_id),
            reason=command.reason.value,
            erasure_id=erasure_id,
        )
    )
    started = earlier or Erasure(
        id=erasure_id,
        selector={"ids": [command.memory_id]},
        reason=command.reason,
        requested_at=draft.at,
        actor=opened.principal.id,
    )
    erasure = replace(
        started,
        matched=1,
        erased=started.erased + len(ids),
        tombstones=started.tombstones + len(graves),
        cascade=(*started.cascade, *(Cascaded(i, "predecessor") for i in ids if i != command.memory_id)),
        remaining=(*started.remaining, *ids),
        audit_seq=entry.seq,
        digest=entry.hash,
        revision=started.revision + 1,
    )
    draft.put(erasure, Holds("revision", earlier.revision) if earlier else Absent())
    return erasure


def _graves(
    batch: Sequence[Memory], command: Forget, draft: Draft, erasure_id: str, opened: OpenScope
) -> list[Tombstone]:
    """The tombstones of a batch: every id and, unless only ids are buried, every value once."""
    names = {(TombstoneKind.ID, memory.id) for memory in batch}
    if command.bury is TombstoneKind.VALUE:
        names |= {(TombstoneKind.VALUE, value_digest(opened.keys, m.fact.content)) for m in batch}
    return [
        Tombstone(digest, kind, draft.at, opened.principal.id, command.reason, erasure_id)
        for kind, digest in sorted(names)
    ]
