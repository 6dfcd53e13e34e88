"""Tombstones: what must not come back, and giving one of them free again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ledger import Area, value_tombstone_ref
from unsay_core.application.pages import Page, page_of
from unsay_core.application.policy import refuse_secrets
from unsay_core.application.settle import change
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import NotFoundError
from unsay_core.domain.tombstone import Tombstone

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.memory import Reason


def list_tombstones(opened: OpenScope, *, after: str | None, limit: int) -> Page[Tombstone]:
    """A page of tombstones: digests, times and reasons, never text."""
    return page_of(opened.ledger, Area.TOMBSTONE, after=after, limit=limit)


def lift_tombstone(
    digest: str, reason: Reason, note: str | None, opened: OpenScope, world: World
) -> Tombstone:
    """Let a value be learned again; raises `NotFoundError`, `WrongStatusError` if it may be already."""
    ref = value_tombstone_ref(digest)

    def lift(draft: Draft) -> Tombstone:
        grave = draft.get(ref)
        if grave is None:
            raise NotFoundError("no such tombstone in this scope")
        lifted = grave.lift(draft.seq)
        refuse_secrets(draft, note)
        draft.put(lifted)
        note_digest = opened.keys.note_digest(note) if note else None
        draft.record(Happening(Event.LIFTED, tombstone=digest, reason=reason.value, note_digest=note_digest))
        return lifted

    return change(lift, opened, world, lambda: [ref])
