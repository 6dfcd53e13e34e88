"""The knowledge base's adapters: always one scope, and every failure a reason."""

from __future__ import annotations

import itertools
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import HARD_MEMORY, memory
from unsay_core.adapters.bedrock.index import KnowledgeBaseIndex
from unsay_core.adapters.bedrock.search import LIVE, KnowledgeBaseSearch, scope_filter
from unsay_core.application.ports import DocumentState, Hit, SearchError
from unsay_core.bootstrap.generations import once
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


def search(answer: Any, on_foreign: Callable[[int], None] = pytest.fail) -> tuple[Base, KnowledgeBaseSearch]:
    base = Base(answer)
    return base, KnowledgeBaseSearch(lambda _: base, "KB", MINE, on_foreign)  # type: ignore[arg-type,return-value]


def nearest(answer: Any, on_foreign: Callable[[int], None] = pytest.fail, **given: Any) -> list[Hit]:
    _, found = search(answer, on_foreign)
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
    dropped: list[int] = []
    hits = nearest({"retrievalResults": results}, dropped.append)
    assert [hit.memory_id for hit in hits] == ["mem_1", "mem_6"]
    assert dropped == [4]


@pytest.mark.parametrize(("given", "kept"), [(-0.2, 0.0), (0.0, 0.0), (0.7, 0.7), (1.0000001, 1.0)])
def test_a_score_is_brought_between_nought_and_one(given: float, kept: float) -> None:
    assert nearest({"retrievalResults": [result("mem_1", given, scope=MINE)]}) == [Hit("mem_1", kept)]


def test_every_filter_begins_with_the_scope() -> None:
    own = {"equals": {"key": "scope", "value": MINE}}
    assert scope_filter(MINE) == own
    assert scope_filter(MINE, LIVE) == {"andAll": [own, {"equals": {"key": "live", "value": 1}}]}
    base, found = search({"retrievalResults": []})
    found.nearest("tea", limit=7, live_only=False, timeout=1.0)
    configured = base.asked[0]["retrievalConfiguration"]["vectorSearchConfiguration"]
    assert configured == {"numberOfResults": 7, "filter": own}


VALUES = {"scope": [MINE, OTHER, ""], "kind": ["semantic", "episodic"], "live": [0, 1], "version": [1, 2, 3]}
COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "equals": lambda found, wanted: found == wanted,
    "greaterThan": lambda found, wanted: found > wanted,
    "greaterThanOrEquals": lambda found, wanted: found >= wanted,
    "lessThan": lambda found, wanted: found < wanted,
    "lessThanOrEquals": lambda found, wanted: found <= wanted,
}


def comparison(operator: str, key: str, value: Any) -> dict[str, Any]:
    return {operator: {"key": key, "value": value}}


COMPARISONS = st.sampled_from(sorted(VALUES)).flatmap(
    lambda key: st.builds(
        comparison, st.sampled_from(sorted(COMPARED)), st.just(key), st.sampled_from(VALUES[key])
    )
)
NARROWER = st.lists(
    COMPARISONS | st.lists(COMPARISONS, min_size=2, max_size=4).map(lambda parts: {"orAll": parts}),
    max_size=4,
)


def holds(part: dict[str, Any], document: dict[str, Any]) -> bool:
    """What the knowledge base makes of a filter, for one document's metadata."""
    ((operator, operand),) = part.items()
    if operator in ("andAll", "orAll"):
        return (all if operator == "andAll" else any)(holds(member, document) for member in operand)
    return COMPARED[operator](document[operand["key"]], operand["value"])


@given(NARROWER)
def test_whatever_else_is_asked_only_narrows(narrower: list[dict[str, Any]]) -> None:
    own, wanted = scope_filter(MINE), scope_filter(MINE, *narrower)
    for document in (dict(zip(VALUES, each, strict=True)) for each in itertools.product(*VALUES.values())):
        alone = all(holds(part, document) for part in narrower)
        assert holds(wanted, document) == (holds(own, document) and alone)
        assert holds(own, document) == (document["scope"] == MINE)


@pytest.mark.parametrize(
    "part",
    [
        {"startsWith": {"key": "scope", "value": "a"}},
        {"stringContains": {"key": "kind", "value": "s"}},
        {"notEquals": {"key": "scope", "value": MINE}},
        {"in": {"key": "kind", "value": ["semantic"]}},
        {"orAll": [{"equals": {"key": "live", "value": 1}}, {"listContains": {"key": "kind", "value": "s"}}]},
    ],
)
def test_what_the_base_would_pass_over_without_a_word_is_not_sent(part: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not a comparison"):
        scope_filter(MINE, part)


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
    index = KnowledgeBaseIndex(base, lambda: base, "KB", "DS", MINE)  # type: ignore[arg-type]
    assert index.states(["mem_1"]) == {"mem_1": state}


def attributes(document: Any) -> dict[str, Any]:
    given = document["metadata"]["inlineAttributes"]
    return {each["key"]: next(v for k, v in each["value"].items() if k != "type") for each in given}


def test_a_document_carries_its_scope_and_little_else() -> None:
    base = Base({})
    index = KnowledgeBaseIndex(base, lambda: base, "KB", "DS", MINE)  # type: ignore[arg-type]
    index.put([memory(1), HARD_MEMORY], token="a name")
    plain, hard = base.asked[0]["documents"]
    assert attributes(plain) == {
        "scope": MINE,
        "memory": memory(1).id,
        "kind": "semantic",
        "live": 1,
        "version": 1,
    }
    found = attributes(hard)
    assert (found["scope"], found["live"], found["version"]) == (MINE, 0, 3)
    assert HARD_MEMORY.status is Status.SUPERSEDED
    assert found["valid_from"] == datetime(1, 1, 1, tzinfo=UTC).timestamp()
    assert plain["content"]["custom"]["customDocumentIdentifier"] == {"id": memory(1).id}
    assert plain["content"]["custom"]["inlineContent"]["textContent"]["data"] == memory(1).fact.content


def test_a_request_has_a_name_of_the_services_form_and_another_request_another() -> None:
    base = Base({})
    index = KnowledgeBaseIndex(base, lambda: base, "KB", "DS", MINE)  # type: ignore[arg-type]
    for token in ("put 1 x", "put 1 x", "put 2 x"):
        index.delete(["mem_1"], token=token)
    names = [asked["clientToken"] for asked in base.asked]
    assert names[0] == names[1] != names[2]
    assert all(33 <= len(name) <= 256 and name.isalnum() for name in names)


def test_a_call_that_nobody_waits_for_ends_by_itself() -> None:
    """A knowledge base that takes the question and never answers leaves no thread behind."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        session = boto3.session.Session("key", "secret", region_name="us-east-1")

        def client(timeout: float) -> Any:
            assert timeout == 0.2
            return session.client("bedrock-agent-runtime", endpoint_url=endpoint, config=once(timeout))

        base = KnowledgeBaseSearch(client, "KB12345678", MINE, pytest.fail)
        with pytest.raises(SearchError, match="knowledge_base_timeout"):
            base.nearest("tea", limit=1, live_only=True, timeout=0.2)


@pytest.mark.parametrize(("timeout", "patience"), [(0.04, 1), (1.0, 1), (2.4, 3), (8.0, 10), (60.0, 10)])
def test_a_client_waits_little_longer_than_it_may(timeout: float, patience: int) -> None:
    assert once(timeout) is once(timeout)
    assert once(timeout).read_timeout == patience  # type: ignore[attr-defined]
    assert once(timeout).retries["total_max_attempts"] == 1  # type: ignore[attr-defined]
