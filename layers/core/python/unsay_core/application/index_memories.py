"""Index: the knowledge base is brought to what the ledger says, and the ledger is told when it is there.

The knowledge base answers late in both directions. So work stays pending until the base itself says
that it is done, a request that ran beside a forget is undone by whoever sent it, and nothing is called
absent before it is seen to be.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from unsay_core.application.ledger import (
    Delete,
    Holds,
    Pending,
    Put,
    erasure_ref,
    id_tombstone_ref,
    memory_ref,
    pending_ref,
)
from unsay_core.application.ports import ConflictError, DocumentState, IndexTask
from unsay_core.domain.memory import IndexState, Memory, Status

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ledger import Change
    from unsay_core.application.ports import Clock, IndexScope

PATIENCE = 4.0  # seconds to wait for the knowledge base before the message goes back to the queue
PAUSE = 0.2  # seconds between two looks

INDEXABLE = frozenset({Status.ACTIVE, Status.CANDIDATE, Status.SUPERSEDED})
_ABSENT = DocumentState(settled=True, present=False)


@dataclass(frozen=True, slots=True)
class Job:
    """What the ledger wants of one document now; `pending` is None when nobody owes it any more."""

    task: IndexTask
    memory: Memory | None
    pending: Pending | None

    @property
    def wants_presence(self) -> bool:
        """True if the knowledge base should hold the memory; of no words there is nothing to index."""
        return self.memory is not None and self.is_kept and bool(self.memory.fact.content)

    @property
    def is_kept(self) -> bool:
        """True if the owner's document stays: it was not taken back."""
        return self.memory is not None and self.memory.status in INDEXABLE

    @property
    def wish(self) -> tuple[IndexTask, bool]:
        """What a request would ask for."""
        return self.task, self.wants_presence

    @property
    def is_over(self) -> bool:
        """True if a later message of the memory's group, or none at all, has to care for it.

        A memory that is gone is looked at even so: a late request may have brought it back.
        """
        if self.pending is None:
            return self.memory is not None
        return self.pending.seq > self.task.seq

    def is_done(self, state: DocumentState) -> bool:
        """True if the knowledge base is known to be as wanted, by a request of ours."""
        told = self.pending is None or self.pending.submitted
        return told and state.settled and not state.failed and state.present == self.wants_presence

    def has_failed(self, state: DocumentState) -> bool:
        """True if a request of ours came to nothing and the memory does not say so yet."""
        told = self.pending is not None and self.pending.submitted
        return told and state.failed and not (self.memory and self.memory.index_state is IndexState.FAILED)

    def needs_telling(self, state: DocumentState) -> bool:
        """True if a request has to be sent: none was, or it came to nothing."""
        untold = self.pending is not None and not self.pending.submitted
        return untold or (state.settled and not self.is_done(state))


def index_memories(
    tasks: Sequence[IndexTask], scope: IndexScope, clock: Clock, attempt: str
) -> list[IndexTask]:
    """Bring up to 10 memories of a scope to the index; returns the tasks that are not done yet.

    `attempt` names the try: a request that the service dropped is sent again under another name.
    """
    give_up = clock.monotonic() + PATIENCE
    told: set[tuple[IndexTask, bool]] = set()
    while jobs := [job for job in _jobs(tasks, scope) if not job.is_over]:
        states = _states(jobs, scope)
        silent = [job for job in jobs if job.needs_telling(states[job.task.memory_id])]
        _tell([job for job in silent if job.wish not in told], scope, attempt)
        told |= {job.wish for job in silent}
        for job in jobs:
            if job.has_failed(states[job.task.memory_id]):
                _admit_failure(job, scope, clock)
        ready = [job for job in jobs if job.is_done(states[job.task.memory_id])]
        finished = {job.task for job in ready if _finish(job, scope, clock)}
        tasks = [job.task for job in jobs if job.task not in finished]
        if not tasks or clock.monotonic() + PAUSE > give_up:
            return list(tasks)
        clock.sleep(PAUSE)
    return []


