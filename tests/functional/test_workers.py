"""Documents and index follow the ledger, in whatever order and however often their work arrives.

Each race of a late write with a forget is played through: at the end neither document nor index holds what
was forgotten, its neighbour is still there, and the receipt is complete only after absence was seen.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import FakeService, MemoryRegistry
from tests.support.http import Caller
from tests.support.workers import Workers, project_memory
from unsay_core.application.index_memories import index_memories
from unsay_core.application.ledger import Area, Delete, Pending, memory_ref, pending_ref
from unsay_core.application.ports import IndexScope, IndexTask, WorkScope
from unsay_core.application.project import domain_event

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unsay_core.application.ledger import Change
    from unsay_core.domain.memory import Memory


class Died(BaseException):
    """A worker that was killed: nothing of it catches this."""


@pytest.fixture
def workers(service: FakeService, api: Caller) -> Iterator[Workers]:
    """Workers with a neighbour that is indexed before and must be after."""
    found = Workers(service, api)
    neighbour = api.remember("The neighbour stays.")
    found.run(neighbour["id"])
    yield found
    assert found.documents.exists(neighbour["id"])
    assert found.base.holds(neighbour["id"])
    assert api.get(neighbour["id"])["index"]["state"] == "indexed"


def test_a_memory_is_pending_until_the_index_is_known_to_hold_it(workers: Workers, api: Caller) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    assert api.get(memory["id"])["index"]["state"] == "pending"
    task = workers.project(memory["id"])
    assert workers.documents.exists(memory["id"])
    assert task is not None
    assert workers.index(task) == []
    found = api.get(memory["id"]).body
    assert found["index"]["state"] == "indexed"
    assert found["version"] == 1
    assert api.recall("Where does Alice live?")["items"][0]["scores"]["semantic"] is not None


def test_what_was_superseded_goes_on_being_held_for_questions_about_the_past(
    workers: Workers, api: Caller
) -> None:
    old = api.remember("Alice lives in Lisbon.")
    workers.run(old["id"])
    new = api.correct(old["id"], "Alice lives in Porto.")
    for memory in (new, old):
        workers.run(memory["id"])
    held = workers.base.documents[workers.scope_id, old["id"]]
    assert held.status.value == "superseded"
    assert api.get(old["id"])["index"]["state"] == "indexed"


def test_the_receipt_is_complete_once_both_stores_were_seen_to_be_empty(
    workers: Workers, api: Caller
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    workers.run(memory["id"])
    erasure = api.forget(memory["id"])
    assert workers.receipt_state(erasure["id"]) == "pending"
    task = workers.project(memory["id"])
    assert workers.receipt_state(erasure["id"]) == "pending"
    assert workers.index(task) == []
    assert workers.receipt_state(erasure["id"]) == "complete"
    found = api.receipt(erasure["id"]).body
    assert (found["state"], {s["state"] for s in found["stores"][:5]}) == ("complete", {"absent"})
    assert found["completed_at"] > found["requested_at"]
    assert all(store["proof"] for store in found["stores"])
    assert workers.is_clean(memory["id"])


def test_a_knowledge_base_that_drops_deletes_keeps_the_receipt_pending(workers: Workers, api: Caller) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    workers.run(memory["id"])
    workers.base.drops_deletes = True
    erasure = api.forget(memory["id"])
    task = workers.project(memory["id"])
    for _ in range(3):
        assert workers.index(task) == [task]
    assert workers.receipt_state(erasure["id"]) == "pending"
    assert workers.base.holds(memory["id"])
    assert "Alice lives in Lisbon." not in api.recalled("Where does Alice live? Lisbon", limit=50)
    workers.base.drops_deletes = False
    assert workers.index(task) == []
    assert workers.receipt_state(erasure["id"]) == "complete"
    assert workers.is_clean(memory["id"])


def test_a_knowledge_base_that_answers_with_what_it_says_is_gone_keeps_the_receipt_pending(
    workers: Workers, api: Caller
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    api.remember("Alice has a dog.")
    workers.run(memory["id"])
    workers.base.keeps_answering = True
    erasure = api.forget(memory["id"])
    assert workers.index(workers.project(memory["id"])) == []
    assert not workers.base.holds(memory["id"]), "so it says"
    for _ in range(3):
        assert workers.receipt_state(erasure["id"]) == "pending"
        assert workers.index(workers.project(memory["id"])) == []
        assert "Alice lives in Lisbon." not in api.recalled("Where does Alice live? Lisbon", limit=50)
    assert api.receipt(erasure["id"])["waits_for"] == "index 1"
    workers.base.keeps_answering = False
    workers.run(memory["id"])
    assert workers.receipt_state(erasure["id"]) == "complete"
    assert api.receipt(erasure["id"])["waits_for"] is None


def test_a_knowledge_base_that_lags_for_an_hour_keeps_the_receipt_pending_and_is_seen_to(
    workers: Workers, api: Caller
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    workers.run(memory["id"])
    erasure = api.forget(memory["id"])
    task, clock = workers.project(memory["id"]), workers.service.clock
    asked = workers.service.index_scope(workers.scope_id)
    for _ in range(6):
        assert index_memories([task] if task else [], asked, clock, "once") == [task]
        clock.pass_(minutes=10)
        assert workers.receipt_state(erasure["id"]) == "pending"
        assert "Alice lives in Lisbon." not in api.recalled("Where does Alice live? Lisbon", limit=50)
    workers.settle()
    assert workers.index(task) == []
    assert workers.receipt_state(erasure["id"]) == "complete"


def test_a_knowledge_base_that_drops_puts_leaves_the_memory_pending_and_findable(
    workers: Workers, api: Caller
) -> None:
    workers.base.drops_puts = True
    memory = api.remember("Alice lives in Lisbon.")
    task = workers.project(memory["id"])
    assert workers.index(task) == [task]
    assert api.get(memory["id"])["index"]["state"] == "pending"
    assert api.recalled("Where does Alice live?")[0] == "Alice lives in Lisbon."
    workers.base.drops_puts = False
    assert workers.index(task) == []


def test_ten_memories_are_noted_and_finished_in_one_change_each(workers: Workers, api: Caller) -> None:
    memories = api.batch([{"content": f"Green tea, cup {n}."} for n in range(10)])["results"]
    tasks = [workers.project(each["memory"]["id"]) for each in memories]
    ledger, touched = workers.service.ledgers[workers.scope_id], []
    commit = ledger.commit

    def counted(change: Change) -> None:
        touched.append({part.ref.area for part in change})
        commit(change)

    ledger.commit = counted  # type: ignore[method-assign]
    assert workers.index(*tasks) == []
    assert touched.count({Area.PENDING}) == touched.count({Area.PENDING, Area.MEMORY}) == 1


def test_one_that_has_moved_on_holds_up_no_other(workers: Workers, api: Caller) -> None:
    first, second = (api.remember(text)["id"] for text in ("Green tea.", "Black tea."))
    tasks = [workers.project(memory_id) for memory_id in (first, second)]
    ledger = workers.service.ledgers[workers.scope_id]
    commit = ledger.commit

    def edited_meanwhile(change: Change) -> None:
        if any(isinstance(part, Delete) and part.ref == pending_ref(second) for part in change):
            ledger.commit = commit  # type: ignore[method-assign]
            api.edit(first, importance=0.9)
        commit(change)

    ledger.commit = edited_meanwhile  # type: ignore[method-assign]
    workers.index(*tasks)
    assert api.get(first)["index"]["state"] == "pending"
    assert api.get(second)["index"]["state"] == "indexed"


def test_a_chain_of_erasures_completes_when_the_last_of_them_is_gone(workers: Workers, api: Caller) -> None:
    first = api.remember("Alice lives in Lisbon.")
    second = api.correct(first["id"], "Alice lives in Porto.")
    for memory in (first, second):
        workers.run(memory["id"])
    erasure = api.forget(second["id"])
    workers.run(second["id"])
    assert workers.receipt_state(erasure["id"]) == "pending"
    workers.run(first["id"])
    assert workers.receipt_state(erasure["id"]) == "complete"


# --- the race of a late write with a forget -------------------------------------------------------------


class Interrupting:
    """A port of a worker in which something happens before one of its calls, or instead of the rest."""

    def __init__(self, port: object, calls: Iterator[int], at: int, happens: Callable[[], None]) -> None:
        self._port, self._calls, self._at, self._happens = port, calls, at, happens

    def __getattr__(self, name: str) -> object:
        member = getattr(self._port, name)

        def call(*args: object, **kwargs: object) -> object:
            if next(self._calls) == self._at:
                self._happens()
            return member(*args, **kwargs)

        return call


def interrupted(workers: Workers, at: int, happens: Callable[[], None]) -> tuple[WorkScope, IndexScope]:
    """The scopes of both workers; before their call number `at`, this happens."""
    calls = itertools.count()
    plain = workers.service.index_scope(workers.scope_id)
    ledger, documents, index = (
        Interrupting(port, calls, at, happens) for port in (plain.ledger, plain.documents, plain.indexes[1])
    )
    work = WorkScope(plain.id, ledger, documents)  # type: ignore[arg-type]
    return work, IndexScope(plain.id, ledger, documents, {1: index})  # type: ignore[arg-type]


STEPS = range(14)


def deliver_all(workers: Workers, memory_id: str, tasks: Sequence[IndexTask | None]) -> None:
    """Redeliver every message that is not done, and every stream record, until all is quiet."""
    left = [task for task in tasks if task]
    for _ in range(6):
        task = workers.project(memory_id)
        left = workers.index(*dict.fromkeys([*left, *([task] if task else [])]))
    assert left == []


@pytest.mark.parametrize("at", STEPS)
@pytest.mark.parametrize("order", ["put first", "delete first", "together", "put twice"])
def test_a_forget_between_any_two_steps_of_a_put_leaves_nothing(
    workers: Workers, api: Caller, at: int, order: str
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    erasures: list[str] = []

    def forget() -> None:
        erasures.append(api.forget(memory["id"])["id"])

    work, index = interrupted(workers, at, forget)
    put = project_memory(memory["id"], work, MemoryRegistry(), workers.service.world)
    left = workers.index(put, scope=index)
    if not erasures:
        forget()
    delete = workers.project(memory["id"])
    match order:
        case "put first":
            rounds = [[put], [delete]]
        case "delete first":
            rounds = [[delete], [put]]
        case "together":
            rounds = [[put, delete]]
        case _:
            rounds = [[put], [put], [delete], [put]]
    for tasks in rounds:
        left += workers.index(*tasks)
    deliver_all(workers, memory["id"], [*left, put, delete])
    assert workers.is_clean(memory["id"])
    assert workers.receipt_state(erasures[0]) == "complete"
    assert api.get(memory["id"]).status == 404


@pytest.mark.parametrize("at", STEPS)
def test_a_worker_killed_before_any_step_of_a_put_is_made_good_by_the_redelivery(
    workers: Workers, api: Caller, at: int
) -> None:
    memory = api.remember("Alice lives in Lisbon.")

    def die() -> None:
        raise Died

    work, index = interrupted(workers, at, die)
    put = None
    try:
        put = project_memory(memory["id"], work, MemoryRegistry(), workers.service.world)
        workers.index(put, scope=index)
    except Died:
        pass
    deliver_all(workers, memory["id"], [put])
    assert workers.documents.exists(memory["id"])
    assert (workers.scope_id, memory["id"]) in workers.base.documents
    assert api.get(memory["id"])["index"]["state"] == "indexed"


@pytest.mark.parametrize("at", STEPS)
def test_a_worker_killed_before_any_step_of_a_delete_is_made_good_by_the_redelivery(
    workers: Workers, api: Caller, at: int
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    workers.run(memory["id"])
    erasure = api.forget(memory["id"])["id"]

    def die() -> None:
        raise Died

    work, index = interrupted(workers, at, die)
    delete = None
    try:
        delete = project_memory(memory["id"], work, MemoryRegistry(), workers.service.world)
        workers.index(delete, scope=index)
    except Died:
        pass
    deliver_all(workers, memory["id"], [delete])
    assert workers.is_clean(memory["id"])
    assert workers.receipt_state(erasure) == "complete"


@pytest.mark.parametrize("at", STEPS)
def test_a_put_that_sleeps_through_a_whole_forget_leaves_nothing(
    workers: Workers, api: Caller, at: int
) -> None:
    """A worker stops before a step; meanwhile the forget runs to its very end; then the worker goes on."""
    memory = api.remember("Alice lives in Lisbon.")
    erasures: list[str] = []

    def forget_whole() -> None:
        erasures.append(api.forget(memory["id"])["id"])
        workers.run(memory["id"])

    work, index = interrupted(workers, at, forget_whole)
    put = project_memory(memory["id"], work, MemoryRegistry(), workers.service.world)
    left = workers.index(put, scope=index)
    if not erasures:
        forget_whole()
    deliver_all(workers, memory["id"], [*left, put])
    assert workers.is_clean(memory["id"])
    assert workers.receipt_state(erasures[0]) == "complete"


def test_a_document_stored_late_by_a_worker_that_then_died_is_removed_on_redelivery(
    workers: Workers, api: Caller
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    scope = workers.service.work_scope(workers.scope_id)
    plain = scope.documents

    class PutsLateAndDies:
        def put(self, late: Memory) -> None:
            api.forget(memory["id"])
            workers.run(memory["id"])
            plain.put(late)
            raise Died

    late = WorkScope(scope.id, scope.ledger, PutsLateAndDies())  # type: ignore[arg-type]
    with pytest.raises(Died):
        project_memory(memory["id"], late, MemoryRegistry(), workers.service.world)
    assert workers.documents.exists(memory["id"])
    assert workers.project(memory["id"]) is None
    assert workers.is_clean(memory["id"])


def test_a_document_stored_during_a_forget_is_removed_by_whoever_stored_it(
    workers: Workers, api: Caller
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    scope = workers.service.work_scope(workers.scope_id)

    def forget_whole() -> None:
        api.forget(memory["id"])
        workers.run(memory["id"])

    late = Interrupting(scope.documents, itertools.count(), 0, forget_whole)
    interrupted = WorkScope(scope.id, scope.ledger, late)  # type: ignore[arg-type]
    project_memory(memory["id"], interrupted, MemoryRegistry(), workers.service.world)
    assert workers.is_clean(memory["id"])


def test_a_receipt_is_not_complete_while_a_document_is_there(workers: Workers, api: Caller) -> None:
    """The message overtook the stream record: the index is empty, the document is not."""
    memory = api.remember("Alice lives in Lisbon.")
    workers.run(memory["id"])
    erasure = api.forget(memory["id"])
    assert workers.documents.exists(memory["id"])
    workers.index(IndexTask(workers.scope_id, memory["id"], erasure["audit_seq"]))
    assert workers.receipt_state(erasure["id"]) == "complete"
    assert not workers.documents.exists(memory["id"])


def test_an_old_message_after_newer_work_was_done_changes_nothing(workers: Workers, api: Caller) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    old = workers.project(memory["id"])
    assert workers.index(old) == []
    before = list(workers.base.requests)
    for _ in range(3):
        assert workers.index(old, old) == []
    assert workers.base.requests == before


def test_an_old_message_before_newer_work_leaves_it_to_the_newer(workers: Workers, api: Caller) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    old = workers.project(memory["id"])
    api.correct(memory["id"], "Alice lives in Porto.")
    before = list(workers.base.requests)
    assert workers.index(old) == []
    assert workers.base.requests == before
    workers.run(memory["id"])
    assert workers.base.documents[workers.scope_id, memory["id"]].version == 2


def test_a_correction_during_a_put_ends_with_the_later_version(workers: Workers, api: Caller) -> None:
    for at in STEPS:
        memory = api.remember(f"Alice lives in house {at}.")
        work, index = interrupted(
            workers, at, lambda m=memory, n=at: api.correct(m["id"], f"Alice lives in flat {n}.") and None
        )
        put = project_memory(memory["id"], work, MemoryRegistry(), workers.service.world)
        left = workers.index(put, scope=index)
        deliver_all(workers, memory["id"], [*left, put])
        version = api.get(memory["id"])["version"]
        assert workers.base.documents[workers.scope_id, memory["id"]].version == version
        assert workers.documents.objects[memory["id"]].version == version
        assert api.get(memory["id"])["index"]["state"] == "indexed"


def test_one_message_can_hold_work_of_many_memories_in_both_directions(workers: Workers, api: Caller) -> None:
    kept = [api.remember(f"Fact {number}.")["id"] for number in range(5)]
    gone = [api.remember(f"Secret {number}.")["id"] for number in range(5)]
    tasks = [workers.project(memory_id) for memory_id in (*kept, *gone)]
    assert workers.index(*tasks) == []
    for memory_id in gone:
        api.forget(memory_id)
    more = [api.remember(f"More {number}.")["id"] for number in range(5)]
    assert workers.index(*[workers.project(memory_id) for memory_id in (*more, *gone)]) == []
    assert all(workers.is_clean(memory_id) for memory_id in gone)
    assert all((workers.scope_id, i) in workers.base.documents for i in (*kept, *more))


def test_nothing_is_left_pending_at_the_end(workers: Workers, api: Caller) -> None:
    ledger = workers.service.ledgers[workers.scope_id]
    memory = api.remember("Alice lives in Lisbon.")
    assert isinstance(ledger.read([pending_ref(memory["id"])]).get(pending_ref(memory["id"])), Pending)
    workers.run(memory["id"])
    assert ledger.page(Area.PENDING, limit=9) == []


def test_a_worker_of_one_scope_touches_no_other(workers: Workers, api: Caller) -> None:
    mine = api.remember("Alice lives in Lisbon.")
    theirs = api.remember("Bob lives in Lisbon.", "acme/bob")
    assert workers.project(theirs["id"]) is None
    assert not workers.documents.exists(theirs["id"])
    workers.run(mine["id"])
    assert workers.documents.exists(mine["id"])
    assert {scope for scope, _ in workers.base.documents} == {workers.scope_id}


def test_an_event_for_the_outside_has_ids_and_never_text(workers: Workers, api: Caller) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    scope = workers.service.work_scope(workers.scope_id)
    found = domain_event(2, scope)
    assert found is not None
    kind, detail = found
    assert kind == "memory.remembered"
    assert (detail["memory_id"], detail["seq"], detail["scope_id"]) == (memory["id"], 2, workers.scope_id)
    assert "Lisbon" not in repr(found)
    assert domain_event(99, scope) is None


def test_a_memory_forgotten_before_anything_was_projected_completes_too(
    workers: Workers, api: Caller
) -> None:
    memory = api.remember("Alice lives in Lisbon.")
    erasure = api.forget(memory["id"])
    workers.run(memory["id"])
    assert workers.receipt_state(erasure["id"]) == "complete"
    ledger = workers.service.ledgers[workers.scope_id]
    assert ledger.read([memory_ref(memory["id"])]).memories() == []


def test_an_item_without_words_keeps_its_document_and_owes_the_index_nothing(workers: Workers) -> None:
    api = workers.api
    item = api.remember("", kind="item", key="k", data={"n": 1})["id"]
    workers.run(item)
    assert workers.documents.exists(item)
    assert (workers.scope_id, item) not in workers.base.documents
    assert api.get(item)["index"]["state"] == "indexed"
    assert api.remember("Words.", kind="item", key="k")["version"] == 2
    workers.run(item)
    assert (workers.scope_id, item) in workers.base.documents
    api.remember("", kind="item", key="k")
    workers.run(item)
    assert (workers.scope_id, item) not in workers.base.documents
    assert workers.documents.exists(item)
    assert api.statistics()["index"]["pending"] == 0


def test_what_was_taken_back_is_not_waited_for(workers: Workers) -> None:
    api = workers.api
    kept, gone = (api.remember(text)["id"] for text in ("Kept.", "Never true."))
    api.retract(gone)
    for memory_id in (kept, gone):
        workers.run(memory_id)
    assert api.statistics()["index"] == {"pending": 0, "oldest_pending": None}
