"""Erasing some memories with all that goes along: in as few transactions as fit, each with its audit entry.

Every transaction carries the receipt with what has been done so far. So whatever is killed between two of
them goes on where it was, and counts nothing twice.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.cascade import cascade
from unsay_core.application.digests import value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.evidence import erase_evidence
from unsay_core.application.ledger import Reviewable, Waiting, erasure_ref, memory_ref
from unsay_core.application.ports import ConflictError
from unsay_core.application.slots import leave_slot
from unsay_core.application.unmerge import take_back
from unsay_core.application.verdict import put_receipt
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.lifecycle import Act, after, may
from unsay_core.domain.memory import Memory, Review, Status
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.domain.values import dataclass
from unsay_core.jobs.erasure import SELECTED, Cascaded, Erasure

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from unsay_core.application.cascade import Cascade
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.verdict import Verdict

LIMIT = 100  # items in one transaction, and keys in one read, of the ledger
RESERVED = 5  # head, audit entry, receipt; and two that come to be there while it is decided
ITEMS_EACH = 5  # memory, duplicate, marker, two tombstones; and what it was
WEAKENED_AT_ONCE = 12  # memories, each with up to six items of a transaction
STRETCH = 40  # versions, and values, of one memory in one transaction


@dataclass(frozen=True, slots=True)
class _Piece:
    """A stretch of what a memory was, as much as a transaction holds; with the last it goes itself."""

    memory: Memory
    versions: range
    values: tuple[str, ...]
    is_last: bool

    @property
    def cost(self) -> int:
        """How many items of a transaction it needs at most."""
        places = (self.memory.fact.slot, self.memory.review)
        return ITEMS_EACH + len(self.versions) + len(self.values) + sum(map(bool, places))


def erase_group(
    memories: Sequence[Memory], verdict: Verdict, draft: Draft, opened: OpenScope, world: World
) -> Erasure:
    """Erase memories with what they superseded and what was derived from them alone; raises `ConflictError`.

    What has other support becomes a candidate. `draft` has read the memories and the receipt; the last
    transaction is the one in which the memories asked for go.
    """
    found = _cascade(memories, verdict, draft, opened)
    has_evidence = erase_evidence(found.going, verdict, opened, world)
    unsaid = [*_weaken(found, verdict, opened, world)]
    restored = take_back(found, verdict, opened, world)
    is_stale = has_evidence or bool(found.weakened)
    if restored is not None:
        draft = _drafted(memories, verdict, opened, world)
        unsaid += restored
        found = _cascade(_again(memories, draft), verdict, draft, opened)  # some have a version more by now
        is_stale = False
    values_kept = {value_digest(opened.keys, memory.fact.content) for memory in found.staying}
    *earlier, last = _batches(found.going)
    for batch in (*earlier, last):
        if is_stale:
            draft = _drafted([piece.memory for piece in batch], verdict, opened, world)
        said = unsaid if batch is last else ()
        erasure = _erase(batch, draft, verdict, opened, found.why, values_kept, *said)
        draft.commit()
        is_stale = True
    return erasure


def _drafted(memories: Sequence[Memory], verdict: Verdict, opened: OpenScope, world: World) -> Draft:
    """A draft that has read some memories and the receipt."""
    refs = [memory_ref(memory.id) for memory in memories]
    return Draft(opened, world.clock.now(), [*refs, erasure_ref(verdict.erasure_id)])


def _cascade(memories: Sequence[Memory], verdict: Verdict, draft: Draft, opened: OpenScope) -> Cascade:
    return cascade(
        memories,
        draft,
        lambda memory: value_digest(opened.keys, memory.fact.content),
        is_doomed=verdict.is_doomed,
        buries_values=verdict.bury is TombstoneKind.VALUE,
    )


def _again(memories: Sequence[Memory], draft: Draft) -> list[Memory]:
    """The memories as they are by now; raises `ConflictError` if somebody else has erased one."""
    found = [memory for each in memories if (memory := draft.get(memory_ref(each.id)))]
    if len(found) < len(memories):
        raise ConflictError("another erasure was first")
    return found


def _weaken(found: Cascade, verdict: Verdict, opened: OpenScope, world: World) -> Sequence[Cascaded]:
    """Ask a person about what has lost one of its sources; until they say so, no read answers with it.

    Returns what the receipt has still to say, because it is not stored yet.
    """
    unsaid: list[Cascaded] = []
    for merge in (memory for memory in found.weakened if memory.is_merge):
        erase_past(merge, opened, world)
    for at in range(0, len(found.weakened), WEAKENED_AT_ONCE):
        refs = [memory_ref(memory.id) for memory in found.weakened[at : at + WEAKENED_AT_ONCE]]
        draft = Draft(opened, world.clock.now(), [*refs, erasure_ref(verdict.erasure_id)])
        there = [memory for ref in refs if (memory := draft.get(ref)) and may(memory, Act.WEAKEN, draft.at)]
        for memory in there:
            weaken(memory, draft, derived_from=found.supports[memory.id])
            if memory.is_merge:
                draft.erase_versions(memory.id, [memory.version])
        named = record_weakened(there, verdict, draft)
        if verdict.receipt(draft):
            put_receipt(draft, verdict, lambda erasure: erasure, *named)
        else:
            unsaid += named
        draft.commit()
    return unsaid


def erase_past(memory: Memory, opened: OpenScope, world: World) -> None:
    """Remove what a memory was before: its earlier versions, a stretch in each transaction."""
    for start in range(1, memory.version, STRETCH):
        draft = Draft(opened, world.clock.now())
        draft.erase_versions(memory.id, range(start, min(start + STRETCH, memory.version)))
        draft.commit()


def weaken(memory: Memory, draft: Draft, **changes: Any) -> None:
    """Make a memory a candidate, because a part of what it rested on is gone."""
    leave_slot(draft, memory)
    review = Review(("source_forgotten",), since=draft.at)
    status = after(memory, Act.WEAKEN, draft.at)
    draft.change(memory, memory.next_version(draft.at, status, review=review, **changes))
    draft.put(Reviewable(memory.id, Waiting.CANDIDATE, draft.at))


def record_weakened(memories: Sequence[Memory], verdict: Verdict, draft: Draft) -> list[Cascaded]:
    """Say in the audit what became a candidate; returns it as a receipt names it."""
    ids = tuple(memory.id for memory in memories)
    draft.record(Happening(Event.WEAKENED, related=ids, erasure_id=verdict.erasure_id))
    return [Cascaded(memory_id, "derived", "candidate") for memory_id in ids]


def _batches(group: Sequence[Memory]) -> Iterator[list[_Piece]]:
    """What fits into a transaction each, oldest first: the memories asked for go last."""
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
        yield _Piece(memory, versions[part], values[part], is_last=start == starts[-1])


def _erase(
    batch: Sequence[_Piece],
    draft: Draft,
    verdict: Verdict,
    opened: OpenScope,
    why: Mapping[str, str],
    values_kept: Collection[str],
    *unsaid: Cascaded,
) -> Erasure:
    refs = [memory_ref(piece.memory.id) for piece in batch if piece.is_last]
    draft.load(*refs)
    memories = [memory for ref in refs if (memory := draft.get(ref))]
    if draft.head.fences:
        draft.load(*(place for memory in memories for place in draft.held_by(memory)))
    graves = _graves(batch, memories, verdict, draft, opened, values_kept)
    for grave in graves:
        draft.put(grave)
    for piece in batch:
        draft.erase_versions(piece.memory.id, piece.versions)
    for memory in memories:
        if memory.status is Status.ACTIVE:
            leave_slot(draft, memory)
        draft.erase(memory)
    draft.new_epoch()
    ids = tuple(memory.id for memory in memories)
    along = tuple(i for i in ids if i != verdict.memory_id)
    entry = draft.record(
        Happening(
            Event.FORGOTTEN,
            verdict.memory_id,
            related=along,
            reason=verdict.reason.value,
            note_digest=opened.keys.note_digest(verdict.note) if verdict.note else None,
            erasure_id=verdict.erasure_id,
        )
    )
    values = [grave.digest for grave in graves if grave.kind is TombstoneKind.VALUE]
    reasons = {i: verdict.why if why[i] == SELECTED else why[i] for i in ids}
    cascaded = [Cascaded(i, reason) for i, reason in reasons.items() if reason != SELECTED]

    def change(erasure: Erasure) -> Erasure:
        return replace(
            erasure,
            matched=erasure.matched + len(ids) - len(cascaded),
            erased=erasure.erased + len(ids),
            tombstones=erasure.tombstones + len(graves),
            buried=erasure.burying((*verdict.said, *values)),
            quoted=erasure.quoted or bool(verdict.said),
            remaining=(*erasure.remaining, *ids) if not erasure.was_fenced else erasure.remaining,
            audit_seq=entry.seq,
            digest=entry.hash,
        )

    return put_receipt(draft, verdict, change, *cascaded, *unsaid)


def _graves(
    batch: Sequence[_Piece],
    memories: Sequence[Memory],
    verdict: Verdict,
    draft: Draft,
    opened: OpenScope,
    values_kept: Collection[str],
) -> list[Tombstone]:
    """The tombstones of a batch: every id and, unless only ids are buried, every value it ever had.

    But not those that a member of a merge still says, which stays.
    """
    names = {(TombstoneKind.ID, memory.id) for memory in memories}
    if verdict.bury is TombstoneKind.VALUE:
        values = {value_digest(opened.keys, m.fact.content) for m in memories if not m.fact.is_item}
        values |= {value for piece in batch for value in piece.values}
        names |= {(TombstoneKind.VALUE, value) for value in values.difference(values_kept)}
    return [
        Tombstone(
            digest, kind, draft.at, opened.principal.id, verdict.reason, verdict.erasure_id, seq=draft.seq
        )
        for kind, digest in sorted(names)
    ]
