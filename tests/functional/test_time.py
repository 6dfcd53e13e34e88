"""What was true then, and what we believed then; docs/time.md has the worked examples."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest

from tests.support.candidates import candidate
from tests.support.clock import BEGIN
from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.domain.timeline import rfc3339

LISBON, PORTO, BOB = "Alice lives in Lisbon.", "Alice lives in Porto.", "Bob lives in Braga."
TICK = timedelta(microseconds=1)


def moment(service: FakeService) -> str:
    """Now, after which an hour passes."""
    now = rfc3339(service.clock.now())
    service.clock.pass_(hours=1)
    return now


def test_each_version_is_given_as_it_was_believed_from_its_instant_on(
    api: Caller, service: FakeService
) -> None:
    memory = api.remember("Version 1.")
    instants = [memory["updated_at"]]
    for number in (2, 3):
        service.clock.pass_(hours=1)
        edited = api.edit(memory["id"], version=number - 1, content=f"Version {number}.")
        instants.append(edited["updated_at"])
    for number, instant in enumerate(instants, start=1):
        found = api.get(memory["id"], known_at=instant)
        assert (found["version"], found.headers["ETag"]) == (number, f'"{number}"')
        earlier = api.get(memory["id"], known_at=rfc3339(datetime.fromisoformat(instant) - TICK))
        if number == 1:
            assert earlier.code == "not_found"
        else:
            assert earlier["version"] == number - 1
        assert api.recalled("Version", known_at=instant) == [f"Version {number}."]
        assert api.listed(known_at=instant) == [f"Version {number}."]


def test_a_version_of_then_is_whole(api: Caller, service: FakeService) -> None:
    made = api.remember(LISBON, key="home", tags=["a"], data={"n": 1}).body
    then = moment(service)
    api.edit(made["id"], content=PORTO, key=None, tags=["b"], data=None)
    api.decide(made["id"], version=2)
    assert api.get(made["id"], known_at=then).body == made
    assert [m["tags"] for m in api.list(known_at=then, key="home", tag="a")["items"]] == [["a"]]
    assert api.list(known_at=then, tag="b")["items"] == []


def test_expiry_is_judged_then(api: Caller, service: FakeService) -> None:
    memory = api.remember(LISBON, ttl_seconds=3_600)
    expires = memory["expires_at"]
    then = rfc3339(BEGIN + timedelta(minutes=30))
    service.clock.pass_(days=1)
    assert api.get(memory["id"])["status"] == "expired"
    assert api.get(memory["id"], known_at=then)["status"] == "active"
    assert api.get(memory["id"], known_at=expires)["status"] == "expired"
    (item,) = api.recall(known_at=then)["items"]
    assert item["memory"]["status"] == "active"
    (item,) = api.list(known_at=then)["items"]
    assert item["status"] == "active"
    assert api.recalled(known_at=expires) == api.listed(known_at=expires) == []
    assert api.listed(status="expired", known_at=expires) == [LISBON]
    assert api.listed(status="expired", known_at=then) == []


def test_the_forgotten_answers_to_no_time_and_its_neighbour_does(api: Caller, service: FakeService) -> None:
    memory = api.remember(LISBON, valid_from="2020-01-01T00:00:00Z")
    api.remember(BOB, valid_from="2020-01-01T00:00:00Z")
    edited = api.edit(memory["id"], content=PORTO)
    then = moment(service)
    assert sorted(api.recalled("Who lives where?", known_at=then)) == [PORTO, BOB]
    api.forget(memory["id"])
    for asked in (
        {"known_at": then},
        {"valid_at": "2021-01-01T00:00:00Z"},
        {"known_at": edited["updated_at"]},
    ):
        assert api.recalled("Who lives where?", **asked) == [BOB]
        assert api.listed(**asked) == [BOB]
    assert api.get(memory["id"], known_at=then).status == 404


@pytest.mark.parametrize("status", ["candidate", "retracted", "rejected", "superseded"])
def test_a_status_is_that_of_then(api: Caller, service: FakeService, status: str) -> None:
    waits = status in ("candidate", "rejected")
    memory_id = candidate(service, LISBON).id if waits else api.remember(LISBON)["id"]
    then = moment(service)
    {
        "candidate": lambda: api.decide(memory_id),
        "rejected": lambda: api.decide(memory_id, "reject", reason="policy"),
        "retracted": lambda: api.retract(memory_id),
        "superseded": lambda: api.correct(memory_id, PORTO, "wrong"),
    }[status]()
    now = moment(service)
    expected = {"candidate": "active"}.get(status, status)
    was = "candidate" if waits else "active"
    assert api.get(memory_id, known_at=then)["status"] == was
    assert api.get(memory_id, known_at=now)["status"] == expected
    assert api.listed(status=was, known_at=then) == [LISBON]
    assert (LISBON in api.recalled(known_at=then)) is (was == "active")
    assert (LISBON in api.recalled(known_at=now)) is (expected == "active")


def test_both_times_at_once(api: Caller, service: FakeService) -> None:
    old = api.remember(LISBON, valid_from="2020-01-01T00:00:00Z")
    first = moment(service)
    api.correct(old["id"], PORTO, "changed", valid_from="2022-01-01T00:00:00Z")
    second = moment(service)
    answers = {
        (at, known): api.recalled(valid_at=f"{at}-06-01T00:00:00Z", known_at=known)
        for at in (2019, 2021, 2023)
        for known in (first, second)
    }
    assert answers == {
        (2019, first): [],
        (2019, second): [],
        (2021, first): [LISBON],
        (2021, second): [LISBON],
        (2023, first): [LISBON],
        (2023, second): [PORTO],
    }


def test_before_anything_was_known_nothing_was(api: Caller) -> None:
    memory = api.remember(LISBON, valid_from="2020-01-01T00:00:00Z")
    before = "2026-01-01T00:00:00Z"
    assert api.get(memory["id"], known_at=before).status == 404
    assert api.listed(known_at=before) == api.recalled(known_at=before) == []
    assert api.listed(known_at="2030-01-01T00:00:00Z") == [LISBON]


def test_a_list_of_then_comes_in_pages_that_hold_each_once(api: Caller, service: FakeService) -> None:
    ids = [api.remember(f"Fact {n}.")["id"] for n in range(7)]
    then = moment(service)
    for memory_id in ids[::2]:
        api.edit(memory_id, tags=["later"])
    api.remember("Later.")
    page = api.list(known_at=then, limit=3)
    seen = [memory["content"] for memory in page["items"]]
    while page["next_cursor"] is not None:
        page = api.list(known_at=then, limit=3, cursor=page["next_cursor"])
        seen += [memory["content"] for memory in page["items"]]
    assert sorted(seen) == [f"Fact {n}." for n in range(7)]


@pytest.mark.parametrize("name", ["known_at", "valid_at"])
@pytest.mark.parametrize("value", ["yesterday", "2026-01-01T00:00:00", "2026-13-01T00:00:00Z", ""])
def test_a_time_that_is_none_is_refused(api: Caller, name: str, value: str) -> None:
    memory = api.remember(LISBON)
    assert api.list(**{name: value}).code == "invalid_time"
    assert api.recall(**{name: value}).code == "invalid_time"
    expected = "invalid_time" if name == "known_at" else "invalid_request"
    assert api.get(memory["id"], **{name: value}).code == expected
