"""What was forgotten is in no raw store of the deployed stack, by a search of its own that found it before.

The search reads the stores themselves and shares nothing with what erases (`tests/support/raw.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.raw import holding
from tests.support.stack import Stack, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.stack

ONE, ALL, TWIN = "zircononequokka", "zirconallquokka", "zircontwinquokka"
NEVER = ("RecordTable", "AccessTable", "queue ", "logs", "metrics")


class Life:
    """A scope whose word lies in everything that can hold one."""

    def __init__(self, stack: Stack, client: httpx.Client, word: str) -> None:
        self.stack, self.client, self.word = stack, client, word
        self.scope = {"scope": f"swept/users/{word[:9]}"}
        name = f"run-{word[:9]}"
        run = f"/v1/conversations/{name}"
        # Of an assistant's words nothing is extracted: the one memory is all that knows it.
        role = "assistant" if word == ONE else "user"
        said = [{"seq": 1, "role": role, "content": f"I keep a {word} in a box. I like tea."}]
        self.call("POST", f"{run}/messages", {**self.scope, "messages": said, "flush": True})
        told = {"source": {"run_id": name, "message_seqs": [1], "quote": f"I keep a {word}"}}
        fact = {"content": f"Ana keeps a {word} in a box.", "key": word, "tags": [word], "data": {"x": word}}
        named = {"Idempotency-Key": f"{word}-1"}
        old = self.call("POST", "/v1/memories", {**self.scope, **fact, **told}, **named)
        self.call("PATCH", f"/v1/memories/{old['id']}", {"metadata": {"m": word}}, **{"If-Match": '"1"'})
        change = {"content": f"Ana keeps a {word} in a bag.", "because": "changed", "note": f"says {word}"}
        correct = f"/v1/memories/{old['id']}/correct"
        self.memory = self.call("POST", correct, change, **{"If-Match": '"2"'})["id"]
        # Another conversation says what the memory says, and no memory was made of it.
        self.other = f"/v1/conversations/other-{word[:9]}"
        again = f"Noted.\nAna keeps a {word} in a bag.\nAnything else?"
        echo = {"messages": [{"seq": 1, "role": "assistant", "content": again}]}
        self.call("POST", f"{self.other}/messages", {**self.scope, **echo})
        self.call(
            "POST",
            f"/v1/memories/{self.memory}/dispute",
            {"reason": "other", "note": f"on {word}"},
            **{"If-Match": '"1"'},
        )
        chess = {**self.scope, "content": "Ana plays chess.", **told}  # and quotes the same sentence
        self.kept = self.call("POST", "/v1/memories", chess)["id"]
        self.hand_in(run)
        self.carry()
        eventually(self.is_indexed, within=90)

    def call(self, method: str, path: str, body: Any = None, query: Any = None, **headers: str) -> Any:
        """One request; a busy scope is asked again."""

        def answered() -> httpx.Response | None:
            where = {} if "scope" in (body or {}) else {**self.scope, **(query or {})}
            answer = self.client.request(method, path, json=body, params=where, headers=headers)
            return None if answer.status_code == 503 else answer

        answer = eventually(answered)
        assert answer.status_code < 300, (path, answer.text)
        return answer.json()

    def hand_in(self, run: str) -> None:
        """A file that is no transcript: it has failed, and stays in the intake."""
        address = self.call("POST", f"{run}/upload")
        put = httpx.put(address["url"], content=f"no transcript {self.word}", headers=address["headers"])
        put.raise_for_status()
        eventually(lambda: "failed" in {each["state"] for each in self.call("GET", run)["uploads"]})

    def carry(self) -> None:
        """An export, and parts of an import that nobody starts."""
        include = ["active", "disputed", "history"]
        made = self.call("POST", "/v1/export", {**self.scope, "include": include})
        eventually(lambda: self.call("GET", f"/v1/jobs/{made['id']}")["state"] == "complete")
        waiting = self.call("POST", "/v1/import", {**self.scope, "upload": {"parts": 1}})
        (link,) = waiting["result"]["uploads"]
        httpx.put(link["url"], content=self.word).raise_for_status()

    def echoed(self) -> str:
        """What the other conversation says by now."""
        return str(self.call("GET", self.other)["messages"][0]["content"])

    def is_indexed(self) -> bool:
        found = [self.call("GET", f"/v1/memories/{each}") for each in (self.memory, self.kept)]
        return {each["index"]["state"] for each in found} == {"indexed"}

    def completed(self, erasure_id: str) -> Any:
        def look() -> Any:
            receipt = self.call("GET", f"/v1/erasures/{erasure_id}")
            return receipt if receipt["state"] == "complete" else None

        return eventually(look, within=120)

    def stores(self) -> set[str]:
        return holding(self.stack, self.word)


@pytest.fixture(scope="module")
def lives(stack: Stack) -> Iterator[dict[str, Life]]:
    with stack.client() as client:
        yield {word: Life(stack, client, word) for word in (ONE, ALL, TWIN)}


def test_a_search_of_its_own_finds_it_everywhere_before_and_nowhere_after(
    stack: Stack, lives: dict[str, Life]
) -> None:
    homes = {"LedgerTable", *(f"s3 {stack.outputs[f'{each}Bucket']}" for each in BUCKETS)}
    for life in lives.values():
        found = life.stores()
        assert found >= homes, (life.word, "the control: it is found in each of these")
        assert [store for store in found if store.startswith("vectors ")], (life.word, "and in the index")
        assert not [store for store in found if store.startswith(NEVER)], (life.word, "and never in these")
    one, everything, twin = lives.values()
    assert one.word in one.echoed(), "the control: it is said where no memory was made of it"
    before = twin.stores()

    receipt = one.call("DELETE", f"/v1/memories/{one.memory}", query={"reason": "user_request"})
    selector = {"all": True, "confirm": everything.scope["scope"]}
    asked = {**everything.scope, "selector": selector, "reason": "user_request"}
    whole = everything.call("POST", "/v1/forget", asked)

    for life, erasure in ((one, receipt), (everything, whole)):
        done = life.completed(erasure["id"])
        assert {s["store"]: s["state"] for s in done["stores"]} == dict.fromkeys(ABSENT, "absent") | {
            "backup": "retained"
        }
        assert all(store["proof"] for store in done["stores"])
        assert life.stores() == set(), life.word
    assert twin.stores() == before, "the control: the twin's is found where it was"
    assert one.echoed() == "Noted.\n[redacted]\nAnything else?"
    assert twin.word in twin.echoed(), "the control"
    (listed,) = one.call("GET", "/v1/memories")["items"]
    assert (listed["content"], listed["source"]["quote"]) == ("Ana plays chess.", "[redacted]")
    assert everything.call("GET", "/v1/memories")["items"] == []


BUCKETS = ("Documents", "Intake", "Transfers")
ABSENT = ("ledger", "document", "index", "transfers", "intake")
