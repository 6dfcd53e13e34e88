"""Tidy: the index is held against the ledger, both ways, a page at a time.

What the ledger believes and a generation lacks is owed again; so is the removal of what a generation holds
and the ledger has taken back, let expire, or forgotten. Markers that are still there are written anew: the
message that one led to may have been lost, and each writing sends another. What a policy keeps no longer is
seen on the way, and goes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from unsay_core.application.draft import Draft
from unsay_core.application.index_memories import is_indexable
from unsay_core.application.jobs import move
from unsay_core.application.ledger import Area, Pending, job_ref, memory_ref, pending_ref, ref_of
from unsay_core.application.retention import (
    MESSAGES,
    blank,
    forget_outlived,
    has_outlived,
    outlived_messages,
)
from unsay_core.application.settle import settle
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.memory import Memory
from unsay_core.domain.tombstone import Tombstone, TombstoneKind
from unsay_core.jobs.job import Job

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from unsay_core.application.jobs import Work
    from unsay_core.application.ledger import Entry
    from unsay_core.application.ports import Index, JobScope, World

PAGE = 40  # memories held against every generation in one step, each with its marker
STATES_AT_ONCE = 10
STRETCHES = (Area.PENDING, Area.MEMORY, Area.TOMBSTONE, Area.CONVERSATION)


def tidy_step(job: Work, scope: JobScope, world: World, /) -> Job:
    """One page of one stretch; the job is over when the last stretch has no more."""
    job = cast("Job", job)
    stretch = STRETCHES[int(job.progress.get("stretch", 0))]
    page = scope.ledger.page(stretch, after=job.progress.get("after"), limit=PAGE)
    wrong = _wrong(page, scope, world)
    return settle(lambda: _commit(job, page, wrong, scope, world), world)


def _wrong(page: Sequence[Entry], scope: JobScope, world: World) -> set[str]:
    """The memories of a page that some generation does not hold as wanted, or that a marker owes."""
    now = world.clock.now()
    owed = {entry.memory_id for entry in page if isinstance(entry, Pending)}
    wanted = {m.id: is_indexable(m, now) for m in page if isinstance(m, Memory)}
    wanted |= {g.digest: False for g in page if isinstance(g, Tombstone) and g.kind is TombstoneKind.ID}
    return owed | {i for index in scope.indexes.values() for i in _unlike(wanted, index)}


def _unlike(wanted: Mapping[str, bool], index: Index) -> Iterable[str]:
    """What a generation holds and should not, or should hold and does not; what is on its way is let be."""
    ids = list(wanted)
    for at in range(0, len(ids), STATES_AT_ONCE):
        states = index.states(ids[at : at + STATES_AT_ONCE])
        for memory_id in ids[at : at + STATES_AT_ONCE]:
            state = states.get(memory_id)
            present = state is not None and state.present and not state.failed
            if present != wanted[memory_id] and (state is None or state.settled):
                yield memory_id


def _commit(job: Job, page: Sequence[Entry], wrong: set[str], scope: JobScope, world: World) -> Job:
    """Owe what is wrong, together with how far the job is."""
    outlived = outlived_messages(page, job.request)
    refs = [ref for i in wrong for ref in (memory_ref(i), pending_ref(i))]
    draft = Draft(scope, world.clock.now(), [job_ref(job.id), *refs, *map(ref_of, outlived)])
    stretch = int(job.progress.get("stretch", 0))
    owed = Counter(
        _owe(memory_id, draft) for memory_id in sorted(wrong) if not _is_coming(memory_id, stretch, draft)
    )
    result = dict(Counter(job.result) + owed + Counter({"blanked": len(outlived)}))
    is_old = job.progress.get("old", False) or has_outlived(page, job.request)
    if len(page) == PAGE:
        new = replace(job, progress={"stretch": stretch, "after": ref_of(page[-1]).id, "old": is_old})
    elif stretch + 1 < _stretches(job):
        new = replace(job, progress={"stretch": stretch + 1, "old": is_old})
    else:
        new = job.ended(draft.at)
        if is_old:
            forget_outlived(job.request, draft, scope, world)
    blank(outlived, draft, scope)
    moved = move(draft, job, replace(new, done=job.done + len(page), result=result))
    if owed:
        draft.record(Happening(Event.REINDEXED, channel="sweeper"))
    draft.commit()
    return moved


def _stretches(job: Job) -> int:
    """How many stretches there are to look at: messages only where they are not kept for ever."""
    return len(STRETCHES) - (not job.request.get(MESSAGES))


def _is_coming(memory_id: str, stretch: int, draft: Draft) -> bool:
    """True for what a marker owes, when it is not the markers' turn."""
    return STRETCHES[stretch] is not Area.PENDING and draft.get(pending_ref(memory_id)) is not None


def _owe(memory_id: str, draft: Draft) -> str:
    """Leave a marker; says what for."""
    pending, memory = draft.get(pending_ref(memory_id)), draft.get(memory_ref(memory_id))
    if pending is not None:
        draft.put(replace(pending, told=()))
        return "called_again"
    if memory is not None:
        draft.owe(memory)
        return "owed"
    draft.owe_removal(memory_id)
    return "removed"
