"""Memories that say nearly the same are merged on the deployed stack, and that is undone, under its roles."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.stack import Stack, eventually

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
        assert client.get("/v1/audit/verify", params={"scope": SCOPE}).json()["ok"]
