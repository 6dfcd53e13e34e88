"""What index work and a search ask of AWS, on either backend, counted at the client."""

from __future__ import annotations

import io
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from botocore.awsrequest import AWSResponse

from tests.support.clients import count_calls
from tests.support.fakes import FakeService
from tests.support.http import Caller
from tests.support.workers import SCOPE, project_memory
from unsay_core.adapters.bedrock.embedding import VectorCache
from unsay_core.adapters.scoped_session import ScopedSessions
from unsay_core.application.index_memories import index_memories
from unsay_core.application.ports import IndexScope, IndexTask
from unsay_core.bootstrap.generations import Opened, index_of, search_of
from unsay_core.generations import KnowledgeBaseGeneration, VectorsGeneration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.generations import Generation

ROLE = "arn:aws:iam::123456789012:role/"
BASE = KnowledgeBaseGeneration(1, "KB12345678", "DS12345678")
DIRECT = VectorsGeneration(
    2, "bucket", "amazon.titan-embed-text-v2:0", 256, f"{ROLE}finder", f"{ROLE}indexer"
)


ASSUMED = b"""<AssumeRoleResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleResult><Credentials>
<AccessKeyId>a</AccessKeyId><SecretAccessKey>s</SecretAccessKey><SessionToken>t</SessionToken>
<Expiration>2100-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleResult></AssumeRoleResponse>"""


