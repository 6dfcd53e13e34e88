"""A service of one's own making: answers in order, and every request that came."""

import os

import httpx
import pytest

os.environ.setdefault("POWERTOOLS_METRICS_NAMESPACE", "unsay")  # what a late store is counted under

from unsay import Memory
from unsay.https import Https

URL = "https://memory.example"
MEMORY = {
    "id": "mem_01j0000000000000000000000a",
    "scope": "acme/alice",
    "kind": "semantic",
    "content": "Alice lives in Lisbon.",
    "key": None,
    "path": [],
    "tags": [],
    "importance": 0.5,
    "data": None,
    "metadata": {},
    "status": "active",
    "trust": "asserted",
    "valid_from": None,
    "valid_to": None,
    "recorded_at": "2026-05-01T09:30:00.000000Z",
    "invalidated_at": None,
    "updated_at": "2026-05-01T09:30:00.000000Z",
    "expires_at": None,
    "version": 3,
    "supersedes": [],
    "superseded_by": None,
    "derived_from": [],
    "source": {
        "channel": "api",
        "actor": "key_1",
        "run_id": None,
        "message_seqs": [],
        "quote": None,
        "model": None,
        "import": None,
    },
    "review": None,
    "index": {"state": "pending", "at": "2026-05-01T09:30:00.000000Z"},
    "schema": 1,
}
EMPTY_RECALL = {"items": [], "degraded": False, "reasons": ["scope_empty"], "considered": 0, "took_ms": 3}


class Service:
    """Gives its answers one after the other; an exception among them is raised instead."""

    def __init__(self):
        self.answers, self.requests, self.slept = [], [], []
        self.memory = Memory(
            Https(
                URL,
                "unsay_secret",
                timeout=5,
                transport=httpx.MockTransport(self._answer),
                sleep=self.slept.append,
                chance=lambda: 1.0,
            )
        )

    def will(self, *answers):
        self.answers.extend(answers)
        return self.memory

    def _answer(self, request):
        self.requests.append(request)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def refusal(status, code, *, headers=None, **extra):
    document = {
        "type": f"urn:unsay:problem:{code}",
        "title": "A title",
        "status": status,
        "detail": "A detail.",
        "code": code,
        "request_id": "r-1",
        **extra,
    }
    content_type = {"Content-Type": "application/problem+json"}
    return httpx.Response(status, json=document, headers={**content_type, **(headers or {})})


@pytest.fixture
def service():
    made = Service()
    with made.memory:
        yield made
    assert not made.answers, "the client asked less often than expected"