def foreign(tasks: Sequence[IndexTask], scope: IndexScope) -> set[IndexTask]:
    """The tasks about memories that this scope neither has nor ever forgot.

    The knowledge base is one for all scopes, and a document is named by its memory's id: work done for such a
    task would reach what lies in another scope.
    """
    there = {task: memory_ref(task.memory_id) for task in tasks}
    buried = {task: id_tombstone_ref(task.memory_id) for task in tasks}
    found = scope.ledger.read([*there.values(), *buried.values()])
    return {task for task in tasks if not (found.get(there[task]) or found.get(buried[task]))}


def _jobs(tasks: Sequence[IndexTask], scope: IndexScope) -> list[Job]:
    memories = {task: memory_ref(task.memory_id) for task in tasks}
    owed = {task: pending_ref(task.memory_id) for task in tasks}
    found = scope.ledger.read([*memories.values(), *owed.values()])
    return [Job(task, found.get(memories[task]), found.get(owed[task])) for task in tasks]


def _tell(silent: list[Job], scope: IndexScope, attempt: str) -> None:
    arriving = [job for job in silent if job.wants_presence]
    leaving = [job for job in silent if not job.wants_presence]
    if arriving:
        memories = [job.memory for job in arriving if job.memory]
        scope.index.put(memories, token=_request_name(arriving, "put", attempt))
    if leaving:
        ids = [job.task.memory_id for job in leaving]
        scope.index.delete(ids, token=_request_name(leaving, "delete", attempt))
    for job in silent:
        _note(job, scope)


def _request_name(jobs: Sequence[Job], verb: str, attempt: str) -> str:
    parts = [f"{job.task.scope_id}/{job.task.memory_id}/{job.task.seq}" for job in jobs]
    return " ".join([verb, attempt, *parts])


def _note(job: Job, scope: IndexScope) -> None:
    if job.pending is None:
        return
    noted = replace(job.pending, submitted=True)
    with suppress(ConflictError):  # newer work has taken the place: its message will come
        scope.ledger.commit((Put(noted, Holds("seq", job.pending.seq)),))


def _admit_failure(job: Job, scope: IndexScope, clock: Clock) -> None:
    """Say on the memory that the index refused it; it stays pending, findable and tried again."""
    if job.memory is None:
        return
    failed = replace(job.memory, index_state=IndexState.FAILED, indexed_at=clock.now())
    with suppress(ConflictError):  # it has changed: the next look sees how
        scope.ledger.commit((Put(failed, Holds("version", job.memory.version)),))


def _states(jobs: list[Job], scope: IndexScope) -> dict[str, DocumentState]:
    ids = [job.task.memory_id for job in jobs]
    known = scope.index.states(ids)
    return {memory_id: known.get(memory_id, _ABSENT) for memory_id in ids}


def _finish(job: Job, scope: IndexScope, clock: Clock) -> bool:
    """Tell the ledger; False if it has moved on and has to be looked at again."""
    if job.pending is None:
        return True
    if not job.is_kept and scope.documents.exists(job.task.memory_id):
        scope.documents.delete(job.task.memory_id)
        return False
    try:
        scope.ledger.commit(_conclusion(job, job.pending, scope, clock))
    except ConflictError:
        return False
    return True


def _conclusion(job: Job, pending: Pending, scope: IndexScope, clock: Clock) -> Change:
    settled = Delete(pending_ref(pending.memory_id), Holds("seq", pending.seq))
    if job.memory is not None and job.is_kept:
        indexed = replace(job.memory, index_state=IndexState.INDEXED, indexed_at=clock.now())
        return settled, Put(indexed, Holds("version", job.memory.version))
    return settled, *_proof(pending, scope, clock)


def _proof(pending: Pending, scope: IndexScope, clock: Clock) -> Change:
    """The receipt without this memory: document and index were seen to hold it no more."""
    if pending.erasure_id is None:
        return ()
    ref = erasure_ref(pending.erasure_id)
    erasure = scope.ledger.read([ref]).get(ref)
    if erasure is None:
        return ()
    remaining = tuple(i for i in erasure.remaining if i != pending.memory_id)
    proven = replace(erasure, remaining=remaining, proven_at=clock.now(), revision=erasure.revision + 1)
    return (Put(proven, Holds("revision", erasure.revision)),)
