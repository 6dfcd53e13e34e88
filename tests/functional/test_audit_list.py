"""`GET /v1/audit`: the events of a scope in order, in pages, from any place on."""

from __future__ import annotations

import pytest

from tests.support.candidates import candidate, infer
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller, principal
from unsay_core.domain.audit import Event
from unsay_core.domain.scope import Action


def seqs(api: Caller, **parameters: object) -> list[int]:
    return [event["seq"] for event in api.audit(**parameters)["items"]]


@pytest.fixture
def nine(api: Caller) -> Caller:
    """A scope with nine events, beside one with another."""
    for number in range(9):
        api.remember(f"Fact {number}.")
    api.remember("Another's.", "acme/bob")
    return api


def test_events_come_in_order_each_bound_to_the_one_before(nine: Caller) -> None:
    items = nine.audit()["items"]
    assert [event["seq"] for event in items] == list(range(1, 10))
    assert items[0]["prev"] == "0" * 64
    assert [event["prev"] for event in items[1:]] == [event["hash"] for event in items[:-1]]
    assert {event["actor"] for event in items} == {ADMIN.id}
    assert nine.verify()["head"] == {"seq": 9, "hash": items[-1]["hash"]}


@pytest.mark.parametrize("limit", [1, 4, 8, 9, 100])
def test_pages_hold_each_event_once(nine: Caller, limit: int) -> None:
    page = nine.audit(limit=limit)
    found = [event["seq"] for event in page["items"]]
    while page["next_cursor"] is not None:
        page = nine.audit(limit=limit, cursor=page["next_cursor"])
        found += [event["seq"] for event in page["items"]]
    assert found == list(range(1, 10))


@pytest.mark.parametrize(("after", "expected"), [(0, [1, 2, 3]), (6, [7, 8, 9]), (8, [9]), (9, []), (99, [])])
def test_after_a_place_in_the_chain(nine: Caller, after: int, expected: list[int]) -> None:
    assert seqs(nine, after=after)[:3] == expected


def test_a_cursor_goes_on_from_its_page_and_keeps_its_question(nine: Caller) -> None:
    page = nine.audit(after=3, limit=2)
    assert [event["seq"] for event in page["items"]] == [4, 5]
    assert seqs(nine, after=3, limit=2, cursor=page["next_cursor"]) == [6, 7]
    assert nine.audit(after=4, limit=2, cursor=page["next_cursor"]).code == "invalid_cursor"
    assert nine.audit("acme/bob", after=3, cursor=page["next_cursor"]).code == "invalid_cursor"


@pytest.mark.parametrize("after", ["-1", "x", "", "1.5", "1234567890123", "%D9%A1"])
def test_a_place_is_a_whole_number(api: Caller, after: str) -> None:
    answer = api.send("GET", "/v1/audit", query=f"scope=acme%2Falice&after={after}")
    assert answer.status == 400


def test_what_happens_meanwhile_comes_at_the_end(nine: Caller) -> None:
    page = nine.audit(limit=8)
    nine.remember("Meanwhile.")
    assert seqs(nine, limit=8, cursor=page["next_cursor"]) == [9, 10]


def test_only_the_right_to_audit_reads_it(nine: Caller) -> None:
    others = nine.as_(principal("acme/alice", *(set(Action) - {Action.AUDIT})))
    assert others.audit().status == 403
    auditor = nine.as_(principal("acme/alice", Action.AUDIT))
    assert len(auditor.audit()["items"]) == 9
    assert auditor.audit("acme/bob").status == 403
    assert auditor.remember("x").status == 403


def test_every_verb_is_one_event_and_what_changes_nothing_is_none(api: Caller, service: FakeService) -> None:
    lisbon = api.remember("Alice lives in Lisbon.", key="home")
    api.remember("Alice lives in Lisbon.", key="home")
    api.edit(lisbon["id"], tags=["a"])
    api.edit(lisbon["id"], version=2, tags=["a"])
    api.edit(lisbon["id"], version=1, tags=["b"])
    api.dispute(lisbon["id"], version=2)
    api.decide(lisbon["id"], version=3)
    api.correct(lisbon["id"], "Alice lives in Porto.", version=4)
    api.retract(lisbon["id"], version=5)
    api.remember("Alice lives in Lisbon.")
    waiting = candidate(service, "Alice lives in Faro.")
    api.decide(waiting.id, "reject", reason="policy")
    grave = api.tombstones()["items"][0]["id"]
    api.lift(grave)
    api.lift(grave)
    api.forget(lisbon["id"])
    api.forget(lisbon["id"])
    api.get(lisbon["id"])
    api.recall()
    assert api.events() == [
        Event.REMEMBERED,
        Event.EDITED,
        Event.DISPUTED,
        Event.APPROVED,
        Event.CORRECTED,
        Event.RETRACTED,
        Event.REFUSED,
        Event.INFERRED,
        Event.REJECTED,
        Event.LIFTED,
        Event.FORGOTTEN,
    ]
    assert api.verify()["ok"] is True


def test_an_event_names_the_channel_it_came_through(api: Caller, service: FakeService) -> None:
    api.remember("Said.")
    infer(service, "Concluded.")
    infer(service, "Said.")
    candidate(service, "Doubtful.")
    assert [event["channel"] for event in api.audit()["items"]] == ["api", "extract", "extract", "extract"]
