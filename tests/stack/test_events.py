"""Each change of a scope is told on the bus once, by ids and reasons and never by text."""

from __future__ import annotations

import json

import pytest

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack


@pytest.fixture
def listener(stack: Stack):
    """A queue that gets every domain event; returns what has arrived so far."""
    sqs, events, bus = stack.aws("sqs"), stack.aws("events"), stack.outputs["EventBusName"]
    url = sqs.create_queue(QueueName="listener")["QueueUrl"]
    arn = sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
    pattern = json.dumps({"source": ["unsay"]})
    events.put_rule(Name="listener", EventBusName=bus, EventPattern=pattern)
    events.put_targets(Rule="listener", EventBusName=bus, Targets=[{"Id": "q", "Arn": arn}])
    heard: list[dict] = []

    def listen():
        received = sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10)
        for message in received.get("Messages", []):
            heard.append(json.loads(message["Body"]))
            sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
        return heard

    yield listen
    events.remove_targets(Rule="listener", EventBusName=bus, Ids=["q"])
    events.delete_rule(Name="listener", EventBusName=bus)
    sqs.delete_queue(QueueUrl=url)


def test_a_memorys_life_is_told_in_order_without_its_words(stack: Stack, listener):
    scope = {"scope": "acme/users/told"}
    with stack.client() as client:
        made = client.post("/v1/memories", json={**scope, "content": "Canary sings at dawn."}).json()
        new = client.post(
            f"/v1/memories/{made['id']}/correct",
            params=scope,
            json={"content": "Canary sings at dusk.", "because": "wrong", "note": "a note on the canary"},
            headers={"If-Match": '"1"'},
        ).json()
        erasure = client.delete(
            f"/v1/memories/{new['id']}", params={**scope, "reason": "user_request"}
        ).json()

    def about_it():
        found = [e for e in listener() if e["detail"].get("memory_id") in (made["id"], new["id"])]
        return found if len(found) >= 3 else None

    heard = eventually(about_it)
    told = [(event["detail-type"], event["detail"]["memory_id"]) for event in heard]
    assert sorted(told) == sorted(
        [
            ("memory.remembered", made["id"]),
            ("memory.corrected", new["id"]),
            ("memory.forgotten", new["id"]),
        ]
    )
    forgotten = next(e["detail"] for e in heard if e["detail-type"] == "memory.forgotten")
    assert (forgotten["erasure_id"], forgotten["reason"]) == (erasure["id"], "user_request")
    words = json.dumps(heard).lower()
    assert made["id"] in words
    assert "canary" not in words
    assert "acme" not in words
