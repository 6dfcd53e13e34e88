"""Correct: another memory takes the place of this one, because the world changed or it never held."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import commitment, value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.policy import refuse_credentials, refuse_tombstoned
from unsay_core.application.replay import IdempotencyKey, Written, replayed
from unsay_core.application.settle import settle
from unsay_core.application.slots import leave_slot, take_slot
from unsay_core.application.versions import require_version
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import InvalidRequestError, NotFoundError, WrongStatusError
from unsay_core.domain.ledger import (
    HEAD,
    Tombstone,
    TombstoneKind,
    memory_ref,
    slot_ref,
    value_tombstone_ref,
)
from unsay_core.domain.memory import Because, Fact, Memory, Reason, Source, Status, Trust

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from unsay_core.application.ports import OpenScope, Snapshot, World


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


def correct(command: Correct, opened: OpenScope, world: World) -> Written:
    """Supersede a memory by another, in one transaction.

    Raises `NotFoundError`, `PreconditionRequiredError`, `VersionConflictError`, `WrongStatusError`,
    `TombstonedError`, `SecretRefusedError`, `BusyError`.
    """
    return settle(lambda: _attempt(command, opened, world), world)


def _attempt(command: Correct, opened: OpenScope, world: World) -> Written:
    now = world.clock.now()
    forbidden = value_tombstone_ref(value_digest(opened.keys, command.content))
    refs = [HEAD, memory_ref(command.memory_id), forbidden]
    snapshot = opened.ledger.read([*refs, *([command.idempotency.ref] if command.idempotency else [])])
    if earlier := replayed(command.idempotency, snapshot, opened, now):
        return earlier
    old = snapshot.get(memory_ref(command.memory_id))
    if old is None:
        raise NotFoundError("no such memory in this scope")
    require_version(old, command.version)
    if old.status_at(now) is not Status.ACTIVE:
        raise WrongStatusError("only an active memory can be corrected")
    fact = corrected_fact(old.fact, command, now)
    refuse_credentials(fact, command.quote, command.note, opened=opened, world=world)
    refuse_tombstoned(snapshot.get(forbidden), opened=opened, world=world)
    return _replace(old, fact, command, snapshot, opened, world, now)


def corrected_fact(old: Fact, command: Correct, now: datetime) -> Fact:
    """The new statement: what is not stated anew is taken over; what changed holds from now."""
    start = now if command.because is Because.CHANGED else old.valid_from
    fact = replace(old, content=command.content, **{"valid_from": start, **command.changes})
    if fact.validity.is_empty:
        raise InvalidRequestError.at("valid_to", "the corrected memory would be valid at no time")
    return fact


def _replace(
    old: Memory,
    fact: Fact,
    command: Correct,
    snapshot: Snapshot,
    opened: OpenScope,
    world: World,
    now: datetime,
) -> Written:
    draft = Draft(opened, snapshot, now)
    new = Memory(
        id=world.new_id("mem"),
        fact=fact,
        source=Source(channel="api", actor=opened.principal.id, quote=command.quote),
        trust=Trust.ASSERTED,
        recorded_at=now,
        updated_at=now,
        nonce=world.new_nonce(),
        supersedes=(old.id,),
    )
    draft.supersede(old, by=new, because=command.because)
    new = _change_slots(draft, old, new, opened)
    draft.believe(new)
    if command.because is Because.WRONG:
        _bury_value(draft, old, new, opened)
    written = Written(new)
    if command.idempotency:
        draft.add(command.idempotency.kept(written, snapshot, now))
    draft.seal(
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
    draft.commit()
    return written


def _change_slots(draft: Draft, old: Memory, new: Memory, opened: OpenScope) -> Memory:
    if old.fact.key and old.fact.key != new.fact.key:
        leave_slot(draft, old, opened)
    if new.fact.key is None:
        return new
    return take_slot(draft, new, opened.ledger.read([slot_ref(new.fact.key)]), opened, leaving=old.id)


def _bury_value(draft: Draft, old: Memory, new: Memory, opened: OpenScope) -> None:
    """Tombstone what never held, unless only something else about it was wrong."""
    digest = value_digest(opened.keys, old.fact.content)
    if digest != value_digest(opened.keys, new.fact.content):
        draft.put(Tombstone(digest, TombstoneKind.VALUE, draft.at, opened.principal.id, Reason.INCORRECT))
