"""Conversations become memories on the deployed stack, under the roles it has there."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest

from tests.support.stack import Stack, eventually
from unsay_core.adapters.messaging import event_of_batch

pytestmark = pytest.mark.stack

LISBON = "I live in Lisbon."


@pytest.fixture
def client(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as found:
        yield found


class Run:
    """A conversation of its own scope."""

    def __init__(self, client: httpx.Client, name: str) -> None:
        self._client, self.scope = client, f"extraction/{name}"

    def say(self, *texts: str, flush: bool = True, **fields: Any) -> Any:
        messages = [{"seq": n, "role": "user", "content": text, **fields} for n, text in enumerate(texts, 1)]
        body = {"scope": self.scope, "messages": messages, "flush": flush}
        answer = self._client.post("/v1/conversations/run-1/messages", json=body)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def read(self) -> Any:
        found = self._client.get("/v1/conversations/run-1", params={"scope": self.scope})
        assert found.status_code == 200, found.text
        return found.json()

    def post(self, verb: str) -> Any:
        return self._client.post(f"/v1/conversations/run-1/{verb}", params={"scope": self.scope})

    def over(self, state: str = "done", within: float = 120) -> Any:
        """The batches, once all of them are over; they have to be in that state."""
        found = eventually(lambda: [] if self._unfinished() else self.read()["batches"], within=within)
        assert {batch["state"] for batch in found} == {state}, found
        return found

    def _unfinished(self) -> bool:
        batches = self.read()["batches"]
        return not batches or any(batch["state"] not in ("done", "failed") for batch in batches)

    def memories(self) -> list[Any]:
        found = self._client.get("/v1/memories", params={"scope": self.scope, "limit": 100})
        return list(found.json()["items"])

    def forget(self, memory: Any) -> Any:
        return self._client.delete(
            f"/v1/memories/{memory['id']}", params={"scope": self.scope, "reason": "test"}
        )

    def verify(self) -> bool:
        return bool(self._client.get("/v1/audit/verify", params={"scope": self.scope}).json()["ok"])


def test_a_conversation_becomes_memories_and_is_forgotten_with_its_evidence(client: httpx.Client) -> None:
    run = Run(client, "whole")
    run.say(f"Hi. {LISBON} And you?", "We have a dog.", *(f"I own {n} cups." for n in range(7)))
    batches = run.over()
    assert len(batches) == 2
    found = {memory["content"]: memory for memory in run.memories()}
    assert found.keys() == {LISBON, "We have a dog.", *(f"I own {n} cups." for n in range(7))}
    assert found[LISBON]["source"]["model"] == "local-rule-extractor/2 prompt 1"
    assert sorted(i for batch in batches for i in batch["created"]) == sorted(
        memory["id"] for memory in found.values()
    )
    erased = run.forget(found[LISBON])
    assert erased.status_code == 202, erased.text
    assert run.read()["messages"][0]["content"] == "Hi. [redacted] And you?"
    assert run.verify()
    eventually(
        lambda: (
            client.get(f"/v1/erasures/{erased.json()['id']}", params={"scope": run.scope}).json()["state"]
            == "complete"
        ),
        within=60,
    )


def test_what_is_doubtful_waits_and_is_approved_under_the_real_roles(client: httpx.Client) -> None:
    run = Run(client, "doubtful")
    run.say("Please call me Al, I like that.")
    run.over()
    assert run.memories() == []
    (item,) = client.get("/v1/reviews", params={"scope": run.scope}).json()["items"]
    assert item["review"]["reasons"] == ["addresses_agent"]
    approved = client.post(
        f"/v1/reviews/{item['id']}",
        params={"scope": run.scope},
        json={"decision": "approve"},
        headers={"If-Match": '"1"'},
    )
    assert (approved.status_code, approved.json()["trust"]) == (200, "verified")


def test_a_batch_that_fails_is_set_aside_and_tried_again_when_asked(
    client: httpx.Client, stack: Stack, faults: Callable[..., None]
) -> None:
    run, unusable = Run(client, "failing"), {"when": "failing-canary", "text": "no", "stop": "end_turn"}
    faults(converse_replies=[unusable] * 3)
    run.say("I keep a failing-canary.")
    (batch,) = run.over("failed")
    assert (batch["attempts"], batch["error"]) == (3, "no_facts_in_reply")
    letters = stack.aws("sqs").receive_message(
        QueueUrl=stack.outputs["ExtractDeadLettersUrl"],
        WaitTimeSeconds=5,
        VisibilityTimeout=0,
        MaxNumberOfMessages=10,
    )["Messages"]
    assert "failing-canary" not in str(letters)
    assert any('"conversation.ready"' in letter["Body"].replace(" ", "") for letter in letters)
    assert run.post("retry").status_code == 202
    run.over()
    assert [memory["content"] for memory in run.memories()] == ["I keep a failing-canary."]


def test_an_operator_sends_what_failed_again(
    client: httpx.Client, stack: Stack, faults: Callable[..., None]
) -> None:
    run, unusable = Run(client, "redriven"), {"when": "redriven-canary", "text": "no", "stop": "end_turn"}
    faults(converse_replies=[unusable] * 3)
    run.say("I keep a redriven-canary.")
    run.over("failed")
    owner = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": "us-east-1"}
    command = [sys.executable, "-m", "unsay_core.admin.cli", "redrive", "extract"]
    environment = os.environ | owner | {"AWS_ENDPOINT_URL": stack.endpoint_url}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0 and "sent again" in done.stderr, done.stderr
    run.over()
    assert [memory["content"] for memory in run.memories()] == ["I keep a redriven-canary."]
    assert run.verify()


def test_a_model_that_is_away_costs_nothing_but_time(
    client: httpx.Client, faults: Callable[..., None]
) -> None:
    run = Run(client, "away")
    faults(throttle={"bedrock-runtime.Converse": 1.0})
    run.say(LISBON)
    eventually(lambda: run.read()["batches"][0]["error"] == "model_throttled", within=60)
    assert run.read()["batches"][0]["attempts"] == 0
    faults(throttle={})
    run.over()
    assert [memory["content"] for memory in run.memories()] == [LISBON]


def test_a_transcript_is_handed_in_as_a_file_once_and_under_its_own_prefix(
    client: httpx.Client, stack: Stack
) -> None:
    run = Run(client, "uploaded")
    said = [LISBON, "We have a dog."]
    file = "\n".join(json.dumps({"seq": n, "role": "user", "content": text}) for n, text in enumerate(said))
    address = run.post("upload")
    assert address.status_code == 201, address.text
    found = address.json()
    elsewhere = found["url"].replace("run-1/upl_", "run-2/upl_")
    assert elsewhere != found["url"]
    assert httpx.put(elsewhere, content=file, headers=found["headers"]).status_code == 403
    assert httpx.put(found["url"], content=file).status_code == 403, "the headers are signed too"
    assert httpx.put(found["url"], content=file, headers=found["headers"]).status_code == 200
    run.over()
    assert sorted(memory["content"] for memory in run.memories()) == said
    state = eventually(lambda: [u for u in run.read()["uploads"] if u["state"] == "done"], within=60)
    assert [each["error"] for each in state] == [None]
    broken = run.post("upload").json()
    assert httpx.put(broken["url"], content="{nope", headers=broken["headers"]).status_code == 200
    failed = eventually(lambda: [u for u in run.read()["uploads"] if u["state"] == "failed"], within=60)
    assert [(each["id"], each["error"]) for each in failed] == [(broken["id"], "line 1 is not a message")]
    listed = stack.aws("s3").list_objects_v2(Bucket=stack.outputs["IntakeBucket"])
    assert {each["Key"].rpartition("/")[2] for each in listed["Contents"]} == {f"{broken['id']}.jsonl"}
    assert run.verify()


def test_calls_delivered_thrice_in_any_order_and_a_shaky_world_leave_each_memory_once(
    client: httpx.Client, stack: Stack, faults: Callable[..., None]
) -> None:
    chance = random.Random(11)
    faults(throttle={"bedrock-runtime.Converse": 0.3}, conflict=0.05)
    runs = [Run(client, f"delivery-{number}") for number in range(4)]
    for number, run in enumerate(runs):
        run.say(*(f"I own cup {number} of {each}." for each in range(12)))
    ledger, queue = stack.outputs["LedgerTable"], stack.outputs["ExtractQueueUrl"]
    items = stack.aws("dynamodb").get_paginator("scan").paginate(TableName=ledger)
    keys = [(item["pk"]["S"], item["sk"]["S"]) for page in items for item in page["Items"]]
    batches = [(pk.partition("#")[0], sk.rpartition("#")[2]) for pk, sk in keys if "#b#" in sk]
    calls = [event_of_batch(scope_id, "run-1", int(number)) for scope_id, number in batches] * 2
    for call in chance.sample(calls, len(calls)):
        stack.aws("sqs").send_message(QueueUrl=queue, MessageBody=call)
    for number, run in enumerate(runs):
        batches_of_run = run.over(within=400)
        found = [memory["content"] for memory in run.memories()]
        assert sorted(found) == sorted(f"I own cup {number} of {each}." for each in range(12))
        assert sum(len(batch["created"]) for batch in batches_of_run) == 12
        assert run.read()["extracted_through"] == 12
        assert run.verify()
