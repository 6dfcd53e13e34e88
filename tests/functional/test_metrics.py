"""What is told of what happens, by which metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.support.candidates import candidate
from tests.support.erasing import Eraser
from tests.support.workers import Workers, index_all
from unsay_core.application.index_memories import index_memories
from unsay_core.application.ledger import audit_ref
from unsay_core.application.sweep import tell_waiting
from unsay_core.metrics import (
    CANDIDATES_WAITING,
    CHAIN_VERIFIED,
    ERASURES_PENDING,
    INDEX_LAG,
    MEMORY_BYTES,
    OLDEST_CANDIDATE,
    OLDEST_ERASURE,
    OLDEST_PENDING,
    RECALL_TIME,
    TOMBSTONE_HITS,
    WRITE_TO_RECALLABLE,
)

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from tests.support.http import Caller

WORDS = "I live in Lisbon."


def swept(service: FakeService) -> None:
    tell_waiting(service.due, service.clock.now(), service.signals)


def test_a_recall_says_how_long_it_took(api: Caller, service: FakeService) -> None:
    api.remember(WORDS)
    api.recall("Lisbon")
    assert len(service.signals.values(RECALL_TIME)) == 1


def test_a_write_says_how_big_it_was_and_how_long_it_took_to_reach_the_index(
    api: Caller, service: FakeService
) -> None:
    memory, workers = api.remember(WORDS), Workers(service, api)
    service.clock.pass_(seconds=7)
    workers.run(memory["id"])
    assert service.signals.values(MEMORY_BYTES) == [len(WORDS)]
    (lag,), (reached,) = service.signals.values(INDEX_LAG), service.signals.values(WRITE_TO_RECALLABLE)
    assert 7 < lag <= reached < 12
    assert service.signals.values(OLDEST_PENDING) == []


def test_what_the_index_does_not_show_yet_says_how_old_it_is(api: Caller, service: FakeService) -> None:
    memory, workers = api.remember(WORDS), Workers(service, api)
    task = workers.project(memory["id"])
    assert task
    service.clock.pass_(minutes=20)
    scope = service.index_scope(workers.scope_id)
    assert index_memories([task], scope, service.clock, "1", service.signals) == [task]
    assert 1200 < max(service.signals.values(OLDEST_PENDING)) < 1210
    assert service.signals.values(WRITE_TO_RECALLABLE) == []


def test_what_a_tombstone_kept_out_is_counted_by_the_way_it_came(api: Caller, service: FakeService) -> None:
    memory = api.remember(WORDS)
    api.forget(memory["id"])
    assert service.signals.values(TOMBSTONE_HITS) == []
    api.remember(WORDS)
    assert service.signals.values(TOMBSTONE_HITS, channel="api") == [1]


def test_a_chain_that_was_verified_says_what_was_found(api: Caller, service: FakeService) -> None:
    api.remember(WORDS)
    index_all(service)
    api.verify()
    assert service.signals.values(CHAIN_VERIFIED, result="whole") == [1]
    (ledger,) = service.ledgers.values()
    del ledger._entries[audit_ref(1)]  # type: ignore[arg-type]
    api.verify()
    assert service.signals.values(CHAIN_VERIFIED, result="broken") == [1]


def test_candidates_and_erasures_that_wait_are_counted_with_their_age(
    api: Caller, service: FakeService
) -> None:
    swept(service)
    gauges = (CANDIDATES_WAITING, OLDEST_CANDIDATE, ERASURES_PENDING, OLDEST_ERASURE)
    assert [service.signals.values(gauge) for gauge in gauges] == [[0], [0], [0], [0]]
    candidate(service, WORDS)
    service.clock.pass_(hours=2)
    api.remember("A dog.", tags=["dog"])
    Eraser(service, api).forget(filter={"tags": ["dog"]})
    swept(service)
    waiting, age, pending, oldest = [service.signals.values(gauge)[-1] for gauge in gauges]
    assert (waiting, pending) == (1, 1)
    assert 7200 < age < 7201
    assert oldest > 0  # by when its id was made


def test_nothing_that_is_told_says_a_word_or_whose_it_is(api: Caller, service: FakeService) -> None:
    api.remember(WORDS, key="home", tags=["city"])
    index_all(service)
    api.recall("Lisbon")
    swept(service)
    told = str(service.signals.told)
    assert "RecallTime" in told
    assert not [word for word in ("Lisbon", "home", "city", "acme", "alice") if word in told]
