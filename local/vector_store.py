"""Vector buckets and indexes of the local cloud: what S3 Vectors keeps and how it searches.

The limits are those AWS documents for S3 Vectors. Search is exact, filter first: what
the ENHANCED index mode promises, which is the default of buckets made since October 2026.
"""

import json
import re
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from local.aws_json import AwsError, invalid
from local.vector_filter import Predicate

MAX_DIMENSION = 4096
MAX_METADATA_BYTES = 40 * 1024
MAX_FILTERABLE_BYTES = 2048
MAX_METADATA_KEYS = 50
MAX_NON_FILTERABLE_KEYS = 10
MAX_KEY_LENGTH = 1024

_BUCKET_NAME = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
_INDEX_NAME = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_ARN = re.compile(
    r"arn:aws:s3vectors:(?P<region>[^:]+):(?P<account>\d{12}):bucket/(?P<bucket>[^/]+)(?:/index/(?P<index>.+))?"
)


class Owner(NamedTuple):
    """The account and Region that hold a bucket."""

    account: str
    region: str


@dataclass(frozen=True, slots=True)
class Name:
    """A parsed ARN of this service."""

    owner: Owner
    bucket: str
    index: str | None


@dataclass(frozen=True, slots=True)
class Vector:
    """One stored vector with its metadata."""

    key: str
    data: NDArray[np.float32]
    metadata: Mapping[str, Any]


class Hit(NamedTuple):
    """One result of a query."""

    vector: Vector
    distance: float


@dataclass
class Index:
    """A vector index. All but its mode, tags and vectors is fixed at creation."""

    name: str
    arn: str
    dimension: int
    metric: str
    non_filterable: tuple[str, ...]
    created: float
    mode: str = "ENHANCED"
    tags: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, Vector] = field(default_factory=dict)

    def checked(self, key: str, data: Any, metadata: Mapping[str, Any]) -> Vector:
        """The vector as it would be stored, or the refusal AWS answers with."""
        if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY_LENGTH:
            raise invalid(f"Vector key must have length between 1 and {MAX_KEY_LENGTH}")
        try:
            vector = self.coordinates(data)
            self._check_metadata(metadata)
        except AwsError as error:
            raise invalid(f"Invalid record for key '{key}': {error.message}") from error
        return Vector(key, vector, dict(metadata))

    def coordinates(self, data: Any) -> NDArray[np.float32]:
        """The numbers of a vector that this index can hold or compare with."""
        try:
            vector = np.asarray(data, np.float32)
        except (TypeError, ValueError) as error:
            raise invalid("vector must be an array of numbers") from error
        if vector.ndim != 1 or len(vector) != self.dimension:
            raise invalid(f"vector must have length {self.dimension}, but has length {vector.size}")
        if not np.isfinite(vector).all():
            raise invalid("vector must not contain NaN or Infinity")
        if self.metric == "cosine" and not vector.any():
            raise invalid("zero vectors are not allowed with the cosine distance metric")
        return vector

    def _check_metadata(self, metadata: Any) -> None:
        if not isinstance(metadata, Mapping):
            raise invalid("Metadata must be an object")
        if len(metadata) > MAX_METADATA_KEYS:
            raise invalid(f"Metadata must have at most {MAX_METADATA_KEYS} keys")
        if json_size(metadata) > MAX_METADATA_BYTES:
            raise invalid(f"Metadata must have at most {MAX_METADATA_BYTES} bytes")
        filterable = {key: value for key, value in metadata.items() if key not in self.non_filterable}
        if not all(map(_is_filterable, filterable.values())):
            raise invalid("Filterable metadata must be strings, numbers, booleans or lists of them")
        if json_size(filterable) > MAX_FILTERABLE_BYTES:
            raise invalid(f"Filterable metadata must have at most {MAX_FILTERABLE_BYTES} bytes")

    def nearest(self, query: NDArray[np.float32], matches: Predicate) -> list[Hit]:
        """All vectors that match, nearest first."""
        found = [vector for vector in self.vectors.values() if matches(vector.metadata)]
        if not found:
            return []
        matrix = np.stack([vector.data for vector in found])
        distances = _cosine(matrix, query) if self.metric == "cosine" else _euclidean(matrix, query)
        return [Hit(found[row], float(distances[row])) for row in np.argsort(distances, kind="stable")]


