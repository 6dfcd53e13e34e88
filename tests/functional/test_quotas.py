"""Quotas: what a scope may hold and a caller ask, by the policy of its root."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from tests.support.extraction import Talk, drain
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, principal
from unsay_core.application.ledger import HEAD, Put
from unsay_core.metrics import REFUSALS

REASONS = ("memories", "bytes", "messages", "requests")


@pytest.fixture
def granted(service: FakeService, api: Caller) -> Callable[..., None]:
    """Sets the quotas of `acme`, and lets the minute pass for which the old ones may be believed."""

    def grant(**quotas: int) -> None:
        body = {"quotas": quotas, "cadence": {"user_turns": 50}}
        assert api.send("PUT", "/v1/policy", body, query="scope=acme").status == 200
        service.clock.sleep(60)

    return grant


def test_a_scope_takes_as_many_memories_as_its_root_grants(api: Caller, granted: Callable[..., None]) -> None:
    granted(memories=2)
    first, second = api.remember("One."), api.remember("Two.")
    assert [a.headers["X-Quota-Memories-Remaining"] for a in (first, second)] == ["1", "0"]
    refused = api.remember("Three.")
    assert (refused.status, refused.code) == (429, "quota_exceeded")
    assert (refused["quota"], refused["limit"], refused["used"]) == ("memories", 2, 2)
    assert int(refused.headers["Retry-After"]) > 0
    assert refused.headers["X-Quota-Memories-Limit"] == "2"
    assert refused.headers["X-Quota-Memories-Remaining"] == "0"
    assert sorted(api.listed()) == ["One.", "Two."]
    assert api.events() == ["memory.remembered"] * 2, "a refusal by quota writes nothing at all"
    assert api.remember("Three.", "acme/bob").status == 201, "each scope has a quota of its own"
    assert api.remember("Three.", "other/alice").status == 201, "and another root another policy"


def test_a_full_scope_can_still_be_read_corrected_and_emptied(
    api: Caller, granted: Callable[..., None]
) -> None:
    granted(memories=1)
    one = api.remember("Alice lives in Lisbon.", key="home_city")
    assert api.remember("Alice lives in Lisbon.", key="home_city")["deduplicated"] is True
    assert api.recalled() == ["Alice lives in Lisbon."]
    two = api.correct(one["id"], "Alice lives in Porto.")
    assert two.status == 201
    assert api.remember("Alice lives in Faro.", key="home_city").status == 201, "it takes another's place"
    assert api.remember("Alice has a dog.").status == 429
    assert api.send("POST", "/v1/forget", {
        "scope": "acme/alice", "selector": {"all": True, "confirm": "acme/alice"}, "reason": "test",
        "tombstone": "id",
    }).status == 202  # fmt: skip


def test_what_is_forgotten_makes_room(api: Caller, granted: Callable[..., None]) -> None:
    granted(memories=1, bytes=100)
    one = api.remember("One.")
    assert api.remember("Two.").status == 429
    assert api.forget(one["id"]).status == 202
    again = api.remember("Two.")
    assert again.status == 201
    assert again.headers["X-Quota-Bytes-Remaining"] == "96"


def test_bytes_are_of_content_data_and_metadata(api: Caller, granted: Callable[..., None]) -> None:
    granted(bytes=10)
    memory = api.remember("12345")
    assert memory.headers["X-Quota-Bytes-Remaining"] == "5"
    assert api.remember("1", data="23456").status == 429
    assert api.edit(memory["id"], content="1234567890").status == 200
    assert api.edit(memory["id"], version=2, content="12345678901").status == 429
    assert api.edit(memory["id"], version=2, metadata={"a": "b"}).status == 429
    assert api.correct(memory["id"], "12345678901", version=2).status == 429
    assert api.edit(memory["id"], version=2, content="1").status == 200


def test_a_full_batch_says_of_each_item_what_became_of_it(api: Caller, granted: Callable[..., None]) -> None:
    granted(memories=2)
    answer = api.batch([{"content": text} for text in ("One.", "Two.", "Three.", "One.")])
    assert [each["status"] for each in answer["results"]] == [201, 201, 429, 200]
    assert answer["results"][2]["problem"]["code"] == "quota_exceeded"
    assert answer.headers["X-Quota-Memories-Remaining"] == "0"
    assert sorted(api.listed()) == ["One.", "Two."]
    assert api.verify()["ok"] is True


def test_each_refusal_by_quota_or_rate_is_told_with_its_reason(
    service: FakeService, api: Caller, granted: Callable[..., None]
) -> None:
    granted(memories=1, messages_per_day=1, requests_per_minute=5)
    assert api.remember("One.").status == 201
    assert service.signals.values(REFUSALS) == []
    assert api.remember("Two.").status == 429
    batch = api.batch([{"content": "Three."}, {"content": "Four."}])
    assert [each["status"] for each in batch["results"]] == [429] * 2
    assert Talk(api).say("One.", "Two.").status == 429
    statuses = [answer.status for answer in ask(api, 9)]
    told = {reason: len(service.signals.values(REFUSALS, reason=reason)) for reason in REASONS}
    assert told == {"memories": 3, "bytes": 0, "messages": 1, "requests": statuses.count(429)}
    assert statuses.count(429) > 0
    assert api.get("mem_01j0000000000000000000000a", "other/alice").status == 404
    assert len(service.signals.values(REFUSALS)) == sum(told.values()), "no other refusal is counted"


def test_messages_are_granted_by_the_day(
    service: FakeService, api: Caller, granted: Callable[..., None]
) -> None:
    granted(messages_per_day=3)
    talk = Talk(api)
    assert talk.say("One.", "Two.").headers["X-Quota-Messages-Remaining"] == "1"
    refused = talk.say("Three.", "Four.")
    assert (refused.status, refused["quota"]) == (429, "messages")
    assert len(talk.read()["messages"]) == 2, "all or nothing"
    service.clock.sleep(int(refused.headers["Retry-After"]) + 60)
    assert talk.say("Five.", "Six.", "Seven.").status == 202


def test_what_is_extracted_beyond_a_quota_is_dropped_and_counted(
    service: FakeService, api: Caller, granted: Callable[..., None]
) -> None:
    granted(memories=1)
    talk = Talk(api)
    talk.say("I live in Lisbon.", "I have a dog.", flush=True)
    drain(service)
    [batch] = talk.read()["batches"]
    assert (batch["state"], batch["dropped"]) == ("done", [{"reason": "quota_exceeded", "count": 1}])
    assert api.listed() == ["I live in Lisbon."]


def test_writers_at_the_same_time_stay_within_a_quota_together(
    api: Caller, granted: Callable[..., None], all_read_first: Callable[[str, int], None]
) -> None:
    granted(memories=3)
    all_read_first("acme/alice", 8)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda n: api.remember(f"Fact number {n}."), range(8)))
    assert sorted(answer.status for answer in answers) == [201] * 3 + [429] * 5
    assert len(api.listed()) == 3


def test_a_quota_that_was_lowered_takes_nothing_away(api: Caller, granted: Callable[..., None]) -> None:
    one = api.remember("One.")
    api.remember("Two.")
    granted(memories=1)
    assert len(api.listed()) == 2
    assert api.correct(one["id"], "Another.").status == 201
    assert api.remember("Three.").status == 429
    granted()
    answer = api.remember("Three.")
    assert (answer.status, [name for name in answer.headers if name.startswith("X-Quota")]) == (201, [])


def test_a_scope_that_an_earlier_release_wrote_to_has_no_quota_of_bytes_yet(
    service: FakeService, api: Caller, granted: Callable[..., None]
) -> None:
    api.remember("One.")
    ledger = service.ledgers[service.keyring.scope_id("acme/alice")]
    head: Any = ledger.read([HEAD]).get(HEAD)
    ledger.commit((Put(replace(head, usage=None)),))
    granted(bytes=5, memories=2)
    assert api.remember("A longer one.").status == 201
    refused = api.remember("Three.")
    assert (refused.status, refused["quota"]) == (429, "memories")


# ---- rates


def ask(api: Caller, times: int) -> list[Answer]:
    return [api.recall() for _ in range(times)]


def test_a_caller_asks_as_much_in_a_minute_as_its_root_grants(
    service: FakeService, api: Caller, granted: Callable[..., None]
) -> None:
    granted(requests_per_minute=40)
    assert ask(api, 1)[0].status == 200  # what is granted is asked for beside the first request
    service.world.executor.submit(lambda: None).result(60)
    statuses = [answer.status for answer in ask(api, 50)]
    assert statuses.count(200) in (39, 40)
    refused = ask(api, 1)[0]
    assert (refused.status, refused.code) == (429, "throttled")
    assert refused.headers["X-Quota-Requests-Limit"] == "40"
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert service.tally.asked <= 21, "taken in lots, and not asked for any more when there are none"
    assert api.as_(principal(key="key_other")).recall().status == 200, "each caller has a rate of its own"
    assert api.recall(scope="other/alice").status == 200
    service.clock.sleep(int(refused.headers["Retry-After"]))
    assert api.recall().status == 200


def test_processes_together_let_no_more_through(service: FakeService, granted: Callable[..., None]) -> None:
    granted(requests_per_minute=40)
    others = [Caller(service)]
    for _ in range(2):
        sibling = FakeService()
        sibling.policies, sibling.tally = service.policies, service.tally
        sibling.rates._tally, sibling.quotas._policies = service.tally, service.policies
        sibling.clock.sleep((service.clock.now() - sibling.clock.now()).total_seconds())
        others.append(Caller(sibling))
    for each in others:
        each.service.quotas.of("acme")
    let = sum(answer.status == 200 for _ in range(30) for each in others for answer in ask(each, 1))
    assert 40 - 2 * len(others) <= let <= 40


def test_a_rate_whose_count_is_not_to_be_had_stops_nobody(
    service: FakeService, api: Caller, granted: Callable[..., None]
) -> None:
    granted(requests_per_minute=1)
    service.quotas.of("acme")
    service.tally.down = True
    assert {answer.status for answer in ask(api, 3)} == {200}
