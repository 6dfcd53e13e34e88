"""Review: a person decides what waits; they approve or reject it, and never edit its words."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any

from unsay_core.application.bury import bury_values, burying
from unsay_core.application.digests import commitment
from unsay_core.application.ledger import Area, Reviewable, Waiting, memory_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.policy import RESTATED, refuse_tombstoned, standing_tombstones
from unsay_core.application.ports import SearchError
from unsay_core.application.replay import IdempotencyKey, Written
from unsay_core.application.slots import leave_slot, rivals, take_slot
from unsay_core.application.versions import change_one
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import InvalidRequestError
from unsay_core.domain.lifecycle import Act, after
from unsay_core.domain.memory import Memory, Reason, Review, Status, Trust
from unsay_core.domain.trust import require_may_replace

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World

NEAREST = 5


class Decision(StrEnum):
    """What a reviewer may say."""

    APPROVE = "approve"
    REJECT = "reject"


@dataclass(frozen=True, slots=True)
class Decide:
    """A person's decision on one memory."""

    memory_id: str
    version: int | None
    decision: Decision
    reason: Reason | None = None
    note: str | None = None
    idempotency: IdempotencyKey | None = None

    def refs(self) -> list[Ref[Any]]:
        """What the decision needs, for one read."""
        return [memory_ref(self.memory_id), *([self.idempotency.ref] if self.idempotency else [])]


def decide(command: Decide, opened: OpenScope, world: World) -> Written:
    """Approve: active and verified. Reject: refused, and its value is not learned again.

    Raises `NotFoundError`, `WrongStatusError` for what does not wait, `TombstonedError` for approving a
    value that was taken back (unless the user has said it anew), and as `correct` does.
    """
    if command.decision is Decision.REJECT and command.reason is None:
        raise InvalidRequestError.at("reason", "a rejection has a reason")
    if command.decision is Decision.APPROVE:
        return change_one(partial(_approve, command, opened, world), command, opened, world)
    act = partial(_reject, command, opened)
    return burying(lambda: change_one(act, command, opened, world), opened, world)


def _approve(command: Decide, opened: OpenScope, world: World, old: Memory, draft: Draft) -> Memory:
    status = after(old, Act.APPROVE, draft.at)
    lifted = _lift_restated(old, draft, opened)
    changed = old.next_version(
        draft.at, status, trust=Trust.VERIFIED, review=_decided(command, old, draft, opened)
    )
    if old.status is not Status.ACTIVE:
        require_may_replace(changed, rivals(draft, changed))
        changed = take_slot(draft, changed, world)
    new = draft.change(old, changed)
    draft.record(_happening(Event.APPROVED, command, new, opened, tombstone=lifted))
    return new


def _reject(command: Decide, opened: OpenScope, old: Memory, draft: Draft) -> Memory:
    status = after(old, Act.REJECT, draft.at)
    if old.status is Status.ACTIVE:
        leave_slot(draft, old)
    changed = old.next_version(
        draft.at, status, note=command.note, review=_decided(command, old, draft, opened)
    )
    new = draft.change(old, changed)
    reason = command.reason or Reason.OTHER
    bury_values(draft, old, reason, opened)
    draft.record(_happening(Event.REJECTED, command, new, opened))
    return new


def _lift_restated(old: Memory, draft: Draft, opened: OpenScope) -> str | None:
    """Lift the tombstone of what the user has said anew; anything else that was taken back stays so."""
    graves = standing_tombstones(draft, opened, old.fact.content)
    if not old.review or RESTATED not in old.review.reasons:
        refuse_tombstoned(draft, graves)
    for grave in graves:
        draft.put(grave.lift(draft.seq))
    return graves[0].digest if graves else None


def _decided(command: Decide, old: Memory, draft: Draft, opened: OpenScope) -> Review:
    asked = old.review or Review((), since=draft.at)
    return replace(
        asked,
        decision=command.decision.value,
        decided_by=opened.principal.id,
        decided_at=draft.at,
    )


def _happening(
    event: Event, command: Decide, new: Memory, opened: OpenScope, tombstone: str | None = None
) -> Happening:
    return Happening(
        event,
        new.id,
        new.version,
        commitment(new),
        related=new.supersedes,
        reason=command.reason.value if command.reason else None,
        note_digest=opened.keys.note_digest(command.note) if command.note else None,
        tombstone=tombstone,
    )


def waiting(
    state: Waiting, opened: OpenScope, world: World, *, after: str | None, limit: int
) -> Page[Memory]:
    """A page of what waits for a person, oldest first; what has expired no longer does."""
    page: Page[Reviewable] = page_of(
        opened.ledger, Area.REVIEW, after=after, limit=limit, wanted=lambda place: place.waiting is state
    )
    refs = [memory_ref(place.memory_id) for place in page.entries]
    snapshot = opened.ledger.read(refs) if refs else None
    found = [memory for ref in refs if snapshot and (memory := snapshot.get(ref))]
    now = world.clock.now()
    return Page(tuple(memory for memory in found if memory.waits_at(now)), page.next_after)


def nearest(memory: Memory, opened: OpenScope) -> tuple[str, ...]:
    """The ids of the believed memories nearest to one that waits; none when the index is away."""
    try:
        hits = opened.search.nearest(memory.fact.content, limit=NEAREST + 1, live_only=True, timeout=2.0)
    except SearchError:
        return ()
    return tuple(hit.memory_id for hit in hits if hit.memory_id != memory.id)[:NEAREST]
