"""Consolidation: a job that merges memories which say nearly the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unsay_core.application.consolidate import KINDS, Consolidate, begin_consolidation
from unsay_core.contracts.consolidation import ConsolidateIn
from unsay_core.contracts.transfers import job_answer
from unsay_core.domain.scope import Action
from unsay_core.endpoints.reply import Reply, address, replayed
from unsay_core.extraction.likeness import Measure

if TYPE_CHECKING:
    from unsay_core.endpoints.call import Call
    from unsay_core.endpoints.service import Service


def consolidate(call: Call, service: Service) -> Reply:
    """`POST /v1/consolidate`."""
    asked = call.body(ConsolidateIn)
    opened = service.open_scope(call.principal, asked.scope, Action.WRITE)
    command = Consolidate(
        measure=Measure(float(asked.threshold), None if asked.cosine is None else float(asked.cosine)),
        kinds=tuple(asked.kinds) if asked.kinds else KINDS,
        dry_run=asked.dry_run,
        undo=asked.undo,
        idempotency=call.idempotency(opened),
    )
    job, again = begin_consolidation(command, opened, service.world)
    where = {"Location": address("jobs", job.id, opened.scope)}
    return Reply(202, job_answer(job, {}), where | replayed(again))
