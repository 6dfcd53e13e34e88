"""Project: what the ledger says becomes the owner's documents and work for the index."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, TypeVar

from unsay_core.application.ledger import audit_ref, memory_ref, pending_ref, ready_ref
from unsay_core.application.ports import IndexTask
from unsay_core.domain.scope import Scope
from unsay_core.domain.timeline import rfc3339
from unsay_core.metrics import MEMORY_BYTES
from unsay_core.tracing import TracePlace, here

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from unsay_core.application.ledger import Pending, Ref
    from unsay_core.application.ports import WorkScope, World
    from unsay_core.application.scopes import ScopeNotes
    from unsay_core.domain.memory import Memory
    from unsay_core.tracing import Tracer

T = TypeVar("T")

READ_MOST = 100  # places in one read of the ledger
BATCH_READY = "conversation.ready"  # messages of a conversation are due to be extracted


def project_memories(
    memory_ids: Sequence[str], scope: WorkScope, notes: ScopeNotes, world: World
) -> list[IndexTask]:
    """Bring memories' documents up to date; returns the work for the index, none where nothing is owed.

    The ledger is read again after the writes: a document stored while its memory was being forgotten is
    removed by whoever stored it. The scope's name is noted before the index is asked for anything, because it
    goes with the marker as soon as the index has answered.
    """
    ids = list(dict.fromkeys(memory_ids))
    markers, memories = _found(map(pending_ref, ids), scope), _found(map(memory_ref, ids), scope)
    # Whoever stored the document of such a memory late may have died before looking again.
    if gone := [i for i in ids if i not in markers and i not in memories]:
        scope.documents.delete(gone)
    owed = [pending for pending in markers.values() if not pending.told]
    with _spans(owed, scope, world.tracer) as places:
        _bring_up_to_date(owed, memories, scope, notes, world)
    return [
        IndexTask(scope.id, each.memory_id, each.seq, each.root_id, trace=places[each.trace]) for each in owed
    ]


def _found(refs: Iterable[Ref[T]], scope: WorkScope) -> dict[str, T]:
    """What lies at some places of one area, by id."""
    wanted = list(refs)
    found: dict[str, T] = {}
    for at in range(0, len(wanted), READ_MOST):
        snapshot = scope.ledger.read(wanted[at : at + READ_MOST])
        found |= {ref.id: there for ref in wanted[at : at + READ_MOST] if (there := snapshot.get(ref))}
    return found


@contextmanager
def _spans(
    owed: Sequence[Pending], scope: WorkScope, tracer: Tracer
) -> Iterator[dict[str | None, str | None]]:
    """One span in each trace that the work is for, and its place; their calls stand in the last of them."""
    places: dict[str | None, str | None] = {}
    with ExitStack() as spans:
        for trace in dict.fromkeys(pending.trace for pending in owed):
            spans.enter_context(tracer.span("project", under=TracePlace.parse(trace))).note(scope=scope.id)
            places[trace] = here()
        yield places


def _bring_up_to_date(
    owed: Sequence[Pending], memories: Mapping[str, Memory], scope: WorkScope, notes: ScopeNotes, world: World
) -> None:
    for name in {pending.scope for pending in owed if pending.scope is not None}:
        notes.add(Scope.parse(name))
    stored = [memory for pending in owed if (memory := memories.get(pending.memory_id))]
    side_by_side = world.executor.map if len(stored) > 1 else map
    for _ in side_by_side(scope.documents.put, stored):
        pass  # what one of them raises is raised here
    for memory in stored:
        weight = len(memory.fact.content.encode("utf-8", "surrogatepass"))
        world.signals.tell(MEMORY_BYTES, weight)
    there = _found([memory_ref(memory.id) for memory in stored], scope)
    if gone := [pending.memory_id for pending in owed if pending.memory_id not in there]:
        scope.documents.delete(gone)


def batch_is_ready(marker_id: str, scope: WorkScope) -> tuple[str, Mapping[str, object]] | None:
    """The event that calls the extractor for a batch; None if it was done meanwhile. Ids, never text."""
    run_id, _, number = marker_id.rpartition("#")
    ref = ready_ref(run_id, int(number))
    marker = scope.ledger.read([ref]).get(ref)
    if marker is None:
        return None
    trace = {"trace": marker.trace} if marker.trace else {}
    return BATCH_READY, {"scope_id": scope.id, "run_id": run_id, "batch": int(number), **trace}


def domain_event(seq: int, scope: WorkScope) -> tuple[str, Mapping[str, object]] | None:
    """The event that an audit entry is for the outside: ids and reasons, never text."""
    entry = scope.ledger.read([audit_ref(seq)]).get(audit_ref(seq))
    if entry is None:
        return None
    happening = entry.happening
    detail = {
        "scope_id": scope.id,
        "seq": entry.seq,
        "at": rfc3339(entry.at),
        "memory_id": happening.memory_id,
        "version": happening.version,
        "related": list(happening.related),
        "reason": happening.reason,
        "erasure_id": happening.erasure_id,
    }
    return happening.event.value, detail
