"""Index: every generation of the index is brought to what the ledger says, and the ledger is told when it is.

An index answers late in both directions. So work stays pending until the index itself says that it is done, a
request that ran beside a forget is undone by whoever sent it, and nothing is called absent before it is seen
to be: in every generation there is.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from unsay_core.application.ledger import (
    Delete,
    Holds,
    Pending,
    Put,
    id_tombstone_ref,
    listed_ref,
    memory_ref,
    pending_ref,
)
from unsay_core.application.ports import ConflictError, DocumentState, IndexTask
from unsay_core.application.post_words import Owed, post_words
from unsay_core.domain.memory import IndexState, Kind, Memory, Status
from unsay_core.domain.values import dataclass
from unsay_core.metrics import INDEX_LAG, OLDEST_PENDING, SILENT, WRITE_TO_RECALLABLE
from unsay_core.retrieval.postings import NO_WORDS, postings_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import datetime

    from unsay_core.application.ledger import Change, Listed
    from unsay_core.application.ports import Clock, Index, IndexScope
    from unsay_core.metrics import Metric, Signals

PATIENCE = 4.0  # seconds to wait for the index before the message goes back to the queue
PAUSE = 0.2  # seconds between two looks

INDEXABLE = frozenset({Status.ACTIVE, Status.CANDIDATE, Status.SUPERSEDED})
_ABSENT = DocumentState(settled=True, present=False)
_Owed: TypeAlias = "tuple[Job, Pending]"


def is_kept(memory: Memory, now: datetime) -> bool:
    """True if the owner's document stays: it was not taken back, and has not come to its end."""
    ends = memory.fact.expires_at
    return memory.status in INDEXABLE and not (ends and ends <= now)


def is_indexable(memory: Memory, now: datetime) -> bool:
    """True if the index should hold a memory; of no words there is nothing to index."""
    return is_kept(memory, now) and bool(memory.fact.content)


@dataclass(frozen=True, slots=True)
class Job:
    """What the ledger wants of one document now; `pending` is None when nobody owes it any more."""

    task: IndexTask
    now: datetime
    memory: Memory | None
    pending: Pending | None
    listed: Listed | None = None

    @property
    def wants_presence(self) -> bool:
        """True if the index should hold the memory."""
        return self.memory is not None and is_indexable(self.memory, self.now)

    @property
    def is_kept(self) -> bool:
        """True if the owner's document stays."""
        return self.memory is not None and is_kept(self.memory, self.now)

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
            return self.memory is not None and not self.task.rebuild
        return self.pending.seq > self.task.seq

    @property
    def is_news(self) -> bool:
        """True if no generation was asked for it before."""
        return self.pending is not None and not self.pending.told

    @property
    def age(self) -> float | None:
        """Seconds since it was asked for; None where nobody knows."""
        asked_at = self.pending.at if self.pending else None
        return (self.now - asked_at).total_seconds() if asked_at else None

    @property
    def words(self) -> Owed | None:
        """What has to change in the index by words, None if it is as wanted."""
        if self.wants_presence and self.memory and self.pending:
            if self.listed and self.listed.settled and self.listed.seq == self.pending.seq:
                return None
            is_live = self.memory.status is Status.ACTIVE and self.memory.fact.kind is not Kind.ITEM
            wanted = postings_of(self.memory, self.pending.words or NO_WORDS, is_live=is_live)
            return Owed(self.task.memory_id, self.pending.seq, self.listed, wanted, stays=True)
        if self.wants_presence or self.listed is None:
            return None
        seq = self.pending.seq if self.pending else None
        return Owed(self.task.memory_id, seq, self.listed, {}, stays=False)

    def was_told(self, generation: int) -> bool:
        """True if the generation was asked for this, or if nothing is owed."""
        return self.pending is None or generation in self.pending.told

    def is_done(self, generation: int, state: DocumentState) -> bool:
        """True if the generation is known to be as wanted, by a request of ours."""
        as_wanted = state.settled and not state.failed and state.present == self.wants_presence
        return self.was_told(generation) and as_wanted

    def has_failed(self, generation: int, state: DocumentState) -> bool:
        """True if a request of ours came to nothing and the memory does not say so yet."""
        told = self.pending is not None and generation in self.pending.told
        return told and state.failed and not (self.memory and self.memory.index_state is IndexState.FAILED)

    def needs_telling(self, generation: int, state: DocumentState) -> bool:
        """True if a request has to be sent: none was, or it came to nothing."""
        return not self.was_told(generation) or (state.settled and not self.is_done(generation, state))


