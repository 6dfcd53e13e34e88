"""The adapters of S3 Vectors and of the embedding models: what they ask for, what refusals are to them."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from local.vector_filter import compile_filter
from tests.support.clock import fake_world
from tests.support.samples import memory
from tests.unit.test_pushdown import MEMORIES, passes
from unsay_core.adapters.bedrock.embedding import BedrockEmbedding, VectorCache
from unsay_core.adapters.bedrock.pushdown import pushed
from unsay_core.adapters.bedrock.search import LIVE, scope_filter
from unsay_core.adapters.s3vectors.index import RootIndex, VectorIndex
from unsay_core.adapters.s3vectors.search import VectorSearch, translated
from unsay_core.adapters.searchable import searchable
from unsay_core.application.ports import DocumentState, Hit, SearchError
from unsay_core.contracts.filter import parse_filter
from unsay_core.domain.errors import UnavailableError

MINE, OTHER, ROOT = "a" * 52, "b" * 52, "r" * 52
TITAN, NOVA = "amazon.titan-embed-text-v2:0", "amazon.nova-2-multimodal-embeddings-v1:0"
PRESENT = DocumentState(settled=True, present=True)


def refused(code: str, status: int = 400) -> ClientError:
    return ClientError(
        {"Error": {"Code": code, "Message": ""}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Operation"
    )


class Client:
    """Records what it was asked; each operation answers what it was told to, one after another."""

    def __init__(self, **answers: Any) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []
        self._answers = {
            name: iter(found if isinstance(found, list) else [found]) for name, found in answers.items()
        }

    def __getattr__(self, name: str) -> Any:
        def call(**asked: Any) -> Any:
            self.asked.append((name, asked))
            answer = next(self._answers.get(name, iter(())), {})
            if isinstance(answer, Exception):
                raise answer
            return answer

        return call

    @property
    def operations(self) -> list[str]:
        return [name for name, _ in self.asked]


class Models:
    """Models that answer with the length of the text, and are down for texts that say so."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def invoke_model(self, *, modelId: str, body: str) -> Any:
        asked = json.loads(body)
        self.asked.append((modelId, asked))
        text = asked["inputText"] if modelId == TITAN else asked["singleEmbeddingParams"]["text"]["value"]
        if "down" in text:
            raise refused("ThrottlingException")
        vector = [float(len(text)), 1.0]
        told = {"embedding": vector} if modelId == TITAN else {"embeddings": [{"embedding": vector}]}
        return {"body": io.BytesIO(json.dumps(told).encode())}


@pytest.fixture
def models() -> Models:
    return Models()


def embedding(models: Models, model: str = TITAN, cache: VectorCache | None = None) -> BedrockEmbedding:
    return BedrockEmbedding(lambda: models, model, 256, cache or VectorCache(), fake_world().executor)


def index(client: Client, models: Models) -> VectorIndex:
    return VectorIndex(lambda: client, RootIndex("bucket", ROOT, 256), embedding(models), MINE)


def search(client: Client, models: Models, on_foreign: Callable[[int], None] = pytest.fail) -> VectorSearch:
    place, model = RootIndex("bucket", ROOT, 256), embedding(models)
    return VectorSearch(lambda _: client, lambda _: model, place, MINE, on_foreign)


def nearest(client: Client, models: Models, on_foreign: Callable[[int], None] = pytest.fail) -> list[Hit]:
    return list(search(client, models, on_foreign).nearest("tea", limit=5, live_only=True, timeout=1.0))


# --- embedding ------------------------------------------------------------------------------------------