@dataclass
class Bucket:
    """A vector bucket."""

    name: str
    arn: str
    created: float
    policy: str | None = None
    default_mode: str = "ENHANCED"
    tags: dict[str, str] = field(default_factory=dict)
    indexes: dict[str, Index] = field(default_factory=dict)


class VectorStore:
    """All vector buckets of this cloud. Callers hold `lock` around what must be one step."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._buckets: dict[tuple[Owner, str], Bucket] = {}

    def buckets(self, owner: Owner) -> list[Bucket]:
        """The owner's buckets."""
        return [bucket for (held_by, _), bucket in self._buckets.items() if held_by == owner]

    def bucket(self, owner: Owner, name: str | None) -> Bucket:
        """The named bucket; a NotFoundException without one."""
        found = self._buckets.get((owner, name or ""))
        if found is None:
            raise AwsError("NotFoundException", "The specified vector bucket could not be found", 404)
        return found

    def index(self, owner: Owner, bucket: str | None, name: str | None) -> Index:
        """The named index; a NotFoundException without one."""
        found = self.bucket(owner, bucket).indexes.get(name or "")
        if found is None:
            raise AwsError("NotFoundException", "The specified index could not be found", 404)
        return found

    def index_at(self, arn: str) -> Index:
        """The index with this ARN."""
        name = parse_arn(arn)
        return self.index(name.owner, name.bucket, name.index)

    def create_bucket(self, owner: Owner, name: str, created: float) -> Bucket:
        """A new, empty bucket."""
        if not isinstance(name, str) or not _BUCKET_NAME.fullmatch(name):
            raise invalid("Invalid vector bucket name")
        with self.lock:
            if (owner, name) in self._buckets:
                raise AwsError(
                    "ConflictException", "A vector bucket with the specified name already exists", 409
                )
            arn = f"arn:aws:s3vectors:{owner.region}:{owner.account}:bucket/{name}"
            bucket = self._buckets[owner, name] = Bucket(name, arn, created)
        return bucket

    def delete_bucket(self, owner: Owner, name: str) -> None:
        """Remove an empty bucket."""
        with self.lock:
            if self.bucket(owner, name).indexes:
                raise AwsError("ConflictException", "The specified vector bucket is not empty", 409)
            del self._buckets[owner, name]

    def create_index(self, bucket: Bucket, index: Index) -> Index:
        """Add an index to its bucket."""
        _check_index(index)
        with self.lock:
            if index.name in bucket.indexes:
                raise AwsError("ConflictException", "An index with the specified name already exists", 409)
            bucket.indexes[index.name] = index
        return index

    def delete_index(self, bucket: Bucket, name: str) -> None:
        """Remove an index and its vectors."""
        with self.lock:
            bucket.indexes.pop(name)

    def put(self, index: Index, vectors: Iterable[Vector]) -> None:
        """Add or replace vectors that the index has checked."""
        with self.lock:
            index.vectors.update({vector.key: vector for vector in vectors})

    def remove(self, index: Index, keys: Iterable[str]) -> None:
        """Remove vectors; absent keys are no error."""
        with self.lock:
            for key in keys:
                index.vectors.pop(key, None)

    def dump(self) -> list[dict[str, Any]]:
        """A snapshot of plain values and bytes."""
        with self.lock:
            return [_dump_bucket(owner, bucket) for (owner, _), bucket in self._buckets.items()]

    def load(self, snapshot: Iterable[Mapping[str, Any]]) -> None:
        """Replace everything by a snapshot."""
        with self.lock:
            buckets = [(Owner(*saved["owner"]), _load_bucket(saved)) for saved in snapshot]
            self._buckets = {(owner, bucket.name): bucket for owner, bucket in buckets}


