"""Jobs and the sweep: what outlasts a request is done step by step, and nothing that stood still stays so."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, cast

import pytest

from tests.functional.test_handlers import CONTEXT, failures, handlers, queue_record, stream_record
from tests.support.http import ADMIN, Caller
from tests.support.samples import AT, EVERY_ENTRY
from tests.support.workers import Workers, index_all
from unsay_core.adapters.messaging import body_of_job, job_of_message
from unsay_core.application import job_steps
from unsay_core.application.draft import Draft
from unsay_core.application.due import SHARDS, STILL_FOR, due_at, shard_of
from unsay_core.application.jobs import NotYetError, OutrunError, Step, move, run_job
from unsay_core.application.ledger import Area, Pending, job_ref, memory_ref, pending_ref
from unsay_core.application.ports import IndexTask, JobTask
from unsay_core.application.sweep import TIDY, sweep
from unsay_core.domain.scope import Action, Scope
from unsay_core.jobs.job import Job, JobKind, JobState

if TYPE_CHECKING:
    from types import ModuleType

    from tests.support.fakes import FakeService
    from unsay_core.application.jobs import Work
    from unsay_core.application.ports import JobScope, World

__all__ = ["handlers"]

STEPS_EACH = 3


def counting(job: Work, scope: JobScope, world: World, /) -> Job:
    """A step that counts to three."""
    job = cast("Job", job)
    draft = Draft(scope, world.clock.now(), [job_ref(job.id)])
    done = job.done + 1
    new = job.ended(draft.at) if done == STEPS_EACH else job
    moved = move(draft, job, replace(new, done=done, progress={"at": done}))
    draft.commit()
    return moved


def waiting(_job: Work, _scope: JobScope, _world: World, /) -> Job:
    raise NotYetError(7.0)


class Bench:
    """One scope with a job in it."""

    def __init__(self, service: FakeService, api: Caller) -> None:
        self.service, self.api = service, api
        self.workers = Workers(service, api)
        self.scope_id = self.workers.scope_id
        self.ledger = service.ledgers[self.scope_id]

    def begin(self, state: JobState = JobState.RUNNING) -> JobTask:
        """A job as a request leaves it."""
        opened = self.service.open_scope(ADMIN, Scope.parse("acme/alice"), Action.WRITE)
        draft = Draft(opened, self.service.clock.now(), [job_ref("job_1")])
        draft.put(Job("job_1", JobKind.EXPORT, state, ADMIN.id, draft.at, epoch=0))
        draft.commit()
        return JobTask(self.scope_id, Area.JOB, "job_1", "export")

    def job(self, job_id: str = "job_1") -> Job:
        found = self.ledger.read([job_ref(job_id)]).get(job_ref(job_id))
        assert found is not None
        return found

    def run(self, task: JobTask, step: Step = counting, steps: int = 99) -> float | None:
        scope = self.service.job_scope(task)
        assert scope is not None
        left = iter([True] * steps)
        return run_job(task, scope, self.service.world, {task.kind: step}, lambda: next(left, False))

    def tidy(self) -> dict[str, int]:
        """A day passes, and the tidying that it brings runs; what it found."""
        self.service.clock.pass_(days=1, seconds=1)
        self.sweep()
        task = JobTask(self.scope_id, Area.JOB, TIDY, "tidy")
        scope = self.service.job_scope(task)
        assert scope is not None
        assert run_job(task, scope, self.service.world, job_steps.STEPS, lambda: True) is None
        return self.job(TIDY).result

    def sweep(self) -> None:
        for due in self.service.due.until(self.service.clock.now(), limit=100):
            opened = self.service.sweep_scope(due.scope_id)
            assert opened is not None
            sweep(due, opened, self.service.world, self.service.jobs)


@pytest.fixture
def bench(service: FakeService, api: Caller) -> Bench:
    api.remember("The neighbour stays.")
    return Bench(service, api)


def test_a_job_runs_step_by_step_and_ends(bench: Bench) -> None:
    task = bench.begin()
    assert bench.run(task, steps=2) == 0.0
    assert (bench.job().done, bench.job().state) == (2, JobState.RUNNING)
    assert bench.run(task) is None
    assert (bench.job().done, bench.job().state) == (3, JobState.COMPLETE)
    assert bench.run(task) is None


def test_a_job_that_waits_says_for_how_long(bench: Bench) -> None:
    assert bench.run(bench.begin(), waiting) == 7.0


def test_what_lacks_something_of_its_caller_does_not_run(bench: Bench) -> None:
    assert bench.run(bench.begin(JobState.WAITING)) is None
    assert bench.job().done == 0


def test_of_two_workers_on_one_job_one_goes_on(bench: Bench) -> None:
    task = bench.begin()
    old = bench.job()
    bench.run(task, steps=1)
    scope = bench.service.job_scope(task)
    assert scope is not None
    with pytest.raises(OutrunError):
        counting(old, scope, bench.service.world)

    def outrun(_job: Work, *rest: object) -> Work:
        return counting(old, *rest)  # type: ignore[arg-type]

    assert bench.run(task, outrun) == 1.0
    assert bench.job().done == 1


def test_a_step_acts_in_the_name_of_who_asked(bench: Bench) -> None:
    seen = []

    def looking(job: Work, scope: JobScope, world: World, /) -> Job:
        seen.append(scope.principal.id)
        return counting(job, scope, world)

    bench.run(bench.begin(), looking)
    assert set(seen) == {ADMIN.id}


def test_a_call_survives_its_message_and_nothing_else_is_one() -> None:
    task = JobTask("a" * 52, Area.JOB, "job_1", "export")
    assert job_of_message(body_of_job(task)) == task
    for body in (
        "{}",
        "[]",
        '{"sid": "x", "area": "J", "id": "i", "kind": "k"}',
        body_of_job(task).replace("J", "M"),
    ):
        with pytest.raises(ValueError, match="no job"):
            job_of_message(body)


def test_a_job_that_may_run_is_called_for_once(bench: Bench, handlers: dict[str, ModuleType]) -> None:
    task = bench.begin()
    records = [stream_record(bench.scope_id, Area.JOB, "job_1", 1)]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    assert bench.service.jobs.tasks == [task]
    bench.run(task, steps=1)
    handlers["project"].handler({"Records": records}, CONTEXT)
    assert bench.service.jobs.tasks == [task]


def test_a_job_that_waits_for_its_caller_is_not_called_for(
    bench: Bench, handlers: dict[str, ModuleType]
) -> None:
    bench.begin(JobState.WAITING)
    records = [stream_record(bench.scope_id, Area.JOB, "job_1", 1)]
    handlers["project"].handler({"Records": records}, CONTEXT)
    assert bench.service.jobs.tasks == []


def test_an_erasure_is_called_for_be_it_of_a_selection_or_of_one_memory(
    bench: Bench, handlers: dict[str, ModuleType]
) -> None:
    one, other = (bench.api.remember(f"Fact {number}.")["id"] for number in range(2))
    alone = bench.api.forget(one)["id"]
    many = bench.api.send(
        "POST", "/v1/forget", {"scope": "acme/alice", "selector": {"ids": [other]}, "reason": "test"}
    )["id"]
    records = [stream_record(bench.scope_id, Area.ERASURE, each, n) for n, each in enumerate((alone, many))]
    assert failures(handlers["project"].handler({"Records": records}, CONTEXT)) == []
    called = [(task.area, task.id) for task in bench.service.jobs.tasks]
    assert called == [(Area.ERASURE, alone), (Area.ERASURE, many)]


def call(body: str, attempt: int = 1) -> dict[str, object]:
    return queue_record(IndexTask("a" * 52, "mem_1", 1), attempt=attempt) | {"body": body}


def test_the_worker_goes_on_while_there_is_time_and_comes_again(
    bench: Bench, handlers: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handlers["jobs"], "STEPS", {"export": counting})
    body = body_of_job(bench.begin())
    ticks = iter([30_000, 10_000])
    hurried = type(
        "Hurried", (), {**vars(CONTEXT), "get_remaining_time_in_millis": lambda _self=None: next(ticks)}
    )()
    assert failures(handlers["jobs"].handler({"Records": [call(body)]}, hurried)) == ["message-1"]
    assert list(bench.service.jobs.postponed.values()) == [0]
    assert failures(handlers["jobs"].handler({"Records": [call(body)]}, CONTEXT)) == []
    assert bench.job().state is JobState.COMPLETE


@pytest.mark.parametrize(("attempt", "pause"), [(1, 7), (2, 14), (9, 30)])
def test_what_waits_is_looked_at_ever_less_often(
    bench: Bench, handlers: dict[str, ModuleType], monkeypatch: pytest.MonkeyPatch, attempt: int, pause: int
) -> None:
    monkeypatch.setattr(handlers["jobs"], "STEPS", {"export": waiting})
    record = call(body_of_job(bench.begin()), attempt)
    assert failures(handlers["jobs"].handler({"Records": [record]}, CONTEXT)) == ["message-1"]
    assert list(bench.service.jobs.postponed.values()) == [pause]


def test_a_message_that_calls_for_no_job_is_set_aside(bench: Bench, handlers: dict[str, ModuleType]) -> None:
    strange = body_of_job(JobTask(bench.scope_id, Area.JOB, "job_1", "strange"))
    records = [call("nonsense"), call(strange)]
    assert failures(handlers["jobs"].handler({"Records": records}, CONTEXT)) == []
    assert bench.service.dead_letters.letters == ["nonsense", strange]


def test_a_job_of_a_scope_that_has_no_name_any_more_is_nobodys(
    bench: Bench, handlers: dict[str, ModuleType]
) -> None:
    nameless = JobTask("b" * 52, Area.JOB, "job_1", "tidy")
    assert failures(handlers["jobs"].handler({"Records": [call(body_of_job(nameless))]}, CONTEXT)) == []


def test_a_job_that_stood_still_is_called_again_and_given_its_time(
    bench: Bench, handlers: dict[str, ModuleType]
) -> None:
    task = bench.begin()
    place = (bench.scope_id, job_ref("job_1"))
    bench.service.written[place] = bench.service.clock.now()
    bench.service.clock.pass_(minutes=9)
    assert handlers["sweep"].handler({}, CONTEXT) == {"done": 0, "failed": 0}
    bench.service.clock.pass_(minutes=2)
    revision = bench.job().revision
    assert handlers["sweep"].handler({}, CONTEXT) == {"done": 1, "failed": 0}
    assert bench.service.jobs.tasks == [task]
    assert bench.job().revision == revision + 1  # written anew, and so not due for another ten minutes
    assert bench.run(task) is None


def test_one_scope_in_trouble_does_not_hold_up_another(bench: Bench, handlers: dict[str, ModuleType]) -> None:
    bench.begin()
    bench.service.written[bench.scope_id, job_ref("job_1")] = bench.service.clock.now() - timedelta(hours=1)
    opening = bench.service.sweep_scope
    broken = iter([True])

    def open_scope(scope_id: str) -> object:
        if next(broken, False):
            raise RuntimeError("no")
        return opening(scope_id)

    bench.service.sweep_scope = open_scope  # type: ignore[method-assign,assignment]
    assert handlers["sweep"].handler({}, CONTEXT) == {"done": 0, "failed": 1}
    assert handlers["sweep"].handler({}, CONTEXT) == {"done": 1, "failed": 0}


def test_time_that_runs_out_ends_the_sweep_and_what_is_left_stays_due(
    bench: Bench, handlers: dict[str, ModuleType]
) -> None:
    bench.begin()
    bench.service.written[bench.scope_id, job_ref("job_1")] = bench.service.clock.now() - timedelta(hours=1)
    late = type("Late", (), {**vars(CONTEXT), "get_remaining_time_in_millis": lambda _self=None: 1_000})()
    assert handlers["sweep"].handler({}, late) == {"done": 0, "failed": 0}
    assert len(bench.service.due.until(bench.service.clock.now(), limit=9)) == 1


def test_what_has_expired_leaves_the_documents_and_the_index(bench: Bench) -> None:
    memory = bench.api.remember("Alice is in Rome until Sunday.", ttl_seconds=60)["id"]
    stays = bench.api.remember("Alice lives in Lisbon.", ttl_seconds=10**6)["id"]
    for each in (memory, stays):
        bench.workers.run(each)
    bench.sweep()
    assert bench.workers.base.holds(memory)
    bench.service.clock.pass_(seconds=61)
    assert "Alice is in Rome until Sunday." not in bench.api.recalled("Where is Alice?", limit=50)
    bench.sweep()
    bench.workers.run(memory)
    assert bench.workers.is_clean(memory)
    assert not bench.workers.is_clean(stays)
    assert bench.api.get(memory)["status"] == "expired"
    assert bench.api.get(memory)["version"] == 1
    assert bench.api.events()[-1] == "memory.expired"
    bench.sweep()
    assert bench.api.events().count("memory.expired") == 1
    assert bench.api.verify()["ok"] is True


def test_what_is_given_more_time_before_the_sweep_comes_stays(bench: Bench) -> None:
    memory = bench.api.remember("Alice is in Rome.", ttl_seconds=60)["id"]
    (due,) = [
        each for each in bench.service.due.until(bench.service.clock.now() + timedelta(hours=1), limit=9)
    ]
    assert bench.api.edit(memory, expires_at="2030-01-01T00:00:00Z").status == 200
    opened = bench.service.sweep_scope(due.scope_id)
    assert opened is not None
    sweep(due, opened, bench.service.world, bench.service.jobs)
    assert "memory.expired" not in bench.api.events()


# --- the index against the ledger -------------------------------------------------------------------------


def everything_is_indexed(bench: Bench) -> None:
    index_all(bench.service)


def test_a_scope_in_order_is_left_alone(bench: Bench) -> None:
    everything_is_indexed(bench)
    before = bench.api.events()
    assert bench.tidy() == {}
    assert bench.api.events() == before
    assert bench.job(TIDY).state is JobState.COMPLETE


def test_what_a_generation_lost_is_owed_again(bench: Bench) -> None:
    memory = bench.api.remember("Alice lives in Lisbon.")["id"]
    everything_is_indexed(bench)
    bench.workers.base.lose(memory)
    assert bench.tidy() == {"owed": 1}
    everything_is_indexed(bench)
    assert bench.workers.base.holds(memory)
    assert bench.tidy() == {}


def test_what_a_generation_holds_though_it_was_forgotten_or_taken_back_is_removed(bench: Bench) -> None:
    forgotten, retracted = (bench.api.remember(f"Alice has {n} dogs.")["id"] for n in range(2))
    kept = {i: bench.ledger.read([memory_ref(i)]).get(memory_ref(i)) for i in (forgotten, retracted)}
    bench.api.forget(forgotten)
    bench.api.retract(retracted)
    everything_is_indexed(bench)
    for memory_id, memory in kept.items():
        assert memory is not None
        bench.workers.base.hold(bench.scope_id, memory)
        assert not bench.workers.is_clean(memory_id)
    assert bench.tidy() == {"owed": 1, "removed": 1}
    everything_is_indexed(bench)
    assert bench.workers.is_clean(forgotten)
    assert bench.workers.is_clean(retracted)


def test_a_marker_whose_message_was_lost_sends_another(bench: Bench) -> None:
    memory = bench.api.remember("Alice lives in Lisbon.")["id"]
    assert bench.workers.project(memory) is not None  # and the message is lost
    pending = bench.ledger.read([pending_ref(memory)]).get(pending_ref(memory))
    assert isinstance(pending, Pending)
    assert bench.tidy()["called_again"] == 2
    everything_is_indexed(bench)
    assert bench.workers.base.holds(memory)


def test_each_scope_is_tidied_once_a_day(bench: Bench) -> None:
    bench.tidy()
    revision = bench.job(TIDY).revision
    bench.sweep()
    assert bench.job(TIDY).revision == revision
    bench.tidy()
    assert bench.job(TIDY).revision > revision


def test_every_scope_has_its_shard_and_only_what_waits_is_due() -> None:
    assert {shard_of(f"{n:052d}") for n in range(200)} == set(range(SHARDS))
    due = {name for name, entry in EVERY_ENTRY.items() if due_at(entry, AT)}
    assert due == {"a head", "an erasure at work", "a bare job", "a run", "a marker of a batch"}
    assert due_at(EVERY_ENTRY["a bare job"], AT) == AT + STILL_FOR
