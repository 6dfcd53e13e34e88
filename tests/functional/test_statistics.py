"""`GET /v1/stats`: how much a scope holds, and how far its index lags."""

from __future__ import annotations

import pytest

from tests.support.candidates import candidate, infer
from tests.support.fakes import FakeService
from tests.support.http import Caller, principal
from unsay_core.application import statistics
from unsay_core.domain.scope import Action


def test_an_empty_scope_counts_nothing(api: Caller) -> None:
    assert api.statistics().body == {
        "kinds": {},
        "statuses": {},
        "trusts": {},
        "bytes": 0,
        "index": {"pending": 0, "oldest_pending": None},
        "complete": True,
    }


def test_each_memory_is_counted_by_kind_status_and_trust(api: Caller, service: FakeService) -> None:
    api.remember("Porto, ção", kind="episodic")
    old = api.remember("Old.")
    api.correct(old["id"], "New.")
    api.remember("For a minute.", ttl_seconds=60, kind="procedural")
    doubted, gone = api.remember("Doubted."), api.remember("Gone.")
    api.dispute(doubted["id"])
    api.retract(gone["id"])
    forgotten = api.remember("Forgotten.")
    api.forget(forgotten["id"])
    verified = api.remember("Verified.")
    api.decide(verified["id"])
    infer(service, "Inferred.")
    waiting = candidate(service, "Waiting.")
    api.decide(waiting.id, "reject", reason="policy")
    candidate(service, "Waits.")
    api.remember("Another's.", "acme/bob")
    service.clock.pass_(seconds=61)
    found = api.statistics().body
    assert found["kinds"] == {"semantic": 8, "episodic": 1, "procedural": 1}
    assert found["statuses"] == {
        "active": 5,
        "superseded": 1,
        "expired": 1,
        "retracted": 1,
        "rejected": 1,
        "candidate": 1,
    }
    assert found["trusts"] == {"asserted": 5, "disputed": 1, "verified": 1, "inferred": 3}
    held = ("Porto, ção", "Old.", "New.", "For a minute.", "Doubted.", "Gone.", "Verified.", "Inferred.")
    assert found["bytes"] == sum(len(text.encode()) for text in (*held, "Waiting.", "Waits."))


def test_what_the_index_owes_is_counted_with_the_oldest(api: Caller, service: FakeService) -> None:
    first = api.remember("First.")
    service.clock.pass_(hours=1)
    api.remember("Second.")
    assert api.statistics()["index"] == {"pending": 2, "oldest_pending": first["updated_at"]}


def test_more_than_can_be_counted_is_said(api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(statistics, "READ_AT_ONCE", 2)
    for number in range(5):
        api.remember(f"Fact {number}.")
    for most, complete, counted in ((5, True, 5), (4, False, 4)):
        monkeypatch.setattr(statistics, "MOST", most)
        found = api.statistics()
        assert (found["complete"], found["statuses"]) == (complete, {"active": counted})


def test_only_a_reader_is_told(api: Caller) -> None:
    others = api.as_(principal("acme/alice", *(set(Action) - {Action.READ})))
    assert others.statistics().status == 403
    assert api.as_(principal("acme/bob")).statistics().status == 403
    assert api.as_(principal("acme/alice", Action.READ)).statistics().status == 200
