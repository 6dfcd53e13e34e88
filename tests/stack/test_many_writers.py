"""A hundred writers of one scope of the deployed stack: a hundred entries, one chain.

Ten at a time, because each is a process of its own here; `tests/model` has all hundred at once.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.support.stack import Stack

pytestmark = pytest.mark.stack

PATIENCE = 180.0  # seconds that a client goes on asking while the scope is busy
AT_ONCE = 10


@pytest.fixture
def client(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as found:
        yield found


def persistently(send: Callable[[], httpx.Response]) -> httpx.Response:
    """Ask again while the scope is busy, as `Retry-After` says."""
    give_up = time.monotonic() + PATIENCE
    while (answer := send()).status_code in (429, 503) and time.monotonic() < give_up:
        time.sleep(float(answer.headers["Retry-After"]) * random.random())
    return answer


def test_a_hundred_writers_make_a_hundred_entries_of_one_chain(client: httpx.Client) -> None:
    scope, writers = "many/writers", 100

    def write(number: int) -> int:
        body = {"scope": scope, "content": f"Fact number {number}."}
        name = {"Idempotency-Key": f"fact-{number}"}
        return persistently(lambda: client.post("/v1/memories", json=body, headers=name)).status_code

    with ThreadPoolExecutor(AT_ONCE) as pool:
        assert list(pool.map(write, range(writers))) == [201] * writers
    listed = client.get("/v1/memories", params={"scope": scope, "limit": 100}).json()["items"]
    assert sorted(m["content"] for m in listed) == sorted(f"Fact number {n}." for n in range(writers))
    events = client.get("/v1/audit", params={"scope": scope, "limit": 100}).json()["items"]
    assert [event["seq"] for event in events] == list(range(1, writers + 1))
    chain = client.get("/v1/audit/verify", params={"scope": scope}).json()
    assert (chain["ok"], chain["complete"], chain["length"]) == (True, True, writers)


def test_of_fifty_corrections_of_one_version_one_wins_and_recall_always_finds_one(
    client: httpx.Client,
) -> None:
    scope = "many/corrections"
    old = client.post(
        "/v1/memories", json={"scope": scope, "content": "Alice lives in house 0.", "key": "home"}
    ).json()

    def correct(number: int) -> int:
        answer = persistently(
            lambda: client.post(
                f"/v1/memories/{old['id']}/correct",
                params={"scope": scope},
                json={"content": f"Alice lives in house {number}.", "because": "changed"},
                headers={"If-Match": '"1"'},
            )
        )
        assert answer.status_code in (201, 412), answer.text
        return answer.status_code

    def recall(_: int) -> int:
        asked = {"scope": scope, "query": "Where does Alice live?"}
        return len(persistently(lambda: client.post("/v1/recall", json=asked)).json()["items"])

    with ThreadPoolExecutor(AT_ONCE) as writers, ThreadPoolExecutor(2) as readers:
        corrected, recalled = writers.map(correct, range(1, 51)), readers.map(recall, range(20))
        assert sorted(corrected) == [201] + [412] * 49
        assert list(recalled) == [1] * 20
    assert len(client.get("/v1/memories", params={"scope": scope}).json()["items"]) == 1
