"""Tombstones: what must not come back, and giving one of them free again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsay_core.application.ledger import Area, value_tombstone_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.policy import refuse_secrets
from unsay_core.application.replay import IdempotencyKey, earlier_outcome, keep_outcome
from unsay_core.application.settle import change
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import NotFoundError
from unsay_core.domain.memory import Reason
from unsay_core.domain.tombstone import Tombstone

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World


def list_tombstones(opened: OpenScope, *, after: str | None, limit: int) -> Page[Tombstone]:
    """A page of tombstones: digests, times and reasons, never text."""
    return page_of(opened.ledger, Area.TOMBSTONE, after=after, limit=limit)


@dataclass(frozen=True, slots=True)
class Lift:
    """Which tombstone to lift, and why."""

    digest: str
    reason: Reason
    note: str | None = None
    idempotency: IdempotencyKey | None = None

    def refs(self) -> list[Ref[Any]]:
        """What the decision needs, for one read."""
        return [value_tombstone_ref(self.digest), *([self.idempotency.ref] if self.idempotency else [])]


@dataclass(frozen=True, slots=True)
class Lifted:
    """A tombstone that forbids nothing any more; `replayed` if this request lifted it before."""

    tombstone: Tombstone
    replayed: bool = False


def lift_tombstone(command: Lift, opened: OpenScope, world: World) -> Lifted:
    """Let a value be learned again; raises `NotFoundError`, `WrongStatusError` if it may be already."""

    def lift(draft: Draft) -> Lifted:
        grave = draft.get(value_tombstone_ref(command.digest))
        if grave is None:
            raise NotFoundError("no such tombstone in this scope")
        if earlier_outcome(command.idempotency, draft):
            return Lifted(grave, replayed=True)
        lifted = grave.lift(draft.seq)
        refuse_secrets(draft, command.note)
        draft.put(lifted)
        note = opened.keys.note_digest(command.note) if command.note else None
        reason = command.reason.value
        draft.record(Happening(Event.LIFTED, tombstone=command.digest, reason=reason, note_digest=note))
        if command.idempotency:
            keep_outcome(command.idempotency, 200, command.digest, 1, draft)
        return Lifted(lifted)

    return change(lift, opened, world, command.refs)