class _Generation:
    """One generation at work: what it says of the documents, and what it was asked for in this run."""

    def __init__(self, number: int, index: Index, attempt: str) -> None:
        self.number = number
        self._index = index
        self._attempt = attempt
        self._asked: set[tuple[IndexTask, bool]] = set()
        self._known: Mapping[str, DocumentState] = {}

    def attend(self, jobs: list[Job]) -> list[Job]:
        """Look at the documents and ask for what has to be asked; returns what was asked for just now."""
        self._known = self._index.states([job.task.memory_id for job in jobs])
        silent = [job for job in jobs if job.needs_telling(self.number, self._state(job))]
        news = [job for job in silent if job.wish not in self._asked]
        self._tell(news)
        self._asked |= {job.wish for job in news}
        return news

    def is_done(self, job: Job) -> bool:
        """True if it was as wanted when it was looked at."""
        return job.is_done(self.number, self._state(job))

    def has_failed(self, job: Job) -> bool:
        """True if it refuses a memory, and the memory does not say so yet."""
        return job.has_failed(self.number, self._state(job))

    def _state(self, job: Job) -> DocumentState:
        return self._known.get(job.task.memory_id, _ABSENT)

    def _tell(self, jobs: list[Job]) -> None:
        arriving = [job for job in jobs if job.wants_presence]
        leaving = [job for job in jobs if not job.wants_presence]
        if arriving:
            memories = {job.memory.id: job.memory for job in arriving if job.memory}
            self._index.put(list(memories.values()), token=self._request_name(arriving, "put"))
        if leaving:
            ids = dict.fromkeys(job.task.memory_id for job in leaving)
            self._index.delete(list(ids), token=self._request_name(leaving, "delete"))

    def _request_name(self, jobs: Sequence[Job], verb: str) -> str:
        parts = [f"{job.task.scope_id}/{job.task.memory_id}/{job.task.seq}" for job in jobs]
        return " ".join([verb, f"g{self.number}", self._attempt, *parts])


def index_memories(
    tasks: Sequence[IndexTask], scope: IndexScope, clock: Clock, attempt: str, signals: Signals = SILENT
) -> list[IndexTask]:
    """Bring up to 10 memories of a scope to every generation; returns the tasks that are not done yet.

    `attempt` names the try: a request that the service dropped is sent again under another name. Raises what
    a generation raised, after the others were asked.
    """
    give_up = clock.monotonic() + PATIENCE
    generations = [_Generation(number, index, attempt) for number, index in scope.indexes.items()]
    while jobs := [job for job in _jobs(tasks, scope, clock) if not job.is_over]:
        is_posted = _post(jobs, scope)
        _attend(jobs, generations, scope)
        _tell(INDEX_LAG, [job for job in jobs if job.is_news], signals)
        for job in jobs:
            if any(generation.has_failed(job) for generation in generations):
                _admit_failure(job, scope, clock)
        ready = [job for job in jobs if is_posted and all(g.is_done(job) for g in generations)]
        finished = _finish(ready, scope, clock)
        arrived = [job for job in jobs if job.task in finished and job.wants_presence]
        _tell(WRITE_TO_RECALLABLE, arrived, signals)
        late = [job for job in jobs if job.task not in finished]
        tasks = [job.task for job in late]
        if not tasks or clock.monotonic() + PAUSE > give_up:
            _tell(OLDEST_PENDING, late, signals)
            return tasks
        clock.sleep(PAUSE)
    return []


def _tell(metric: Metric, jobs: Sequence[Job], signals: Signals) -> None:
    """How old each job is."""
    for age in filter(None, (job.age for job in jobs)):
        signals.tell(metric, max(0.0, age))


