"""`POST /v1/memories/{id}/correct`: one memory takes another's place, and stays there."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from tests.support.clock import BEGIN
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, persistently
from unsay_core.domain.timeline import rfc3339

LISBON, PORTO, FARO = "Alice lives in Lisbon.", "Alice lives in Porto.", "Alice lives in Faro."


def test_what_changed_ends_where_its_successor_begins(api: Caller) -> None:
    old = api.remember(LISBON, tags=["profile"], valid_from="2020-01-01T00:00:00Z")
    new = api.correct(old["id"], PORTO, "changed")
    assert new.status == 201
    assert new.headers["ETag"] == '"1"'
    assert new["supersedes"] == [old["id"]]
    assert new["tags"] == ["profile"]
    assert new["valid_from"] == new["recorded_at"]
    before = api.get(old["id"]).body
    assert (before["status"], before["version"], before["superseded_by"]) == ("superseded", 2, new["id"])
    assert before["valid_from"] == "2020-01-01T00:00:00.000000Z"
    assert before["valid_to"] == new["valid_from"]
    assert before["invalidated_at"] == new["recorded_at"]


def test_what_was_wrong_never_held_and_its_successor_always_did(api: Caller) -> None:
    old = api.remember(LISBON, valid_from="2020-01-01T00:00:00Z")
    new = api.correct(old["id"], PORTO, "wrong")
    assert new["valid_from"] == "2020-01-01T00:00:00.000000Z"
    at = "2021-01-01T00:00:00Z"
    assert api.recalled(valid_at=at) == [PORTO]
    assert api.listed(valid_at=at) == [PORTO]


def test_what_was_true_then_is_recalled_for_then(api: Caller) -> None:
    old = api.remember(LISBON)
    api.correct(old["id"], PORTO, "changed", valid_from="2026-01-01T00:00:00Z")
    assert api.recalled() == [PORTO]
    assert api.recalled(valid_at="2025-12-31T23:59:59.999999Z") == [LISBON]
    assert api.recalled(valid_at="2026-01-01T00:00:00Z") == [PORTO]
    assert api.listed(valid_at="2025-06-01T00:00:00Z") == [LISBON]
    assert api.listed() == [PORTO]
    assert api.listed(status="superseded") == [LISBON]


def test_a_chain_of_changes_answers_each_moment_with_its_own_link(api: Caller) -> None:
    current = api.remember("home number 0", valid_from="2000-01-01T00:00:00Z").body
    for year in range(1, 6):
        start = f"20{10 + year}-01-01T00:00:00Z"
        answer = api.correct(current["id"], f"home number {year}", "changed", valid_from=start)
        assert answer.status == 201
        current = answer.body
    assert api.recalled("home number") == ["home number 5"]
    for year in range(1, 6):
        assert api.recalled("home number", valid_at=f"20{10 + year}-01-01T00:00:00Z") == [
            f"home number {year}"
        ]
    assert api.recalled("home number", valid_at="1999-01-01T00:00:00Z") == []
    assert api.verify()["ok"] is True


def test_there_and_back_again_works_for_what_changed(api: Caller) -> None:
    first = api.remember(LISBON)
    second = api.correct(first["id"], PORTO, "changed")
    third = api.correct(second["id"], LISBON, "changed")
    assert third.status == 201
    assert api.recalled() == [LISBON]


def test_what_was_wrong_stays_dead(api: Caller) -> None:
    first = api.remember(LISBON)
    second = api.correct(first["id"], PORTO, "wrong")
    for again in (
        api.correct(second["id"], LISBON, "changed"),
        api.correct(second["id"], "  alice LIVES in lisbon", "wrong"),
        api.remember("ALICE lives in Lisbon!"),
    ):
        assert (again.status, again.code) == (409, "tombstoned")
        assert again["reason"] == "incorrect"
        assert "isbon" not in again.text
    assert api.recalled() == [PORTO]
    assert api.correct(second["id"], FARO, "changed").status == 201


def test_a_restatement_of_the_same_value_is_not_buried(api: Caller) -> None:
    old = api.remember("alice lives in lisbon")
    new = api.correct(old["id"], LISBON, "wrong")
    assert new.status == 201
    assert api.remember(LISBON).status == 200


def test_only_something_else_about_it_may_be_corrected(api: Caller) -> None:
    old = api.remember(LISBON, tags=["a"], metadata={"n": 1})
    new = api.correct(old["id"], LISBON, "wrong", tags=["b"])
    assert (new.status, new["tags"], new["metadata"]) == (201, ["b"], {"n": 1})
    again = api.remember(LISBON)
    assert (again.status, again["id"]) == (200, new["id"])
    assert api.listed() == [LISBON]


def test_null_clears_and_absent_keeps(api: Caller) -> None:
    old = api.remember(
        LISBON, data={"a": 1}, valid_to="2040-01-01T00:00:00Z", expires_at="2041-01-01T00:00:00Z"
    )
    kept = api.correct(old["id"], PORTO)
    assert (kept["data"], kept["expires_at"]) == ({"a": 1}, "2041-01-01T00:00:00.000000Z")
    cleared = api.correct(kept["id"], FARO, data=None, valid_to=None, expires_at=None)
    assert (cleared["data"], cleared["valid_to"], cleared["expires_at"]) == (None, None, None)


def test_a_correction_that_would_hold_at_no_time_is_refused(api: Caller) -> None:
    old = api.remember(LISBON, valid_to="2020-01-01T00:00:00Z")
    answer = api.correct(old["id"], PORTO, "changed")
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert api.get(old["id"])["status"] == "active"
    assert api.correct(old["id"], PORTO, "wrong").status == 201


def test_only_an_active_memory_can_be_corrected(api: Caller, service: FakeService) -> None:
    old = api.remember(LISBON)
    api.correct(old["id"], PORTO)
    again = api.correct(old["id"], FARO, version=2)
    assert (again.status, again.code) == (409, "wrong_status")
    short = api.remember("Alice is on the phone.", ttl_seconds=60)
    service.clock.pass_(seconds=60)
    late = api.correct(short["id"], "Alice is off the phone.")
    assert (late.status, late.code) == (409, "wrong_status")


def test_a_stale_version_is_told_the_current_one(api: Caller) -> None:
    old = api.remember(LISBON)
    api.correct(old["id"], PORTO)
    answer = api.correct(old["id"], FARO, version=1)
    assert (answer.status, answer.code, answer["current_version"]) == (412, "version_conflict", 2)


@pytest.mark.parametrize("given", ["*", 'W/"1"', "0", "-1", "one", '"1","2"', "", "1" * 10])
def test_an_if_match_that_is_no_version_is_refused(api: Caller, given: str) -> None:
    old = api.remember(LISBON)
    answer = api.correct(old["id"], PORTO, version=None, headers={"if_match": given})
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert api.correct(old["id"], PORTO, version=None, headers={"if_match": "1"}).status == 201


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"content": "x"}, "invalid_request"),
        ({"because": "changed"}, "invalid_request"),
        ({"content": "x", "because": "nonsense"}, "invalid_request"),
        ({"content": "x", "because": "changed", "note": "n" * 501}, "invalid_request"),
        ({"content": "x", "because": "changed", "scope": "acme/alice"}, "invalid_request"),
        ({"content": "x" * 16_385, "because": "changed"}, "too_large"),
    ],
)
def test_a_correction_is_checked_like_a_fact(api: Caller, body: dict[str, Any], code: str) -> None:
    old = api.remember(LISBON)
    path = f"/v1/memories/{old['id']}/correct"
    assert api.send("POST", path, body, query="scope=acme%2Falice", if_match="1").code == code
    assert api.get(old["id"])["version"] == 1


@pytest.mark.parametrize("field", ["content", "quote", "note"])
def test_a_credential_in_a_correction_is_refused(api: Caller, field: str) -> None:
    old = api.remember(LISBON)
    fields = {"content": PORTO, field: "token=ghp_0123456789abcdefghij0123456789abcdef"}
    answer = api.correct(old["id"], fields.pop("content"), **fields)
    assert (answer.status, answer.code) == (422, "secret_refused")
    assert api.recalled() == [LISBON]


def test_remembering_into_a_taken_slot_supersedes(api: Caller) -> None:
    old = api.remember(LISBON, key="home")
    new = api.remember(PORTO, key="home")
    assert new["supersedes"] == [old["id"]]
    assert api.get(old["id"])["status"] == "superseded"
    assert api.recalled() == [PORTO]
    assert api.listed(key="home") == [PORTO]


def test_a_slot_holds_one_memory_at_each_valid_time(api: Caller) -> None:
    then = api.remember(
        LISBON, key="home", valid_from="2000-01-01T00:00:00Z", valid_to="2010-01-01T00:00:00Z"
    )
    now = api.remember(PORTO, key="home", valid_from="2010-01-01T00:00:00Z")
    assert now["supersedes"] == []
    assert set(api.listed(key="home")) == {LISBON, PORTO}
    between = api.remember(FARO, key="home", valid_from="2005-01-01T00:00:00Z")
    assert set(between["supersedes"]) == {then["id"], now["id"]}
    assert api.recalled(valid_at="2003-01-01T00:00:00Z") == [LISBON]
    assert api.recalled(valid_at="2007-01-01T00:00:00Z") == [FARO]
    assert api.recalled() == [FARO]


def test_the_slot_of_an_expired_memory_can_be_taken_by_the_same_statement(
    api: Caller, service: FakeService
) -> None:
    api.remember(LISBON, key="home", ttl_seconds=60)
    service.clock.pass_(seconds=61)
    again = api.remember(LISBON, key="home")
    assert again.status == 201
    assert api.listed(key="home") == [LISBON]


def test_more_memories_than_a_transaction_holds_are_not_replaced_at_once(api: Caller) -> None:
    for year in range(30):
        start, end = f"20{10 + year}-01-01T00:00:00Z", f"20{11 + year}-01-01T00:00:00Z"
        assert api.remember(f"year {year}", key="home", valid_from=start, valid_to=end)["supersedes"] == []
    answer = api.remember(PORTO, key="home")
    assert (answer.status, answer.code) == (400, "invalid_request")
    ten = api.remember(PORTO, key="home", valid_from="2030-01-01T00:00:00Z")
    assert len(ten["supersedes"]) == 10


def test_a_corrected_memory_keeps_leaves_or_changes_its_slot(api: Caller) -> None:
    first = api.remember(LISBON, key="home")
    second = api.correct(first["id"], PORTO)
    assert second["key"] == "home"
    third = api.correct(second["id"], FARO, key="work")
    assert third["supersedes"] == [second["id"]]
    assert api.remember("Alice lives in Braga.", key="home")["supersedes"] == []
    assert api.remember("Alice works in Braga.", key="work")["supersedes"] == [third["id"]]
    fourth = api.correct(api.remember("x", key="x")["id"], "y", key=None)
    assert fourth["key"] is None
    assert api.remember("z", key="x")["supersedes"] == []


def test_a_correction_into_a_taken_slot_takes_it(api: Caller) -> None:
    home = api.remember(LISBON, key="home")
    other = api.remember("Alice likes Porto.")
    new = api.correct(other["id"], PORTO, key="home")
    assert new["supersedes"] == [other["id"], home["id"]]
    assert api.listed() == [PORTO]


def test_of_twenty_concurrent_corrections_one_wins(
    api: Caller, all_read_first: Callable[[str, int], None]
) -> None:
    old = api.remember(LISBON)
    all_read_first("acme/alice", 20)

    def correct(number: int) -> Answer:
        return persistently(lambda: api.correct(old["id"], f"Alice lives in house {number}."))

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(correct, range(20)))
    assert sorted(answer.status for answer in answers) == [201] + [412] * 19
    assert len(api.listed()) == 1
    assert api.verify().body | {"head": None} == {
        "ok": True,
        "complete": True,
        "next": None,
        "length": 2,
        "head": None,
        "first_bad": None,
        "anchored": None,
    }


def test_expiry_is_at_the_instant(api: Caller, service: FakeService) -> None:
    instant = BEGIN + timedelta(hours=1)
    memory = api.remember(LISBON, expires_at=rfc3339(instant))
    service.clock.stand_at(instant - timedelta(microseconds=2))
    assert api.get(memory["id"])["status"] == "active"
    service.clock.stand_at(instant)
    assert api.get(memory["id"])["status"] == "expired"
    assert api.recalled() == []
    assert api.listed() == []
    assert api.listed(status="expired") == [LISBON]


def test_validity_is_half_open(api: Caller) -> None:
    api.remember(LISBON, valid_from="2020-01-01T00:00:00Z", valid_to="2021-01-01T00:00:00Z")
    ends = {"2019-12-31T23:59:59.999999Z": 0, "2020-01-01T00:00:00Z": 1}
    ends |= {"2020-12-31T23:59:59.999999Z": 1, "2021-01-01T00:00:00Z": 0}
    assert {at: len(api.recalled(valid_at=at)) for at in ends} == ends
    assert api.recalled() == []
