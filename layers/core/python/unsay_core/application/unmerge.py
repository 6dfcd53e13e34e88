"""Taking merges back, as a member is forgotten or never was true: the others stand where the merge stood.

For a forget the merge itself stays until it is erased with the rest, so that whoever goes on after a kill
finds it; it is believed no more. What held of it holds of its members: if it was doubted, retracted or
replaced, so are they.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import commitment
from unsay_core.application.draft import Draft
from unsay_core.application.ledger import Reviewable, Waiting, erasure_ref, memory_ref
from unsay_core.application.policy import standing_tombstones
from unsay_core.application.settle import change
from unsay_core.application.slots import leave_slot
from unsay_core.application.verdict import put_receipt
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.memory import MERGING, Because, Memory, Status, Trust
from unsay_core.jobs.erasure import Cascaded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.cascade import Cascade, Taken
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.verdict import Verdict


def take_back(found: Cascade, verdict: Verdict, opened: OpenScope, world: World) -> Sequence[Cascaded] | None:
    """Take back the merges of a cascade, each in one transaction; None if there was nothing to do.

    Returns what the receipt has still to say, because it is not stored yet. Raises `ConflictError`.
    """
    unsaid, has_changed = list[Cascaded](), False
    staying = {memory.id for memory in found.staying}
    for taken in found.taken:
        said = _take_back(taken, staying, verdict, opened, world)
        has_changed = has_changed or said is not None
        unsaid += said or ()
    return unsaid if has_changed else None


def _take_back(
    taken: Taken, staying: set[str], verdict: Verdict, opened: OpenScope, world: World
) -> Sequence[Cascaded] | None:
    refs = [memory_ref(memory.id) for memory in (taken.merge, *taken.members)]
    draft = Draft(opened, world.clock.now(), [*refs, erasure_ref(verdict.erasure_id)])
    merge, *members = (draft.get(ref) for ref in refs)
    replaced = [m for m in members if merge and m and m.superseded_by == merge.id]
    if merge is None or not replaced:
        return None
    back = _take_apart(merge, replaced, staying, draft, opened, erasure_id=verdict.erasure_id)
    named = [Cascaded(memory_id, "merged", "restored") for memory_id in back]
    is_stored = verdict.receipt(draft) is not None
    if is_stored:
        put_receipt(draft, verdict, lambda erasure: erasure, *named)
    draft.commit()
    return [] if is_stored else named


def _take_apart(
    merge: Memory, members: Sequence[Memory], staying: set[str], draft: Draft, opened: OpenScope, **more: Any
) -> tuple[str, ...]:
    """Draft members where the merge stood, and it believed no more; returns those that stay."""
    if merge.status is Status.ACTIVE:
        leave_slot(draft, merge)
        draft.supersede(merge, by=members[0], because=Because.WRONG)
    for member in members:
        _give_place(merge, member, draft, opened, is_going=member.id not in staying)
    back = tuple(member.id for member in members if member.id in staying)
    draft.record(
        Happening(
            Event.UNMERGED,
            merge.id,
            merge.version,
            commitment(merge),
            related=back,
            channel=MERGING,
            **more,
        )
    )
    return back


def leave_merges(memory_id: str, seen: int | None, opened: OpenScope, world: World) -> int | None:
    """Take back the merges that a memory is in, each in a transaction; its version by then, if it was `seen`.

    Whoever says that it never was true means its words, which those of a merge may be. A merge that somebody
    has worded anew, that others have said too or that is believed no more stays as it is.
    """
    ref = memory_ref(memory_id)

    def leave(draft: Draft) -> int | None:
        memory = draft.get(ref)
        merge = _outermost(memory, draft) if memory and memory.version == seen else None
        if memory is None or merge is None:
            return None
        members = [m for i in merge.derived_from if (m := draft.get(memory_ref(i)))]
        replaced = [m for m in members if m.superseded_by == merge.id]
        _take_apart(merge, replaced, {m.id for m in replaced}, draft, opened)
        left = draft.get(ref)
        return left.version if left else None

    while (version := change(leave, opened, world, lambda: [ref])) is not None:
        seen = version
    return seen


def _outermost(memory: Memory, draft: Draft) -> Memory | None:
    """The merge that stands for a memory by now, however often it was merged."""
    found = memory
    while found.superseded_by and (merge := draft.get(memory_ref(found.superseded_by))) and merge.is_merge:
        if merge.earlier_values or merge.corroborations:
            return None
        found = merge
    return found if found is not memory and found.status_at(draft.at) is Status.ACTIVE else None


def _give_place(merge: Memory, member: Memory, draft: Draft, opened: OpenScope, *, is_going: bool) -> None:
    """Draft a member where the merge stood; one that goes too is only told what it hands on.

    What was said anew meanwhile is not believed twice, and what was taken back meanwhile not at all.
    """
    placed = _in_place_of(merge, member, draft)
    if placed.status is Status.ACTIVE:
        twin = draft.twin(member.fact)
        if is_going:
            placed = replace(placed, status=Status.SUPERSEDED)
        elif twin is not None:
            draft.put(replace(twin, supersedes=(*twin.supersedes, member.id)))
            placed = replace(
                placed,
                status=Status.SUPERSEDED,
                superseded_by=twin.id,
                superseded_because=Because.WRONG,
                invalidated_at=member.invalidated_at,
            )
        elif standing_tombstones(draft, opened, member.fact.content):
            placed = replace(placed, status=Status.RETRACTED, invalidated_at=member.invalidated_at)
    new = draft.change(member, placed)
    if new.waits_at(draft.at) and new.review is not None:
        draft.put(Reviewable(new.id, Waiting.DISPUTED, new.review.since))


def _in_place_of(merge: Memory, member: Memory, draft: Draft) -> Memory:
    """The member's next version, with what became of the merge since."""
    successor = draft.get(memory_ref(merge.superseded_by)) if merge.superseded_by else None
    is_believed = merge.status in (Status.ACTIVE, Status.CANDIDATE) or (
        merge.status is Status.SUPERSEDED and successor is None
    )
    is_doubted = merge.trust is Trust.DISPUTED
    fact = member.fact
    if successor is not None:
        draft.put(replace(successor, supersedes=(*successor.supersedes, member.id)))
        fact = replace(fact, valid_to=merge.fact.valid_to)
    said_too = merge.corroborations if merge.fact.content == member.fact.content else ()
    for source in said_too:
        member = replace(member, corroborations=member.corroborated(source))
    placed = member.next_version(
        draft.at,
        Status.ACTIVE if is_believed else merge.status,
        fact=fact,
        superseded_by=successor.id if successor else None,
        superseded_because=merge.superseded_because if successor else None,
        derivatives=tuple(dict.fromkeys((*member.derivatives, *merge.derivatives))),
        trust=Trust.DISPUTED if is_doubted else member.trust,
        review=merge.review if is_doubted else member.review,
    )
    return replace(placed, invalidated_at=None if is_believed else merge.invalidated_at)
