"""Project: what the ledger says becomes the owner's document and work for the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ledger import audit_ref, memory_ref, pending_ref, ready_ref
from unsay_core.application.ports import IndexTask
from unsay_core.domain.scope import Scope
from unsay_core.domain.timeline import rfc3339
from unsay_core.metrics import MEMORY_BYTES, SILENT
from unsay_core.tracing import UNTRACED, TracePlace, here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.application.ledger import Pending
    from unsay_core.application.ports import WorkScope
    from unsay_core.application.scopes import ScopeNotes
    from unsay_core.domain.memory import Memory
    from unsay_core.metrics import Signals
    from unsay_core.tracing import Tracer

BATCH_READY = "conversation.ready"  # messages of a conversation are due to be extracted


def project_memory(
    memory_id: str,
    scope: WorkScope,
    notes: ScopeNotes,
    signals: Signals = SILENT,
    tracer: Tracer = UNTRACED,
) -> IndexTask | None:
    """Bring a memory's document up to date; returns the work for the index, None if nothing is owed.

    The ledger is read again after a write: a document stored while its memory was being forgotten is
    removed by whoever stored it. The scope's name is noted before the index is asked for anything, because it
    goes with the marker as soon as the index has answered.
    """
    found = scope.ledger.read([memory_ref(memory_id), pending_ref(memory_id)])
    pending, memory = found.get(pending_ref(memory_id)), found.get(memory_ref(memory_id))
    if pending is None and memory is None:
        scope.documents.delete(memory_id)  # whoever stored it late may have died before looking again
    if pending is None or pending.told:
        return None
    with tracer.span("project", under=TracePlace.parse(pending.trace)) as span:
        span.note(scope=scope.id)
        _bring_up_to_date(memory, pending, scope, notes, signals)
        return IndexTask(scope.id, memory_id, pending.seq, pending.root_id, trace=here())


def _bring_up_to_date(
    memory: Memory | None, pending: Pending, scope: WorkScope, notes: ScopeNotes, signals: Signals
) -> None:
    memory_id = pending.memory_id
    if pending.scope is not None:
        notes.add(Scope.parse(pending.scope))
    if memory is not None:
        scope.documents.put(memory)
        signals.tell(MEMORY_BYTES, len(memory.fact.content.encode("utf-8", "surrogatepass")))
        memory = scope.ledger.read([memory_ref(memory_id)]).get(memory_ref(memory_id))
    if memory is None:
        scope.documents.delete(memory_id)


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
