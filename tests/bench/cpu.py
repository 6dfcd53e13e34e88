"""Processor time of a handler, over fakes behind the ports: what is ours to save."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import boto3
from botocore.awsrequest import AWSResponse

from tests.bench.scene import QUERY, Near, Scene, fill, request, sentence
from tests.bench.table import Figure, cpu_ms
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application.ledger import memory_ref

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from unsay_core.domain.memory import Memory

SECTION = "CPU of a handler"
CANDIDATES = 100


def figures() -> Iterator[Figure]:
    """Per recall with a hundred candidates, per remember, and what reading the candidates costs beside."""
    scene, ledger = Scene(), MemoryLedger()
    newest = fill(ledger, 1_000, scene.keyring.for_scope(scene.scope_id("bench")))
    scene.stores[scene.scope_id("bench")] = (ledger, Near([m.id for m in newest][:CANDIDATES]))
    recall = request("/v1/recall", {"scope": "bench", "query": QUERY, "limit": 10})
    block = request("/v1/recall", {"scope": "bench", "query": QUERY, "limit": 25, "format": "prompt"})
    yield Figure(SECTION, "recall, 100 candidates, 10 items", cpu_ms(lambda: scene.send(recall)), "ms", 5)
    yield Figure(SECTION, "… 25 items as a prompt", cpu_ms(lambda: scene.send(block)), "ms")
    chance = Random(2)
    bodies = [{"scope": "written", "content": sentence(chance, n), "tags": ["a"]} for n in range(300)]
    writes = iter([request("/v1/memories", body) for body in bodies])
    yield Figure(SECTION, "remember", cpu_ms(lambda: scene.send(next(writes)), times=250), "ms", 3)
    yield Figure(SECTION, "… reading 99 candidates with boto", _read(newest[:99]), "ms")


def _read(memories: Sequence[Memory]) -> float:
    """What one BatchGetItem costs from the client's call to memories, over a network that takes no time."""
    place = Place("a" * 52, "ledger", "record")
    body = json.dumps({"Responses": {"ledger": [place.item(memory) for memory in memories]}}).encode()

    class Body:
        def stream(self, **_: Any) -> Iterator[bytes]:
            yield body

    session = boto3.session.Session("test", "test", region_name="us-east-1")
    session.events.register_first(
        "before-send.dynamodb.BatchGetItem",
        lambda request, **_: AWSResponse(request.url, 200, {}, Body()),
    )
    ledger = DynamoLedger(session.client("dynamodb"), place)
    refs = [memory_ref(memory.id) for memory in memories]
    return cpu_ms(lambda: ledger.read(refs), times=60, warm=5)
