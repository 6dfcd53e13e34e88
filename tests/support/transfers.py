"""Exports and imports driven as the worker does it: step after step until the job is over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.support.http import ADMIN
from unsay_core.application.export_memories import export_step
from unsay_core.application.import_lines import OnConflict
from unsay_core.application.import_memories import import_step
from unsay_core.application.transfer_jobs import Export, Import, begin_export, begin_import
from unsay_core.domain.scope import Scope
from unsay_core.jobs.job import Job, JobKind

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from unsay_core.application.ports import TransferScope
    from unsay_core.domain.scope import Principal

STEPS = {JobKind.EXPORT: export_step, JobKind.IMPORT: import_step}


def opened(service: FakeService, scope: str = "acme/alice", who: Principal = ADMIN) -> TransferScope:
    return service.open_transfer(who, Scope.parse(scope))


def run(job: Job, scope: TransferScope, service: FakeService, *, most: int = 10_000) -> Job:
    """Step until it is over."""
    for _ in range(most):
        if job.is_over:
            return job
        job = STEPS[job.kind](job, scope, service.world)
    raise AssertionError("the job does not end")


def export(
    service: FakeService, *include: str, scope: str = "acme/alice", who: Principal = ADMIN
) -> list[dict[str, Any]]:
    """The lines of an export, read back."""
    there = opened(service, scope, who)
    job = run(begin_export(Export(include or ("active",)), there, service.world), there, service)
    assert job.state == "complete"
    return lines_of(job, there)


def lines_of(job: Job, scope: TransferScope) -> list[dict[str, Any]]:
    files = scope.transfers
    bodies = [files.read(part["name"], 0, 1 << 30) for part in job.progress.get("parts", [])]
    return [json.loads(line) for body in bodies for line in body.splitlines()]


def bring(
    service: FakeService,
    lines: list[dict[str, Any]],
    *,
    scope: str = "acme/bob",
    who: Principal = ADMIN,
    on_conflict: str = "skip",
    resurrect: bool = False,
) -> Job:
    """An import of lines, run to its end."""
    there = opened(service, scope, who)
    command = Import(
        tuple(json.dumps(line).encode() + b"\n" for line in lines),
        on_conflict=OnConflict(on_conflict),
        resurrect=resurrect,
    )
    return run(begin_import(command, there, service.world), there, service)
