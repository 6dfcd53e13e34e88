"""Exports and imports as they are asked for: a job each, with one entry in the audit log."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsay_core.application.draft import Draft
from unsay_core.application.import_lines import OnConflict
from unsay_core.application.ledger import HEAD, Head, job_ref
from unsay_core.application.replay import IdempotencyKey, earlier_outcome, keep_outcome
from unsay_core.application.settle import change
from unsay_core.application.transfers import IMPORTS, upload_name
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.errors import InvalidRequestError, NotFoundError
from unsay_core.domain.scope import Action
from unsay_core.jobs.job import Job, JobKind, JobState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ports import OpenScope, TransferScope, World


@dataclass(frozen=True, slots=True)
class Export:
    """What is to leave the scope: statuses, `disputed`, `history`."""

    include: tuple[str, ...] = ("active",)
    idempotency: IdempotencyKey | None = None


@dataclass(frozen=True, slots=True)
class Import:
    """What is to come into the scope: `lines` that came along, or so many `parts` to be brought."""

    lines: tuple[bytes, ...] = ()
    parts: int = 1
    on_conflict: OnConflict = OnConflict.SKIP
    resurrect: bool = False
    idempotency: IdempotencyKey | None = None


def begin_export(command: Export, opened: TransferScope, world: World) -> Job:
    """Begin an export; asked for again by the same name, the job it began."""
    request = {"include": sorted(command.include)}
    return _begun(JobKind.EXPORT, JobState.RUNNING, request, command.idempotency, opened, world)


def begin_import(command: Import, opened: TransferScope, world: World) -> Job:
    """Begin an import: at once of what came along, or once its parts are there.

    What its importer may claim is decided now. Raises `ForbiddenError` to bring back what was taken back
    without the right to review.
    """
    is_reviewer = opened.principal.may(Action.REVIEW, opened.scope)
    if command.resurrect:
        opened.principal.require(Action.REVIEW, opened.scope)
    request = {
        "parts": command.parts,
        "on_conflict": command.on_conflict.value,
        "resurrect": command.resurrect,
        "is_reviewer": is_reviewer,
    }
    state = JobState.RUNNING if command.lines else JobState.WAITING
    job_id, body = world.new_id("job"), b"".join(command.lines)
    if body:
        opened.transfers.put(upload_name(job_id, 1), body)
    key, total = command.idempotency, len(body) or None
    return _begun(JobKind.IMPORT, state, request, key, opened, world, job_id=job_id, total=total)


def start_import(job_id: str, opened: TransferScope, world: World) -> Job:
    """Start an import whose parts have been brought; once started it answers as it stands.

    Raises `NotFoundError`, `InvalidRequestError` while a part is missing.
    """

    def start(draft: Draft) -> Job:
        job = draft.get(job_ref(job_id))
        if job is None or job.kind is not JobKind.IMPORT:
            raise NotFoundError("no such import in this scope")
        if job.state is not JobState.WAITING:
            return job
        started = job.moved(
            state=JobState.RUNNING,
            total=_brought(job, opened),
            epoch=(draft.get(HEAD) or Head()).epoch,
        )
        draft.put(started)
        return started

    return change(start, opened, world, lambda: [job_ref(job_id)])


def find_job(job_id: str, opened: OpenScope) -> Job:
    """One job; raises `NotFoundError`."""
    job = opened.ledger.read([job_ref(job_id)]).get(job_ref(job_id))
    if job is None:
        raise NotFoundError("no such job in this scope")
    return job


def links(job: Job, opened: TransferScope) -> dict[str, Sequence[dict[str, str]]]:
    """Where the caller of a job reads what it made, or writes what it waits for.

    Of an export from before an erasure nothing: what was erased since stands in it.
    """
    if job.kind is JobKind.IMPORT and job.state is JobState.WAITING:
        names = [upload_name(job.id, number) for number in range(1, job.request["parts"] + 1)]
        return {"uploads": [_link(name, opened, writing=True) for name in names]}
    if job.kind is not JobKind.EXPORT or job.state is not JobState.COMPLETE or is_withdrawn(job, opened):
        return {}
    parts = [part["name"] for part in job.progress.get("parts", [])]
    return {
        "manifest": [_link(job.result["manifest"], opened)],
        "parts": [_link(name, opened) for name in parts],
    }


def is_withdrawn(job: Job, opened: OpenScope) -> bool:
    """True for an export from before an erasure of its scope."""
    head = opened.ledger.read([HEAD]).get(HEAD) or Head()
    return job.kind is JobKind.EXPORT and job.state is JobState.COMPLETE and head.epoch != job.epoch


def _link(name: str, opened: TransferScope, *, writing: bool = False) -> dict[str, str]:
    return {"name": name.rpartition("/")[2], "url": opened.transfers.link(name, writing=writing)}


def _brought(job: Job, opened: TransferScope) -> int:
    """How many bytes were brought."""
    sizes = {file.name: file.size for file in opened.transfers.listed(f"{IMPORTS}{job.id}/")}
    for number in range(1, job.request["parts"] + 1):
        if upload_name(job.id, number) not in sizes:
            raise InvalidRequestError.at("upload", f"part {number} is not there yet")
    return sum(sizes.values())


def _begun(
    kind: JobKind,
    state: JobState,
    request: dict[str, Any],
    key: IdempotencyKey | None,
    opened: TransferScope,
    world: World,
    *,
    job_id: str | None = None,
    total: int | None = None,
) -> Job:
    minted = job_id or world.new_id("job")

    def begin(draft: Draft) -> Job:
        if earlier := earlier_outcome(key, draft):
            return find_job(earlier.memory_id, opened)
        epoch = (draft.get(HEAD) or Head()).epoch
        job = Job(minted, kind, state, opened.principal.id, draft.at, epoch, request, total=total)
        draft.put(job)
        event = Event.EXPORTED if kind is JobKind.EXPORT else Event.IMPORTED
        draft.record(Happening(event, related=(job.id,)))
        if key:
            keep_outcome(key, 202, job.id, 1, draft)
        return job

    return change(begin, opened, world, lambda: [job_ref(minted), *([key.ref] if key else [])])
