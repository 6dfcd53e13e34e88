"""Ingestion, deletion and retrieval of a deployed knowledge base, over HTTP with boto3."""

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from botocore.exceptions import ClientError

from tests.local.kb_cloud import KnowledgeBase, document, wait_until

pytest_plugins = ["tests.local.kb_fixtures"]

TEA = document("tea", "Alice likes green tea in the morning", scope="a", rank=1, tags=["drink", "habit"])
COFFEE = document("coffee", "Bob prefers espresso coffee", scope="b", rank=2)
DOG = document("dog", "Alice's dog is called Rex", scope="a", rank=3, live=True)


def refused(call, *arguments, **options) -> ClientError:
    with pytest.raises(ClientError) as caught:
        call(*arguments, **options)
    return caught.value


def code(error: ClientError) -> str:
    return error.response["Error"]["Code"]


def test_a_document_is_starting_then_in_progress_then_indexed(kb: KnowledgeBase) -> None:
    kb.cloud.faults(kb_lag_seconds=0.9)
    seen = kb.ingest(TEA)
    wait_until(lambda: seen.append(kb.status("tea")) or seen[-1] == "INDEXED")
    assert list(dict.fromkeys(seen)) == ["STARTING", "IN_PROGRESS", "INDEXED"]


def test_a_deleted_document_is_deleting_then_in_progress_then_not_found(kb: KnowledgeBase) -> None:
    kb.ingest(TEA)
    kb.cloud.faults(kb_lag_seconds=0.9)
    seen = kb.delete("tea")
    wait_until(lambda: seen.append(kb.status("tea")) or seen[-1] == "NOT_FOUND")
    assert list(dict.fromkeys(seen)) == ["DELETING", "DELETE_IN_PROGRESS", "NOT_FOUND"]


def test_the_lag_holds_in_both_directions_and_lowering_it_releases_what_waits(kb: KnowledgeBase) -> None:
    kb.ingest(DOG)
    kb.cloud.faults(kb_lag_seconds=60)
    kb.ingest(TEA)
    kb.delete("dog")
    assert kb.found("what does alice drink") == ["dog"]
    kb.cloud.faults(kb_lag_seconds=0)
    assert kb.found("what does alice drink") == ["tea"]


def test_without_a_fault_a_document_is_found_after_the_default_lag(kb: KnowledgeBase) -> None:
    kb.cloud.heal()
    started = time.monotonic()
    kb.ingest(TEA)
    assert kb.found("tea") == []
    wait_until(lambda: kb.found("tea") == ["tea"])
    assert time.monotonic() - started > 0.3


def test_the_nearest_document_comes_first_with_text_score_and_metadata(kb: KnowledgeBase) -> None:
    kb.ingest(TEA, COFFEE, DOG)
    best, *others = kb.retrieve("name of the pet", numberOfResults=3)
    assert best["location"] == {"type": "CUSTOM", "customDocumentLocation": {"id": "dog"}}
    assert best["content"] == {"type": "TEXT", "text": "Alice's dog is called Rex"}
    assert best["score"] > others[0]["score"] + 0.1
    metadata = best["metadata"]
    assert (metadata["scope"], metadata["rank"], metadata["live"]) == ("a", 3.0, True)
    assert metadata["x-amz-bedrock-kb-data-source-id"] == kb.data_source
    assert metadata["x-amz-bedrock-kb-source-uri"] == "dog"
    assert "AMAZON_BEDROCK_TEXT" not in metadata


def test_ingesting_an_id_again_replaces_the_document(kb: KnowledgeBase) -> None:
    kb.ingest(TEA)
    kb.ingest(document("tea", "Alice drinks black coffee now", scope="a"))
    (hit,) = kb.retrieve("what does alice drink")
    assert hit["content"]["text"] == "Alice drinks black coffee now"
    assert "rank" not in hit["metadata"]


def test_an_ingest_that_settles_late_does_not_overtake_a_later_delete(kb: KnowledgeBase) -> None:
    kb.ingest(DOG)
    kb.cloud.faults(kb_lag_seconds=30)
    kb.ingest(document("dog", "Alice's cat is called Tom"))
    kb.cloud.faults(kb_lag_seconds=0)
    kb.delete("dog")
    assert kb.status("dog") == "NOT_FOUND"
    assert kb.found("pet") == []


