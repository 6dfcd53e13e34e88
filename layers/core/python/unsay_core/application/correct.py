"""Correct: another memory takes the place of this one, because the world changed or it never held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from unsay_core.application.bury import bury_values, burying
from unsay_core.application.digests import commitment
from unsay_core.application.ledger import memory_ref
from unsay_core.application.look_up import found
from unsay_core.application.policy import refuse_forbidden, tombstone_refs
from unsay_core.application.quotas import within_quota
from unsay_core.application.replay import IdempotencyKey, Written, keep, replayed
from unsay_core.application.settle import change
from unsay_core.application.slots import give_up_slot, take_slot
from unsay_core.application.versions import require_version
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.lifecycle import Act, after
from unsay_core.domain.memory import Because, Fact, Memory, Reason, Source, Trust
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from unsay_core.application.draft import Draft
    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World


@dataclass(frozen=True, slots=True)
class Correct:
    """What takes a memory's place; `changes` are the fields of its fact that are stated anew."""

    memory_id: str
    version: int | None
    content: str
    because: Because
    changes: Mapping[str, Any]
    quote: str | None = None
    note: str | None = None
    idempotency: IdempotencyKey | None = None

    def refs(self, opened: OpenScope) -> list[Ref[Any]]:
        """What the decision needs, for one read."""
        key = [self.idempotency.ref] if self.idempotency else []
        return [memory_ref(self.memory_id), *tombstone_refs(opened, self.content), *key]


def correct(command: Correct, opened: OpenScope, world: World) -> Written:
    """Supersede a memory by another, in one transaction.

    Raises `NotFoundError`, `PreconditionRequiredError`, `VersionConflictError`, `WrongStatusError`,
    `TombstonedError`, `SecretRefusedError`, `BusyError`.
    """

    def attempt() -> Written:
        return change(
            lambda draft: _decide(command, draft, opened, world), opened, world, lambda: command.refs(opened)
        )

    return burying(attempt, opened, world)


def _decide(command: Correct, draft: Draft, opened: OpenScope, world: World) -> Written:
    if earlier := replayed(command.idempotency, draft):
        return earlier
    old = found(draft, command.memory_id)
    require_version(old, command.version)
    after(old, Act.SUPERSEDE, draft.at)  # the step itself is `Memory.superseded`
    fact = corrected_fact(old.fact, command, draft.at)
    refuse_forbidden(draft, opened, fact, command.quote, command.note)
    new = within_quota(draft, opened, lambda: _replace(old, fact, command, draft, opened, world))
    return keep(Written(new), command.idempotency, draft)


def corrected_fact(old: Fact, command: Correct, now: datetime) -> Fact:
    """The new statement: what is not stated anew is taken over; what changed holds from now."""
    start = now if command.because is Because.CHANGED else old.valid_from
    fact = replace(old, content=command.content, **{"valid_from": start, **command.changes})
    fact.require_fit()
    return fact


def _replace(
    old: Memory, fact: Fact, command: Correct, draft: Draft, opened: OpenScope, world: World
) -> Memory:
    new = Memory(
        id=world.new_id("mem"),
        fact=fact,
        source=Source(channel="api", actor=opened.principal.id, quote=command.quote),
        trust=Trust.ASSERTED,
        recorded_at=draft.at,
        updated_at=draft.at,
        nonce=world.new_nonce(),
        supersedes=(old.id,),
        note=command.note,
    )
    give_up_slot(draft, old, draft.supersede(old, by=new, because=command.because))
    new = draft.believe(take_slot(draft, new, world))
    if command.because is Because.WRONG:
        bury_values(draft, old, Reason.INCORRECT, opened, but=fact.content)
    draft.record(
        Happening(
            Event.CORRECTED,
            new.id,
            new.version,
            commitment(new),
            related=new.supersedes,
            reason=command.because.value,
            note_digest=opened.keys.note_digest(command.note) if command.note else None,
        )
    )
    return new
