"""A day on the deployed stack, in one call: the sweep begins what is due, and the jobs are done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.workers import index_all
from unsay_core.application.job_steps import STEPS
from unsay_core.application.jobs import run_job, task_of
from unsay_core.application.ledger import Area
from unsay_core.application.sweep import sweep
from unsay_core.jobs.erasure import Erasure
from unsay_core.jobs.job import Job

if TYPE_CHECKING:
    from tests.support.fakes import FakeService


def a_day_passes(service: FakeService, days: int = 1) -> None:
    """Time passes, the index keeps up, what is due is begun, and every job is done."""
    service.clock.pass_(days=days)
    index_all(service)
    for due in service.due.until(service.clock.now(), limit=100):
        opened = service.sweep_scope(due.scope_id)
        assert opened is not None
        sweep(due, opened, service.world, service.jobs)
    for area in (Area.JOB, Area.ERASURE):
        for scope_id in list(service.ledgers):
            _do_jobs(service, scope_id, area)


def _do_jobs(service: FakeService, scope_id: str, area: Area) -> None:
    for work in service.ledgers[scope_id].page(area, limit=1_000):
        assert isinstance(work, Job | Erasure)
        task = task_of(work, scope_id)
        for _ in range(20):
            scope = service.job_scope(task)
            pause = run_job(task, scope, service.world, STEPS, lambda: True) if scope else None
            if pause is None:
                break
            index_all(service)
