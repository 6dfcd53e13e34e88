"""A backup comes back on the deployed stack: unchecked it serves nobody, and checked nothing forgotten."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.restored import Restored, backup
from tests.support.stack import Stack, eventually
from unsay_core.adapters.s3.graves import S3Graves

pytestmark = pytest.mark.stack

HERE = {"scope": "restored/users/ana"}
GONE, KEPT = "Ana hides a cobalt vase.", "Ana plays chess."


def test_a_restored_table_serves_nobody_until_what_was_taken_back_is_taken_back_again(stack: Stack) -> None:
    with stack.client() as client:
        gone = client.post("/v1/memories", json={**HERE, "content": GONE}).json()
        kept = client.post("/v1/memories", json={**HERE, "content": KEPT}).json()
        arn = backup(stack, "LedgerTable")
        where = {**HERE, "reason": "user_request"}
        receipt = client.delete(f"/v1/memories/{gone['id']}", params=where).json()
        sid = _scope_id(stack, gone["id"])
        eventually(lambda: _is_noted(stack, sid, gone["id"]))

        restored = Restored(stack, arn)
        assert GONE in _dump(stack, restored), "the control: the backup did bring it back"
        called = _call(sid, receipt["id"])
        with restored.pointed_at():

            def refused() -> bool:
                answer = client.post("/v1/recall", json={**HERE, "query": "vase"})
                return bool(answer.status_code == 503 and answer.json()["code"] == "unavailable")

            eventually(refused)
            assert client.get("/v1/health").json() == {"status": "degraded", "degraded": ["restored"]}
            assert client.get("/v1/memories", params=HERE).status_code == 503
            kept_back = restored.call("Jobs", called)["batchItemFailures"]
            assert kept_back == [{"itemIdentifier": "m-1"}], "the queue keeps its message"

            done = restored.checked()
            assert done["erased"] >= 1, "here, and whatever other tests had forgotten meanwhile"
            eventually(lambda: client.get("/v1/health").json()["status"] == "ok")
            assert restored.call("Jobs", called)["batchItemFailures"] == []
            listed = client.get("/v1/memories", params=HERE).json()["items"]
            assert [memory["id"] for memory in listed] == [kept["id"]]
            found = client.post("/v1/recall", json={**HERE, "query": "Ana vase chess", "limit": 50}).json()
            assert [item["memory"]["content"] for item in found["items"]] == [KEPT]
            history = client.get(f"/v1/memories/{gone['id']}/history", params=HERE).json()
            assert history["versions"] == []
            assert GONE not in _dump(stack, restored)
            again = client.post("/v1/memories", json={**HERE, "content": GONE})
            assert again.json()["code"] == "tombstoned"
            assert client.get("/v1/audit/verify", params=HERE).json()["ok"]
        eventually(lambda: client.get("/v1/memories", params=HERE).status_code == 200)


def _scope_id(stack: Stack, memory_id: str) -> str:
    pages = stack.aws("dynamodb").get_paginator("scan").paginate(TableName=stack.outputs["RecordTable"])
    (found,) = {
        item["pk"]["S"].partition("#")[0]
        for page in pages
        for item in page["Items"]
        if item["sk"]["S"] == f"id:{memory_id}"
    }
    return str(found)


def _is_noted(stack: Stack, sid: str, memory_id: str) -> bool:
    """The list of what was taken back is kept by the stream."""
    listed = S3Graves(lambda: stack.aws("s3"), stack.outputs["AnchorsBucket"], sid).listed()
    return any(grave.digest == memory_id for grave in listed)


def _dump(stack: Stack, restored: Restored) -> str:
    pages = stack.aws("dynamodb").get_paginator("scan")
    tables = restored.tables.values()
    return json.dumps([p["Items"] for table in tables for p in pages.paginate(TableName=table)], default=repr)


def _call(sid: str, erasure_id: str) -> dict[str, Any]:
    body = json.dumps({"sid": sid, "area": "E", "id": erasure_id, "kind": "erasure"})
    attributes = {"ApproximateReceiveCount": "1"}
    record = {"messageId": "m-1", "receiptHandle": "r-1", "body": body, "attributes": attributes}
    return {"Records": [record]}