def foreign(tasks: Sequence[IndexTask], scope: IndexScope) -> set[IndexTask]:
    """The tasks about memories that this scope neither has nor ever forgot.

    The knowledge base is one for all scopes, and a document is named by its memory's id: work done for such a
    task would reach what lies in another scope.
    """
    there = {task: memory_ref(task.memory_id) for task in tasks}
    buried = {task: id_tombstone_ref(task.memory_id) for task in tasks}
    found = scope.ledger.read([*there.values(), *buried.values()])
    return {task for task in tasks if not (found.get(there[task]) or found.get(buried[task]))}


def _jobs(tasks: Sequence[IndexTask], scope: IndexScope, clock: Clock) -> list[Job]:
    memories = {task: memory_ref(task.memory_id) for task in tasks}
    owed = {task: pending_ref(task.memory_id) for task in tasks}
    listed = {task: listed_ref(task.memory_id) for task in tasks}
    now = clock.now()
    found = scope.ledger.read([*memories.values(), *owed.values(), *listed.values()])
    return [
        Job(task, now, found.get(memories[task]), found.get(owed[task]), found.get(listed[task]))
        for task in tasks
    ]


def _post(jobs: Sequence[Job], scope: IndexScope) -> bool:
    """Bring the index by words to what is wanted; False if it has to be tried again."""
    owed = {job.task.memory_id: words for job in jobs if (words := job.words)}
    return not owed or post_words(list(owed.values()), scope.ledger)


def _attend(jobs: list[Job], generations: Sequence[_Generation], scope: IndexScope) -> None:
    told: dict[IndexTask, set[int]] = {job.task: set() for job in jobs}
    faults: list[Exception] = []
    for generation in generations:
        try:
            for job in generation.attend(jobs):
                told[job.task].add(generation.number)
        except Exception as fault:  # noqa: BLE001 - one generation's trouble must not hold up another
            faults.append(fault)
    news = [(job, noted) for job in jobs if (noted := _noted(job, told[job.task]))]
    _commit(news, _notes, scope)  # where newer work has taken the place, its message will come
    if faults:
        raise faults[0]


def _noted(job: Job, told: set[int]) -> Pending | None:
    if job.pending is None or told <= set(job.pending.told):
        return None
    return replace(job.pending, told=tuple(sorted(told | set(job.pending.told))))


def _notes(owed: Sequence[_Owed]) -> Change:
    return tuple(Put(pending, Holds("seq", pending.seq)) for _, pending in owed)


def _commit(
    owed: Sequence[_Owed], change_for: Callable[[Sequence[_Owed]], Change], scope: IndexScope
) -> set[IndexTask]:
    """Commit a change for all together, or for each alone where one has moved on; returns whose it was."""
    if not owed:
        return set()
    with suppress(ConflictError):
        scope.ledger.commit(change_for(owed))
        return {job.task for job, _ in owed}
    alone = owed if len(owed) > 1 else ()
    return {job.task for job, pending in alone if _commit([(job, pending)], change_for, scope)}


def _admit_failure(job: Job, scope: IndexScope, clock: Clock) -> None:
    """Say on the memory that the index refused it; it stays pending, findable and tried again."""
    if job.memory is None:
        return
    failed = replace(job.memory, index_state=IndexState.FAILED, indexed_at=clock.now())
    with suppress(ConflictError):  # it has changed: the next look sees how
        scope.ledger.commit((Put(failed, Holds("version", job.memory.version)),))


def _finish(jobs: Sequence[Job], scope: IndexScope, clock: Clock) -> set[IndexTask]:
    """Tell the ledger what is done; the other tasks have moved on and have to be looked at again."""
    if gone := [job.task.memory_id for job in jobs if job.pending and not job.is_kept]:
        scope.documents.delete(gone)
    owed = [(job, job.pending) for job in jobs if job.pending]
    told = _commit(owed, lambda some: _conclusion(some, clock), scope)
    return told | {job.task for job in jobs if job.pending is None}


def _conclusion(owed: Sequence[_Owed], clock: Clock) -> Change:
    change: list[Put | Delete] = []
    for job, pending in owed:
        change.append(Delete(pending_ref(pending.memory_id), Holds("seq", pending.seq)))
        if job.memory is not None and job.is_kept:
            indexed = replace(job.memory, index_state=IndexState.INDEXED, indexed_at=clock.now())
            change.append(Put(indexed, Holds("version", job.memory.version)))
    return tuple(change)
