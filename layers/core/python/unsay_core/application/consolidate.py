"""Consolidate: memories that say nearly the same become one, which stands on them all; and that undone.

A merge is one change: the new memory, derived from its members, and these superseded by it. What differs in
kind, key, trust, data, time or metadata is never merged, and nothing of another scope is even read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from unsay_core.application.digests import commitment
from unsay_core.application.draft import Draft
from unsay_core.application.jobs import move
from unsay_core.application.ledger import job_ref, memory_ref
from unsay_core.application.near_duplicates import Found, may_merge, near_duplicates, sort_of
from unsay_core.application.policy import PolicyError, refuse_forbidden, tell_refused
from unsay_core.application.remember import build_on
from unsay_core.application.replay import IdempotencyKey, earlier_outcome, keep_outcome
from unsay_core.application.settle import change, settle
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import ForgottenError, NotFoundError
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.memory import MERGING, Because, Kind, Memory, Source, Status, Trust
from unsay_core.extraction.likeness import Measure
from unsay_core.jobs.job import Job, JobKind, JobProblem, JobState
from unsay_core.metrics import MEMORIES_MERGED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.jobs import Work
    from unsay_core.application.ports import JobScope, OpenScope, World
    from unsay_core.application.rewording import Reworded

KINDS = (Kind.SEMANTIC, Kind.EPISODIC, Kind.PROCEDURAL)
MOST_GROUPS = 500  # merged by one job, which remembers them all


@dataclass(frozen=True, slots=True)
class Consolidate:
    """What is to be merged, by which measure; with `undo`, the merges of which job are to be taken back."""

    measure: Measure
    kinds: tuple[Kind, ...] = KINDS
    dry_run: bool = False
    undo: str | None = None
    idempotency: IdempotencyKey | None = None

    def request(self, merges: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
        """As its job keeps it; `merges` are those to be taken back."""
        cosine = self.measure.cosine
        return {
            "threshold": str(self.measure.words),
            "cosine": None if cosine is None else str(cosine),
            "whole": self.measure.whole,
            "kinds": [kind.value for kind in self.kinds],
            "dry_run": self.dry_run,
            "undo": [*merges],
        }


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
        request = command.request(_merges_of(undone, draft) if undone else [])
        epoch, actor = draft.head.epoch, opened.principal.id
        job = Job(job_id, JobKind.CONSOLIDATE, JobState.RUNNING, actor, draft.at, epoch, request)
        if draft.head.scope is None:  # nothing is held here, and no worker could open it by its name
            nothing: dict[str, Any] = {"merges": [], "merged": 0, "groups": []}
            job = replace(job.ended(draft.at, result=nothing), total=0)
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


def consolidate_step(work: Work, scope: JobScope, world: World, /) -> Job:
    """Look for what is to be merged in the next stretch, or do the next merge; the job as it was committed.

    A stretch that an erasure has come into is looked through anew. Raises `BusyError`, `UnavailableError`.
    """
    job = cast("Job", work)
    if "versions" in job.progress:
        reworded = _reworded(job, scope)
        stepped = settle(lambda: _stepped(job, reworded, scope, world), world)
        _tell_merged(stepped.result.get("merged", 0) - job.result.get("merged", 0), job, scope, world)
        return stepped
    if job.request["undo"]:
        return settle(partial(_planned, job, job.request["undo"], [], None, {}, scope, world), world)
    found = _found(job, scope, world)
    told = {
        "compared": job.result.get("compared", 0) + found.compared,
        "searched": job.result.get("searched", 0) + found.asked,
    }
    if job.request["dry_run"]:
        told["groups"] = [*job.result.get("groups", []), *found.groups][:MOST_GROUPS]
    return settle(
        partial(_planned, job, found.groups, found.versions, found.beyond, told, scope, world), world
    )


def _tell_merged(count: int, job: Job, scope: JobScope, world: World) -> None:
    if count and not job.request["undo"]:
        whose = {"root_id": scope.root_id, "scope_id": scope.id}
        world.signals.tell(MEMORIES_MERGED, count, whose=whose)


def _found(job: Job, scope: JobScope, world: World) -> Found:
    asked, groups = job.request, job.result.get("groups", [])
    cosine = asked.get("cosine")
    measure = Measure(float(asked["threshold"]), float(cosine) if cosine else None, asked.get("whole", False))
    found = {memory_id for group in groups for memory_id in group}
    after = job.progress.get("after")
    return near_duplicates(scope, measure, asked["kinds"], world.clock.now(), after=after, but=found)


def _planned(
    job: Job,
    work: Sequence[Any],
    versions: Sequence[list[int]],
    beyond: str | None,
    told: dict[str, Any],
    scope: JobScope,
    world: World,
) -> Job:
    """The job with what there is to merge in a stretch; a dry run only says it."""
    draft = Draft(scope, world.clock.now(), [job_ref(job.id)])
    result = {"merges": [], "merged": 0, **job.result, **told}
    moved = job.moved(result=result, epoch=draft.head.epoch, total=job.done + len(work))
    if work and not job.request["dry_run"]:
        left = MOST_GROUPS - len(result["merges"])
        stretch = {"after": job.progress.get("after"), "beyond": beyond}
        progress = stretch | {"work": work[:left], "versions": versions[:left], "next": 0}
        return _put(job, replace(moved, progress=progress), draft)
    done = job.done + len(work)
    return _put(job, _at_end(replace(moved, done=done), beyond, draft), draft)


def _at_end(job: Job, beyond: str | None, draft: Draft) -> Job:
    """A job that is through with a stretch: at its end, or before the next one."""
    full = max(len(job.result["merges"]), len(job.result.get("groups", []))) >= MOST_GROUPS
    if beyond is None or full:
        told = job.result if beyond is None else job.result | {"more": True}
        at_end = {"after": beyond}
        return replace(job, state=JobState.COMPLETE, finished_at=draft.at, progress=at_end, result=told)
    return replace(job, progress={"after": beyond})


def _stepped(job: Job, reworded: Reworded | None, scope: JobScope, world: World) -> Job:
    progress, at = job.progress, job.progress["next"]
    each = progress["work"][at]
    undo = bool(job.request["undo"])
    ids = [each["into"], *each["from"]] if undo else each
    draft = Draft(scope, world.clock.now(), [job_ref(job.id), *map(memory_ref, ids)])
    if draft.head.epoch != job.epoch and not undo:
        anew = {"after": progress.get("after"), "anew": True}
        return _put(job, job.moved(progress=anew, epoch=draft.head.epoch), draft)
    result, problems = dict(job.result), job.problems
    try:
        done = _undo(each, job, draft) if undo else _merge(ids, job, reworded, draft, scope, world)
    except PolicyError as refused:
        refusal = tell_refused(refused, "consolidate", world)
        done, problems = None, (*problems, JobProblem(job.done, refusal.code))
    if done is None and problems == job.problems:
        problems = (*problems, JobProblem(job.done, "version_conflict"))
    if done is not None:
        result["merged"] = result.get("merged", 0) + len(done["from"])
        result["merges"] = [*result.get("merges", []), done]
    moved = job.moved(
        progress={**progress, "next": at + 1}, done=job.done + 1, result=result, problems=problems
    )
    if at + 1 == len(progress["work"]):
        moved = _at_end(moved, progress.get("beyond"), draft)
    return _put(job, moved, draft)


def _put(old: Job, new: Job, draft: Draft) -> Job:
    moved = move(draft, old, new)
    draft.commit()
    return moved


def _reworded(job: Job, scope: JobScope) -> Reworded | None:
    """The words of a model for the next merge, if the root's policy wants them and some come of it."""
    editor = None if job.request["undo"] else scope.editor()
    if editor is None:
        return None
    refs = [memory_ref(memory_id) for memory_id in job.progress["work"][job.progress["next"]]]
    found = scope.ledger.read(refs)
    members = [member for ref in refs if (member := found.get(ref))]
    return editor.reworded(members) if len(members) == len(refs) else None


