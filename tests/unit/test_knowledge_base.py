"""The knowledge base's adapters: always one scope, and every failure a reason."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError

from tests.support.samples import HARD_MEMORY, memory
from unsay_core.adapters.bedrock.index import KnowledgeBaseIndex
from unsay_core.adapters.bedrock.search import KnowledgeBaseSearch, scope_filter
from unsay_core.application.ports import DocumentState, Hit, SearchError
from unsay_core.domain.memory import Status

MINE, OTHER = "a" * 52, "b" * 52


class Base:
    """A client that records what it was asked and answers what it was told to."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []

    def __getattr__(self, name: str) -> Any:
        def call(**asked: Any) -> Any:
            self.asked.append(asked)
            if isinstance(self.answer, Exception):
                raise self.answer
            return self.answer

        return call


def result(memory_id: str, score: float = 0.5, **metadata: Any) -> dict[str, Any]:
    location = {"type": "CUSTOM", "customDocumentLocation": {"id": memory_id}}
    return {"content": {"text": "x"}, "location": location, "score": score, "metadata": metadata}


def search(answer: Any) -> tuple[Base, KnowledgeBaseSearch]:
    base = Base(answer)
    return base, KnowledgeBaseSearch(lambda: base, "KB", MINE)  # type: ignore[arg-type,return-value]


def nearest(answer: Any, **given: Any) -> list[Hit]:
    _, found = search(answer)
    return list(found.nearest("tea", **{"limit": 5, "live_only": True, "timeout": 1.0, **given}))


def test_only_hits_whose_scope_is_ours_are_kept() -> None:
    results = [
        result("mem_1", scope=MINE),
        result("mem_2", scope=OTHER),
        result("mem_3"),
        result("mem_4", scope=MINE + "x"),
        {**result("mem_5"), "metadata": {}},
        result("mem_6", scope=MINE),
    ]
    assert [hit.memory_id for hit in nearest({"retrievalResults": results})] == ["mem_1", "mem_6"]


@pytest.mark.parametrize(("given", "kept"), [(-0.2, 0.0), (0.0, 0.0), (0.7, 0.7), (1.0000001, 1.0)])
def test_a_score_is_brought_between_nought_and_one(given: float, kept: float) -> None:
    assert nearest({"retrievalResults": [result("mem_1", given, scope=MINE)]}) == [Hit("mem_1", kept)]


def test_every_filter_begins_with_the_scope() -> None:
    own = {"equals": {"key": "scope", "value": MINE}}
    assert scope_filter(MINE, live_only=False) == own
    assert scope_filter(MINE, live_only=True) == {"andAll": [own, {"equals": {"key": "live", "value": 1}}]}
    base, found = search({"retrievalResults": []})
    found.nearest("tea", limit=7, live_only=False, timeout=1.0)
    configured = base.asked[0]["retrievalConfiguration"]["vectorSearchConfiguration"]
    assert configured == {"numberOfResults": 7, "filter": own}


def refused(code: str) -> ClientError:
    response: Any = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": 400}}
    return ClientError(response, "Retrieve")


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ReadTimeoutError(endpoint_url="https://example.invalid"), "knowledge_base_timeout"),
        (refused("ThrottlingException"), "knowledge_base_throttled"),
        (refused("ValidationException"), "knowledge_base_unavailable"),
        (refused("AccessDeniedException"), "knowledge_base_unavailable"),
        (EndpointConnectionError(endpoint_url="https://example.invalid"), "knowledge_base_unavailable"),
        (ConnectTimeoutError(endpoint_url="https://example.invalid"), "knowledge_base_unavailable"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_failure_of_the_base_is_a_reason(failure: Exception, reason: str) -> None:
    with pytest.raises(SearchError) as found:
        nearest(failure)
    assert found.value.reason == reason


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("INDEXED", DocumentState(settled=True, present=True)),
        ("PARTIALLY_INDEXED", DocumentState(settled=True, present=True)),
        ("METADATA_PARTIALLY_INDEXED", DocumentState(settled=True, present=True)),
        ("PENDING", DocumentState(settled=False, present=True)),
        ("STARTING", DocumentState(settled=False, present=True)),
        ("IN_PROGRESS", DocumentState(settled=False, present=True)),
        ("DELETING", DocumentState(settled=False, present=True)),
        ("DELETE_IN_PROGRESS", DocumentState(settled=False, present=True)),
        ("A_STATUS_OF_NEXT_YEAR", DocumentState(settled=False, present=True)),
        ("FAILED", DocumentState(settled=True, present=True, failed=True)),
        ("IGNORED", DocumentState(settled=True, present=True, failed=True)),
        ("METADATA_UPDATE_FAILED", DocumentState(settled=True, present=True, failed=True)),
        ("NOT_FOUND", DocumentState(settled=True, present=False)),
    ],
)
def test_only_not_found_is_absence(status: str, state: DocumentState) -> None:
    details = [{"identifier": {"dataSourceType": "CUSTOM", "custom": {"id": "mem_1"}}, "status": status}]
    base = Base({"documentDetails": details})
    index = KnowledgeBaseIndex(base, "KB", "DS", MINE)  # type: ignore[arg-type]
    assert index.states(["mem_1"]) == {"mem_1": state}


def attributes(document: Any) -> dict[str, Any]:
    given = document["metadata"]["inlineAttributes"]
    return {each["key"]: next(v for k, v in each["value"].items() if k != "type") for each in given}


def test_a_document_carries_its_scope_and_little_else() -> None:
    base = Base({})
    index = KnowledgeBaseIndex(base, "KB", "DS", MINE)  # type: ignore[arg-type]
    index.put([memory(1), HARD_MEMORY], token="a name")
    plain, hard = base.asked[0]["documents"]
    assert attributes(plain) == {"scope": MINE, "kind": "semantic", "live": 1, "version": 1}
    found = attributes(hard)
    assert (found["scope"], found["live"], found["version"]) == (MINE, 0, 3)
    assert HARD_MEMORY.status is Status.SUPERSEDED
    assert found["valid_from"] == datetime(1, 1, 1, tzinfo=UTC).timestamp()
    assert plain["content"]["custom"]["customDocumentIdentifier"] == {"id": memory(1).id}
    assert plain["content"]["custom"]["inlineContent"]["textContent"]["data"] == memory(1).fact.content


def test_a_request_has_a_name_of_the_services_form_and_another_request_another() -> None:
    base = Base({})
    index = KnowledgeBaseIndex(base, "KB", "DS", MINE)  # type: ignore[arg-type]
    for token in ("put 1 x", "put 1 x", "put 2 x"):
        index.delete(["mem_1"], token=token)
    names = [asked["clientToken"] for asked in base.asked]
    assert names[0] == names[1] != names[2]
    assert all(33 <= len(name) <= 256 and name.isalnum() for name in names)