STORE = VectorStore()


def parse_arn(arn: str) -> Name:
    """The parts of a bucket or index ARN."""
    match = _ARN.fullmatch(arn)
    if not match:
        raise invalid(f"Invalid ARN: {arn}")
    return Name(Owner(match["account"], match["region"]), match["bucket"], match["index"])


def json_size(metadata: Mapping[str, Any]) -> int:
    """Bytes of the metadata as compact JSON."""
    return len(json.dumps(dict(metadata), separators=(",", ":"), ensure_ascii=False).encode())


def _is_filterable(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(member, str | int | float) for member in value)
    return isinstance(value, str | int | float)


def _check_index(index: Index) -> None:
    if not isinstance(index.name, str) or not _INDEX_NAME.fullmatch(index.name):
        raise invalid("Invalid index name")
    if not isinstance(index.dimension, int) or not 1 <= index.dimension <= MAX_DIMENSION:
        raise invalid(f"Dimension must be between 1 and {MAX_DIMENSION}")
    if index.metric not in ("cosine", "euclidean"):
        raise invalid("Distance metric must be cosine or euclidean")
    if len(index.non_filterable) > MAX_NON_FILTERABLE_KEYS:
        raise invalid(f"At most {MAX_NON_FILTERABLE_KEYS} non-filterable metadata keys are allowed")


def _cosine(matrix: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(matrix, axis=1) * np.linalg.norm(query)
    distances: NDArray[np.float32] = 1 - (matrix @ query) / lengths
    return distances


def _euclidean(matrix: NDArray[np.float32], query: NDArray[np.float32]) -> NDArray[np.float32]:
    distances: NDArray[np.float32] = np.linalg.norm(matrix - query, axis=1)
    return distances


def _dump_bucket(owner: Owner, bucket: Bucket) -> dict[str, Any]:
    plain = {name: value for name, value in vars(bucket).items() if name != "indexes"}
    return {
        **plain,
        "owner": list(owner),
        "indexes": [_dump_index(index) for index in bucket.indexes.values()],
    }


def _dump_index(index: Index) -> dict[str, Any]:
    plain = {name: value for name, value in vars(index).items() if name != "vectors"}
    data, width = _pack([vector.data for vector in index.vectors.values()])
    return {
        **plain,
        "keys": list(index.vectors),
        "metadata": [dict(vector.metadata) for vector in index.vectors.values()],
        "data": data,
        "width": width,
    }


def _pack(vectors: list[NDArray[np.float32]]) -> tuple[bytes, int]:
    """All vectors as one block of bytes, without the columns of zeros at its right.

    Embeddings padded to Titan's dimension are zero for more than half of their length.
    """
    if not vectors:
        return b"", 0
    matrix = np.stack(vectors)
    used = np.flatnonzero(matrix.any(axis=0))
    width = int(used[-1]) + 1 if len(used) else 1
    return np.ascontiguousarray(matrix[:, :width]).tobytes(), width


def _load_bucket(saved: Mapping[str, Any]) -> Bucket:
    plain = {name: value for name, value in saved.items() if name not in ("owner", "indexes")}
    indexes = [_load_index(index) for index in saved["indexes"]]
    return Bucket(**plain, indexes={index.name: index for index in indexes})


def _load_index(saved: Mapping[str, Any]) -> Index:
    packed = ("keys", "metadata", "data", "width", "non_filterable")
    plain = {name: value for name, value in saved.items() if name not in packed}
    index = Index(**plain, non_filterable=tuple(saved["non_filterable"]))
    matrix = np.zeros((len(saved["keys"]), index.dimension), np.float32)
    matrix[:, : saved["width"]] = np.frombuffer(saved["data"], np.float32).reshape(
        len(matrix), saved["width"]
    )
    stored = zip(saved["keys"], matrix, saved["metadata"], strict=True)
    index.vectors = {key: Vector(key, data, metadata) for key, data, metadata in stored}
    return index
