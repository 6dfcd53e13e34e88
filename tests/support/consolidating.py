"""Consolidations in the fakes: jobs as their λ runs them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.support.http import ADMIN
from unsay_core.application.consolidate import Consolidate, begin_consolidation
from unsay_core.application.draft import Draft
from unsay_core.application.job_steps import STEPS
from unsay_core.application.jobs import run_job, task_of
from unsay_core.application.ledger import job_ref, memory_ref
from unsay_core.application.remember import build_on
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.memory import MERGING, Because, Memory, Source
from unsay_core.domain.scope import Action, Scope
from unsay_core.extraction.likeness import Measure

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from unsay_core.jobs.job import Job

SCOPE = "acme/alice"


def merged(service: Any, *ids: str, scope: str = SCOPE) -> Memory:
    """What a consolidation makes of some memories, without the job that looks for them."""
    opened = service.open_scope(ADMIN, Scope.parse(scope), Action.WRITE)
    draft = Draft(opened, service.world.clock.now(), map(memory_ref, ids))
    members = [member for i in ids if (member := draft.get(memory_ref(i)))]
    memory = replace(
        members[0],
        id=service.world.new_id("mem"),
        source=Source(MERGING, ADMIN.id),
        version=1,
        supersedes=ids,
        derived_from=ids,
    )
    for member in members:
        draft.supersede(member, by=memory, because=Because.WRONG)
    memory = draft.believe(memory)
    build_on(ids, memory, draft)
    draft.record(Happening(Event.MERGED, memory.id, related=ids, channel=MERGING))
    draft.commit()
    return memory


class Desk:
    """Whoever asks for a consolidation, and the λ that does it."""

    def __init__(self, service: FakeService) -> None:
        self.service = service

    def begin(self, scope: str = SCOPE, **asked: Any) -> Job:
        opened = self.service.open_scope(ADMIN, Scope.parse(scope), Action.WRITE)
        measure = Measure(asked.pop("threshold", 0.8), asked.pop("cosine", None))
        return begin_consolidation(Consolidate(measure, **asked), opened, self.service.world)[0]

    def run(self, job: Job, scope: str = SCOPE, *, steps: int = 1_000) -> Job:
        scope_id = self.service.keyring.scope_id(scope)
        found = self.service.job_scope(task_of(job, scope_id))
        assert found is not None
        left = iter(range(steps))
        run_job(
            task_of(job, scope_id), found, self.service.world, STEPS, lambda: next(left, None) is not None
        )
        now = found.ledger.read([job_ref(job.id)]).get(job_ref(job.id))
        assert now is not None
        return now

    def consolidate(self, scope: str = SCOPE, **asked: Any) -> Job:
        return self.run(self.begin(scope, **asked), scope)
