"""`Idempotency-Key`: the same request again gets the first outcome again, for a day."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller, persistently, principal
from unsay_core.application.ledger import Area, Delete, ref_of

KEY = {"idempotency_key": "request-1"}
LISBON, PORTO = "Alice lives in Lisbon.", "Alice lives in Porto."


def test_the_same_request_again_gets_the_first_outcome_again(api: Caller) -> None:
    first = api.remember(LISBON, headers=KEY)
    again = api.remember(LISBON, headers=KEY)
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Location"] == first.headers["Location"]
    assert api.verify()["length"] == 1


def test_a_retry_that_spells_the_same_body_otherwise_is_the_same(api: Caller) -> None:
    raw = '{"scope":"a","content":"x","data":{"b":1.0,"a":1}}'
    other = ' { "content" : "\\u0078", "data":{"a":1,"b":1.00}, "scope":"a" }'
    first = api.send("POST", "/v1/memories", raw=raw, **KEY)
    again = api.send("POST", "/v1/memories", raw=other, **KEY)
    assert (again.status, again["id"]) == (201, first["id"])


@pytest.mark.parametrize("data", ["1", "1.0", "true", '"1"', "null"])
def test_another_body_under_the_same_key_is_refused(api: Caller, data: str) -> None:
    first = api.send("POST", "/v1/memories", raw='{"scope":"a","content":"x","data":2}', **KEY)
    answer = api.send("POST", "/v1/memories", raw=f'{{"scope":"a","content":"x","data":{data}}}', **KEY)
    assert (answer.status, answer.code) == (422, "idempotency_mismatch")
    assert [memory["id"] for memory in api.list("a")["items"]] == [first["id"]]


def test_a_duplicate_is_replayed_as_the_duplicate_it_was(api: Caller) -> None:
    api.remember(LISBON)
    first = api.remember(LISBON, headers=KEY)
    again = api.remember(LISBON, headers=KEY)
    assert (first.status, again.status) == (200, 200)
    assert first["deduplicated"] is again["deduplicated"] is True
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_replay_shows_the_version_that_was_made(api: Caller) -> None:
    first = api.remember(LISBON, headers=KEY)
    api.correct(first["id"], PORTO)
    again = api.remember(LISBON, headers=KEY)
    assert again.body == first.body
    assert again.headers["ETag"] == '"1"'
    assert api.get(first["id"])["version"] == 2


def test_what_was_made_and_then_forgotten_is_gone_from_the_replay_too(api: Caller) -> None:
    first = api.remember(LISBON, headers=KEY)
    api.forget(first["id"])
    again = api.remember(LISBON, headers=KEY)
    assert (again.status, again.code) == (410, "forgotten")
    assert "isbon" not in again.text
    assert api.remember(LISBON).code == "tombstoned"


def test_a_key_is_kept_for_a_day_and_no_longer(api: Caller, service: FakeService) -> None:
    first = api.remember(LISBON, headers=KEY)
    service.clock.pass_(hours=24, seconds=-2)
    assert api.remember(LISBON, headers=KEY)["id"] == first["id"]
    service.clock.pass_(seconds=2)
    other = api.remember(PORTO, headers=KEY)
    assert (other.status, other.headers.get("Idempotency-Replayed")) == (201, None)
    again = api.remember(PORTO, headers=KEY)
    assert (again["id"], again.headers["Idempotency-Replayed"]) == (other["id"], "true")


def test_a_key_belongs_to_one_principal_and_one_route(api: Caller) -> None:
    first = api.remember(LISBON, headers=KEY)
    other = api.as_(principal(key="key_other")).remember(PORTO, headers=KEY)
    assert other.status == 201
    corrected = api.correct(first["id"], "Alice lives in Faro.", headers=KEY)
    assert (corrected.status, corrected.headers.get("Idempotency-Replayed")) == (201, None)


def test_a_correction_is_replayed_before_its_version_is_looked_at(api: Caller) -> None:
    old = api.remember(LISBON)
    first = api.correct(old["id"], PORTO, headers=KEY)
    again = api.correct(old["id"], PORTO, headers=KEY)
    assert (again.status, again.body) == (201, first.body)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert api.correct(old["id"], PORTO).code == "version_conflict"
    assert api.correct(old["id"], PORTO, because="wrong", headers=KEY).code == "idempotency_mismatch"


def test_a_correction_of_another_memory_under_the_same_key_is_refused(api: Caller) -> None:
    one, other = api.remember(LISBON), api.remember("Alice has a dog.")
    api.correct(one["id"], PORTO, headers=KEY)
    answer = api.correct(other["id"], PORTO, headers=KEY)
    assert (answer.status, answer.code) == (422, "idempotency_mismatch")
    assert api.get(other["id"])["status"] == "active"


@pytest.mark.parametrize("key", ["", " ", "a b", "é", "x" * 256, "a\tb"])
def test_a_key_is_visible_ascii(api: Caller, key: str) -> None:
    answer = api.remember(headers={"idempotency_key": key})
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert api.remember(headers={"idempotency_key": "~!" + "x" * 253}).status == 201


def test_a_refusal_is_not_kept(api: Caller) -> None:
    assert api.remember("", headers=KEY).status == 400
    assert api.remember(LISBON, headers=KEY).status == 201


def test_of_twenty_identical_requests_at_once_one_makes_the_memory(
    api: Caller, all_read_first: Callable[[str, int], None]
) -> None:
    all_read_first("acme/alice", 20)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: persistently(lambda: api.remember(LISBON, headers=KEY)), range(20)))
    assert {answer.status for answer in answers} == {201}
    assert len({answer["id"] for answer in answers}) == 1
    assert sum("Idempotency-Replayed" not in answer.headers for answer in answers) == 1
    assert api.verify()["length"] == 1


def test_of_twenty_equal_statements_at_once_one_makes_the_memory(
    api: Caller, all_read_first: Callable[[str, int], None]
) -> None:
    all_read_first("acme/alice", 20)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: persistently(lambda: api.remember(LISBON)), range(20)))
    assert sorted(answer.status for answer in answers) == [200] * 19 + [201]
    assert api.listed() == [LISBON]


RUN = "/v1/conversations/run-1"
HERE = "scope=acme%2Falice"


def said(*texts: str, flush: bool = False) -> dict[str, object]:
    messages = [{"seq": n, "role": "user", "content": text} for n, text in enumerate(texts, 1)]
    return {"scope": "acme/alice", "messages": messages, "flush": flush}


def test_messages_sent_again_get_the_first_answer_again(api: Caller) -> None:
    first = api.send("POST", f"{RUN}/messages", said("I live in Lisbon."), **KEY)
    api.send("POST", f"{RUN}/messages", said("I live in Lisbon.", "We have a dog.", flush=True))
    again = api.send("POST", f"{RUN}/messages", said("I live in Lisbon."), **KEY)
    assert (again.status, again.body) == (202, first.body)
    assert (again["accepted"], again["high_water"]) == (1, 1)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert api.send("POST", f"{RUN}/messages", said("I live in Lisbon."))["duplicates"] == 1


def test_other_messages_under_a_key_are_refused_and_not_kept(api: Caller) -> None:
    api.send("POST", f"{RUN}/messages", said("I live in Lisbon."), **KEY)
    other = api.send("POST", f"{RUN}/messages", said("I live in Lisbon.", "We have a dog."), **KEY)
    assert (other.status, other.code) == (422, "idempotency_mismatch")
    assert len(api.send("GET", RUN, query=HERE)["messages"]) == 1


@pytest.mark.parametrize("verb", ["flush", "retry"])
def test_a_flush_or_retry_sent_again_gets_the_first_answer_again(api: Caller, verb: str) -> None:
    api.send("POST", f"{RUN}/messages", said("I live in Lisbon."))
    first = api.send("POST", f"{RUN}/{verb}", query=HERE, **KEY)
    api.send("POST", f"{RUN}/messages", said("I live in Lisbon.", "We have a dog."))
    again = api.send("POST", f"{RUN}/{verb}", query=HERE, **KEY)
    assert (again.status, again.body) == (202, first.body)
    assert again.headers["Idempotency-Replayed"] == "true"
    other = api.send("POST", f"/v1/conversations/run-2/{verb}", query=HERE, **KEY)
    assert (other.status, other.code) == (422, "idempotency_mismatch")


def test_the_answer_about_a_forgotten_conversation_is_not_given_again(
    api: Caller, service: FakeService
) -> None:
    api.send("POST", f"{RUN}/messages", said("I live in Lisbon."), **KEY)
    (ledger,) = service.ledgers.values()
    ledger.commit(tuple(Delete(ref_of(entry)) for entry in ledger.page(Area.CONVERSATION, limit=10)))
    gone = api.send("POST", f"{RUN}/messages", said("I live in Lisbon."), **KEY)
    assert (gone.status, gone.code) == (410, "forgotten")
