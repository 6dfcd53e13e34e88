"""The S3 Vectors service, over HTTP with boto3."""

import itertools
from collections.abc import Iterator
from typing import Any

import httpx
import numpy as np
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.exceptions import ClientError

from local.vector_store import Index, Owner, Vector, VectorStore
from tests.local.kb_cloud import Cloud

pytest_plugins = ["tests.local.kb_fixtures"]

NUMBERS = itertools.count()


@pytest.fixture
def vectors(ai_cloud: Cloud) -> Any:
    return ai_cloud.client("s3vectors")


@pytest.fixture
def bucket(vectors: Any) -> str:
    name = f"bucket-{next(NUMBERS)}"
    vectors.create_vector_bucket(vectorBucketName=name)
    return name


@pytest.fixture
def index(vectors: Any, bucket: str) -> Iterator[str]:
    created = vectors.create_index(
        vectorBucketName=bucket,
        indexName="colors",
        dataType="float32",
        dimension=3,
        distanceMetric="cosine",
        metadataConfiguration={"nonFilterableMetadataKeys": ["text"]},
    )
    yield created["indexArn"]


def vector(key: str, *numbers: float, **metadata: Any) -> dict[str, Any]:
    return {"key": key, "data": {"float32": list(numbers)}, "metadata": metadata}


def put(vectors: Any, index: str, *records: dict[str, Any]) -> None:
    vectors.put_vectors(indexArn=index, vectors=list(records))


def query(vectors: Any, index: str, *numbers: float, top: int = 10, **options: Any) -> dict[str, Any]:
    return dict(
        vectors.query_vectors(indexArn=index, queryVector={"float32": list(numbers)}, topK=top, **options)
    )


def refusal(call: Any, *arguments: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(ClientError) as caught:
        call(*arguments, **options)
    error = caught.value.response["Error"]
    return error["Code"], error["Message"]


def test_vectors_come_back_as_they_were_put(vectors: Any, index: str) -> None:
    put(vectors, index, vector("red", 1, 0, 0, warm=True, text="a note"), vector("blue", 0, 0, 1))
    answer = vectors.get_vectors(indexArn=index, keys=["red", "none"], returnData=True, returnMetadata=True)
    (red,) = answer["vectors"]
    assert red["data"]["float32"] == [1, 0, 0]
    assert red["metadata"] == {"warm": True, "text": "a note"}
    vectors.delete_vectors(indexArn=index, keys=["red", "none"])
    assert [each["key"] for each in vectors.list_vectors(indexArn=index)["vectors"]] == ["blue"]


def test_a_query_orders_by_distance_and_returns_what_is_asked_for(vectors: Any, index: str) -> None:
    put(vectors, index, vector("x", 1, 0, 0, a=1), vector("xy", 1, 1, 0), vector("z", 0, 0, 1))
    answer = query(vectors, index, 1, 0.1, 0, top=2, returnDistance=True, returnMetadata=True)
    assert [hit["key"] for hit in answer["vectors"]] == ["x", "xy"]
    assert answer["vectors"][0]["distance"] == pytest.approx(1 - 1 / np.sqrt(1.01), abs=1e-5)
    assert answer["vectors"][0]["metadata"] == {"a": 1}
    assert answer["distanceMetric"] == "cosine"
    assert set(query(vectors, index, 1, 0, 0)["vectors"][0]) == {"key"}


def test_euclidean_distance_is_euclidean(vectors: Any, bucket: str) -> None:
    made = {"indexName": "flat", "dataType": "float32", "dimension": 2, "distanceMetric": "euclidean"}
    arn = vectors.create_index(vectorBucketName=bucket, **made)["indexArn"]
    put(vectors, arn, vector("origin", 0, 0), vector("far", 6, 8))
    hits = query(vectors, arn, 0, 0, returnDistance=True)["vectors"]
    assert [(hit["key"], hit["distance"]) for hit in hits] == [("origin", 0), ("far", 10)]


@pytest.mark.parametrize(
    ("condition", "keys"),
    [
        ({"kind": "tea"}, {"a"}),
        ({"kind": {"$ne": "tea"}}, {"b", "c"}),
        ({"year": {"$gt": 2000, "$lte": 2010}}, {"b"}),
        ({"kind": {"$in": ["tea", "milk"]}}, {"a"}),
        ({"kind": {"$nin": ["tea"]}}, {"b", "c"}),
        ({"kind": {"$exists": False}}, {"c"}),
        ({"tags": "hot"}, {"b"}),
        ({"flag": True}, {"a"}),
        ({"flag": 1}, {"c"}),
        ({"$or": [{"kind": "tea"}, {"$and": [{"kind": "coffee"}, {"year": 2010}]}]}, {"a", "b"}),
    ],
    ids=str,
)
def test_a_filter_selects_by_metadata(vectors: Any, index: str, condition: dict, keys: set) -> None:
    put(
        vectors,
        index,
        vector("a", 1, 0, 0, kind="tea", year=2000, flag=True),
        vector("b", 1, 0, 0, kind="coffee", year=2010, tags=["hot", "black"]),
        vector("c", 1, 0, 0, flag=1),
    )
    assert {hit["key"] for hit in query(vectors, index, 1, 0, 0, filter=condition)["vectors"]} == keys


@pytest.mark.parametrize(
    "condition",
    [
        {},
        {"k": {"$like": "x"}},
        {"$not": []},
        {"$and": []},
        {"k": {"$in": []}},
        {"k": {"$gt": "1"}},
        {"text": "x"},
        {"$or": ["x", "y"]},
        {"$or": [{"k": number} for number in range(101)]},
        "k = 1",
    ],
    ids=lambda condition: str(condition)[:30],
)
def test_a_broken_filter_is_refused_even_on_an_empty_index(vectors: Any, index: str, condition: dict) -> None:
    assert refusal(query, vectors, index, 1, 0, 0, filter=condition)[0] == "ValidationException"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (vector("v", 1, 0), "vector must have length 3, but has length 2"),
        (vector("v", 0, 0, 0), "zero vectors"),
        (vector("v", 1, 0, 0, note="x" * 2048), "Filterable metadata must have at most 2048 bytes"),
        (vector("v", 1, 0, 0, text="x" * 40_960), "Metadata must have at most 40960 bytes"),
        (vector("v", 1, 0, 0, **{f"k{n}": 1 for n in range(51)}), "at most 50 keys"),
        (vector("v", 1, 0, 0, nested={"a": 1}), "Filterable metadata must be"),
        (vector("v" * 1025, 1, 0, 0), "Vector key must have length"),
    ],
    ids=["length", "zero", "filterable", "total", "keys", "nested", "key"],
)
def test_a_bad_vector_is_refused_and_none_of_its_batch_is_stored(
    vectors: Any, index: str, record: dict, message: str
) -> None:
    code, text = refusal(put, vectors, index, vector("good", 1, 0, 0), record)
    assert code == "ValidationException"
    assert message in text
    assert vectors.list_vectors(indexArn=index)["vectors"] == []
    put(vectors, index, vector("long", 1, 0, 0, text="x" * 30_000))


