"""The product under faults of AWS: nothing lost, nothing double, and an honest answer each time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack

Faults = Callable[..., None]
TRANSACTION = "dynamodb.TransactWriteItems"


@pytest.fixture
def client(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as found:
        yield found


def listed(client: httpx.Client, scope: str) -> list[str]:
    """The contents of every memory of a scope, oldest first."""
    query: dict[str, Any] = {"scope": scope, "limit": 100, "order": "asc"}
    found: list[str] = []
    while True:
        page = client.get("/v1/memories", params=query).json()
        found += [memory["content"] for memory in page["items"]]
        if page["next_cursor"] is None:
            return found
        query["cursor"] = page["next_cursor"]


def index_state(client: httpx.Client, scope: str, memory_id: str) -> str:
    return str(client.get(f"/v1/memories/{memory_id}", params={"scope": scope}).json()["index"]["state"])


def test_a_hundred_writes_under_throttling_and_conflicts_lose_nothing_and_double_nothing(
    stack: Stack, client: httpx.Client, faults: Faults
) -> None:
    scope = "faults/hundred"
    seen: set[int] = set()

    def write(number: int) -> None:
        body = {"scope": scope, "content": f"fact number {number}"}
        key = {"Idempotency-Key": f"hundred-{number}"}
        for _ in range(20):
            answer = writer.post("/v1/memories", json=body, headers=key)
            seen.add(answer.status_code)
            if answer.status_code == 201:
                return
            assert answer.status_code in (429, 503), answer.text
            assert answer.headers["Retry-After"]
        pytest.fail(f"write {number} never went through")

    faults(throttle={TRANSACTION: 0.3}, conflict=0.2)
    with stack.client() as writer, ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(100)))
    faults(throttle={}, conflict=0)
    assert 201 in seen
    assert sorted(listed(client, scope)) == sorted(f"fact number {number}" for number in range(100))
    chain = client.get("/v1/audit/verify", params={"scope": scope}).json()
    assert (chain["ok"], chain["length"]) == (True, 100)


def test_when_every_transaction_is_throttled_the_caller_is_told_to_come_again(
    client: httpx.Client, faults: Faults
) -> None:
    body = {"scope": "faults/throttled", "content": "never"}
    faults(throttle={TRANSACTION: 1.0})
    answer = client.post("/v1/memories", json=body)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert answer.headers["Retry-After"]
    faults(throttle={})
    assert listed(client, "faults/throttled") == []
    assert client.post("/v1/memories", json=body).status_code == 201


def test_when_every_transaction_conflicts_the_caller_is_told_that_it_is_busy(
    client: httpx.Client, faults: Faults
) -> None:
    body = {"scope": "faults/busy", "content": "never"}
    faults(conflict=1)
    answer = client.post("/v1/memories", json=body)
    assert (answer.status_code, answer.json()["code"]) == (503, "busy")
    faults(conflict=0)
    assert listed(client, "faults/busy") == []


def test_a_commit_that_nobody_heard_of_is_replayed_and_made_once(
    client: httpx.Client, faults: Faults
) -> None:
    scope = "faults/unheard"
    body = {"scope": scope, "content": "Alice lives in Lisbon."}
    key = {"Idempotency-Key": "unheard"}
    client.get("/v1/memories", params={"scope": scope})
    faults(commit_then_timeout={TRANSACTION: 1.0})
    unheard = client.post("/v1/memories", json=body, headers=key)
    assert unheard.status_code in (201, 503), "made, if it was looked up; else nobody can say"
    faults(commit_then_timeout={})
    assert listed(client, scope) == [body["content"]]
    again = client.post("/v1/memories", json=body, headers=key)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert listed(client, scope) == [body["content"]]
    chain = client.get("/v1/audit/verify", params={"scope": scope}).json()
    assert (chain["ok"], chain["length"]) == (True, 1)


def test_a_document_the_index_refuses_is_said_to_have_failed_and_heals(
    client: httpx.Client, faults: Faults
) -> None:
    scope = "faults/index"
    faults(kb_lag_seconds=3)
    refused = client.post("/v1/memories", json={"scope": scope, "content": "a stubborn fact"}).json()
    faults(kb_fail_ids=[refused["id"]], kb_lag_seconds=0.2)
    neighbour = client.post("/v1/memories", json={"scope": scope, "content": "an easy fact"}).json()
    eventually(lambda: index_state(client, scope, refused["id"]) == "failed", within=60)
    eventually(lambda: index_state(client, scope, neighbour["id"]) == "indexed", within=60)
    found = client.post("/v1/recall", json={"scope": scope, "query": "stubborn fact"}).json()
    assert refused["id"] in [item["memory"]["id"] for item in found["items"]]
    faults(kb_fail_ids=[])
    eventually(lambda: index_state(client, scope, refused["id"]) == "indexed", within=120)


def test_a_knowledge_base_that_takes_half_a_minute_is_not_waited_for(
    client: httpx.Client, faults: Faults
) -> None:
    scope = "faults/slow"
    memory = client.post("/v1/memories", json={"scope": scope, "content": "Alice lives in Lisbon."}).json()
    eventually(lambda: index_state(client, scope, memory["id"]) == "indexed", within=60)
    asked = {"scope": scope, "query": "Where does Alice live?", "deadline_ms": 2_000}
    assert client.post("/v1/recall", json=asked).status_code == 200
    faults(delay_seconds={"bedrock-agent-runtime.Retrieve": 30})
    slow = client.post("/v1/recall", json=asked).json()
    assert [item["memory"]["id"] for item in slow["items"]] == [memory["id"]]
    assert (slow["degraded"], slow["reasons"]) == (True, ["knowledge_base_timeout"])
    assert slow["took_ms"] < 15_000, "half of what the knowledge base takes"
    faults(delay_seconds={})


def test_a_ledger_that_hangs_is_said_within_the_deadline(client: httpx.Client, faults: Faults) -> None:
    asked = {"scope": "faults/hangs", "query": "tea", "deadline_ms": 1_000}
    assert client.post("/v1/recall", json=asked).status_code == 200
    faults(delay_seconds={"dynamodb.BatchGetItem": 30})
    answer = client.post("/v1/recall", json=asked)
    assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
    assert "ledger_timeout" in answer.json()["reasons"]
    faults(delay_seconds={})
    eventually(lambda: client.post("/v1/recall", json=asked).status_code == 200, within=60)
