"""Remember: store a fact once, unless it was taken back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import commitment, duplicate_digest, value_digest
from unsay_core.application.draft import Draft
from unsay_core.application.policy import refuse_credentials, refuse_tombstoned
from unsay_core.application.replay import IdempotencyKey, Written, replayed
from unsay_core.application.settle import settle
from unsay_core.application.slots import take_slot
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.ledger import HEAD, duplicate_ref, memory_ref, slot_ref, value_tombstone_ref
from unsay_core.domain.memory import Memory, Source, Status, Trust

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.ports import OpenScope, Snapshot, World
    from unsay_core.domain.ledger import Duplicate, Ref
    from unsay_core.domain.memory import Fact


@dataclass(frozen=True, slots=True)
class Remember:
    """A fact to store, and what the caller says of its origin."""

    fact: Fact
    run_id: str | None = None
    message_seqs: tuple[int, ...] = ()
    quote: str | None = None
    derived_from: tuple[str, ...] = ()
    idempotency: IdempotencyKey | None = None


def remember(command: Remember, opened: OpenScope, world: World) -> Written:
    """Store a fact; a duplicate of an active memory answers with that one.

    Raises `TombstonedError`, `SecretRefusedError`, `IdempotencyMismatchError`, `BusyError`.
    """
    refuse_credentials(command.fact, command.quote, command.run_id, opened=opened, world=world)
    return settle(lambda: _attempt(command, opened, world), world)


def _attempt(command: Remember, opened: OpenScope, world: World) -> Written:
    now = world.clock.now()
    known = duplicate_ref(duplicate_digest(opened.keys, command.fact))
    forbidden = value_tombstone_ref(value_digest(opened.keys, command.fact.content))
    snapshot = opened.ledger.read([HEAD, known, forbidden, *_optional_refs(command)])
    if earlier := replayed(command.idempotency, snapshot, opened, now):
        return earlier
    refuse_tombstoned(snapshot.get(forbidden), opened=opened, world=world)
    if twin := _active_twin(snapshot, known, opened, now):
        return _same_again(twin, command, snapshot, opened, now)
    return _store(command, snapshot, opened, world, now)


def _optional_refs(command: Remember) -> list[Ref[Any]]:
    refs: list[Ref[Any]] = []
    if command.idempotency:
        refs.append(command.idempotency.ref)
    if command.fact.key:
        refs.append(slot_ref(command.fact.key))
    return refs


def _active_twin(
    snapshot: Snapshot, known: Ref[Duplicate], opened: OpenScope, now: datetime
) -> Memory | None:
    duplicate = snapshot.get(known)
    if duplicate is None:
        return None
    ref = memory_ref(duplicate.memory_id)
    twin = opened.ledger.read([ref]).get(ref)
    return twin if twin and twin.status_at(now) is Status.ACTIVE else None


def _same_again(
    twin: Memory, command: Remember, snapshot: Snapshot, opened: OpenScope, now: datetime
) -> Written:
    written = Written(twin, created=False, deduplicated=True)
    if command.idempotency:
        opened.ledger.commit((command.idempotency.kept(written, snapshot, now),))
    return written


def _store(command: Remember, snapshot: Snapshot, opened: OpenScope, world: World, now: datetime) -> Written:
    memory = Memory(
        id=world.new_id("mem"),
        fact=command.fact,
        source=Source(
            channel="api",
            actor=opened.principal.id,
            run_id=command.run_id,
            message_seqs=command.message_seqs,
            quote=command.quote,
        ),
        trust=Trust.ASSERTED,
        recorded_at=now,
        updated_at=now,
        nonce=world.new_nonce(),
        derived_from=command.derived_from,
    )
    draft = Draft(opened, snapshot, now)
    memory = take_slot(draft, memory, snapshot, opened)
    draft.believe(memory)
    written = Written(memory)
    if command.idempotency:
        draft.add(command.idempotency.kept(written, snapshot, now))
    draft.seal(
        Happening(Event.REMEMBERED, memory.id, memory.version, commitment(memory), related=memory.supersedes)
    )
    draft.commit()
    return written