def test_batches_beyond_the_limits_are_refused(vectors: Any, index: str) -> None:
    many = [f"k{number}" for number in range(501)]
    for call, options in (
        (vectors.put_vectors, {"vectors": [vector(key, 1, 0, 0) for key in many]}),
        (vectors.delete_vectors, {"keys": many}),
        (vectors.get_vectors, {"keys": many[:101]}),
        (vectors.query_vectors, {"queryVector": {"float32": [1, 0, 0]}, "topK": 10_001}),
        (vectors.list_vectors, {"maxResults": 1001}),
    ):
        assert refusal(call, indexArn=index, **options)[0] == "ValidationException"
    put(vectors, index, *(vector(key, 1, 0, 0) for key in many[:500]))


def test_lists_and_queries_come_in_pages_that_meet_without_gap_or_overlap(vectors: Any, index: str) -> None:
    keys = [f"k{number:03d}" for number in range(250)]
    put(vectors, index, *(vector(key, 1, number, 0) for number, key in enumerate(keys)))
    pages = list(vectors.get_paginator("list_vectors").paginate(indexArn=index, maxResults=100))
    assert [each["key"] for page in pages for each in page["vectors"]] == keys
    first = query(vectors, index, 1, 0, 0, top=250)
    second = query(vectors, index, 1, 0, 0, top=250, nextToken=first["nextToken"])
    third = query(vectors, index, 1, 0, 0, top=250, nextToken=second["nextToken"])
    assert [hit["key"] for page in (first, second, third) for hit in page["vectors"]] == keys
    assert "nextToken" not in third
    parts = [
        vectors.list_vectors(indexArn=index, segmentCount=4, segmentIndex=part)["vectors"]
        for part in range(4)
    ]
    assert sorted(each["key"] for part in parts for each in part) == keys
    assert refusal(vectors.list_vectors, indexArn=index, nextToken="%%%")[0] == "ValidationException"