class Body(io.BytesIO):
    """A body that was never sent."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


def _assumed(request: Any, **_: Any) -> AWSResponse:
    return AWSResponse(request.url, 200, {"Content-Type": "text/xml"}, Body(ASSUMED))


class Cloud:
    """Both backends as far as requests go: what is put is there, what is deleted is not."""

    def __init__(self, session: boto3.session.Session) -> None:
        self.held: set[str] = set()
        for service in ("bedrock-agent", "bedrock-agent-runtime", "bedrock-runtime", "s3vectors"):
            session.events.register_first(f"before-send.{service}", self._answer)
        session.events.register_first("before-send.sts.AssumeRole", _assumed)

    def _answer(self, request: Any, event_name: str, **_: Any) -> AWSResponse:
        asked = json.loads(request.body or b"{}")
        told = getattr(self, event_name.rpartition(".")[2])(asked)
        body = Body(json.dumps(told).encode())
        return AWSResponse(request.url, 200, {"Content-Type": "application/json"}, body)

    def _details(self, ids: list[str]) -> dict[str, Any]:
        def state(memory_id: str) -> str:
            return "INDEXED" if memory_id in self.held else "NOT_FOUND"

        def detail(memory_id: str) -> dict[str, Any]:
            identifier = {"dataSourceType": "CUSTOM", "custom": {"id": memory_id}}
            return {"identifier": identifier, "status": state(memory_id)}

        return {"documentDetails": [detail(memory_id) for memory_id in ids]}

    def GetKnowledgeBaseDocuments(self, asked: Any) -> Any:
        return self._details([each["custom"]["id"] for each in asked["documentIdentifiers"]])

    def IngestKnowledgeBaseDocuments(self, asked: Any) -> Any:
        self.held |= {d["content"]["custom"]["customDocumentIdentifier"]["id"] for d in asked["documents"]}
        return self._details([])

    def DeleteKnowledgeBaseDocuments(self, asked: Any) -> Any:
        self.held -= {each["custom"]["id"] for each in asked["documentIdentifiers"]}
        return self._details([])

    def Retrieve(self, _asked: Any) -> Any:
        return {"retrievalResults": []}

    def InvokeModel(self, _asked: Any) -> Any:
        return {"embedding": [1.0] * 256}

    def PutVectors(self, asked: Any) -> Any:
        self.held |= {each["key"] for each in asked["vectors"]}
        return {}

    def DeleteVectors(self, asked: Any) -> Any:
        self.held -= set(asked["keys"])
        return {}

    def GetVectors(self, asked: Any) -> Any:
        return {"vectors": [{"key": key} for key in asked["keys"] if key in self.held]}

    def QueryVectors(self, _asked: Any) -> Any:
        return {"vectors": [], "distanceMetric": "cosine"}


class Work:
    """Ten memories of a scope, their messages, and the index they go to."""

    def __init__(self, session: boto3.session.Session, service: FakeService, generation: Generation) -> None:
        self.service, self.api = service, Caller(service)
        self.cloud = Cloud(session)
        self.calls: Counter[str] = count_calls(session)
        sessions = ScopedSessions(session, service.clock.now)
        self.scope_id = service.keyring.scope_id(SCOPE)
        opened = Opened(
            self.scope_id,
            service.keyring.scope_id("acme"),
            sessions.assume(f"{ROLE}projector", self.scope_id),
            sessions.assume_for_root,
            VectorCache(),
            service.world.executor,
        )
        self.search = search_of(generation, opened, pytest.fail)
        ledger, documents = service.ledgers[self.scope_id], service.documents[self.scope_id]
        indexes = {generation.number: index_of(generation, opened)}
        self.scope = IndexScope(self.scope_id, ledger, documents, indexes)
        self.calls.clear()

    def projected(self, memory_id: str) -> IndexTask:
        task = project_memory(
            memory_id, self.service.work_scope(self.scope_id), self.service.scope_notes, self.service.world
        )
        assert task
        return task

    def done(self, ids: list[str]) -> dict[str, int]:
        """The calls of one delivery after which nothing is left to do."""
        self.calls.clear()
        assert index_memories([self.projected(i) for i in ids], self.scope, self.service.clock, "1") == []
        return dict(self.calls)


@pytest.fixture
def session() -> boto3.session.Session:
    return boto3.session.Session("test", "test", region_name="us-east-1")


def ten(work: Work) -> list[str]:
    return [work.api.remember(f"Fact number {number}.")["id"] for number in range(10)]


def test_ten_memories_cost_a_knowledge_base_one_ingest_and_two_looks(
    session: boto3.session.Session, service: FakeService
) -> None:
    work = Work(session, service, BASE)
    ids = ten(work)
    assert work.done(ids) == {
        "bedrock-agent.GetKnowledgeBaseDocuments": 2,
        "bedrock-agent.IngestKnowledgeBaseDocuments": 1,
    }
    assert work.cloud.held == set(ids)
    work.api.forget(ids[0])
    assert work.done(ids[:1]) == {
        "bedrock-agent.GetKnowledgeBaseDocuments": 2,
        "bedrock-agent.DeleteKnowledgeBaseDocuments": 1,
    }
    assert work.cloud.held == set(ids[1:])


def test_ten_memories_cost_s3_vectors_an_embedding_each_one_put_and_two_looks(
    session: boto3.session.Session, service: FakeService
) -> None:
    work = Work(session, service, DIRECT)
    ids = ten(work)
    first = work.done(ids)
    assert first.pop("sts.AssumeRole") == 1, "the root is opened once"
    assert first == {"bedrock-runtime.InvokeModel": 10, "s3vectors.GetVectors": 2, "s3vectors.PutVectors": 1}
    assert work.cloud.held == set(ids)
    work.api.forget(ids[0])
    assert work.done(ids[:1]) == {"s3vectors.GetVectors": 2, "s3vectors.DeleteVectors": 1}
    assert work.cloud.held == set(ids[1:])


def test_what_is_superseded_is_written_again_without_another_embedding(
    session: boto3.session.Session, service: FakeService
) -> None:
    work = Work(session, service, DIRECT)
    old = work.api.remember("Alice lives in Lisbon.")["id"]
    work.done([old])
    new = work.api.correct(old, "Alice lives in Porto.")["id"]
    assert work.done([old, new])["bedrock-runtime.InvokeModel"] == 1


def test_a_search_is_one_retrieve_or_one_embedding_and_one_query(
    session: boto3.session.Session, service: FakeService
) -> None:
    asked: dict[str, Any] = {"limit": 5, "live_only": True, "timeout": 1.0}
    base = Work(session, service, BASE)
    base.search.nearest("tea", **asked)
    assert dict(base.calls) == {"bedrock-agent-runtime.Retrieve": 1}


def test_whether_many_are_still_found_is_one_search_where_little_is_left_of_the_scope(
    session: boto3.session.Session, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Work(session, service, BASE)
    index, ids = work.scope.indexes[1], [f"mem_{number}" for number in range(90)]
    assert index.still_found(ids) == set()
    assert dict(work.calls) == {"bedrock-agent-runtime.Retrieve": 1}
    work.calls.clear()
    monkeypatch.setattr(work.cloud, "Retrieve", lambda asked: shown(["mem_7", "mem_other"]))
    assert index.still_found(ids) == {"mem_7"}
    monkeypatch.setattr(work.cloud, "Retrieve", lambda asked: shown([f"mem_o{n}" for n in range(100)]))
    work.calls.clear()
    assert index.still_found(ids) == set()
    assert dict(work.calls) == {"bedrock-agent-runtime.Retrieve": 1 + 18}, "others may hide behind them"


def shown(ids: list[str]) -> dict[str, Any]:
    places = [{"customDocumentLocation": {"id": memory_id}, "type": "CUSTOM"} for memory_id in ids]
    return {"retrievalResults": [{"location": place, "content": {"text": "t"}} for place in places]}


def test_a_query_that_is_asked_again_is_not_embedded_again(
    session: boto3.session.Session, service: FakeService
) -> None:
    asked: dict[str, Any] = {"limit": 5, "live_only": True, "timeout": 1.0}
    work = Work(session, service, DIRECT)
    work.search.nearest("tea", **asked)
    assert dict(work.calls) == {
        "sts.AssumeRole": 1,
        "bedrock-runtime.InvokeModel": 1,
        "s3vectors.QueryVectors": 1,
    }
    work.calls.clear()
    work.search.nearest("tea", **asked)
    assert dict(work.calls) == {"s3vectors.QueryVectors": 1}
