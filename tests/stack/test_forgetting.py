"""A selection is forgotten on the deployed stack: by the stream, the queue, the job and its own role."""

from __future__ import annotations

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