def test_each_model_is_asked_in_its_own_form(models: Models) -> None:
    assert embedding(models).of_query("tea") == [3.0, 1.0]
    assert embedding(models, NOVA).of_query("tea") == [3.0, 1.0]
    (vector,) = embedding(models, NOVA).of_documents(["green"])
    assert vector == [5.0, 1.0]
    assert models.asked[0] == (TITAN, {"inputText": "tea", "dimensions": 256, "normalize": True})
    purposes = [asked["singleEmbeddingParams"].pop("embeddingPurpose") for _, asked in models.asked[1:]]
    assert purposes == ["TEXT_RETRIEVAL", "GENERIC_INDEX"]
    assert models.asked[2][1] == {
        "taskType": "SINGLE_EMBEDDING",
        "singleEmbeddingParams": {
            "embeddingDimension": 256,
            "text": {"truncationMode": "END", "value": "green"},
        },
    }


def test_a_text_is_embedded_once(models: Models) -> None:
    ours = embedding(models)
    assert ours.of_documents(["tea", "dog", "tea"]) == [[3.0, 1.0], [3.0, 1.0], [3.0, 1.0]]
    ours.of_documents(["dog"])
    ours.of_query("tea")
    assert len(models.asked) == 2


def test_what_was_not_asked_for_for_longest_makes_room(models: Models) -> None:
    ours = embedding(models, cache=VectorCache(kept=2))
    for text in ("a", "bb", "a", "ccc", "a", "bb"):
        ours.of_query(text)
    assert [asked["inputText"] for _, asked in models.asked] == ["a", "bb", "ccc", "bb"]


def test_no_text_is_kept_with_its_vector(models: Models) -> None:
    cache = VectorCache()
    embedding(models, cache=cache).of_query("a secret about Alice")
    assert "secret" not in repr(vars(cache))


def test_a_text_is_cut_where_the_model_would_refuse_it_and_never_inside_a_character(models: Models) -> None:
    embedding(models).of_query("猫" * 6_000)
    ((_, asked),) = models.asked
    assert set(asked["inputText"]) == {"猫"}
    assert 15_990 < len(asked["inputText"].encode()) <= 16_000


# --- the index ------------------------------------------------------------------------------------------


def test_a_put_is_one_call_for_all_and_says_what_to_filter_by(models: Models) -> None:
    client = Client()
    index(client, models).put([memory(1), memory(2)], token="t")
    ((operation, asked),) = client.asked
    assert (operation, asked["vectorBucketName"], asked["indexName"]) == ("put_vectors", "bucket", ROOT)
    assert [each["key"] for each in asked["vectors"]] == [memory(1).id, memory(2).id]
    assert asked["vectors"][0]["metadata"] == searchable(MINE, memory(1))
    assert asked["vectors"][0]["metadata"]["scope"] == MINE
    assert memory(1).fact.content not in repr(client.asked)


def test_the_first_put_of_a_root_makes_its_index(models: Models) -> None:
    client = Client(put_vectors=[refused("NotFoundException"), {}])
    index(client, models).put([memory(1)], token="t")
    assert client.operations == ["put_vectors", "create_index", "put_vectors"]
    made = client.asked[1][1]
    assert (made["indexName"], made["dimension"], made["distanceMetric"]) == (ROOT, 256, "cosine")


def test_two_first_puts_at_once_are_both_stored(models: Models) -> None:
    client = Client(put_vectors=[refused("NotFoundException"), {}], create_index=refused("ConflictException"))
    index(client, models).put([memory(1)], token="t")
    assert client.operations == ["put_vectors", "create_index", "put_vectors"]


def test_a_text_that_cannot_be_embedded_holds_up_no_other(models: Models) -> None:
    client = Client()
    down = replace(memory(2), fact=replace(memory(2).fact, content="down"))
    with pytest.raises(UnavailableError):
        index(client, models).put([memory(1), down], token="t")
    ((_, asked),) = client.asked
    assert [each["key"] for each in asked["vectors"]] == [memory(1).id]


def test_in_an_index_that_is_not_there_nothing_is_and_nothing_needs_deleting(models: Models) -> None:
    client = Client(get_vectors=refused("NotFoundException"), delete_vectors=refused("NotFoundException"))
    assert index(client, models).states([memory(1).id]) == {}
    index(client, models).delete([memory(1).id], token="t")
    assert index(Client(get_vectors={"vectors": [{"key": "mem_1"}]}), models).states(["mem_1", "mem_2"]) == {
        "mem_1": PRESENT
    }