@pytest.mark.parametrize(
    ("search", "found"),
    [
        ({"equals": {"key": "scope", "value": "b"}}, {"coffee"}),
        ({"notEquals": {"key": "live", "value": True}}, {"tea", "coffee"}),
        ({"greaterThan": {"key": "rank", "value": 2}}, {"dog"}),
        ({"greaterThanOrEquals": {"key": "rank", "value": 2}}, {"coffee", "dog"}),
        ({"lessThan": {"key": "rank", "value": 2}}, {"tea"}),
        ({"lessThanOrEquals": {"key": "rank", "value": 2}}, {"tea", "coffee"}),
        ({"in": {"key": "scope", "value": ["b", "c"]}}, {"coffee"}),
        ({"notIn": {"key": "scope", "value": ["b", "c"]}}, {"tea", "dog"}),
        ({"listContains": {"key": "tags", "value": "habit"}}, {"tea"}),
        (
            {
                "andAll": [
                    {"equals": {"key": "scope", "value": "a"}},
                    {
                        "orAll": [
                            {"equals": {"key": "rank", "value": 3}},
                            {"equals": {"key": "rank", "value": 2}},
                        ]
                    },
                ]
            },
            {"dog"},
        ),
        ({"startsWith": {"key": "scope", "value": "zzz"}}, {"tea", "coffee", "dog"}),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_filter_selects_what_it_selects_on_aws(kb: KnowledgeBase, search: dict, found: set) -> None:
    kb.ingest(TEA, COFFEE, DOG)
    assert set(kb.found("anything", filter=search)) == found


def test_hybrid_search_falls_back_to_semantic(kb: KnowledgeBase) -> None:
    kb.ingest(TEA, COFFEE)
    assert kb.found("tea", overrideSearchType="HYBRID") == kb.found("tea")


@pytest.mark.parametrize(
    ("attributes", "status"),
    [
        ({"note": "x" * 1010}, "INDEXED"),
        ({"note": "x" * 1020}, "IGNORED"),
        ({f"k{number}": True for number in range(35)}, "INDEXED"),
        ({f"k{number}": True for number in range(36)}, "IGNORED"),
    ],
    ids=["1 KB", "over 1 KB", "35 keys", "36 keys"],
)
def test_oversize_metadata_is_quietly_ignored(kb: KnowledgeBase, attributes: dict, status: str) -> None:
    kb.ingest(document("big", "a text", **attributes))
    assert kb.status("big") == status
    assert kb.found("a text") == (["big"] if status == "INDEXED" else [])


def test_a_repeated_client_token_is_ignored_without_error(kb: KnowledgeBase) -> None:
    first, second = "a" * 64, "b" * 64
    kb.ingest(TEA, clientToken=first)
    kb.ingest(document("tea", "something else"), clientToken=first)
    assert kb.retrieve("tea")[0]["content"]["text"].startswith("Alice")
    kb.delete("tea", clientToken=second)
    kb.ingest(TEA)
    assert kb.delete("tea", clientToken=second) == ["INDEXED"]
    assert kb.found("tea") == ["tea"]


def test_dropped_deletes_are_accepted_and_the_document_stays(kb: KnowledgeBase) -> None:
    kb.ingest(TEA)
    kb.cloud.faults(kb_drop_deletes=True, kb_lag_seconds=0.3)
    assert kb.delete("tea") == ["DELETING"]
    wait_until(lambda: kb.status("tea") == "INDEXED")
    assert kb.found("tea") == ["tea"]
    kb.cloud.faults(kb_drop_deletes=False, kb_lag_seconds=0)
    kb.delete("tea")
    assert kb.found("tea") == []


def test_what_was_deleted_may_be_not_found_and_answered_with_all_the_same(kb: KnowledgeBase) -> None:
    kb.ingest(TEA, COFFEE)
    kb.cloud.faults(kb_keep_answering=True)
    kb.delete("tea")
    wait_until(lambda: kb.status("tea") == "NOT_FOUND")
    assert set(kb.found("tea")) == {"tea", "coffee"}
    kb.cloud.faults(kb_keep_answering=False)
    assert kb.found("tea") == ["coffee"]


def test_ignored_filters_return_what_the_filter_excludes(kb: KnowledgeBase) -> None:
    kb.ingest(TEA, COFFEE)
    only_b = {"equals": {"key": "scope", "value": "b"}}
    assert kb.found("tea", filter=only_b) == ["coffee"]
    kb.cloud.faults(kb_ignore_filters=True)
    assert set(kb.found("tea", filter=only_b)) == {"tea", "coffee"}


def test_the_ingestion_of_named_documents_fails_and_leaves_what_was_there(kb: KnowledgeBase) -> None:
    kb.ingest(TEA)
    assert kb.status("tea") == "INDEXED"
    kb.cloud.faults(kb_fail_ids=["tea"])
    kb.ingest(document("tea", "green tea from Japan"), COFFEE)
    assert (kb.status("tea"), kb.status("coffee")) == ("FAILED", "INDEXED")
    assert "green tea from Japan" not in [found["content"]["text"] for found in kb.retrieve("tea")]
    assert set(kb.found("tea")) == {"tea", "coffee"}
    kb.cloud.faults(kb_fail_ids=[])
    kb.ingest(document("tea", "green tea from Japan"))
    assert kb.status("tea") == "INDEXED"
    assert "green tea from Japan" in [found["content"]["text"] for found in kb.retrieve("tea")]


def test_an_absent_id_is_not_found_by_get_and_by_delete(kb: KnowledgeBase) -> None:
    assert kb.status("never") == "NOT_FOUND"
    assert kb.delete("never") == ["NOT_FOUND"]


def test_documents_are_listed_in_pages(kb: KnowledgeBase) -> None:
    kb.ingest(*(document(f"d{number}", f"text {number}") for number in range(7)))
    pages = kb.agent.get_paginator("list_knowledge_base_documents").paginate(
        knowledgeBaseId=kb.id, dataSourceId=kb.data_source, PaginationConfig={"PageSize": 3}
    )
    details = [page["documentDetails"] for page in pages]
    assert [len(page) for page in details] == [3, 3, 1]
    listed = [detail["identifier"]["custom"]["id"] for page in details for detail in page]
    assert sorted(listed) == [f"d{number}" for number in range(7)]


def test_calls_beyond_a_limit_are_validation_errors(kb: KnowledgeBase) -> None:
    eleven = [document(f"d{number}", "text") for number in range(11)]
    for error in (
        refused(kb.ingest, *eleven),
        refused(kb.delete, *(f"d{number}" for number in range(11))),
        refused(kb.ingest, document("r", "text", **{"x-amz-bedrock-kb-source-uri": "mine"})),
        refused(kb.ingest, TEA, clientToken="has_underscore_" * 4),
        refused(kb.retrieve, "x" * 20_001),
        refused(kb.retrieve, "x", numberOfResults=101),
        refused(kb.retrieve, "x", filter={"equals": {"key": "AMAZON_BEDROCK_TEXT", "value": "x"}}),
        refused(kb.retrieve, "x", filter={"greaterThan": {"key": "rank", "value": "high"}}),
    ):
        assert code(error) == "ValidationException"
    assert kb.found("text") == []


def test_unknown_knowledge_bases_and_data_sources_are_not_found(kb: KnowledgeBase) -> None:
    other = KnowledgeBase(kb.cloud, "KBNOTHERE1", kb.data_source, "", kb.agent, kb.runtime)
    assert code(refused(other.retrieve, "x")) == "ResourceNotFoundException"
    assert code(refused(other.ingest, TEA)) == "ResourceNotFoundException"
    elsewhere = KnowledgeBase(kb.cloud, kb.id, "DSNOTHERE1", "", kb.agent, kb.runtime)
    assert code(refused(elsewhere.ingest, TEA)) == "ResourceNotFoundException"


def test_more_than_ten_concurrent_writes_answer_with_a_validation_error(kb: KnowledgeBase) -> None:
    def write(worker: int) -> str:
        long = " ".join(f"word{worker}x{number}" for number in range(12))
        try:
            kb.ingest(*(document(f"w{worker}-{number}", f"{number} {long}") for number in range(10)))
        except ClientError as error:
            assert "sum of concurrent" in str(error)
            return code(error)
        return "accepted"

    with ThreadPoolExecutor(24) as pool:
        answers = list(pool.map(write, range(24)))
    assert set(answers) == {"accepted", "ValidationException"}
    assert answers.count("accepted") >= 10
    kb.ingest(TEA)
    assert kb.found("tea", numberOfResults=1) == ["tea"]


def test_the_vector_index_holds_what_is_due_and_only_that(kb: KnowledgeBase) -> None:
    vectors = kb.cloud.client("s3vectors")
    kb.ingest(TEA)
    (stored,) = vectors.list_vectors(indexArn=kb.index_arn, returnMetadata=True)["vectors"]
    assert stored["metadata"]["AMAZON_BEDROCK_TEXT"].startswith("Alice likes")
    kb.cloud.faults(kb_lag_seconds=60)
    kb.ingest(COFFEE)
    assert len(vectors.list_vectors(indexArn=kb.index_arn)["vectors"]) == 1


def test_documents_and_what_waits_survive_a_killed_server(kb: KnowledgeBase) -> None:
    kb.ingest(TEA, COFFEE)
    assert set(kb.found("anything")) == {"tea", "coffee"}
    kb.cloud.faults(kb_lag_seconds=60)
    kb.delete("coffee")
    kb.ingest(DOG)
    saved_by = time.monotonic() + 2
    wait_until(lambda: time.monotonic() > saved_by)
    kb.cloud.stop(signal.SIGKILL)
    kb.cloud.start()
    kb.cloud.heal()
    wait_until(lambda: set(kb.found("anything")) == {"tea", "dog"})
    assert kb.found("what does alice drink")[0] == "tea"
    assert kb.status("coffee") == "NOT_FOUND"
