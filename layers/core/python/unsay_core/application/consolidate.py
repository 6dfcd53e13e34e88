"""Consolidate: memories that say nearly the same become one, which stands on them all; and that undone.

A merge is one change: the new memory, derived from its members, and these superseded by it. What differs in
kind, key, trust, data, time or metadata is never merged, and nothing of another scope is even read.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from unsay_core.application.digests import commitment
from unsay_core.application.draft import Draft
from unsay_core.application.jobs import move
from unsay_core.application.ledger import Area, job_ref, memory_ref
from unsay_core.application.policy import PolicyError, refuse_forbidden, tell_refused
from unsay_core.application.remember import build_on
from unsay_core.application.replay import IdempotencyKey, earlier_outcome, keep_outcome
from unsay_core.application.settle import change, settle
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import ForgottenError, NotFoundError
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.memory import Because, Kind, Memory, Source, Status, Trust
from unsay_core.extraction.likeness import groups
from unsay_core.jobs.job import Job, JobKind, JobProblem, JobState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from unsay_core.application.jobs import Work
    from unsay_core.application.ports import OpenScope, World

THRESHOLD = 0.85  # share of words in common from which on two statements are merged, unless asked otherwise
KINDS = (Kind.SEMANTIC, Kind.EPISODIC, Kind.PROCEDURAL)
MOST_MEMBERS = 8  # of one merge, which is one transaction
MOST_GROUPS = 1_000  # of one job, which remembers them all
PAGE = 100
CHANNEL = "consolidate"


@dataclass(frozen=True, slots=True)
class Consolidate:
    """What is to be merged; with `undo`, the merges of which job are to be taken back."""

    threshold: float = THRESHOLD
    kinds: tuple[Kind, ...] = KINDS
    dry_run: bool = False
    undo: str | None = None
    idempotency: IdempotencyKey | None = None


def begin_consolidation(command: Consolidate, opened: OpenScope, world: World) -> tuple[Job, bool]:
    """Begin a job, and whether this very request began it before.

    Raises `NotFoundError` for an unknown job to undo, `IdempotencyMismatchError`, `BusyError`.
    """
    job_id, key = world.new_id("job"), command.idempotency
    undone = command.undo

    def begin(draft: Draft) -> tuple[Job, bool]:
        if earlier := earlier_outcome(key, draft):
            known = draft.get(job_ref(earlier.memory_id))
            if known is None:
                raise ForgottenError("what this request made has been forgotten")
            return known, True
        request: dict[str, Any] = {
            "threshold": str(command.threshold),
            "kinds": [kind.value for kind in command.kinds],
            "dry_run": command.dry_run,
            "undo": _merges_of(undone, draft) if undone else [],
        }
        epoch, actor = draft.head.epoch, opened.principal.id
        job = Job(job_id, JobKind.CONSOLIDATE, JobState.RUNNING, actor, draft.at, epoch, request)
        draft.put(job)
        if key is not None:
            keep_outcome(key, 202, job_id, 1, draft)
        return job, False

    refs = [job_ref(job_id), *([job_ref(undone)] if undone else []), *([key.ref] if key else [])]
    return change(begin, opened, world, lambda: refs)


def _merges_of(job_id: str, draft: Draft) -> list[dict[str, Any]]:
    job = draft.get(job_ref(job_id))
    if job is None or job.kind is not JobKind.CONSOLIDATE:
        raise NotFoundError("no such consolidation in this scope")
    return list(job.result.get("merges", []))


def consolidate_step(job: Work, opened: OpenScope, world: World, /) -> Job:
    """Find what is to be merged, or do the next merge; returns the job as it was committed.

    What an erasure has come between is looked for anew. Raises `BusyError`, `UnavailableError`.
    """
    job = cast("Job", job)
    if "work" not in job.progress:
        return _begun(job, opened, world)
    return settle(lambda: _stepped(job, opened, world), world)


def _begun(job: Job, opened: OpenScope, world: World) -> Job:
    """The job with all it is going to do; a dry run is over with that."""
    undo = job.request["undo"]
    work = undo or [list(group) for group in _found(job, opened, world.clock.now())]

    def attempt() -> Job:
        draft = Draft(opened, world.clock.now(), [job_ref(job.id)])
        told: dict[str, Any] = {"merges": job.result.get("merges", []), "merged": job.result.get("merged", 0)}
        if not undo:
            told["groups"] = work
        moved = job.moved(
            progress={"work": work, "next": 0},
            total=job.done + len(work),
            result=told,
            epoch=draft.head.epoch,
        )
        if job.request["dry_run"] or not work:
            moved = replace(
                job.ended(draft.at, progress={"work": [], "next": 0}, result=told), total=len(work)
            )
        return _put(job, moved, draft)

    return settle(attempt, world)


def _stepped(job: Job, opened: OpenScope, world: World) -> Job:
    work, at = job.progress["work"], job.progress["next"]
    each = work[at]
    ids = [each["into"], *each["from"]] if job.request["undo"] else each
    draft = Draft(opened, world.clock.now(), [job_ref(job.id), *map(memory_ref, ids)])
    if draft.head.epoch != job.epoch and not job.request["undo"]:
        return _put(job, job.moved(progress={"anew": True}, epoch=draft.head.epoch), draft)
    result, problems = dict(job.result), job.problems
    try:
        done = _undo(each, draft) if job.request["undo"] else _merge(ids, job, draft, opened, world)
    except PolicyError as refused:
        done, problems = None, (*problems, JobProblem(at, tell_refused(refused, "consolidate", world).code))
    if done is None and problems == job.problems:
        problems = (*problems, JobProblem(at, "version_conflict"))
    if done is not None:
        result["merged"] = result.get("merged", 0) + len(done["from"])
        result["merges"] = [*result.get("merges", []), done]
    progress = {"work": work, "next": at + 1}
    moved = job.moved(progress=progress, done=job.done + 1, result=result, problems=problems)
    if at + 1 == len(work):
        moved = replace(moved, state=JobState.COMPLETE, finished_at=draft.at)
    return _put(job, moved, draft)


def _put(old: Job, new: Job, draft: Draft) -> Job:
    moved = move(draft, old, new)
    draft.commit()
    return moved


def _found(job: Job, opened: OpenScope, now: datetime) -> Iterator[Sequence[str]]:
    """Groups of memories that say nearly the same, oldest first."""
    alike: dict[Any, list[tuple[str, str]]] = defaultdict(list)
    for memory in _all(opened):
        if _may_merge(memory, now) and memory.fact.kind.value in job.request["kinds"]:
            alike[_sort(memory)].append((memory.id, memory.fact.content))
    threshold, left = float(job.request["threshold"]), MOST_GROUPS
    for statements in alike.values():
        found = groups(statements, threshold, MOST_MEMBERS)[:left]
        left -= len(found)
        yield from found


def _all(opened: OpenScope) -> Iterator[Memory]:
    after: str | None = None
    while page := opened.ledger.page(Area.MEMORY, after=after, limit=PAGE):
        yield from (cast("Memory", entry) for entry in page)
        after = cast("Memory", page[-1]).id


def _may_merge(memory: Memory, now: datetime) -> bool:
    """Beliefs that nobody doubts and that take turns with no other; what is in a slot is one already."""
    return (
        memory.status_at(now) is Status.ACTIVE
        and memory.superseded_by is None
        and not memory.fact.is_item
        and memory.fact.slot is None
        and memory.trust is not Trust.DISPUTED
        and may(memory, Act.SUPERSEDE, now)
    )


def _sort(memory: Memory) -> Any:
    """Everything in which members agree beside their words."""
    fact = memory.fact
    held = (fact.valid_from, fact.valid_to, fact.expires_at)
    return (fact.kind, memory.trust, held, repr(fact.data), repr(sorted(fact.metadata.items())))


def _merge(
    ids: Sequence[str], job: Job, draft: Draft, opened: OpenScope, world: World
) -> dict[str, Any] | None:
    """Draft one merge; None if its members are no longer what they were."""
    members = [memory for i in ids if (memory := draft.get(memory_ref(i))) and _may_merge(memory, draft.at)]
    if len(members) != len(ids) or len({_sort(member) for member in members}) != 1:
        return None
    longest = max(members, key=lambda member: (len(member.fact.content), member.id))
    tags = tuple(dict.fromkeys(tag for member in members for tag in member.fact.tags))[:32]
    importance = max(member.fact.importance for member in members)
    merged = Memory(
        id=world.new_id("mem"),
        fact=replace(longest.fact, tags=tags, importance=importance),
        source=Source(channel=CHANNEL, actor=job.actor),
        trust=longest.trust,
        recorded_at=draft.at,
        updated_at=draft.at,
        nonce=world.new_nonce(),
        supersedes=tuple(ids),
        derived_from=tuple(ids),
    )
    refuse_forbidden(draft, opened, merged.fact)
    for member in members:
        draft.supersede(member, by=merged, because=Because.WRONG)
    merged = draft.believe(merged)
    build_on(merged.derived_from, merged, draft)
    draft.record(_happening(Event.MERGED, merged, ids))
    return {"into": merged.id, "from": list(ids)}


def _undo(merge: dict[str, Any], draft: Draft) -> dict[str, Any] | None:
    """Draft the members back; None if somebody has changed the merged memory, or a member, since.

    Each member takes the merged memory along when it is forgotten, for its words may stand there.
    """
    merged = draft.get(memory_ref(merge["into"]))
    members = [memory for i in merge["from"] if (memory := draft.get(memory_ref(i)))]
    if merged is None or merged.version != 1 or not may(merged, Act.SUPERSEDE, draft.at):
        return None
    if len(members) != len(merge["from"]) or any(m.superseded_by != merged.id for m in members):
        return None
    draft.supersede(merged, by=members[0], because=Because.WRONG)
    for member in members:
        back = member.next_version(
            draft.at,
            Status.ACTIVE,
            superseded_by=None,
            superseded_because=None,
            supersedes=(*member.supersedes, merged.id),
        )
        draft.change(member, replace(back, invalidated_at=None))
    draft.record(_happening(Event.UNMERGED, merged, merge["from"]))
    return dict(merge)


def _happening(event: Event, merged: Memory, ids: Sequence[str]) -> Happening:
    return Happening(
        event, merged.id, merged.version, commitment(merged), related=tuple(ids), channel=CHANNEL
    )
