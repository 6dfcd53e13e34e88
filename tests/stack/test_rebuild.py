"""Index and documents can be lost: the ledger makes them again, and the answers are the same."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from tests.support.stack import ROOT, Stack, eventually

pytestmark = pytest.mark.stack

SCOPE = {"scope": "acme/users/rebuilt"}
FACTS = ("Ravi collects old maps.", "Ravi's sister is an astronomer.", "Ravi moved to Pune in spring.")
QUERY = "Who in the family looks at stars?"


def admin(stack: Stack, *arguments: str) -> subprocess.CompletedProcess[str]:
    owner = {"AWS_ENDPOINT_URL": stack.endpoint_url, "AWS_DEFAULT_REGION": "us-east-1"}
    owner |= {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
    command = [sys.executable, "-m", "unsay_core.admin.cli", *arguments]
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **owner}, capture_output=True, text=True, check=False
    )


def test_a_lost_index_and_lost_documents_are_rebuilt_from_the_ledger(stack: Stack):
    bucket, s3 = stack.outputs["DocumentsBucket"], stack.aws("s3")
    bedrock = stack.aws("bedrock-agent")
    with stack.client() as client:
        ids = [client.post("/v1/memories", json={**SCOPE, "content": fact}).json()["id"] for fact in FACTS]

        def is_indexed():
            listed = client.get("/v1/memories", params=SCOPE).json()["items"]
            return len(listed) == len(FACTS) and {m["index"]["state"] for m in listed} == {"indexed"}

        def scored():
            found = client.post("/v1/recall", json={**SCOPE, "query": QUERY}).json()["items"]
            return [(item["memory"]["id"], item["scores"]["semantic"]) for item in found]

        eventually(is_indexed, within=90)
        before = scored()
        assert before[0][0] == ids[1]

        identifiers = [{"dataSourceType": "CUSTOM", "custom": {"id": memory_id}} for memory_id in ids]
        where = {**stack.knowledge_base, "documentIdentifiers": identifiers}
        bedrock.delete_knowledge_base_documents(**where)
        keys = [
            found["Key"]
            for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
            for found in page.get("Contents", [])
            if any(memory_id in found["Key"] for memory_id in ids)
        ]
        assert len(keys) == len(FACTS)
        for key in keys:
            s3.delete_object(Bucket=bucket, Key=key)

        def is_lost():
            states = bedrock.get_knowledge_base_documents(**where)["documentDetails"]
            return {state["status"] for state in states} == {"NOT_FOUND"}

        eventually(is_lost)
        assert scored() == []

        done = admin(stack, "reindex", "--scope", SCOPE["scope"])
        assert done.returncode == 0, done.stderr
        eventually(lambda: scored() == before, within=90)
        eventually(lambda: all(_exists(s3, bucket, key) for key in keys), within=90)
        eventually(is_indexed, within=90)
        chain = client.get("/v1/audit/verify", params=SCOPE).json()
        assert (chain["ok"], chain["length"]) == (True, len(FACTS) + 1)


def test_reindex_wants_one_scope_or_all(stack: Stack):
    for arguments in ((), ("--scope", "a", "--all")):
        assert admin(stack, "reindex", *arguments).returncode == 2


def _exists(s3, bucket, key):
    return s3.list_objects_v2(Bucket=bucket, Prefix=key).get("KeyCount", 0) == 1
