"""Generations of the index: a change goes to all of them, a new one is filled from the ledger, one is read.

What was written is found and what was forgotten is gone from the deployment on that lists a new generation,
through its filling, to the turn of the pointer and after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import FakeService, MemoryReadPointer
from tests.support.http import Caller, principal
from tests.support.knowledge_base import FakeIndex, FakeKnowledgeBase
from tests.support.workers import SCOPE, Workers
from unsay_core.application.generations import Step, fill, fill_all
from unsay_core.application.ledger import Area
from unsay_core.application.reading import REMEMBERED, Reading
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.scope import Action, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from unsay_core.application.ports import DocumentState, IndexScope, IndexTask, OpenScope

NEW = 2


@pytest.fixture
def workers(service: FakeService, api: Caller) -> Workers:
    return Workers(service, api)


@pytest.fixture
def new(service: FakeService) -> FakeKnowledgeBase:
    """The base of a second generation, listed when it is called for and not before."""
    return FakeKnowledgeBase()


@pytest.fixture
def listed(service: FakeService, new: FakeKnowledgeBase) -> FakeKnowledgeBase:
    """The same, listed from the beginning."""
    service.generations[NEW] = new
    return new


def opened(service: FakeService) -> OpenScope:
    return service.open_scope(principal(), Scope.parse(SCOPE), Action.ADMIN)


def filled(service: FakeService, number: int = NEW) -> list[Step]:
    """One walk of a filling."""
    scope = opened(service)
    return list(fill(scope, FakeIndex(service.generations[number], scope.id), service.queue, service.clock))


def delivered(workers: Workers) -> None:
    """Every message that waits, again and again, until none comes back."""
    queue = workers.service.queue
    for _ in range(10):
        left, queue.tasks = queue.tasks, []
        while left:
            queue.tasks += workers.index(*left[:10])
            left = left[10:]
        if not queue.tasks:
            return
    raise AssertionError("the work has no end")


# --- every change goes to all of them -------------------------------------------------------------------


def test_a_memory_is_pending_until_every_generation_has_it(
    workers: Workers, api: Caller, listed: FakeKnowledgeBase
) -> None:
    listed.drops_puts = True
    memory = api.remember("Alice lives in Lisbon.")
    task = workers.project(memory["id"])
    assert workers.index(task) == [task]
    assert workers.base.holds(memory["id"])
    assert api.get(memory["id"])["index"]["state"] == "pending"
    listed.drops_puts = False
    assert workers.index(task) == []
    assert api.get(memory["id"])["index"]["state"] == "indexed"
    assert listed.holds(memory["id"])


def test_a_receipt_is_complete_once_every_generation_was_seen_to_be_empty(
    workers: Workers, api: Caller, listed: FakeKnowledgeBase
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    workers.run(memory["id"])
    listed.drops_deletes = True
    erasure = api.forget(memory["id"])
    task = workers.project(memory["id"])
    assert workers.index(task) == [task]
    assert not workers.base.holds(memory["id"])
    assert workers.receipt_state(erasure["id"]) == "pending"
    listed.drops_deletes = False
    assert workers.index(task) == []
    assert workers.receipt_state(erasure["id"]) == "complete"
    assert workers.is_clean(memory["id"])


class Down:
    """See `Index`: it does not answer."""

    def put(self, *_: object, **__: object) -> None:
        raise UnavailableError("down")

    delete = put

    def states(self, _: Sequence[str]) -> Mapping[str, DocumentState]:
        raise UnavailableError("down")


def test_a_generation_that_is_down_holds_up_no_other(workers: Workers, api: Caller) -> None:
    kept, gone = api.remember("Alice lives in Lisbon."), api.remember("Alice has a dog.")
    workers.run(gone["id"])
    erasure = api.forget(gone["id"])
    plain = workers.service.index_scope(workers.scope_id)
    broken: IndexScope = type(plain)(plain.id, plain.ledger, plain.documents, {0: Down(), **plain.indexes})
    for memory in (kept, gone):
        with pytest.raises(UnavailableError):
            workers.index(workers.project(memory["id"]), scope=broken)
    workers.settle()
    assert workers.base.holds(kept["id"])
    assert not workers.base.holds(gone["id"])
    assert workers.receipt_state(erasure["id"]) == "pending"


def test_a_generation_that_was_down_during_an_edit_gets_the_later_version(
    workers: Workers, api: Caller, listed: FakeKnowledgeBase
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    workers.run(memory["id"])
    api.edit(memory["id"], version=1, content="Alice lives in Porto.")
    task = workers.project(memory["id"])
    plain = workers.service.index_scope(workers.scope_id)
    broken = type(plain)(plain.id, plain.ledger, plain.documents, {**plain.indexes, NEW: Down()})
    with pytest.raises(UnavailableError):
        workers.index(task, scope=broken)
    assert workers.index(task) == []
    for base in (workers.base, listed):
        assert base.documents[workers.scope_id, memory["id"]].fact.content == "Alice lives in Porto."


def test_what_is_pending_when_a_generation_is_added_goes_there_too(
    workers: Workers, api: Caller, service: FakeService, new: FakeKnowledgeBase
) -> None:
    workers.base.drops_puts = True
    memory = api.remember("Alice lives in Lisbon.")
    task = workers.project(memory["id"])
    assert workers.index(task) == [task]
    workers.base.drops_puts = False
    service.generations[NEW] = new
    assert workers.index(task) == []
    assert workers.base.holds(memory["id"])
    assert new.holds(memory["id"])


def test_a_request_to_one_generation_has_another_name_than_to_the_next(
    workers: Workers, api: Caller, listed: FakeKnowledgeBase
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    workers.run(memory["id"])
    assert workers.base.tokens
    assert not workers.base.tokens & listed.tokens


# --- a new one is filled --------------------------------------------------------------------------------


@pytest.fixture
def before(workers: Workers, api: Caller) -> list[str]:
    """Memories that are older than the new generation."""
    ids = [api.remember(f"Fact number {number}.")["id"] for number in range(25)]
    api.retract(ids[-1])
    for memory_id in ids:
        workers.run(memory_id)
    return ids[:-1]


def test_a_new_generation_has_every_memory_that_belongs_into_an_index(
    workers: Workers, service: FakeService, before: list[str], listed: FakeKnowledgeBase
) -> None:
    (step,) = filled(service)
    assert (step.seen, step.missing) == (len(before), len(before))
    delivered(workers)
    (step,) = filled(service)
    assert (step.seen, step.missing) == (len(before), 0)
    assert {memory_id for _, memory_id in listed.documents} == set(before)


def test_filling_costs_the_ledger_nothing_and_is_no_backlog(
    workers: Workers, service: FakeService, api: Caller, before: list[str], listed: FakeKnowledgeBase
) -> None:
    chain = api.verify(SCOPE)["length"]
    filled(service)
    assert service.ledgers[workers.scope_id].page(Area.PENDING, limit=9) == []
    answer = api.recall("Fact number 3")
    assert (answer["degraded"], answer["reasons"]) == (False, [])
    delivered(workers)
    assert api.verify(SCOPE)["length"] == chain


def test_a_filling_that_was_interrupted_asks_for_the_rest(
    workers: Workers, service: FakeService, before: list[str], listed: FakeKnowledgeBase
) -> None:
    filled(service)
    service.queue.tasks = service.queue.tasks[:7]  # the process was killed while it sent
    delivered(workers)
    (step,) = filled(service)
    assert (step.missing, len(service.queue.tasks)) == (len(before) - 7, len(before) - 7)


def test_what_a_marker_owes_is_not_missing(
    workers: Workers, service: FakeService, api: Caller, listed: FakeKnowledgeBase
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    (step,) = filled(service)
    assert (step.seen, step.missing) == (1, 0)
    assert api.recalled("Where does Alice live?") == ["Alice lives in Lisbon."]
    workers.run(memory["id"])
    assert listed.holds(memory["id"])


def test_a_filling_waits_behind_what_already_waits(
    service: FakeService, before: list[str], listed: FakeKnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting = iter([900, 501, 500])
    monkeypatch.setattr(service.queue, "waiting", lambda: next(waiting))
    begun = service.clock.monotonic()
    filled(service)
    assert service.clock.monotonic() == begun + 2
    assert len(service.queue.tasks) == len(before)


def test_scopes_are_walked_until_none_lacks_anything(service: FakeService) -> None:
    lacks = {"a": [0], "b": [3, 1, 0], "c": [0]}

    def walk(scope: str) -> Iterator[Step]:
        yield Step(5, lacks[scope].pop(0), 0)

    told = list(fill_all(list(lacks), walk, service.clock))
    assert (told[-1].complete, told[-1].seen, told[-1].missing) == (3, 15, 0)
    assert [one.missing for one in told] == [0, 3, 3, 1, 0, 0]
    assert lacks == {"a": [], "b": [], "c": []}


def test_what_a_generation_refuses_is_counted(
    service: FakeService, before: list[str], listed: FakeKnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    from unsay_core.application.ports import DocumentState

    def failed(_: FakeIndex, ids: Sequence[str]) -> Mapping[str, DocumentState]:
        return {memory_id: DocumentState(settled=True, present=True, failed=True) for memory_id in ids}

    monkeypatch.setattr(FakeIndex, "states", failed)
    (step,) = filled(service)
    assert step.missing == step.refused == len(before)


# --- and races with changes that go on ------------------------------------------------------------------


class Interrupted:
    """A port in which something happens before its call number `at`."""

    def __init__(self, port: object, at: int, happens: Callable[[], None]) -> None:
        self._port, self._left, self._happens = port, at, happens

    def __getattr__(self, name: str) -> object:
        member = getattr(self._port, name)

        def call(*args: object, **kwargs: object) -> object:
            if self._left == 0:
                self._happens()
            self._left -= 1
            return member(*args, **kwargs)

        return call


@pytest.mark.parametrize("at", range(4))
@pytest.mark.parametrize("order", ["filling first", "forget first"])
def test_a_forget_between_any_two_steps_of_a_filling_leaves_nothing(
    workers: Workers, service: FakeService, api: Caller, before: list[str], listed: FakeKnowledgeBase,
    at: int, order: str,
) -> None:  # fmt: skip
    gone, kept = before[3], before[4]
    erasures: list[str] = []

    def forget() -> None:
        erasures.append(api.forget(gone)["id"])

    scope = opened(service)
    index = FakeIndex(listed, scope.id)
    list(fill(scope, Interrupted(index, at, forget), service.queue, service.clock))  # type: ignore[arg-type]
    if not erasures:
        forget()
    delete = workers.project(gone)
    tasks: list[IndexTask] = [task for task in [delete] if task]
    queued = service.queue.tasks
    service.queue.tasks = [*queued, *tasks] if order == "filling first" else [*tasks, *queued]
    delivered(workers)
    assert workers.is_clean(gone)
    assert listed.holds(kept)
    assert workers.receipt_state(erasures[0]) == "complete"


def test_an_edit_during_a_filling_ends_with_the_later_version(
    workers: Workers, service: FakeService, api: Caller, before: list[str], listed: FakeKnowledgeBase
) -> None:
    filled(service)
    api.edit(before[0], version=1, content="Said better.")
    task = workers.project(before[0])
    service.queue.tasks += [task] if task else []
    delivered(workers)
    assert listed.documents[workers.scope_id, before[0]].fact.content == "Said better."
    assert service.ledgers[workers.scope_id].page(Area.PENDING, limit=9) == []


# --- one is read ----------------------------------------------------------------------------------------


@pytest.fixture
def pointer() -> MemoryReadPointer:
    return MemoryReadPointer()


def test_with_one_generation_nobody_is_asked(service: FakeService, pointer: MemoryReadPointer) -> None:
    assert Reading([4], pointer, service.clock).generation() == 4
    assert pointer.looks == 0


def test_until_somebody_points_the_oldest_is_read(service: FakeService, pointer: MemoryReadPointer) -> None:
    assert Reading([2, 1], pointer, service.clock).generation() == 1


def test_a_turned_pointer_is_followed_within_a_minute(
    service: FakeService, pointer: MemoryReadPointer
) -> None:
    reading = Reading([1, 2], pointer, service.clock)
    assert reading.generation() == 1
    pointer.turn(2, instead_of=None)
    assert (reading.generation(), pointer.looks) == (1, 1)
    service.clock.sleep(REMEMBERED)
    assert (reading.generation(), pointer.looks) == (2, 2)


def test_a_pointer_at_what_is_not_listed_counts_for_nothing(
    service: FakeService, pointer: MemoryReadPointer
) -> None:
    pointer.turn(1, instead_of=None)
    assert Reading([2, 3], pointer, service.clock).generation() == 2


def test_a_pointer_out_of_reach_leaves_what_is_known(
    service: FakeService, pointer: MemoryReadPointer
) -> None:
    pointer.turn(2, instead_of=None)
    reading = Reading([1, 2], pointer, service.clock)
    assert reading.generation() == 2
    pointer.down = UnavailableError("down")
    service.clock.sleep(REMEMBERED)
    assert reading.generation() == 2
    assert Reading([1, 2], pointer, service.clock).generation() == 1