@pytest.mark.parametrize("code", ["TooManyRequestsException", "ThrottlingException"])
def test_what_is_throttled_comes_again(models: Models, code: str) -> None:
    for ask in (
        lambda: index(Client(put_vectors=refused(code)), models).put([memory(1)], token="t"),
        lambda: index(Client(delete_vectors=refused(code)), models).delete(["mem_1"], token="t"),
        lambda: index(Client(get_vectors=refused(code)), models).states(["mem_1"]),
    ):
        with pytest.raises(UnavailableError):
            ask()


def test_what_is_denied_is_a_fault_and_no_absence(models: Models) -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        index(Client(get_vectors=refused("AccessDeniedException", 403)), models).states(["mem_1"])


# --- search ---------------------------------------------------------------------------------------------


def test_only_hits_whose_scope_is_ours_are_kept(models: Models) -> None:
    vectors = [
        {"key": "mem_1", "distance": 0.25, "metadata": {"scope": MINE}},
        {"key": "mem_2", "distance": 0.1, "metadata": {"scope": OTHER}},
        {"key": "mem_3", "distance": 0.1},
        {"key": "mem_4", "distance": 1.7, "metadata": {"scope": MINE}},
    ]
    dropped: list[int] = []
    hits = nearest(Client(query_vectors={"vectors": vectors}), models, dropped.append)
    assert hits == [Hit("mem_1", 0.75), Hit("mem_4", 0.0)]
    assert dropped == [2]


def test_every_query_is_filtered_by_the_scope(models: Models) -> None:
    client = Client(query_vectors={"vectors": []})
    nearest(client, models)
    ((_, asked),) = client.asked
    assert asked["filter"] == {"$and": [{"scope": {"$eq": MINE}}, {"live": {"$eq": 1}}]}
    assert (asked["topK"], asked["indexName"]) == (5, ROOT)
    assert asked["returnMetadata"] and asked["returnDistance"]


def test_a_root_without_an_index_has_no_hits(models: Models) -> None:
    assert nearest(Client(query_vectors=refused("NotFoundException")), models) == []


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (ReadTimeoutError(endpoint_url="x"), "knowledge_base_timeout"),
        (refused("TooManyRequestsException"), "knowledge_base_throttled"),
        (refused("AccessDeniedException", 403), "knowledge_base_unavailable"),
        (refused("ServiceUnavailableException", 503), "knowledge_base_unavailable"),
        (EndpointConnectionError(endpoint_url="x"), "knowledge_base_unavailable"),
    ],
)
def test_every_failure_is_a_reason(models: Models, failure: Exception, reason: str) -> None:
    with pytest.raises(SearchError) as caught:
        nearest(Client(query_vectors=failure), models)
    assert caught.value.reason == reason


def test_a_model_that_is_throttled_is_a_reason(models: Models) -> None:
    found = search(Client(), models)
    with pytest.raises(SearchError) as caught:
        found.nearest("down", limit=5, live_only=True, timeout=1.0)
    assert caught.value.reason == "knowledge_base_throttled"


@pytest.mark.parametrize(
    "wanted",
    [
        {"eq": ["kind", "episodic"]},
        {"in": ["kind", ["episodic", "semantic"]]},
        {"gt": ["valid_from", "2026-05-01T12:00:00Z"]},
        {"and": [{"gte": ["valid_from", "2026-05-01T12:00:00Z"]}, {"eq": ["kind", "procedural"]}]},
    ],
)
def test_what_is_pushed_down_filters_as_it_does_in_a_knowledge_base(wanted: Any) -> None:
    conditions = pushed(parse_filter(wanted))
    assert conditions
    matches = compile_filter(translated(scope_filter(MINE, LIVE, *conditions)), frozenset())
    for one in MEMORIES:
        assert matches(searchable(MINE, one)) == all(passes(condition, one) for condition in conditions)
        assert not matches(searchable(OTHER, one))
