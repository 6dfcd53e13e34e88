"""Sweep: what has come due is done, or called for: nothing waits for somebody to ask.

A table from where a due entry lies to what is done about it. Whatever is done moves the entry's time on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

from unsay_core.application.consolidate import Consolidate
from unsay_core.application.conversations import call_again, flush_quiet
from unsay_core.application.draft import TIDIED_EVERY, Draft
from unsay_core.application.jobs import SWEEPER, is_idle, task_of
from unsay_core.application.ledger import Area, Ref, job_ref, memory_ref
from unsay_core.application.retention import kept_since
from unsay_core.application.settle import settle
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.ids import minted_at
from unsay_core.domain.timeline import rfc3339
from unsay_core.extraction.likeness import Measure
from unsay_core.jobs.job import Job, JobKind, JobState
from unsay_core.metrics import CANDIDATES_WAITING, ERASURES_PENDING, OLDEST_CANDIDATE, OLDEST_ERASURE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import TypeAlias

    from unsay_core.application.jobs import Work
    from unsay_core.application.ports import JobQueue, OpenScope, World
    from unsay_core.extraction.steering import Consolidation
    from unsay_core.metrics import Signals

    Act: TypeAlias = Callable[[str, OpenScope, World, JobQueue], None]

MOST_COUNTED = 200  # of each shard: what waits beyond that is not counted


@dataclass(frozen=True, slots=True)
class Due:
    """An entry whose time has come."""

    scope_id: str
    area: Area
    id: str
    at: datetime


class DueList(Protocol):
    """Everything that is due, in whichever scope: places and times, and nothing of what lies there."""

    def until(self, now: datetime, *, limit: int) -> Sequence[Due]:
        """Up to `limit` of each shard, the longest due first."""

    def candidates(self, now: datetime, *, limit: int) -> Sequence[Due]:
        """Candidates that wait for a person, up to `limit` of each shard; `at` is since when."""

    def erasures(self, now: datetime, *, limit: int) -> Sequence[Due]:
        """Erasures at work, up to `limit` of each shard; `at` is when they would have stood still."""


def tell_waiting(due: DueList, now: datetime, signals: Signals) -> None:
    """Say how much waits, and for how long: every minute, so that silence means that nobody sweeps."""
    candidates = [found.at for found in due.candidates(now, limit=MOST_COUNTED)]
    erasures = [minted_at(found.id) for found in due.erasures(now, limit=MOST_COUNTED)]
    for count, oldest, since in (
        (CANDIDATES_WAITING, OLDEST_CANDIDATE, candidates),
        (ERASURES_PENDING, OLDEST_ERASURE, erasures),
    ):
        signals.tell(count, len(since))
        signals.tell(oldest, max(0.0, (now - min(since, default=now)).total_seconds()))


def sweep(due: Due, opened: OpenScope, world: World, queue: JobQueue) -> None:
    """Do what has come due; what nothing has to be done about any more is left alone."""
    act = ACTS.get(due.area)
    if act is not None:
        act(due.id, opened, world, queue)


def _lapse(memory_id: str, opened: OpenScope, world: World, _queue: JobQueue) -> None:
    """A memory has expired: no read answers with it since, and now the projections let go of it too."""

    def attempt() -> None:
        draft = Draft(opened, world.clock.now(), [memory_ref(memory_id)])
        memory = draft.get(memory_ref(memory_id))
        ends = memory.fact.expires_at if memory else None
        if memory is None or memory.lapsed or ends is None or ends > draft.at:
            return
        draft.lapse(memory)
        draft.record(Happening(Event.EXPIRED, memory.id, memory.version, channel=SWEEPER))
        draft.commit()

    settle(attempt, world)


def _call_again(area: Area, job_id: str, opened: OpenScope, world: World, queue: JobQueue) -> None:
    """A job stands still: its message is lost, or waits. It is called again, and then has time as before."""
    ref: Ref[Work] = Ref(area, job_id)

    def attempt() -> Work | None:
        draft = Draft(opened, world.clock.now(), [ref])
        work = draft.get(ref)
        if work is None or is_idle(work):
            return None
        draft.put(replace(work, revision=work.revision + 1))
        draft.commit()
        return work

    work = settle(attempt, world)
    if work is not None:
        queue.call([task_of(work, opened.id)])


def _begin_tidying(_head: str, opened: OpenScope, world: World, _queue: JobQueue) -> None:
    """The day's work on a scope begins: each kind of it is a job of its own.

    Its projections are held against its ledger, what its policy keeps no longer goes, and near duplicates are
    merged, where that is due.
    """
    policy, merging = opened.policy(), world.new_id("job")

    def attempt() -> None:
        draft = Draft(opened, world.clock.now(), [job_ref(TIDY)])
        known = draft.get(job_ref(TIDY))
        if draft.head.tidy_at is None or draft.head.tidy_at > draft.at:
            return
        draft.tidy_next(draft.at + TIDIED_EVERY)
        request = dict(known.request) if known else {}
        if _is_to_merge(policy.consolidation, request, draft):
            request |= {"merged_at": rfc3339(draft.at), "merged_seq": draft.head.seq}
            draft.put(_job(merging, JobKind.CONSOLIDATE, _merging(policy.consolidation), draft))
        request |= kept_since(policy.retention, draft.at)
        tidying = _job(TIDY, JobKind.TIDY, request, draft)
        draft.put(replace(tidying, revision=known.revision + 1 if known else 1))
        draft.commit()

    settle(attempt, world)


def _job(job_id: str, kind: JobKind, request: dict[str, Any], draft: Draft) -> Job:
    return Job(job_id, kind, JobState.RUNNING, SWEEPER, draft.at, draft.head.epoch, request)


def _is_to_merge(policy: Consolidation, last: Mapping[str, Any], draft: Draft) -> bool:
    """True if near duplicates are to be looked for again: it is time, and something has changed since."""
    if policy.every_days is None or last.get("merged_seq") == draft.head.seq:
        return False
    since = last.get("merged_at")
    return since is None or datetime.fromisoformat(since) + timedelta(days=policy.every_days) <= draft.at


def _merging(policy: Consolidation) -> dict[str, Any]:
    """What nobody asked for loses nothing: the longest of what is merged says all that the others say."""
    cosine = None if policy.cosine is None else float(policy.cosine)
    return Consolidate(Measure(float(policy.threshold), cosine, whole=True)).request()


def _flush(run_id: str, opened: OpenScope, world: World, _queue: JobQueue) -> None:
    flush_quiet(run_id, opened, world)


def _mark_again(marker_id: str, opened: OpenScope, world: World, _queue: JobQueue) -> None:
    """A batch still waits, and its call may be lost: its marker is written anew, and leads to another."""
    run_id, _, number = marker_id.rpartition("#")
    call_again(run_id, int(number), opened, world)


TIDY = "job_tidy"  # one for each scope: it is written over each time
ACTS: Mapping[Area, Act] = {
    Area.MEMORY: _lapse,
    Area.ERASURE: lambda job_id, *scope: _call_again(Area.ERASURE, job_id, *scope),
    Area.JOB: lambda job_id, *scope: _call_again(Area.JOB, job_id, *scope),
    Area.HEAD: _begin_tidying,
    Area.CONVERSATION: _flush,
    Area.READY: _mark_again,
}