def test_buckets_and_indexes_are_listed_by_prefix_and_described(
    vectors: Any, bucket: str, index: str
) -> None:
    described = vectors.get_index(vectorBucketName=bucket, indexName="colors")["index"]
    assert (described["dimension"], described["distanceMetric"]) == (3, "cosine")
    assert described["metadataConfiguration"] == {"nonFilterableMetadataKeys": ["text"]}
    assert described["indexMode"] == "ENHANCED"
    (listed,) = vectors.list_indexes(vectorBucketName=bucket, prefix="col")["indexes"]
    assert listed["indexArn"] == index
    assert vectors.list_indexes(vectorBucketName=bucket, prefix="x")["indexes"] == []
    (held,) = vectors.list_vector_buckets(prefix=f"{bucket}")["vectorBuckets"][:1]
    assert held["vectorBucketArn"].endswith(f"bucket/{bucket}")
    assert vectors.get_vector_bucket(vectorBucketName=bucket)["vectorBucket"]["creationTime"].year >= 2025


def test_names_in_use_conflict_and_a_bucket_with_an_index_stays(
    vectors: Any, bucket: str, index: str
) -> None:
    again = {"indexName": "colors", "dataType": "float32", "dimension": 3, "distanceMetric": "cosine"}
    assert refusal(vectors.create_vector_bucket, vectorBucketName=bucket)[0] == "ConflictException"
    assert refusal(vectors.create_index, vectorBucketName=bucket, **again)[0] == "ConflictException"
    assert refusal(vectors.delete_vector_bucket, vectorBucketName=bucket)[0] == "ConflictException"
    vectors.delete_index(indexArn=index)
    vectors.delete_vector_bucket(vectorBucketName=bucket)
    assert refusal(vectors.get_vector_bucket, vectorBucketName=bucket)[0] == "NotFoundException"
    assert refusal(vectors.get_index, indexArn=index)[0] == "NotFoundException"


def test_an_index_takes_ten_non_filterable_keys_and_a_dimension_to_4096(vectors: Any, bucket: str) -> None:
    made = {"vectorBucketName": bucket, "dataType": "float32", "distanceMetric": "cosine"}
    eleven = {"nonFilterableMetadataKeys": [f"k{number}" for number in range(11)]}
    for bad in (
        {"indexName": "a-b", "dimension": 3, "metadataConfiguration": eleven},
        {"indexName": "a-b", "dimension": 4097},
        {"indexName": "A_B", "dimension": 3},
    ):
        assert refusal(vectors.create_index, **made, **bad)[0] == "ValidationException"


def test_tags_and_policies_are_kept(vectors: Any, bucket: str, index: str) -> None:
    vectors.tag_resource(resourceArn=index, tags={"a": "1", "b": "2"})
    vectors.untag_resource(resourceArn=index, tagKeys=["a"])
    assert vectors.list_tags_for_resource(resourceArn=index)["tags"] == {"b": "2"}
    assert refusal(vectors.get_vector_bucket_policy, vectorBucketName=bucket)[0] == "NotFoundException"
    vectors.put_vector_bucket_policy(vectorBucketName=bucket, policy="{}")
    assert vectors.get_vector_bucket_policy(vectorBucketName=bucket)["policy"] == "{}"


def test_an_unknown_operation_is_answered_in_the_services_shape(ai_cloud: Cloud) -> None:
    request = AWSRequest("POST", f"{ai_cloud.url}/NoSuchOperation", data="{}")
    SigV4Auth(Credentials("test", "test"), "s3vectors", "us-east-1").add_auth(request)
    answer = httpx.post(request.url, content="{}", headers=dict(request.headers))
    assert (answer.status_code, answer.headers["x-amzn-errortype"]) == (404, "UnknownOperationException")


def test_a_snapshot_restores_buckets_indexes_and_vectors_in_little_space() -> None:
    store, owner = VectorStore(), Owner("000000000000", "us-east-1")
    bucket = store.create_bucket(owner, "kept", created=1.0)
    index = store.create_index(
        bucket, Index("i-1", f"{bucket.arn}/index/i-1", 1024, "cosine", ("text",), created=2.0)
    )
    padded = np.zeros(1024, np.float32)
    padded[:384] = np.linspace(0.1, 1, 384, dtype=np.float32)
    store.put(index, [Vector(f"k{number}", padded * (number + 1), {"n": number}) for number in range(10)])
    snapshot = store.dump()
    assert len(snapshot[0]["indexes"][0]["data"]) == 10 * 384 * 4
    restored = VectorStore()
    restored.load(snapshot)
    again = restored.index_at(index.arn)
    assert again.non_filterable == ("text",)
    assert np.array_equal(again.vectors["k3"].data, index.vectors["k3"].data)
    assert again.vectors["k3"].metadata == {"n": 3}
