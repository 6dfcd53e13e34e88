"""Every write of every area through the deployed stack: what a role may not do shows here alone."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote, urlencode

import httpx
import pytest

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack

LISBON, PORTO, FARO = "Alice lives in Lisbon.", "Alice lives in Porto.", "Alice lives in Faro."


@pytest.fixture
def client(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as found:
        yield found


def remember(client: httpx.Client, scope: str, content: str = LISBON, **fields: Any) -> httpx.Response:
    headers = fields.pop("headers", {})
    return client.post("/v1/memories", json={"scope": scope, "content": content, **fields}, headers=headers)


def correct(
    client: httpx.Client, scope: str, memory: Any, content: str, because: str, **fields: Any
) -> httpx.Response:
    return client.post(
        f"/v1/memories/{memory['id']}/correct",
        params={"scope": scope},
        json={"content": content, "because": because, **fields},
        headers={"If-Match": f'"{memory["version"]}"'},
    )


def forget(client: httpx.Client, scope: str, memory: Any, **parameters: str) -> httpx.Response:
    return client.delete(
        f"/v1/memories/{memory['id']}", params={"scope": scope, "reason": "test", **parameters}
    )


def verify(client: httpx.Client, scope: str) -> Any:
    return client.get("/v1/audit/verify", params={"scope": scope}).json()


def test_a_memory_takes_leaves_and_gives_up_a_slot(client: httpx.Client) -> None:
    scope = "roles/slots"
    first = remember(client, scope, key="home").json()
    second = remember(client, scope, PORTO, key="home")
    assert (second.status_code, second.json()["supersedes"]) == (201, [first["id"]])
    third = correct(client, scope, second.json(), FARO, "changed", key=None)
    assert (third.status_code, third.json()["key"]) == (201, None)
    fourth = correct(client, scope, third.json(), "Alice lives in Braga.", "wrong", key="home")
    assert fourth.status_code == 201
    erasure = forget(client, scope, fourth.json())
    assert (erasure.status_code, erasure.json()["erased"]) == (202, 4)
    assert verify(client, scope)["ok"] is True


def test_a_restated_fact_and_a_repeated_request_are_one_write_each(client: httpx.Client) -> None:
    scope, key = "roles/restated", {"Idempotency-Key": "k"}
    first = remember(client, scope, headers=key)
    again = remember(client, scope, headers=key)
    assert (again.status_code, again.json()["id"]) == (201, first.json()["id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    restated = correct(client, scope, first.json(), LISBON, "wrong", tags=["a"])
    assert restated.status_code == 201
    assert remember(client, scope).json()["id"] == restated.json()["id"]


def test_refusals_are_audited_under_the_writers_role(client: httpx.Client) -> None:
    scope = "roles/refused"
    assert remember(client, scope, "the key is AKIAIOSFODNN7EXAMPLE").status_code == 422
    memory = remember(client, scope).json()
    assert forget(client, scope, memory).status_code == 202
    assert remember(client, scope).status_code == 409
    assert verify(client, scope)["length"] == 4


def act(client: httpx.Client, scope: str, memory: Any, path: str, **body: Any) -> httpx.Response:
    headers = {"If-Match": f'"{memory["version"]}"'}
    return client.post(path, params={"scope": scope}, json=body, headers=headers)


def test_people_doubt_decide_take_back_and_give_free_under_the_real_roles(client: httpx.Client) -> None:
    scope = "roles/people"
    memory = remember(client, scope, key="home", tags=["a"]).json()
    path = f"/v1/memories/{memory['id']}"
    edited = client.patch(
        path, params={"scope": scope}, json={"tags": ["b"], "key": None}, headers={"If-Match": '"1"'}
    )
    assert edited.status_code == 200, edited.text
    doubted = act(client, scope, edited.json(), f"{path}/dispute", reason="other")
    assert (doubted.status_code, doubted.json()["trust"]) == (200, "disputed")
    waiting = client.get("/v1/reviews", params={"scope": scope, "state": "disputed"}).json()["items"]
    assert [item["id"] for item in waiting] == [memory["id"]]
    approved = act(client, scope, doubted.json(), f"/v1/reviews/{memory['id']}", decision="approve")
    assert (approved.status_code, approved.json()["trust"]) == (200, "verified")
    taken = act(client, scope, approved.json(), f"{path}/retract", reason="incorrect", note="a slip")
    assert (taken.status_code, taken.json()["status"]) == (200, "retracted")
    assert remember(client, scope).status_code == 409
    (grave,) = client.get("/v1/tombstones", params={"scope": scope}).json()["items"]
    lifted = client.post(
        f"/v1/tombstones/{grave['id']}/lift", params={"scope": scope}, json={"reason": "other"}
    )
    assert (lifted.status_code, lifted.json()["lifted"]) == (200, True)
    assert remember(client, scope).status_code == 201
    assert client.get(f"{path}/history", params={"scope": scope}).json()["events"]
    assert client.get("/v1/stats", params={"scope": scope}).json()["statuses"] == {
        "active": 1,
        "retracted": 1,
    }
    assert verify(client, scope)["ok"] is True


def test_a_batch_is_stored_item_by_item_under_the_real_roles(client: httpx.Client) -> None:
    items = [{"content": f"stone {n}", "key": f"k{n % 7}"} for n in range(24)] + [{"content": ""}]
    answer = client.post("/v1/memories/batch", json={"scope": "roles/batch", "items": items})
    assert [result["status"] for result in answer.json()["results"]] == [201] * 24 + [400]
    assert verify(client, "roles/batch")["length"] == 24


def test_what_was_derived_goes_or_waits_under_the_real_roles(client: httpx.Client) -> None:
    scope = "roles/derived"
    one, other = remember(client, scope, "one").json(), remember(client, scope, "other").json()
    alone = remember(client, scope, "alone", derived_from=[one["id"]], key="k").json()
    both = remember(client, scope, "both", derived_from=[one["id"], other["id"]], key="l").json()
    erasure = forget(client, scope, one)
    assert erasure.status_code == 202, erasure.text
    assert {(c["id"], c["outcome"]) for c in erasure.json()["cascade"]} == {
        (alone["id"], "erased"),
        (both["id"], "candidate"),
    }
    assert verify(client, scope)["ok"] is True


def test_a_long_chain_is_forgotten_in_several_transactions_to_the_last_receipt(client: httpx.Client) -> None:
    scope = "roles/chain"
    current = remember(client, scope, "room 0").json()
    for number in range(1, 21):
        answer = correct(client, scope, current, f"room {number}", "changed")
        assert answer.status_code == 201
        current = answer.json()
    erasure = forget(client, scope, current).json()
    assert erasure["erased"] == 21

    def receipt() -> Any:
        return client.get(f"/v1/erasures/{erasure['id']}", params={"scope": scope}).json()

    eventually(lambda: receipt()["state"] == "complete", within=60)
    assert {store["state"] for store in receipt()["stores"][:3]} == {"absent"}


def test_of_twenty_identical_requests_at_once_one_makes_the_memory(client: httpx.Client) -> None:
    scope, key = "roles/twenty", {"Idempotency-Key": "k"}
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: remember(client, scope, headers=key), range(20)))
    done = [answer for answer in answers if answer.status_code == 201]
    assert {answer.status_code for answer in answers} <= {201, 503}
    assert done
    assert len({answer.json()["id"] for answer in done}) == 1
    assert verify(client, scope)["length"] == 1


def test_of_twenty_corrections_at_once_one_wins(client: httpx.Client) -> None:
    scope = "roles/race"
    old = remember(client, scope).json()
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda n: correct(client, scope, old, f"house {n}", "changed"), range(20)))
    statuses = [answer.status_code for answer in answers]
    assert statuses.count(201) == 1
    assert set(statuses) <= {201, 412, 503}
    chain = verify(client, scope)
    assert (chain["ok"], chain["length"]) == (True, 2)


def test_thirty_writers_of_one_scope_lose_nothing_and_fork_nothing(client: httpx.Client) -> None:
    scope = "roles/busy"
    with ThreadPoolExecutor(30) as pool:
        answers = list(pool.map(lambda n: remember(client, scope, f"Fact {n}.").status_code, range(30)))
    assert set(answers) <= {201, 503}
    found = verify(client, scope)
    assert (found["ok"], found["length"]) == (True, answers.count(201))
    listed = client.get("/v1/memories", params={"scope": scope, "limit": 100}).json()["items"]
    assert len(listed) == answers.count(201) > 0


def test_an_item_is_written_over_and_forgotten_under_the_real_roles(client: httpx.Client) -> None:
    scope = "roles/items"
    item: dict[str, Any] = {"kind": "item", "key": "a/b %", "path": ["x/y", "z"]}
    here = urlencode({"scope": scope, "kind": "item", "key": "a/b %", "path": "x%2Fy/z"}, quote_via=quote)

    def found() -> Any:
        return client.get(f"/v1/memories?{here}").json()["items"]

    first = remember(client, scope, "", data={"n": 1}, **item)
    assert (first.status_code, first.json()["path"]) == (201, ["x/y", "z"])
    with ThreadPoolExecutor(5) as pool:
        writes = [pool.submit(remember, client, scope, "", data={"n": n}, **item) for n in range(5)]
        answers = [write.result() for write in writes]
    done = [answer.json() for answer in answers if answer.status_code == 200]
    assert {answer.status_code for answer in answers} <= {200, 503}
    assert {memory["id"] for memory in done} == {first.json()["id"]}
    (memory,) = found()
    assert memory["data"] == max(done, key=lambda each: each["version"])["data"]
    assert client.get("/v1/memories", params={"scope": scope}).json()["items"] == []
    assert forget(client, scope, memory).status_code == 202
    assert found() == []
    again = remember(client, scope, "", **item)
    assert (again.status_code, again.json()["version"]) == (201, 1)
    assert verify(client, scope)["ok"] is True


def test_quotas_and_rates_hold_under_the_real_roles(client: httpx.Client) -> None:
    quotas = {"memories": 2, "bytes": 100, "messages_per_day": 1}
    client.put("/v1/policy", params={"scope": "bounded"}, json={"quotas": quotas}).raise_for_status()
    first, second = (remember(client, "bounded/a", text) for text in (LISBON, PORTO))
    assert second.headers["X-Quota-Memories-Remaining"] == "0"
    refused = remember(client, "bounded/a", FARO)
    assert (refused.status_code, refused.json()["code"]) == (429, "quota_exceeded")
    said = {
        "scope": "bounded/a",
        "messages": [{"seq": n, "role": "user", "content": "Hello."} for n in (1, 2)],
    }
    answer = client.post("/v1/conversations/run-1/messages", json=said)
    assert (answer.status_code, answer.json()["quota"]) == (429, "messages")
    assert forget(client, "bounded/a", first.json()).status_code == 202
    assert remember(client, "bounded/a", FARO).status_code == 201
    client.put("/v1/policy", params={"scope": "rated"}, json={"quotas": {"requests_per_minute": 3}})

    def throttled() -> httpx.Response | None:
        found = client.get("/v1/memories", params={"scope": "rated/a"})
        return found if found.status_code == 429 else None

    too_fast = eventually(throttled)
    assert (too_fast.json()["code"], too_fast.headers["X-Quota-Requests-Limit"]) == ("throttled", "3")
    assert client.get("/v1/memories", params={"scope": "bounded/a"}).status_code == 200
