"""Project: what the ledger says becomes the owner's document and work for the index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.ledger import audit_ref, memory_ref, pending_ref, ready_ref
from unsay_core.application.ports import IndexTask
from unsay_core.domain.scope import Scope
from unsay_core.domain.timeline import rfc3339
from unsay_core.metrics import MEMORY_BYTES, SILENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from unsay_core.application.ports import WorkScope
    from unsay_core.application.scopes import ScopeNotes
    from unsay_core.metrics import Signals

BATCH_READY = "conversation.ready"  # messages of a conversation are due to be extracted


def project_memory(
    memory_id: str, scope: WorkScope, notes: ScopeNotes, signals: Signals = SILENT
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
    if pending.scope is not None:
        notes.add(Scope.parse(pending.scope))
    if memory is not None:
        scope.documents.put(memory)
        signals.tell(MEMORY_BYTES, len(memory.fact.content.encode("utf-8", "surrogatepass")))
        memory = scope.ledger.read([memory_ref(memory_id)]).get(memory_ref(memory_id))
    if memory is None:
        scope.documents.delete(memory_id)
    return IndexTask(scope.id, memory_id, pending.seq, pending.root_id)


def batch_is_ready(marker_id: str, scope: WorkScope) -> tuple[str, Mapping[str, object]] | None:
    """The event that calls the extractor for a batch; None if it was done meanwhile. Ids, never text."""
    run_id, _, number = marker_id.rpartition("#")
    ref = ready_ref(run_id, int(number))
    if scope.ledger.read([ref]).get(ref) is None:
        return None
    return BATCH_READY, {"scope_id": scope.id, "run_id": run_id, "batch": int(number)}


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
