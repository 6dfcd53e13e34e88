"""Workers on the deployed stack: work without a scope, or of another's memory, ends with the dead letters."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack

MINE, THEIRS = "workers/mine", "workers/theirs"
MEMORY = f"mem_{0:026d}"


@pytest.fixture(scope="module")
def client(stack: Stack) -> Iterator[httpx.Client]:
    with stack.client() as found:
        yield found


def remember(client: httpx.Client, scope: str, content: str) -> str:
    """A memory that is indexed."""
    made = client.post("/v1/memories", json={"scope": scope, "content": content})
    assert made.status_code == 201, made.text
    is_indexed(client, scope, made.json()["id"])
    return str(made.json()["id"])


def is_indexed(client: httpx.Client, scope: str, memory_id: str) -> None:
    where = f"/v1/memories/{memory_id}"
    eventually(
        lambda: client.get(where, params={"scope": scope}).json()["index"]["state"] == "indexed", within=60
    )


def recalled(client: httpx.Client, scope: str, query: str) -> list[str]:
    found = client.post("/v1/recall", json={"scope": scope, "query": query}).json()
    return [item["memory"]["id"] for item in found["items"]]


def letters(stack: Stack, queue: str) -> list[str]:
    """What the dead letters hold, taken out."""
    sqs, url = stack.aws("sqs"), stack.outputs[queue]
    found = []
    for message in sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        found.append(message["Body"])
        sqs.delete_message(QueueUrl=url, ReceiptHandle=message["ReceiptHandle"])
    return found


def scope_ids(stack: Stack) -> dict[str, str]:
    """Memory id to scope id, from the ledger's own keys."""
    pages = stack.aws("dynamodb").get_paginator("scan").paginate(TableName=stack.outputs["LedgerTable"])
    keys = [(item["pk"]["S"], item["sk"]["S"]) for page in pages for item in page["Items"]]
    return {sort: partition.removesuffix("#M") for partition, sort in keys if partition.endswith("#M")}


def send(stack: Stack, body: str, name: str) -> None:
    stack.aws("sqs").send_message(
        QueueUrl=stack.outputs["IndexQueueUrl"],
        MessageBody=body,
        MessageGroupId=name,
        MessageDeduplicationId=name,
    )


def test_an_index_message_without_a_scope_or_of_another_scope_is_a_dead_letter_and_changes_nothing(
    stack: Stack, client: httpx.Client
) -> None:
    theirs = remember(client, THEIRS, "their dog is called Bello")
    mine = remember(client, MINE, "my dog is called Rex")
    own = scope_ids(stack)
    assert own[mine] != own[theirs]
    foreign = json.dumps({"sid": own[mine], "id": theirs, "seq": 7})
    sent = [
        "not JSON",
        json.dumps({"id": mine, "seq": 1}),
        json.dumps({"sid": "", "id": mine, "seq": 1}),
        foreign,
    ]
    for number, body in enumerate(sent):
        send(stack, body, f"strange-{number}")
    found: list[str] = []

    def are_set_aside() -> bool:
        found.extend(letter for letter in letters(stack, "IndexDeadLettersUrl") if letter in sent)
        return len(found) == len(sent)

    eventually(are_set_aside, within=60)
    assert sorted(found) == sorted(sent)
    assert recalled(client, THEIRS, "what is the dog called") == [theirs]
    stored = stack.aws("bedrock-agent").get_knowledge_base_documents(
        **stack.knowledge_base,
        documentIdentifiers=[{"dataSourceType": "CUSTOM", "custom": {"id": i}} for i in (theirs, mine)],
    )
    assert [detail["status"] for detail in stored["documentDetails"]] == ["INDEXED", "INDEXED"]


def test_a_stream_record_without_a_scope_is_a_dead_letter_and_the_next_is_projected(
    stack: Stack, client: httpx.Client
) -> None:
    keys: Any = {"pk": {"S": "#P"}, "sk": {"S": MEMORY}}
    item = keys | {"schema": {"N": "1"}}
    stack.aws("dynamodb").put_item(TableName=stack.outputs["LedgerTable"], Item=item)
    remember(client, MINE, "my cat is called Minka")
    found: list[str] = []

    def is_set_aside() -> bool:
        found.extend(letters(stack, "ProjectDeadLettersUrl"))
        return keys in [json.loads(letter)["keys"] for letter in found]

    eventually(is_set_aside, within=60)


def test_each_queue_of_dead_letters_has_an_alarm(stack: Stack) -> None:
    alarms = stack.aws("cloudwatch").describe_alarms()["MetricAlarms"]
    watched = {
        dimension["Value"]
        for alarm in alarms
        if alarm["MetricName"] == "ApproximateNumberOfMessagesVisible" and alarm["Threshold"] == 1
        for dimension in alarm["Dimensions"]
    }
    for queue in ("IndexDeadLettersUrl", "ProjectDeadLettersUrl"):
        assert stack.outputs[queue].rpartition("/")[2] in watched
