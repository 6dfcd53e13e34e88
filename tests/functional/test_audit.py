"""`GET /v1/audit/verify`: one unforked chain per scope, in which nothing can be changed unseen."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller, persistently, principal
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application.ledger import HEAD, Area, Delete, Head, Put, audit_ref
from unsay_core.domain.audit import AuditEntry, Event, Happening, entry_hash, sealed


@pytest.fixture
def ledger(api: Caller, service: FakeService) -> MemoryLedger:
    """A scope with six entries of every kind of event."""
    first = api.remember("Alice lives in Lisbon.", source={"quote": "Lisbon"})
    second = api.correct(first["id"], "Alice lives in Porto.", note="she moved")
    api.forget(second["id"])
    api.remember("Alice lives in Lisbon.")
    api.remember("the key is AKIAIOSFODNN7EXAMPLE")
    api.remember("Alice has a dog.")
    (ledger,) = service.ledgers.values()
    return ledger


def entries(ledger: MemoryLedger) -> list[AuditEntry]:
    return [entry for entry in ledger.page(Area.AUDIT, limit=10_000) if isinstance(entry, AuditEntry)]


def overwrite(ledger: MemoryLedger, seq: int, entry: AuditEntry) -> None:
    """Put an entry where another lies, as somebody with the table's keys could."""
    ledger._entries[audit_ref(seq)] = entry  # type: ignore[index]


def test_an_untouched_chain_holds(api: Caller, ledger: MemoryLedger) -> None:
    found = api.verify()
    head = {"seq": 6, "hash": entries(ledger)[-1].hash}
    assert found.body == {
        "ok": True,
        "complete": True,
        "next": None,
        "length": 6,
        "head": head,
        "first_bad": None,
        "anchored": None,
    }


def test_a_scope_that_was_never_used_has_an_empty_chain_that_holds(api: Caller) -> None:
    found = api.verify("acme/nobody")
    assert (found["ok"], found["complete"], found["length"]) == (True, True, 0)


def test_each_change_is_one_event_and_each_refusal_by_policy_too(ledger: MemoryLedger) -> None:
    assert [(entry.seq, entry.happening.event, entry.happening.reason) for entry in entries(ledger)] == [
        (1, Event.REMEMBERED, None),
        (2, Event.CORRECTED, "changed"),
        (3, Event.FORGOTTEN, "user_request"),
        (4, Event.REFUSED, "tombstoned"),
        (5, Event.REFUSED, "secret"),
        (6, Event.REMEMBERED, None),
    ]


def test_what_changes_nothing_is_no_event(api: Caller, ledger: MemoryLedger) -> None:
    api.remember("Alice has a dog.")
    api.remember("")
    api.as_(principal("acme/bob")).remember("x")
    api.as_(None).remember("x")
    api.forget("mem_01jabcdefghjkmnpqrstvwxyz0")
    memory = api.remember("x", headers={"idempotency_key": "k"})
    api.remember("x", headers={"idempotency_key": "k"})
    api.correct(memory["id"], "y", version=None)
    api.correct(memory["id"], "y", version=7)
    api.recall()
    api.list()
    assert api.verify()["length"] == 7


def test_the_actor_is_the_authenticated_principal(api: Caller, service: FakeService) -> None:
    api.as_(principal(key="key_somebody")).remember("x", scope="s")
    (ledger,) = service.ledgers.values()
    assert [entry.actor for entry in entries(ledger)] == ["key_somebody"]


def test_events_carry_digests_and_never_text(ledger: MemoryLedger) -> None:
    text = repr(entries(ledger))
    for word in ("Lisbon", "Porto", "dog", "moved", "AKIA"):
        assert word not in text
    assert entries(ledger)[0].happening.commitment
    assert entries(ledger)[1].happening.note_digest


def test_a_commitment_of_a_forgotten_text_cannot_be_tested_with_a_guess(
    api: Caller, service: FakeService
) -> None:
    for scope in ("s", "t"):
        api.remember("Alice lives in Lisbon.", scope)
    commitments = {entries(ledger)[0].happening.commitment for ledger in service.ledgers.values()}
    assert len(commitments) == 2


def changed(value: Any) -> Any:
    """Another value of the same type."""
    match value:
        case None:
            return "something"
        case Event():
            return Event.REMEMBERED if value is not Event.REMEMBERED else Event.FORGOTTEN
        case int():
            return value + 1
        case str():
            return value[:-1] + ("0" if not value.endswith("0") else "1")
        case tuple():
            return (*value, "mem_x")
        case _:
            return value + timedelta(microseconds=1)


@pytest.mark.parametrize("seq", [1, 3, 6])
@pytest.mark.parametrize("name", [f.name for f in fields(AuditEntry) if f.name != "happening"])
def test_a_changed_field_is_found(api: Caller, ledger: MemoryLedger, name: str, seq: int) -> None:
    entry = entries(ledger)[seq - 1]
    overwrite(ledger, seq, replace(entry, **{name: changed(getattr(entry, name))}))
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, seq)
    overwrite(ledger, seq, entry)
    assert api.verify()["ok"] is True


@pytest.mark.parametrize("seq", [1, 3, 6])
@pytest.mark.parametrize("name", [f.name for f in fields(Happening)])
def test_a_changed_field_of_what_happened_is_found(
    api: Caller, ledger: MemoryLedger, name: str, seq: int
) -> None:
    entry = entries(ledger)[seq - 1]
    happening = replace(entry.happening, **{name: changed(getattr(entry.happening, name))})
    overwrite(ledger, seq, replace(entry, happening=happening))
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, seq)


