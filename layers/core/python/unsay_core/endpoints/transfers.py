"""Exports, imports, and the jobs that carry them out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.import_lines import OnConflict
from unsay_core.application.transfer_jobs import (
    Export,
    Import,
    begin_export,
    begin_import,
    find_job,
    is_withdrawn,
    links,
    start_import,
)
from unsay_core.contracts import exact_json, requests
from unsay_core.contracts import transfers as wire
from unsay_core.domain.errors import NotFoundError
from unsay_core.domain.ids import require_id
from unsay_core.domain.scope import Action
from unsay_core.endpoints.reply import Reply, address
from unsay_core.jobs.job import JobKind

if TYPE_CHECKING:
    from unsay_core.application.ports import TransferScope
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service
    from unsay_core.jobs.job import Job


def export_scope(call: Call, service: Service) -> Reply:
    """`POST /v1/export`."""
    asked = call.body(wire.ExportIn)
    opened = service.open_transfer(call.principal, asked.scope)
    command = Export(tuple(dict.fromkeys(asked.include or ["active"])), call.idempotency(opened))
    return _begun(begin_export(command, opened, service.world), opened)


def import_into(call: Call, service: Service) -> Reply:
    """`POST /v1/import`."""
    asked = call.body(wire.ImportIn)
    opened = service.open_transfer(call.principal, asked.scope)
    if isinstance(asked.upload, str):
        return _begun(start_import(require_id(asked.upload, "job"), opened, service.world), opened)
    command = Import(
        lines=tuple(exact_json.dumps(item).encode() + b"\n" for item in asked.items or ()),
        parts=asked.upload.parts if asked.upload else 1,
        on_conflict=OnConflict(asked.on_conflict),
        resurrect=asked.resurrect,
        idempotency=call.idempotency(opened),
    )
    return _begun(begin_import(command, opened, service.world), opened)


def get_job(call: Call, service: Service) -> Reply:
    """`GET /v1/jobs/{id}`."""
    asked, job_id = call.query(requests.ScopeQuery), require_id(call.id, "job")
    if call.principal.may(Action.TRANSFER, asked.scope):
        opened = service.open_transfer(call.principal, asked.scope, reading=True)
        return Reply(200, _shown(find_job(job_id, opened), opened))
    written = service.open_scope(call.principal, asked.scope, Action.WRITE, reading=True)
    job = find_job(job_id, written)
    if job.kind is not JobKind.CONSOLIDATE:
        raise NotFoundError("no such job in this scope")
    return Reply(200, wire.job_answer(job, {}))


def _begun(job: Job, opened: TransferScope) -> Reply:
    return Reply(202, _shown(job, opened), {"Location": address("jobs", job.id, opened.scope)})


def _shown(job: Job, opened: TransferScope) -> dict[str, object]:
    return wire.job_answer(job, links(job, opened), withdrawn=is_withdrawn(job, opened))
