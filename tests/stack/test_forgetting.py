"""A selection is forgotten on the deployed stack: by the stream, the queue, the job and its own role."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.stack import Stack, eventually

pytestmark = pytest.mark.stack

HERE = {"scope": "acme/users/selected"}


def test_a_selection_goes_at_once_and_its_receipt_is_completed_by_the_job(stack: Stack):
    with stack.client() as client:
        for number in range(5):
            made = {**HERE, "content": f"Alice has {number} quokkas.", "tags": ["x"]}
            assert client.post("/v1/memories", json=made).status_code == 201
        stays = client.post("/v1/memories", json={**HERE, "content": "Alice lives in Lisbon."}).json()
        asked = {**HERE, "selector": {"filter": {"tags": ["x"]}}, "reason": "user_request"}
        answer = client.post("/v1/forget", json=asked)
        assert (answer.status_code, answer.json()["state"]) == (202, "pending")
        listed = client.get("/v1/memories", params=HERE).json()["items"]
        assert [memory["id"] for memory in listed] == [stays["id"]]
        path = f"/v1/erasures/{answer.json()['id']}"

        def completed():
            receipt = client.get(path, params=HERE).json()
            return receipt if receipt["state"] == "complete" else None

        receipt = eventually(completed)
        assert (receipt["matched"], receipt["erased"]) == (5, 5)


def test_an_index_that_answers_with_what_it_says_is_gone_keeps_a_receipt_pending(
    stack: Stack, faults: Callable[..., None]
) -> None:
    scope = {"scope": "acme/users/ghost"}
    with stack.client() as client:
        gone = client.post("/v1/memories", json={**scope, "content": "Alice keeps a gharial."}).json()
        path = f"/v1/memories/{gone['id']}"
        eventually(lambda: client.get(path, params=scope).json()["index"]["state"] == "indexed")
        faults(kb_keep_answering=True)
        receipt = f"/v1/erasures/{client.delete(path, params={**scope, 'reason': 'test'}).json()['id']}"

        def waits_for() -> str | None:
            return client.get(receipt, params=scope).json()["waits_for"]

        identity = [{"dataSourceType": "CUSTOM", "custom": {"id": gone["id"]}}]
        asked = {**stack.knowledge_base, "documentIdentifiers": identity}
        agent = stack.aws("bedrock-agent")

        def says_gone() -> bool:
            (detail,) = agent.get_knowledge_base_documents(**asked)["documentDetails"]
            return detail["status"] == "NOT_FOUND" and waits_for() == "index 1"

        eventually(says_gone)
        found = client.post("/v1/recall", json={**scope, "query": "gharial"}).json()["items"]
        assert found == [], "and nobody is shown it"
        faults(kb_keep_answering=False)
        eventually(lambda: client.get(receipt, params=scope).json()["state"] == "complete", within=90)
