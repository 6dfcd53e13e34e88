"""Retract and dispute: it was never true, or somebody says so."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from unsay_core.application.bury import bury_values, burying
from unsay_core.application.ledger import Reviewable, Waiting, memory_ref
from unsay_core.application.replay import IdempotencyKey, Written
from unsay_core.application.slots import leave_slot
from unsay_core.application.unmerge import leave_merges
from unsay_core.application.versions import change_one
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.lifecycle import Act, after
from unsay_core.domain.memory import Memory, Reason, Review, Status, Trust, closed
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World


@dataclass(frozen=True, slots=True)
class TakeBack:
    """What is taken back, and why; the note is erased with the memory."""

    memory_id: str
    version: int | None
    reason: Reason
    note: str | None = None
    idempotency: IdempotencyKey | None = None

    def refs(self) -> list[Ref[Any]]:
        """What the decision needs, for one read."""
        return [memory_ref(self.memory_id), *([self.idempotency.ref] if self.idempotency else [])]

    def happening(self, event: Event, memory: Memory, opened: OpenScope) -> Happening:
        """The event, with the note's digest and not its words."""
        digest = opened.keys.note_digest(self.note) if self.note else None
        return Happening(event, memory.id, memory.version, reason=self.reason.value, note_digest=digest)


def retract(command: TakeBack, opened: OpenScope, world: World) -> Written:
    """It was never true and nothing replaces it: out of every read, and its value is not learned again.

    What it was merged into is taken back first.
    """

    def attempt(command: TakeBack, *, is_alone: bool) -> Written:
        act = partial(_retract, command, opened, is_alone=is_alone)
        return burying(lambda: change_one(act, command, opened, world), opened, world)

    try:
        return attempt(command, is_alone=False)
    except _ReplacedError:
        version = leave_merges(command.memory_id, command.version, opened, world)
        return attempt(replace(command, version=version), is_alone=True)


def dispute(command: TakeBack, opened: OpenScope, world: World) -> Written:
    """Somebody doubts it: out of recall, until a person has decided."""
    return change_one(partial(_dispute, command, opened), command, opened, world)


class _ReplacedError(Exception):
    """What is taken back has a successor: that may be a merge, which is taken back before."""


def _retract(command: TakeBack, opened: OpenScope, old: Memory, draft: Draft, *, is_alone: bool) -> Memory:
    status = after(old, Act.RETRACT, draft.at)
    if old.status is Status.SUPERSEDED and not is_alone:
        raise _ReplacedError
    if old.status is Status.ACTIVE:
        leave_slot(draft, old)
    review = closed(old.review, "retracted")
    new = draft.change(old, old.next_version(draft.at, status, note=command.note, review=review))
    bury_values(draft, old, command.reason, opened)
    draft.record(command.happening(Event.RETRACTED, new, opened))
    return new


def _asked(reason: Reason, known: Review | None, draft: Draft) -> Review:
    """The question for a reviewer; one that is open already has a reason more."""
    if known is None or known.decision is not None:
        return Review((reason.value,), since=draft.at)
    return replace(known, reasons=tuple(dict.fromkeys((*known.reasons, reason.value))))


def _dispute(command: TakeBack, opened: OpenScope, old: Memory, draft: Draft) -> Memory:
    status = after(old, Act.DISPUTE, draft.at)
    review = _asked(command.reason, old.review, draft)
    changed = old.next_version(
        draft.at, status, trust=Trust.DISPUTED, note=command.note or old.note, review=review
    )
    new = draft.change(old, changed)
    draft.put(Reviewable(new.id, Waiting.DISPUTED, review.since))
    draft.record(command.happening(Event.DISPUTED, new, opened))
    return new
