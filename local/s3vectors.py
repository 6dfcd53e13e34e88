"""The S3 Vectors service of the local cloud.

All operations of the service answer, with AWS's limits and error codes. What is stored
but not acted on: bucket policies, encryption settings and the CLASSIC index mode.

For IAM: actions are `s3vectors:<Operation>` on the index, else the bucket, that the body
names. On AWS a QueryVectors call that filters or returns metadata also needs
`s3vectors:GetVectors` on the index.
"""

import time
import zlib
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import unquote

from ministack import app
from ministack.core import router
from ministack.core.responses import get_account_id, get_region

from local import persistence, vector_store
from local.aws_json import AwsError, Response, answer, invalid, members, page, parse, refusal, whole_number
from local.vector_filter import compile_filter
from local.vector_store import STORE, Bucket, Index, Owner, Vector

PATCHES = {"ministack.app": ("SERVICE_HANDLERS",), "ministack.core.router": ("SERVICE_PATTERNS",)}

MAX_WRITTEN = 500
MAX_READ = 100
MAX_TOP_K = 10_000
QUERY_PAGE = 100

# Called before an operation looks at vectors: a knowledge base writes its index late,
# and what is due must be there for whoever looks.
before_reading: list[Callable[[], None]] = []


def install() -> None:
    """Put the service into the emulator's tables."""
    app.SERVICE_HANDLERS["s3vectors"] = handle
    router.SERVICE_PATTERNS["s3vectors"] = {
        "host_patterns": [r"s3vectors\."],
        "credential_scope": "s3vectors",
    }
    persistence.register("s3vectors", STORE.dump, STORE.load)


def owner() -> Owner:
    """Account and Region of the request."""
    return Owner(get_account_id(), get_region())


async def handle(
    method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
) -> Response:
    """Answer one request of the service."""
    try:
        if path.startswith("/tags/"):
            return answer(_tags(method, unquote(path.removeprefix("/tags/")), parse(body), query))
        operation = _OPERATIONS.get(path.strip("/"))
        if operation is None or method != "POST":
            raise AwsError("UnknownOperationException", f"Unknown operation {method} {path}", 404)
        for settle in before_reading:
            settle()
        with STORE.lock:
            return answer(operation(parse(body)))
    except AwsError as error:
        return refusal(error)


def _target(request: Mapping[str, Any]) -> tuple[str | None, str | None]:
    """Bucket and index name that a request names, in one of its three ways."""
    if arn := request.get("indexArn"):
        name = vector_store.parse_arn(arn)
        return _own(name), name.index
    if arn := request.get("vectorBucketArn"):
        return _own(vector_store.parse_arn(arn)), request.get("indexName")
    return request.get("vectorBucketName"), request.get("indexName")


def _own(name: vector_store.Name) -> str:
    if name.owner != owner():
        raise AwsError("AccessDeniedException", "Access denied", 403)
    return name.bucket


def _bucket(request: Mapping[str, Any]) -> Bucket:
    bucket, _ = _target(request)
    if not bucket:
        raise invalid("You must specify either vectorBucketName or vectorBucketArn")
    return STORE.bucket(owner(), bucket)


def _index(request: Mapping[str, Any]) -> Index:
    bucket, index = _target(request)
    if not bucket or not index:
        raise invalid("You must specify either indexArn or both vectorBucketName and indexName")
    return STORE.index(owner(), bucket, index)


# Buckets


def _create_vector_bucket(request: dict[str, Any]) -> dict[str, Any]:
    bucket = STORE.create_bucket(owner(), request.get("vectorBucketName", ""), time.time())
    bucket.tags = dict(request.get("tags") or {})
    return {"vectorBucketArn": bucket.arn}


def _get_vector_bucket(request: dict[str, Any]) -> dict[str, Any]:
    bucket = _bucket(request)
    described = {"encryptionConfiguration": {"sseType": "AES256"}, "defaultIndexMode": bucket.default_mode}
    return {"vectorBucket": {**_bucket_summary(bucket), **described}}


def _list_vector_buckets(request: dict[str, Any]) -> dict[str, Any]:
    buckets = {bucket.name: bucket for bucket in STORE.buckets(owner())}
    names, token = _named_page(request, list(buckets))
    return _paged({"vectorBuckets": [_bucket_summary(buckets[name]) for name in names]}, token)


