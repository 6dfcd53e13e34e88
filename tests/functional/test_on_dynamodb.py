"""The same application over the DynamoDB adapters: what only a store with item limits can refuse."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.functional.aws import TABLES, aws_service
from tests.support.clients import OneAtATime
from tests.support.consolidating import merged
from tests.support.extraction import Talk
from tests.support.http import Answer, Caller, persistently
from unsay_core.adapters.scoped_session import ScopedClients
from unsay_core.bootstrap.aws import ApiService
from unsay_core.domain.scope import Scope
from unsay_core.extraction.likeness import MOST_MEMBERS

LISBON, PORTO = "Alice lives in Lisbon.", "Alice lives in Porto."


@pytest.fixture(scope="module")
def service() -> Iterator[ApiService]:
    with aws_service() as found:
        yield found


@pytest.fixture
def api(service: ApiService, monkeypatch: pytest.MonkeyPatch) -> Caller:
    """An admin at an API whose in-process AWS takes one call at a time."""
    plain = ScopedClients.client

    def one_at_a_time(self: ScopedClients, *given: Any) -> Any:
        return OneAtATime(plain(self, *given))

    monkeypatch.setattr(ScopedClients, "client", one_at_a_time)
    return Caller(service)  # type: ignore[arg-type]


def test_a_life_of_a_memory(api: Caller) -> None:
    first = api.remember(LISBON, "life", key="home", data=[1, True, None], metadata={"a": ["b"]})
    assert api.recalled("Where does Alice live?", "life") == [LISBON]
    second = api.correct(first["id"], PORTO, scope="life")
    assert api.recalled("Where does Alice live?", "life") == [PORTO]
    assert api.get(first["id"], "life")["superseded_by"] == second["id"]
    receipt = api.forget(second["id"], scope="life")
    assert (receipt.status, receipt["erased"]) == (202, 2)
    assert api.receipt(receipt["id"], "life").body == receipt.body
    assert api.recall("Where does Alice live?", "life")["reasons"] == ["scope_empty"]
    assert api.remember(PORTO, "life").code == "tombstoned"
    assert api.forget(second["id"], scope="life").code == "already_forgotten"
    assert (api.verify("life")["ok"], api.verify("life")["length"]) == (True, 4)


def test_a_correction_that_restates_the_same_fact_names_no_item_twice(api: Caller) -> None:
    first = api.remember(LISBON, "same", tags=["a"])
    second = api.correct(first["id"], LISBON, "wrong", scope="same", tags=["b"])
    assert second.status == 201
    assert api.remember(LISBON, "same")["id"] == second["id"]


def test_a_long_chain_of_corrections_goes_in_transactions_of_at_most_a_hundred(api: Caller) -> None:
    current = api.remember("room 0", "rooms")
    for number in range(1, 21):
        current = api.correct(current["id"], f"room {number}", scope="rooms")
        assert current.status == 201
    receipt = api.forget(current["id"], scope="rooms")
    assert (receipt.status, receipt["erased"]) == (202, 21)
    for status in ("active", "superseded"):
        assert api.listed("rooms", status=status) == []
    assert api.verify("rooms")["ok"] is True


def test_a_merge_of_the_most_members_is_taken_back_in_one_transaction(
    api: Caller, service: ApiService
) -> None:
    ids = [api.remember(f"Alice likes tea, cup {number}.", "merged")["id"] for number in range(MOST_MEMBERS)]
    into = merged(service, *ids, scope="merged")
    assert api.listed("merged") == ["Alice likes tea, cup 0."]
    receipt = api.forget(ids[0], scope="merged")
    assert (receipt.status, receipt["erased"], receipt["cascaded"]) == (202, 2, MOST_MEMBERS)
    assert len(api.listed("merged")) == MOST_MEMBERS - 1
    assert api.get(into.id, "merged").status == 404
    assert api.verify("merged")["ok"] is True


def test_the_most_memories_that_a_slot_gives_up_at_once_fit_into_a_transaction(api: Caller) -> None:
    for year in range(13):
        start, end = f"20{10 + year}-01-01T00:00:00Z", f"20{11 + year}-01-01T00:00:00Z"
        assert api.remember(f"year {year}", "slots", key="k", valid_from=start, valid_to=end).status == 201
    assert api.remember("all", "slots", key="k").code == "invalid_request"
    most = api.remember("most", "slots", key="k", valid_from="2011-01-01T00:00:00Z")
    assert (most.status, len(most["supersedes"])) == (201, 12)


def test_thirty_writers_of_one_scope_lose_nothing_and_fork_nothing(api: Caller) -> None:
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda n: api.remember(f"Fact {n}.", "busy").status, range(30)))
    done = answers.count(201)
    assert set(answers) <= {201, 503}
    assert done > 0
    found = api.verify("busy").body
    assert (found["ok"], found["length"]) == (True, done)
    assert len(api.listed("busy", limit=100)) == done


def test_of_twenty_corrections_at_once_one_wins(api: Caller) -> None:
    old = api.remember(LISBON, "race")

    def correct(number: int) -> int:
        house = f"Alice lives in house {number}."
        return persistently(lambda: api.correct(old["id"], house, scope="race")).status

    with ThreadPoolExecutor(20) as pool:
        statuses = list(pool.map(correct, range(20)))
    assert sorted(statuses) == [201] + [412] * 19
    assert len(api.listed("race")) == 1


def test_of_twenty_identical_requests_at_once_one_makes_the_memory(api: Caller) -> None:
    def remember() -> Answer:
        return api.remember(LISBON, "twenty", headers={"idempotency_key": "k"})

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: persistently(remember), range(20)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer["id"] for answer in answers}) == 1
    assert api.verify("twenty")["length"] == 1


@pytest.mark.parametrize("bad", ["", "no JSON", "[]", "{}", '{"at": "no time at all"}', '{"hash": NaN}'])
def test_a_stored_entry_that_can_no_longer_be_read_is_the_first_bad_one(
    api: Caller, service: ApiService, bad: str
) -> None:
    scope = f"bent/{len(bad)}"
    for number in range(3):
        api.remember(f"Fact {number}.", scope)
    table = service.session.client("dynamodb")
    scope_id = service.keyring.scope_id(scope)
    key = {"pk": {"S": f"{scope_id}#A"}, "sk": {"S": f"{2:012d}"}}
    table.update_item(
        TableName="record",
        Key=key,
        UpdateExpression="SET #text = :bad",
        ExpressionAttributeNames={"#text": "record"},
        ExpressionAttributeValues={":bad": {"S": bad}},
    )
    found = api.verify(scope)
    assert (found.status, found["ok"], found["first_bad"]) == (200, False, 2)


def test_every_item_says_of_which_form_it_is(service: ApiService, api: Caller) -> None:
    api.remember(LISBON, "forms", key="home", headers={"idempotency_key": "k"})
    api.correct(api.remember("Alice is 30.", "forms")["id"], "Alice is 31.", "wrong", scope="forms")
    api.dispute(api.remember(PORTO, "forms")["id"], scope="forms")
    api.forget(api.remember("Alice has a dog.", "forms")["id"], scope="forms")
    Talk(api, scope="forms").say("I live in Lisbon.", flush=True)
    api.send("PUT", "/v1/policy", {}, query="scope=forms")
    grants = [{"scope": "forms", "actions": ["read"]}]
    api.send("POST", "/v1/keys", {"name": "k", "kind": "agent", "grants": grants})
    service.registry.add(Scope.parse("forms/below"))
    client = service.session.client("dynamodb")
    items = [item for table in TABLES for item in client.scan(TableName=table)["Items"]]
    areas = {item["pk"]["S"].rpartition("#")[2] for item in items}
    assert areas >= set("HMVDKPIERCQTA") | {"KEYS", "ROOTS", "forms"}
    assert [item["pk"]["S"] for item in items if "schema" not in item] == []