def _merge(
    ids: Sequence[str],
    job: Job,
    reworded: Reworded | None,
    draft: Draft,
    opened: OpenScope,
    world: World,
) -> dict[str, Any] | None:
    """Draft one merge; None if its members are no longer what they were.

    That is by their versions: an edit may have left nothing of what made them alike.
    """
    members = [memory for i in ids if (memory := draft.get(memory_ref(i))) and may_merge(memory, draft.at)]
    found_alike = job.progress["versions"][job.progress["next"]]
    if [member.version for member in members] != found_alike or len(
        {sort_of(member) for member in members}
    ) != 1:
        return None
    merged = _merged(members, job, reworded, draft, world)
    refuse_forbidden(draft, opened, merged.fact)
    for member in members:
        draft.supersede(member, by=merged, because=Because.WRONG)
    merged = draft.believe(merged)
    build_on(merged.derived_from, merged, draft)
    draft.record(_happening(Event.MERGED, merged, ids, job))
    return {"into": merged.id, "from": list(ids)}


def _merged(
    members: Sequence[Memory], job: Job, reworded: Reworded | None, draft: Draft, world: World
) -> Memory:
    """What stands for some members: with the words of the longest, or with a model's, who concluded them."""
    longest = max(members, key=lambda member: (len(member.fact.content), member.id))
    fact = replace(
        longest.fact,
        tags=tuple(dict.fromkeys(tag for member in members for tag in member.fact.tags))[:32],
        importance=max(member.fact.importance for member in members),
    )
    trust, model = longest.trust, None
    if reworded and reworded.of == tuple((member.id, member.version) for member in members):
        worded = replace(fact, content=reworded.content)
        if draft.twin(worded) is None:  # else somebody says it already, who is no member
            fact, trust, model = worded, Trust.INFERRED, reworded.model
    ids = tuple(member.id for member in members)
    return Memory(
        id=world.new_id("mem"),
        fact=fact,
        source=Source(channel=MERGING, actor=job.actor, model=model),
        trust=trust,
        recorded_at=draft.at,
        updated_at=draft.at,
        nonce=world.new_nonce(),
        supersedes=ids,
        derived_from=ids,
    )


def _undo(merge: dict[str, Any], job: Job, draft: Draft) -> dict[str, Any] | None:
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
    draft.record(_happening(Event.UNMERGED, merged, merge["from"], job))
    return dict(merge)


def _happening(event: Event, merged: Memory, ids: Sequence[str], job: Job) -> Happening:
    """The event of a merge; the job's id is what it is undone by."""
    return Happening(
        event, merged.id, merged.version, commitment(merged), related=(*ids, job.id), channel=MERGING
    )
