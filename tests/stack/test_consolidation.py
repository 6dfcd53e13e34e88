"""Memories that say nearly the same are merged on the deployed stack, and that is undone, under its roles."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.stack import Stack, eventually
from unsay_core.adapters.dynamodb.items import DUE_AT, TEXT

pytestmark = pytest.mark.stack

TEA, TEA_NOW = "Alice likes green tea a lot.", "Alice likes green tea a lot now."
SCOPE = "consolidated/alice"


def test_a_merge_is_done_and_undone_by_jobs(stack: Stack) -> None:
    with stack.client() as client:

        def ended(answer: Any) -> Any:
            assert answer.status_code == 202, answer.text
            where = answer.headers["Location"]
            job = eventually(
                lambda: [j for j in [client.get(where).json()] if j["state"] == "complete"], within=90
            )
            return job[0]

        def listed() -> list[str]:
            found = client.get("/v1/memories", params={"scope": SCOPE})
            return sorted(memory["content"] for memory in found.json()["items"])

        for content in (TEA, TEA_NOW):
            assert client.post("/v1/memories", json={"scope": SCOPE, "content": content}).status_code == 201
        asked = {"scope": SCOPE, "threshold": 0.8}
        dry = ended(client.post("/v1/consolidate", json={**asked, "dry_run": True}))
        assert ([len(group) for group in dry["result"]["groups"]], listed()) == ([2], sorted([TEA, TEA_NOW]))
        done = ended(client.post("/v1/consolidate", json=asked))
        assert (done["result"]["merged"], done["problems"], listed()) == (2, [], [TEA_NOW])
        back = ended(client.post("/v1/consolidate", json={"scope": SCOPE, "undo": done["id"]}))
        assert (back["problems"], listed()) == ([], sorted([TEA, TEA_NOW]))
        again = ended(client.post("/v1/consolidate", json=asked))
        assert listed() == [TEA_NOW]
        (plain,) = [
            member["id"]
            for each in again["result"]["merges"][0]["from"]
            if (member := client.get(f"/v1/memories/{each}", params={"scope": SCOPE}).json())["content"]
            == TEA_NOW
        ]
        gone = client.delete(f"/v1/memories/{plain}", params={"scope": SCOPE, "reason": "test"})
        assert (gone.status_code, listed()) == (202, [TEA]), "the other stands where the merge stood"
        assert client.post("/v1/memories", json={"scope": SCOPE, "content": TEA}).json()["deduplicated"]
        assert client.get("/v1/audit/verify", params={"scope": SCOPE}).json()["ok"]


LONG = "We meet every Monday in the large room on the second floor."
LONGER = LONG.replace("large", "large bright")
SWEPT = "consolidated/swept"


def test_the_sweep_merges_and_blanks_by_the_policy_of_the_root(stack: Stack) -> None:
    with stack.client() as client:
        policy = {"retention": {"messages_days": 1}, "consolidation": {"text": "model"}}
        assert client.put("/v1/policy", params={"scope": "consolidated"}, json=policy).status_code == 200
        for content in (LONG, LONGER):
            assert client.post("/v1/memories", json={"scope": SWEPT, "content": content}).status_code == 201
        said = {"seq": 1, "role": "assistant", "content": "It is dry in Lisbon."}
        sent = {"scope": SWEPT, "messages": [said]}
        assert client.post("/v1/conversations/old/messages", json=sent).status_code == 202
        age(stack, LONG)
        sweep = next(
            each["PhysicalResourceId"]
            for each in stack.aws("cloudformation").describe_stack_resources(StackName="unsay-dev")[
                "StackResources"
            ]
            if each["LogicalResourceId"].startswith("FunctionsSweepFunction")
            and each["ResourceType"] == "AWS::Lambda::Function"
        )
        answer = stack.aws("lambda").invoke(FunctionName=sweep)
        assert "FunctionError" not in answer, "what failed, if any, is of other tests' scopes"

        def merged() -> list[Any]:
            found = client.get("/v1/memories", params={"scope": SWEPT}).json()["items"]
            return [m for m in found if m["source"]["actor"] == "sweeper"]

        (memory,) = eventually(merged, within=120)
        assert memory["content"] == LONGER, "no model answers here, so the longest says it"
        eventually(
            lambda: (
                client.get("/v1/conversations/old", params={"scope": SWEPT}).json()["messages"][0]["content"]
                == "[redacted]"
            ),
            within=120,
        )
        events = client.get("/v1/audit", params={"scope": SWEPT, "limit": 100}).json()["items"]
        (merge,) = [event for event in events if event["event"] == "memory.merged"]
        undo = {"scope": SWEPT, "undo": merge["related"][-1]}
        assert client.post("/v1/consolidate", json=undo).status_code == 202
        eventually(
            lambda: len(client.get("/v1/memories", params={"scope": SWEPT}).json()["items"]) == 2, within=90
        )
        assert client.get("/v1/audit/verify", params={"scope": SWEPT}).json()["ok"]


def age(stack: Stack, content: str) -> None:
    """Make a scope due to be tidied, and its messages old, as if days had passed."""
    ledger, table = stack.aws("dynamodb"), stack.outputs["LedgerTable"]
    items = [
        item for page in ledger.get_paginator("scan").paginate(TableName=table) for item in page["Items"]
    ]
    (scope_id,) = {
        item["pk"]["S"].partition("#")[0]
        for item in items
        if item["pk"]["S"].endswith("#M") and TEXT in item and content in item[TEXT]["S"]
    }
    for item in items:
        if not item["pk"]["S"].startswith(scope_id) or TEXT not in item:
            continue
        text = json.loads(item[TEXT]["S"])
        if item["sk"]["S"] == "HEAD":
            text["tidy_at"] = "2026-01-01T00:00:00.000000Z"
            item[DUE_AT] = {"S": text["tidy_at"]}
        elif "#m#" in item["sk"]["S"]:
            text["stored_at"] = "2026-01-01T00:00:00.000000Z"
        else:
            continue
        ledger.put_item(TableName=table, Item={**item, TEXT: {"S": json.dumps(text)}})
