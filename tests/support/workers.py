"""The project and index workers over the fake service, driven message by message."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from unsay_core.application.index_memories import index_memories
from unsay_core.application.job_steps import STEPS
from unsay_core.application.jobs import run_job, task_of
from unsay_core.application.ledger import Area, Pending
from unsay_core.application.ports import IndexTask
from unsay_core.application.project import project_memories
from unsay_core.jobs.erasure import Erasure

if TYPE_CHECKING:
    from tests.support.fakes import FakeService, MemoryDocuments
    from tests.support.http import Caller
    from unsay_core.application.ports import IndexScope, WorkScope, World
    from unsay_core.application.scopes import ScopeNotes


SCOPE = "acme/alice"


class Workers:
    """The project and index workers of one scope, their messages, and a way to kill them."""

    def __init__(self, service: FakeService, api: Caller) -> None:
        self.service, self.api = service, api
        self.scope_id = service.keyring.scope_id(SCOPE)
        self.base = service.knowledge_base
        self.attempts = itertools.count(1)

    @property
    def documents(self) -> MemoryDocuments:
        return self.service.documents[self.scope_id]

    def project(self, memory_id: str) -> IndexTask | None:
        """One stream record."""
        service = self.service
        return project_memory(
            memory_id, service.work_scope(self.scope_id), service.scope_notes, service.world
        )

    def index(self, *tasks: IndexTask | None, scope: IndexScope | None = None) -> list[IndexTask]:
        """One delivery of messages; returns those that have to come again."""
        wanted = [task for task in tasks if task]
        opened = scope or self.service.index_scope(self.scope_id)
        clock = SettlingClock(self.service)
        return index_memories(wanted, opened, clock, str(next(self.attempts)), self.service.signals)

    def run(self, memory_id: str) -> None:
        """Everything that is owed for a memory, until nothing is."""
        task = self.project(memory_id)
        left = [task] if task else []
        for _ in range(10):
            if not left:
                return
            left = self.index(*left)
        raise AssertionError("the work has no end")

    def settle(self) -> None:
        settle(self.service)

    def receipt_state(self, erasure_id: str) -> str:
        """What a receipt says once the job behind it has looked."""
        prove_all(self.service, self.scope_id)
        return str(self.api.receipt(erasure_id)["state"])

    def is_clean(self, memory_id: str) -> bool:
        """True if no store holds the memory."""
        held = any(base.holds(memory_id) for base in self.service.generations.values())
        return not self.documents.exists(memory_id) and not held


def project_memory(memory_id: str, scope: WorkScope, notes: ScopeNotes, world: World) -> IndexTask | None:
    """One stream record that comes alone."""
    return next(iter(project_memories([memory_id], scope, notes, world)), None)


def index_all(service: FakeService) -> None:
    """The index catches up: what is owed is done, in every scope and generation; then receipts are proven."""
    for scope_id in list(service.ledgers):
        for attempt in itertools.count():
            page = service.ledgers[scope_id].page(Area.PENDING, limit=10)
            owed = [pending for pending in page if isinstance(pending, Pending)]
            if not owed:
                break
            assert attempt < 1_000, "the work has no end"
            _index(service, scope_id, owed, str(attempt))
        prove_all(service, scope_id)


def prove_all(service: FakeService, scope_id: str) -> None:
    """The jobs that look whether what was forgotten one by one is gone."""
    receipts = service.ledgers[scope_id].page(Area.ERASURE, limit=1_000)
    tasks = [task_of(each, scope_id) for each in receipts if isinstance(each, Erasure) and each.remaining]
    for task in tasks:
        if scope := service.job_scope(task):
            run_job(task, scope, service.world, STEPS, lambda: True)


def _index(service: FakeService, scope_id: str, owed: list[Pending], attempt: str) -> None:
    for pending in owed:
        project_memory(pending.memory_id, service.work_scope(scope_id), service.scope_notes, service.world)
    tasks = [IndexTask(scope_id, pending.memory_id, pending.seq, pending.root_id) for pending in owed]
    index_memories(tasks, service.index_scope(scope_id), SettlingClock(service), attempt)


def settle(service: FakeService) -> None:
    """Every generation does what it was asked for."""
    for base in service.generations.values():
        base.settle()


class SettlingClock:
    """A clock whose waiting is what the knowledge base needs to get things done."""

    def __init__(self, service: FakeService) -> None:
        self._service = service
        self._clock = service.clock

    def now(self) -> object:
        return self._clock.now()

    def monotonic(self) -> float:
        return self._clock.monotonic()

    def sleep(self, seconds: float) -> None:
        self._clock.sleep(seconds)
        settle(self._service)
