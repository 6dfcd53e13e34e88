"""Forget a selection: one transaction fences it off, and a job does the rest.

From the answer on nobody reads what the fence covers, and nobody writes it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.ledger import Area, erasure_ref, memory_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.policy import refuse_secrets
from unsay_core.application.replay import IdempotencyKey, earlier_outcome, keep_outcome
from unsay_core.application.settle import change
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import BusyError, NotFoundError
from unsay_core.domain.memory import Memory, Reason
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.jobs.erasure import Erasure, Fence, Phase
from unsay_core.jobs.selection import Selection

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World

MOST_FENCES = 8  # in one scope; the erasures behind them take their turns
LISTED = 100  # ids in one answer of a dry run


@dataclass(frozen=True, slots=True)
class ForgetSelection:
    """What to forget, as a receipt keeps it; `bury` tells whether its values may be written again."""

    selector: dict[str, Any]
    reason: Reason
    bury: TombstoneKind = TombstoneKind.VALUE
    note: str | None = None
    idempotency: IdempotencyKey | None = None

    def refs(self) -> list[Ref[Any]]:
        """What the decision needs, for one read."""
        return [self.idempotency.ref] if self.idempotency else []


def forget_selection(command: ForgetSelection, opened: OpenScope, world: World) -> Erasure:
    """Fence a selection off and leave its erasure to a job; raises `BusyError` if too many wait already.

    One read and one transaction, however many memories are selected.
    """
    erasure_id = world.new_id("era")

    def decide(draft: Draft) -> Erasure:
        if earlier := earlier_outcome(command.idempotency, draft):
            return _known(earlier.memory_id, draft)
        if len(draft.head.fences) >= MOST_FENCES:
            raise BusyError("other erasures of this scope have to end first")
        refuse_secrets(draft, command.note)
        return fence_off(erasure_id, command, opened, draft)

    return change(decide, opened, world, command.refs)


def would_forget(selector: dict[str, Any], opened: OpenScope, *, after: str | None) -> Page[Memory]:
    """Some of the memories that a selection takes, without those that would go along."""
    selection = Selection.of(selector)
    if selection.ids is not None:
        refs = [memory_ref(memory_id) for memory_id in sorted(selection.ids) if memory_id > (after or "")]
        stretch = refs[:LISTED]
        found = opened.ledger.read(stretch).memories() if stretch else []
        beyond = stretch[-1].id if len(refs) > LISTED else None
        return Page(tuple(sorted(found, key=lambda memory: memory.id)), beyond)
    return page_of(opened.ledger, Area.MEMORY, limit=LISTED, after=after, wanted=selection.takes)


def _known(erasure_id: str, draft: Draft) -> Erasure:
    erasure = draft.get(erasure_ref(erasure_id))
    if erasure is None:
        raise NotFoundError("no such erasure in this scope")
    return erasure


def fence_off(erasure_id: str, command: ForgetSelection, opened: OpenScope, draft: Draft) -> Erasure:
    """Draft the fence of a selection, with the receipt by which a job is called for."""
    fence = Fence(erasure_id, command.selector, draft.seq, draft.at, command.reason, command.bury)
    draft.fence_off(fence)
    actor, reason = opened.principal.id, command.reason
    erasure = Erasure(
        id=erasure_id,
        selector=command.selector,
        reason=reason,
        requested_at=draft.at,
        actor=actor,
        phase=Phase.MEMORIES,
        bury=command.bury,
        seq=fence.seq,
        revision=1,
    )
    if erasure.is_whole_scope and command.bury is TombstoneKind.VALUE:
        draft.put(
            Tombstone(opened.id, TombstoneKind.SCOPE, draft.at, actor, reason, erasure_id, seq=draft.seq)
        )
    note = opened.keys.note_digest(command.note) if command.note else None
    entry = draft.record(
        Happening(Event.FENCED, reason=reason.value, note_digest=note, erasure_id=erasure_id)
    )
    erasure = replace(erasure, audit_seq=entry.seq, digest=entry.hash)
    draft.put(erasure)
    if command.idempotency:
        keep_outcome(command.idempotency, 202, erasure_id, 1, draft)
    return erasure
