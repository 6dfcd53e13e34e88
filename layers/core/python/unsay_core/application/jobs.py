"""Jobs: work on a scope that outlasts a request, a step at a time.

A step commits what it did together with how far it is, and expects to find the job as it was read: so a
step is done once, whoever runs it and however often, and a job goes on after any kill where the last step
ended. Nobody holds a lease: of two workers on one job each step succeeds for one, and the other gives up.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol, TypeAlias, TypeVar

from unsay_core.application.draft import Draft
from unsay_core.application.fenced import FencedLedger
from unsay_core.application.ledger import Area, Ref
from unsay_core.application.ports import ConflictError, JobTask
from unsay_core.application.settle import settle
from unsay_core.domain.errors import BusyError
from unsay_core.domain.scope import Principal, PrincipalKind
from unsay_core.jobs.erasure import Erasure
from unsay_core.jobs.job import Job, JobState

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from unsay_core.application.ports import JobScope, WorkScope, World

SWEEPER = "sweeper"  # who does what comes due, in the audit
ERASURE = "erasure"  # the kind of what lies in area E
Work: TypeAlias = "Job | Erasure"
W = TypeVar("W", Job, Erasure)
AGAIN = 1.0  # seconds until a job is looked at again that somebody else works on, or whose scope is busy


class Step(Protocol):
    """One step of a kind of job: commits it, and returns the job as it then stands.

    Raises `NotYetError` when there is nothing to do but wait; `OutrunError` and `BusyError` end the run.
    """

    def __call__(self, job: Work, scope: JobScope, world: World, /) -> Work:
        """Do one step."""


class NotYetError(Exception):
    """Nothing can be done for so many seconds."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds} s")
        self.seconds = seconds


class OutrunError(Exception):
    """Somebody else has moved the job on."""


def call_for(area: Area, job_id: str, scope: WorkScope) -> JobTask | None:
    """The message that calls for a job which was just written; None if nobody has to come."""
    ref: Ref[Work] = Ref(area, job_id)
    work = scope.ledger.read([ref]).get(ref)
    return task_of(work, scope.id) if work is not None and work.is_called_for else None


def task_of(work: Work, scope_id: str) -> JobTask:
    """The message about a job."""
    if isinstance(work, Job):
        return JobTask(scope_id, Area.JOB, work.id, work.kind.value, work.trace)
    return JobTask(scope_id, Area.ERASURE, work.id, ERASURE, work.trace)


def run_job(
    task: JobTask, scope: JobScope, world: World, steps: Mapping[str, Step], has_time: Callable[[], bool]
) -> float | None:
    """Run the steps of a job while there is time; seconds until it is worth another look, None when it ended.

    `steps` are the kinds that there are; a kind that is not among them is a `KeyError`.
    """
    ref: Ref[Work] = Ref(task.area, task.id)
    work = scope.ledger.read([ref]).get(ref)
    while work is not None and not is_idle(work):
        if not has_time():
            return 0.0
        try:
            work = steps[task.kind](work, acting_for(scope, work), world)
        except NotYetError as early:
            return early.seconds
        except (BusyError, ConflictError, OutrunError):
            return AGAIN
    return None


def is_idle(work: Work) -> bool:
    """True if no step of it can be done: it is over, or lacks what its caller has yet to bring."""
    return work.is_over or (isinstance(work, Job) and work.state is JobState.WAITING)


def acting_for(scope: JobScope, work: Work) -> JobScope:
    """The scope with the name of who asked for the job: the audit says who has caused a change.

    An erasure alone looks behind the fences.
    """
    ledger = scope.ledger if isinstance(work, Erasure) else FencedLedger(scope.ledger)
    return replace(scope, ledger=ledger, principal=Principal(work.actor, PrincipalKind.AGENT, ()))


def advance(old: W, new: W, scope: JobScope, world: World) -> W:
    """Move a job one step further in a transaction of its own; raises `OutrunError`, `BusyError`."""

    def attempt() -> W:
        draft = Draft(scope, world.clock.now(), [_place(old)])
        moved = move(draft, old, new)
        draft.commit()
        return moved

    return settle(attempt, world)


def _place(job: W) -> Ref[W]:
    return Ref(Area.JOB if isinstance(job, Job) else Area.ERASURE, job.id)


def move(draft: Draft, old: W, new: W) -> W:
    """Put a job one step further into a draft; raises `OutrunError` if it is no longer as it was read."""
    found = draft.get(_place(old))
    if found is None or found.revision != old.revision:
        raise OutrunError("somebody else works on this job")
    moved = replace(new, revision=old.revision + 1)
    draft.put(moved)
    return moved
