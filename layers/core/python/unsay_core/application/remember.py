"""Remember: store a fact once, unless it was taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from unsay_core.application.digests import commitment, duplicate_digest
from unsay_core.application.draft import Draft
from unsay_core.application.ledger import Reviewable, Waiting, duplicate_ref, memory_ref, slot_ref
from unsay_core.application.policy import (
    RESTATED,
    PolicyError,
    refuse_forbidden,
    tell_refused,
    tombstone_refs,
)
from unsay_core.application.quotas import within_quota
from unsay_core.application.replay import IdempotencyKey, Written, keep, replayed
from unsay_core.application.settle import change, settle
from unsay_core.application.slots import overlapping, rivals, take_slot
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import InvalidRequestError, UnavailableError, UnsayError
from unsay_core.domain.lifecycle import Act, after
from unsay_core.domain.memory import Fact, Memory, Review, Source, Status, Trust, closed
from unsay_core.domain.trust import after_corroboration, may_replace
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.application.ledger import Ref
    from unsay_core.application.ports import OpenScope, World
    from unsay_core.domain.memory import Imported

ITEMS_EACH = 10  # of a transaction, for one memory; beyond that a new one is begun
ITEMS_REPLACED = 5  # and for each that it replaces
ITEMS_CONTINUED = 4  # and for what goes on of one of these
ITEMS_MOST = 100
MOST_DERIVATIVES = 200  # memories built on one
MOST_SOURCES = 100  # of one item, in all its versions


@dataclass(frozen=True, slots=True)
class Past:
    """When and how often an imported memory was stated before, where its importer may say so."""

    recorded_at: datetime
    updated_at: datetime
    version: int


@dataclass(frozen=True, slots=True)
class Remember:
    """A fact to store, and how it came here. `trust` is the channel's to say, not the payload's.

    What was planned beforehand has its `memory_id`, and `actor` is whose words it was made from. A fact with
    `doubts` waits for a person; `same_as` names a memory that says it in a wording that counts as the same.
    """

    fact: Fact
    run_id: str | None = None
    message_seqs: tuple[int, ...] = ()
    quote: str | None = None
    derived_from: tuple[str, ...] = ()
    channel: str = "api"
    trust: Trust = Trust.ASSERTED
    idempotency: IdempotencyKey | None = None
    memory_id: str | None = None
    actor: str | None = None
    model: str | None = None
    doubts: tuple[str, ...] = ()
    same_as: str | None = None
    imported: Imported | None = None
    past: Past | None = None


def remember(command: Remember, opened: OpenScope, world: World) -> Written:
    """Store a fact; a duplicate of an active memory answers with that one, an item replaces what was there.

    Raises `TombstonedError`, `SecretRefusedError`, `IdempotencyMismatchError`, `BusyError`.
    """
    return change(
        lambda draft: decide(command, draft, opened, world), opened, world, lambda: _refs(command, opened)
    )


def remember_batch(
    commands: Sequence[Remember], opened: OpenScope, world: World
) -> list[Written | UnsayError]:
    """Store facts, each on its own, in as few transactions as they fit into; the order is kept."""
    outcomes: list[Written | UnsayError] = []
    while len(outcomes) < len(commands):
        rest = commands[len(outcomes) :]
        outcomes += settle(partial(_some, rest, opened, world), world)
    return outcomes


def _some(commands: Sequence[Remember], opened: OpenScope, world: World) -> list[Written | UnsayError]:
    refs = [ref for command in commands for ref in _refs(command, opened)]
    draft = Draft(opened, world.clock.now(), refs)
    outcomes: list[Written | UnsayError] = []
    for command in commands:
        if outcomes and draft.size + _cost(command, draft) > ITEMS_MOST:
            break
        outcomes.append(_outcome(command, draft, opened, world))
    draft.commit()
    return outcomes


def _cost(command: Remember, draft: Draft) -> int:
    """How many items a command takes of a transaction at most."""
    replaced = len(overlapping(draft, command.fact))
    rest = ITEMS_CONTINUED if replaced else 0
    return ITEMS_EACH + ITEMS_REPLACED * replaced + rest + len(command.derived_from)


def _outcome(command: Remember, draft: Draft, opened: OpenScope, world: World) -> Written | UnsayError:
    try:
        return decide(command, draft, opened, world)
    except PolicyError as refused:
        return tell_refused(refused, command.channel, world)
    except UnavailableError:
        raise  # no word about this item: it may be half drafted
    except UnsayError as refusal:
        return refusal


def _refs(command: Remember, opened: OpenScope) -> list[Ref[Any]]:
    """Everything the decision needs, for one read."""
    fact = command.fact
    refs: list[Ref[Any]] = [duplicate_ref(duplicate_digest(opened.keys, fact))]
    refs += tombstone_refs(opened, fact.content)
    refs += [command.idempotency.ref] if command.idempotency else []
    refs += [slot_ref(fact.slot)] if fact.slot else []
    refs += map(memory_ref, command.derived_from)
    return refs


def decide(command: Remember, draft: Draft, opened: OpenScope, world: World) -> Written:
    """Put a fact into a draft; raises `PolicyError` with the refusal drafted."""
    if earlier := replayed(command.idempotency, draft):
        return earlier
    _require_sources(command, draft)
    restated = RESTATED in command.doubts
    refuse_forbidden(draft, opened, command.fact, command.quote, command.run_id, restated=restated)
    written = within_quota(draft, opened, lambda: _written(command, draft, opened, world))
    return keep(written, command.idempotency, draft)


def _written(command: Remember, draft: Draft, opened: OpenScope, world: World) -> Written:
    twin = _twin(command, draft)
    if twin and twin.fact.is_item:
        return Written(_write_over(twin, command, draft, opened), created=False)
    if twin:
        twin = _corroborate(twin, command.trust, _source(command, opened), draft)
        return Written(twin, created=False, deduplicated=True)
    return Written(_store(_memory(command, draft, opened, world), command.doubts, draft, world))


def _twin(command: Remember, draft: Draft) -> Memory | None:
    """The memory that says this already: one that is believed, or else one that waits as this would."""
    named = draft.get(memory_ref(command.same_as)) if command.same_as else None
    if named is not None and named.status_at(draft.at) is Status.ACTIVE:
        return named
    return draft.twin(command.fact) or (draft.waiting_twin(command.fact) if command.doubts else None)


def _require_sources(command: Remember, draft: Draft) -> None:
    """What a memory is derived from has to be there: it goes when they go."""
    for source in (draft.get(memory_ref(source_id)) for source_id in command.derived_from):
        if source is None or len(source.derivatives) >= MOST_DERIVATIVES:
            raise InvalidRequestError.at("derived_from", "names memories of this scope that can be built on")


def build_on(sources: tuple[str, ...], memory: Memory, draft: Draft) -> None:
    """Let each source know what was built on it, so that forgetting one finds it without a search."""
    for source in filter(None, (draft.get(memory_ref(source_id)) for source_id in sources)):
        if memory.id not in source.derivatives:
            draft.put(replace(source, derivatives=(*source.derivatives, memory.id)))


def _source(command: Remember, opened: OpenScope) -> Source:
    return Source(
        channel=command.channel,
        actor=command.actor or opened.principal.id,
        run_id=command.run_id,
        message_seqs=command.message_seqs,
        quote=command.quote,
        model=command.model,
        imported=command.imported,
    )


def _corroborate(twin: Memory, trust: Trust, source: Source, draft: Draft) -> Memory:
    """Note on a memory who else has said it; saying the same again from the same source changes nothing."""
    sources, trust = twin.corroborated(source), after_corroboration(twin.trust, trust)
    if (sources, trust) == (twin.corroborations, twin.trust):
        return twin
    new = draft.change(twin, twin.next_version(draft.at, twin.status, trust=trust, corroborations=sources))
    draft.record(Happening(Event.CORROBORATED, new.id, new.version, commitment(new), channel=source.channel))
    return new


def _write_over(old: Memory, command: Remember, draft: Draft, opened: OpenScope) -> Memory:
    """The next version of an item: all of it is stated anew, and whoever doubted the old one has an answer.

    What any version was derived from stays its source: its words are still in the versions that are kept.
    """
    status = after(old, Act.EDIT, draft.at)
    sources = tuple(dict.fromkeys((*old.derived_from, *command.derived_from)))
    if len(sources) > MOST_SOURCES:
        raise InvalidRequestError.at("derived_from", f"an item has at most {MOST_SOURCES} sources in all")
    build_on(command.derived_from, old, draft)
    new = old.next_version(
        draft.at,
        status,
        fact=command.fact,
        source=_source(command, opened),
        trust=command.trust,
        derived_from=sources,
        review=closed(old.review, "replaced"),
    )
    new = draft.change(old, new)
    draft.record(_happening(Event.REPLACED, new))
    return new


def _memory(command: Remember, draft: Draft, opened: OpenScope, world: World) -> Memory:
    past = command.past or Past(draft.at, draft.at, version=1)
    return Memory(
        id=command.memory_id or world.new_id("mem"),
        fact=command.fact,
        source=_source(command, opened),
        trust=command.trust,
        recorded_at=past.recorded_at,
        updated_at=past.updated_at,
        nonce=world.new_nonce(),
        version=past.version,
        derived_from=command.derived_from,
    )


def _store(memory: Memory, doubts: tuple[str, ...], draft: Draft, world: World) -> Memory:
    """Store a memory: at once, or as a candidate if there are doubts or it would replace what it may not."""
    if doubts:
        return store_candidate(memory, doubts, draft)
    stronger = [rival for rival in rivals(draft, memory) if not may_replace(memory.trust, rival.trust)]
    if stronger:
        return store_candidate(memory, ("would_replace_stronger",), draft)
    memory = draft.believe(take_slot(draft, memory, world))
    build_on(memory.derived_from, memory, draft)
    draft.record(_happening(Event.REMEMBERED, memory))
    return memory


def store_candidate(memory: Memory, reasons: tuple[str, ...], draft: Draft) -> Memory:
    """Store a memory that a person has to decide on; until then no read answers with it."""
    review = Review(reasons, since=draft.at)
    memory = draft.believe(replace(memory, status=Status.CANDIDATE, review=review))
    build_on(memory.derived_from, memory, draft)
    draft.put(Reviewable(memory.id, Waiting.CANDIDATE, draft.at))
    draft.hold_waiting(memory)
    draft.record(_happening(Event.INFERRED, memory))
    return memory


def _happening(event: Event, memory: Memory) -> Happening:
    return Happening(
        event,
        memory.id,
        memory.version,
        commitment(memory),
        related=memory.supersedes,
        channel=memory.source.channel,
    )
