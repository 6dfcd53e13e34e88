"""A vector index as the index worker writes it: it answers when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from unsay_core.adapters.aws_errors import translated
from unsay_core.adapters.searchable import searchable
from unsay_core.application.ports import DocumentState
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from unsay_core.adapters.bedrock.embedding import BedrockEmbedding
    from unsay_core.domain.memory import Memory

_PRESENT = DocumentState(settled=True, present=True)


@dataclass(frozen=True, slots=True)
class RootIndex:
    """The index of one root: its bucket is the generation's, its name the root's id."""

    bucket: str
    root_id: str
    dimension: int

    @property
    def named(self) -> dict[str, str]:
        """As requests name it."""
        return {"vectorBucketName": self.bucket, "indexName": self.root_id}


class VectorIndex:
    """See `Index`. A request that is repeated does what it did before, so that `token` has nothing to name.

    The client is made when first asked for. The index of a root is made by the first put.
    """

    def __init__(
        self, client: Callable[[], Any], place: RootIndex, embedding: BedrockEmbedding, scope_id: str
    ) -> None:
        self._client = client
        self._place = place
        self._embedding = embedding
        self._scope_id = scope_id

    def put(self, memories: Sequence[Memory], *, token: str) -> None:
        """One call of the model per text that is not known, then one put for all of them."""
        with translated("the vector index"):
            found = self._embedding.of_documents([memory.fact.content for memory in memories])
            pairs = list(zip(memories, found, strict=True))
            self._store([self._record(m, v) for m, v in pairs if not isinstance(v, Exception)])
            for vector in found:
                if isinstance(vector, Exception):
                    raise vector

    def delete(self, memory_ids: Sequence[str], *, token: str) -> None:
        """One delete; what is not there, the index itself included, needs none."""
        with translated("the vector index"):
            try:
                self._client().delete_vectors(**self._place.named, keys=list(memory_ids))
            except ClientError as refused:
                if not is_missing(refused):
                    raise

    def states(self, memory_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        """One get; what is not there is not named."""
        with translated("the vector index"):
            try:
                answer = self._client().get_vectors(**self._place.named, keys=list(memory_ids))
            except ClientError as refused:
                if not is_missing(refused):
                    raise
                return {}
        return {vector["key"]: _PRESENT for vector in answer["vectors"]}

    def still_found(self, memory_ids: Sequence[str]) -> Collection[str]:
        """None: a search reads the very vectors whose states are told."""
        return ()

    def _record(self, memory: Memory, vector: Sequence[float]) -> Any:
        metadata = searchable(self._scope_id, memory)
        return {"key": memory.id, "data": {"float32": list(vector)}, "metadata": metadata}

    def _store(self, records: list[Any]) -> None:
        if not records:
            return
        try:
            self._client().put_vectors(**self._place.named, vectors=records)
        except ClientError as refused:
            if not is_missing(refused):
                raise
            self._make()
            self._client().put_vectors(**self._place.named, vectors=records)

    def _make(self) -> None:
        try:
            self._client().create_index(
                **self._place.named,
                dataType="float32",
                dimension=self._place.dimension,
                distanceMetric="cosine",
            )
        except ClientError as refused:
            if refused.response["Error"]["Code"] != "ConflictException":  # another worker was first
                raise


def is_missing(refused: ClientError) -> bool:
    """True if a root has no index yet."""
    return refused.response["Error"]["Code"] == "NotFoundException"
