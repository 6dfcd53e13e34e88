"""Exports and imports on the deployed stack: jobs, signed addresses, and the roles that carry."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack

HERE, THERE = "moved/users/ana", "moved/users/eva"


class Mover:
    def __init__(self, client: httpx.Client) -> None:
        self.client = client

    def begun(self, path: str, body: dict[str, Any]) -> Any:
        answer = self.client.post(path, json=body)
        assert answer.status_code == 202, answer.text
        return answer.json()

    def over(self, scope: str, job_id: str) -> Any:
        def look() -> Any:
            found = self.client.get(f"/v1/jobs/{job_id}", params={"scope": scope}).json()
            return found if found["state"] in ("complete", "failed") else None

        return eventually(look, within=90)

    def listed(self, scope: str) -> list[str]:
        items = self.client.get("/v1/memories", params={"scope": scope, "order": "asc"}).json()["items"]
        return [memory["content"] for memory in items]


def test_memories_leave_by_signed_addresses_and_come_into_another_scope_by_others(stack: Stack) -> None:
    with stack.client() as client:
        mover = Mover(client)
        facts = [f"Ana keeps {n} bees." for n in range(12)]
        body = {"scope": HERE, "items": [{"content": fact} for fact in facts]}
        assert client.post("/v1/memories/batch", json=body).status_code == 200
        first = client.get("/v1/memories", params={"scope": HERE, "order": "asc"}).json()["items"][0]
        export = mover.begun("/v1/export", {"scope": HERE, "include": ["active", "history"]})
        done = mover.over(HERE, export["id"])
        assert (done["state"], done["done"]) == ("complete", 12)
        (part,), (manifest,) = done["result"]["parts"], done["result"]["manifest"]
        text = httpx.get(part["url"]).raise_for_status().text
        assert [json.loads(line)["memory"]["content"] for line in text.splitlines()] == facts
        described = httpx.get(manifest["url"]).raise_for_status().json()
        assert (described["memories"], described["parts"][0]["name"]) == (12, part["name"])
        elsewhere = part["url"].replace("/exports/", "/imports/")
        assert httpx.get(elsewhere).status_code == 403, "an address is good for its own file alone"
        assert httpx.put(part["url"], content="x").status_code == 403, "and for reading"

        waiting = mover.begun("/v1/import", {"scope": THERE, "upload": {"parts": 2}})
        assert waiting["state"] == "waiting"
        lines = text.splitlines(keepends=True)
        for link, some in zip(waiting["result"]["uploads"], (lines[:5], lines[5:]), strict=True):
            assert httpx.put(link["url"], content="".join(some)).status_code == 200
        mover.begun("/v1/import", {"scope": THERE, "upload": waiting["id"]})
        brought = mover.over(THERE, waiting["id"])
        assert brought["result"] == {"imported": 12, "refused": {}}
        assert mover.listed(THERE) == facts
        same = client.get(f"/v1/memories/{first['id']}", params={"scope": THERE}).json()
        assert same["recorded_at"] == first["recorded_at"]
        assert same["source"]["import"]["job_id"] == waiting["id"]

        gone = client.delete(f"/v1/memories/{first['id']}", params={"scope": HERE, "reason": "test"})
        assert gone.status_code == 202
        later = client.get(f"/v1/jobs/{done['id']}", params={"scope": HERE}).json()["result"]
        assert (later["withdrawn"], "parts" in later) == (True, False)
        back = mover.begun("/v1/import", {"scope": HERE, "items": [json.loads(lines[0])]})
        assert mover.over(HERE, back["id"])["result"] == {"refused": {"forgotten_id": 1}}
        assert mover.listed(HERE) == facts[1:]
        chain = client.get("/v1/audit/verify", params={"scope": THERE}).json()
        assert chain["ok"]