def _delete_vector_bucket(request: dict[str, Any]) -> dict[str, Any]:
    STORE.delete_bucket(owner(), _bucket(request).name)
    return {}


def _put_policy(request: dict[str, Any]) -> dict[str, Any]:
    _bucket(request).policy = str(request.get("policy", ""))
    return {}


def _get_policy(request: dict[str, Any]) -> dict[str, Any]:
    policy = _bucket(request).policy
    if policy is None:
        raise AwsError("NotFoundException", "The specified vector bucket policy could not be found", 404)
    return {"policy": policy}


def _delete_policy(request: dict[str, Any]) -> dict[str, Any]:
    _bucket(request).policy = None
    return {}


def _put_default_mode(request: dict[str, Any]) -> dict[str, Any]:
    _bucket(request).default_mode = _mode(request.get("defaultIndexMode"))
    return {}


def _bucket_summary(bucket: Bucket) -> dict[str, Any]:
    return {"vectorBucketName": bucket.name, "vectorBucketArn": bucket.arn, "creationTime": bucket.created}


# Indexes


def _create_index(request: dict[str, Any]) -> dict[str, Any]:
    bucket, (_, name) = _bucket(request), _target(request)
    if request.get("dataType") != "float32":
        raise invalid("Data type must be float32")
    index = Index(
        name=name or "",
        arn=f"{bucket.arn}/index/{name}",
        dimension=request.get("dimension", 0),
        metric=request.get("distanceMetric", ""),
        non_filterable=tuple(
            (request.get("metadataConfiguration") or {}).get("nonFilterableMetadataKeys", ())
        ),
        created=time.time(),
        mode=bucket.default_mode,
        tags=dict(request.get("tags") or {}),
    )
    return {"indexArn": STORE.create_index(bucket, index).arn}


def _get_index(request: dict[str, Any]) -> dict[str, Any]:
    bucket, index = _bucket(request), _index(request)
    described: dict[str, Any] = {
        "dataType": "float32",
        "dimension": index.dimension,
        "distanceMetric": index.metric,
        "encryptionConfiguration": {"sseType": "AES256"},
        "indexMode": index.mode,
    }
    if index.non_filterable:
        described["metadataConfiguration"] = {"nonFilterableMetadataKeys": list(index.non_filterable)}
    return {"index": {**_index_summary(bucket, index), **described}}


def _list_indexes(request: dict[str, Any]) -> dict[str, Any]:
    bucket = _bucket(request)
    names, token = _named_page(request, list(bucket.indexes))
    return _paged({"indexes": [_index_summary(bucket, bucket.indexes[name]) for name in names]}, token)


def _delete_index(request: dict[str, Any]) -> dict[str, Any]:
    STORE.delete_index(_bucket(request), _index(request).name)
    return {}


def _update_index_mode(request: dict[str, Any]) -> dict[str, Any]:
    _index(request).mode = _mode(request.get("indexMode"))
    return {}


def _mode(mode: Any) -> str:
    if mode not in ("CLASSIC", "ENHANCED"):
        raise invalid("Index mode must be CLASSIC or ENHANCED")
    return str(mode)


def _index_summary(bucket: Bucket, index: Index) -> dict[str, Any]:
    return {
        "vectorBucketName": bucket.name,
        "indexName": index.name,
        "indexArn": index.arn,
        "creationTime": index.created,
    }


# Vectors


def _put_vectors(request: dict[str, Any]) -> dict[str, Any]:
    """All or nothing: every vector is checked before the first is stored."""
    index = _index(request)
    checked = [_checked(index, record) for record in members(request, "vectors", MAX_WRITTEN)]
    STORE.put(index, checked)
    return {}


def _checked(index: Index, record: Any) -> Vector:
    if not isinstance(record, Mapping):
        raise invalid("A vector must be an object with key and data")
    data = (record.get("data") or {}).get("float32")
    return index.checked(record.get("key", ""), data, record.get("metadata") or {})


def _get_vectors(request: dict[str, Any]) -> dict[str, Any]:
    index = _index(request)
    keys = members(request, "keys", MAX_READ)
    return {"vectors": [_vector(index.vectors[key], request) for key in keys if key in index.vectors]}


