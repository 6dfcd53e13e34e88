"""What was acknowledged survives the sudden death of the local cloud, and the stack goes on from there."""

from __future__ import annotations

import json
import os
import signal
import time

import httpx
import pytest

from local.place import Place
from tests.support.stack import eventually, free_port, start, stop

pytestmark = pytest.mark.stack

SAFE_AFTER = 2.0  # seconds: what is older than this is on disk


@pytest.fixture
def place(tmp_path):
    found = Place(free_port(), tmp_path / "state")
    yield found
    stop(found)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_after_kill_9_everything_acknowledged_is_there_and_work_goes_on(place):
    scope = {"scope": "acme/users/phoenix"}
    first = start(place)
    with first.client() as client:
        lost_index = httpx.put(first.control_url, json={"kb_lag_seconds": 3600})
        assert lost_index.status_code == 200
        written = [
            client.post("/v1/memories", json={**scope, "content": f"feather number {n}"}).json()
            for n in range(5)
        ]
        forgotten = client.delete(f"/v1/memories/{written[0]['id']}", params={**scope, "reason": "test"})
        acknowledged = time.monotonic()
    eventually(lambda: time.monotonic() - acknowledged > SAFE_AFTER)
    os.kill(first.pid, signal.SIGKILL)
    eventually(lambda: gone(first.pid))

    second = start(place)
    assert second.admin_key == first.admin_key
    with second.client() as client:
        listed = client.get("/v1/memories", params={**scope, "order": "asc"}).json()["items"]
        assert [memory["id"] for memory in listed] == [memory["id"] for memory in written[1:]]
        chain = client.get("/v1/audit/verify", params=scope).json()
        assert (chain["ok"], chain["length"]) == (True, 6)
        erasure = forgotten.json()["id"]
        for memory in listed:
            where = f"/v1/memories/{memory['id']}"
            eventually(
                lambda where=where: client.get(where, params=scope).json()["index"]["state"] == "indexed",
                within=150,
            )
        eventually(
            lambda: client.get(f"/v1/erasures/{erasure}", params=scope).json()["state"] == "complete",
            within=150,
        )
    stored = json.loads(place.local_json.read_text())
    assert (place.local_json.stat().st_mode & 0o777, stored["pid"]) == (0o600, second.pid)