@pytest.mark.parametrize("seq", [1, 2, 5, 6])
def test_a_removed_entry_is_found(api: Caller, ledger: MemoryLedger, seq: int) -> None:
    ledger.commit((Delete(audit_ref(seq)),))
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, seq)


@pytest.mark.parametrize("left", [0, 1, 4])
def test_a_cut_tail_is_found(api: Caller, ledger: MemoryLedger, left: int) -> None:
    ledger.commit(tuple(Delete(audit_ref(seq)) for seq in range(left + 1, 7)))
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, left + 1)


def test_a_head_that_was_put_back_is_found(api: Caller, ledger: MemoryLedger) -> None:
    fourth = entries(ledger)[3]
    ledger.commit((Put(Head(seq=4, hash=fourth.hash, memories=1)),))
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, 5)


def test_a_head_that_was_removed_is_found(api: Caller, ledger: MemoryLedger) -> None:
    ledger.commit((Delete(HEAD),))
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, 1)


def test_an_entry_forged_with_its_hash_breaks_the_next(api: Caller, ledger: MemoryLedger) -> None:
    entry = entries(ledger)[1]
    overwrite(ledger, 2, sealed(replace(entry, actor="key_innocent")))
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, 3)


def test_a_forged_last_entry_is_not_what_the_head_names(api: Caller, ledger: MemoryLedger) -> None:
    entry = entries(ledger)[5]
    overwrite(ledger, 6, sealed(replace(entry, actor="key_innocent")))
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, 6)


def test_two_entries_that_changed_places_are_found(api: Caller, ledger: MemoryLedger) -> None:
    first, second = entries(ledger)[:2]
    overwrite(ledger, 1, second)
    overwrite(ledger, 2, first)
    assert (api.verify()["ok"], api.verify()["first_bad"]) == (False, 1)


def test_a_walk_can_begin_anywhere_in_the_chain(api: Caller, ledger: MemoryLedger) -> None:
    for start in range(1, 8):
        assert api.verify(**{"from": start})["ok"] is True
    overwrite(ledger, 2, replace(entries(ledger)[1], actor="key_innocent"))
    assert api.verify(**{"from": 2})["first_bad"] == 2
    assert api.verify(**{"from": 4})["ok"] is True


@pytest.mark.parametrize("start", ["0", "-1", "x", "1.0", "", "8", "9" * 12, "9" * 13])
def test_a_walk_that_begins_nowhere_is_refused(api: Caller, ledger: MemoryLedger, start: str) -> None:
    answer = api.verify(**{"from": start})
    assert (answer.status, answer.code) == (400, "invalid_request")


def test_a_long_chain_is_walked_in_parts(api: Caller, service: FakeService) -> None:
    api.remember("x")
    (ledger,) = service.ledgers.values()
    last = entries(ledger)[-1]
    for seq in range(2, 5_202):
        last = sealed(AuditEntry(seq, last.at, "key_1", Happening(Event.REFUSED), prev=last.hash))
        overwrite(ledger, seq, last)
    ledger.commit((Put(Head(seq=last.seq, hash=last.hash)),))
    first = api.verify()
    assert (first["ok"], first["complete"], first["next"]) == (True, False, 5_001)
    rest = api.verify(**{"from": first["next"]})
    assert (rest["ok"], rest["complete"], rest["next"], rest["length"]) == (True, True, None, 5_201)
    overwrite(ledger, 5_100, replace(entries(ledger)[5_099], actor="key_innocent"))
    assert api.verify()["ok"] is True
    assert api.verify(**{"from": 5_001})["first_bad"] == 5_100


def test_thirty_writers_at_once_make_one_unforked_chain(
    api: Caller, service: FakeService, all_read_first: Callable[[str, int], None]
) -> None:
    all_read_first("acme/alice", 30)

    def write(number: int) -> int:
        return persistently(lambda: api.remember(f"Fact number {number}.")).status

    with ThreadPoolExecutor(30) as pool:
        statuses = list(pool.map(write, range(60)))
    assert statuses == [201] * 60
    (ledger,) = service.ledgers.values()
    assert [entry.seq for entry in entries(ledger)] == list(range(1, 61))
    assert len({entry.happening.memory_id for entry in entries(ledger)}) == 60
    assert (api.verify()["ok"], api.verify()["length"]) == (True, 60)
    assert len(api.listed(limit=100)) == 60


def test_two_scopes_have_chains_of_their_own(api: Caller) -> None:
    api.remember("x", "s")
    api.remember("x", "t")
    api.remember("y", "t")
    assert (api.verify("s")["length"], api.verify("t")["length"]) == (1, 2)
    assert api.verify("s")["head"] != api.verify("t")["head"]


def test_the_hash_covers_every_field(ledger: MemoryLedger) -> None:
    entry = entries(ledger)[1]
    variants: list[Callable[[], AuditEntry]] = [
        lambda f=f: replace(entry, **{f.name: changed(getattr(entry, f.name))})  # type: ignore[misc]
        for f in fields(AuditEntry)
        if f.name not in ("happening", "hash")
    ]
    hashes = {entry_hash(variant()) for variant in variants}
    assert len(hashes) == len(variants)
    assert entry.hash not in hashes
