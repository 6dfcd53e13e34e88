"""Hostile ids through the gateway: each comes back as it was, and shows its own alone."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.isolation.hostile import IDS
from tests.support.stack import Stack
from unsay_core.domain.scope import Scope

pytestmark = pytest.mark.stack


def test_forty_ids_are_forty_scopes_behind_the_gateway(stack: Stack) -> None:
    scopes = [Scope.parse(["gate", segment]).canonical for segment in IDS]
    assert len(set(scopes)) == 40
    with stack.client() as client:
        for number, (segment, scope) in enumerate(zip(IDS, scopes, strict=True)):
            body = {"scope": ["gate", segment], "content": f"mark {number}"}
            made = client.post("/v1/memories", json=body)
            assert (made.status_code, made.json()["scope"]) == (201, scope)
            found = client.get(made.headers["Location"])
            assert (found.status_code, found.json()["content"]) == (200, f"mark {number}"), segment
        for number, scope in enumerate(scopes):
            # As a path is encoded, not as a form is: there a plus is a plus.
            listed = client.get(f"/v1/memories?scope={quote(scope, safe='')}").json()["items"]
            assert [item["content"] for item in listed] == [f"mark {number}"], scope