def _delete_vectors(request: dict[str, Any]) -> dict[str, Any]:
    STORE.remove(_index(request), members(request, "keys", MAX_WRITTEN))
    return {}


def _list_vectors(request: dict[str, Any]) -> dict[str, Any]:
    index = _index(request)
    size = whole_number(request, "maxResults", 500, 1000)
    keys, token = page(_segment(request, list(index.vectors)), request.get("nextToken"), size)
    return _paged({"vectors": [_vector(index.vectors[key], request) for key in keys]}, token)


def _segment(request: dict[str, Any], keys: list[str]) -> list[str]:
    """The keys of one of the parallel listings a caller divides an index into."""
    count = whole_number(request, "segmentCount", 1, 16)
    number = whole_number(request, "segmentIndex", 0, count - 1, least=0)
    return [key for key in keys if zlib.crc32(key.encode()) % count == number]


def _query_vectors(request: dict[str, Any]) -> dict[str, Any]:
    index = _index(request)
    wanted = whole_number(request, "topK", 0, MAX_TOP_K)
    query = index.coordinates((request.get("queryVector") or {}).get("float32"))
    matches = compile_filter(request.get("filter"), frozenset(index.non_filterable))
    hits = index.nearest(query, matches)[:wanted]
    ranks, token = page(list(map(_rank, range(len(hits)))), request.get("nextToken"), QUERY_PAGE)
    vectors = [_hit(hits[int(rank)], request) for rank in ranks]
    return _paged({"vectors": vectors, "distanceMetric": index.metric}, token)


def _rank(position: int) -> str:
    """A position as a page key: in text order like in number order."""
    return f"{position:05d}"


def _hit(hit: vector_store.Hit, request: dict[str, Any]) -> dict[str, Any]:
    shown = _vector(hit.vector, {"returnMetadata": request.get("returnMetadata")})
    return {**shown, "distance": hit.distance} if request.get("returnDistance") else shown


def _vector(vector: Vector, request: Mapping[str, Any]) -> dict[str, Any]:
    shown: dict[str, Any] = {"key": vector.key}
    if request.get("returnData"):
        shown["data"] = {"float32": vector.data.tolist()}
    if request.get("returnMetadata"):
        shown["metadata"] = dict(vector.metadata)
    return shown


# Tags and pages


def _tags(method: str, arn: str, request: dict[str, Any], query: Mapping[str, Any]) -> dict[str, Any]:
    name = vector_store.parse_arn(arn)
    bucket = STORE.bucket(owner(), _own(name))
    tags = STORE.index(owner(), bucket.name, name.index).tags if name.index else bucket.tags
    if method == "GET":
        return {"tags": dict(tags)}
    if method == "POST":
        tags.update(request.get("tags") or {})
    else:
        for key in query.get("tagKeys", []):
            tags.pop(key, None)
    return {}


def _named_page(request: dict[str, Any], names: list[str]) -> tuple[list[str], str | None]:
    prefix = request.get("prefix") or ""
    matching = [name for name in names if name.startswith(prefix)]
    return page(matching, request.get("nextToken"), whole_number(request, "maxResults", 500, 500))


def _paged(result: dict[str, Any], token: str | None) -> dict[str, Any]:
    return {**result, "nextToken": token} if token else result


_OPERATIONS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "CreateVectorBucket": _create_vector_bucket,
    "GetVectorBucket": _get_vector_bucket,
    "ListVectorBuckets": _list_vector_buckets,
    "DeleteVectorBucket": _delete_vector_bucket,
    "PutVectorBucketPolicy": _put_policy,
    "GetVectorBucketPolicy": _get_policy,
    "DeleteVectorBucketPolicy": _delete_policy,
    "PutVectorBucketDefaultIndexMode": _put_default_mode,
    "CreateIndex": _create_index,
    "GetIndex": _get_index,
    "ListIndexes": _list_indexes,
    "DeleteIndex": _delete_index,
    "UpdateIndexMode": _update_index_mode,
    "PutVectors": _put_vectors,
    "GetVectors": _get_vectors,
    "DeleteVectors": _delete_vectors,
    "ListVectors": _list_vectors,
    "QueryVectors": _query_vectors,
}
