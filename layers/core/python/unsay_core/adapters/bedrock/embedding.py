"""Texts as vectors, by a model of Bedrock: side by side, and each text once."""

from __future__ import annotations

import hashlib
import json
import threading
from array import array
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from concurrent.futures import Executor

MOST_BYTES = 16_000  # of a text; the models take 8,000 tokens, and what follows would not move a vector much
KEPT = 512  # vectors, of some 4 KB each; they go with the process

DOCUMENT, QUERY = "document", "query"
_NOVA_PURPOSES = {DOCUMENT: "GENERIC_INDEX", QUERY: "TEXT_RETRIEVAL"}


def _titan_body(text: str, dimension: int, _purpose: str) -> dict[str, Any]:
    return {"inputText": text, "dimensions": dimension, "normalize": True}


def _titan_vector(answer: Mapping[str, Any]) -> Sequence[float]:
    return list(answer["embedding"])


def _nova_body(text: str, dimension: int, purpose: str) -> dict[str, Any]:
    return {
        "taskType": "SINGLE_EMBEDDING",
        "singleEmbeddingParams": {
            "embeddingPurpose": _NOVA_PURPOSES[purpose],
            "embeddingDimension": dimension,
            "text": {"truncationMode": "END", "value": text},
        },
    }


def _nova_vector(answer: Mapping[str, Any]) -> Sequence[float]:
    return list(answer["embeddings"][0]["embedding"])


# How each model is asked, and where its answer has the vector.
_FORMS = {
    "amazon.titan-embed-text-v2:0": (_titan_body, _titan_vector),
    "amazon.nova-2-multimodal-embeddings-v1:0": (_nova_body, _nova_vector),
}


class VectorCache:
    """The vectors a process has seen last, by the digest of what was asked: no text is kept."""

    def __init__(self, kept: int = KEPT) -> None:
        self._kept = kept
        self._vectors: OrderedDict[bytes, array[float]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, digest: bytes) -> Sequence[float] | None:
        """The vector, if it is one of the last."""
        with self._lock:
            found = self._vectors.get(digest)
            if found is None:
                return None
            self._vectors.move_to_end(digest)
        return found.tolist()

    def put(self, digest: bytes, vector: Sequence[float]) -> None:
        """Keep a vector, in the place of the one that was not asked for for longest."""
        with self._lock:
            self._vectors[digest] = array("f", vector)
            while len(self._vectors) > self._kept:
                self._vectors.popitem(last=False)


class BedrockEmbedding:
    """One model at one dimension. The client is made when first asked for."""

    def __init__(
        self,
        client: Callable[[], Any],
        model: str,
        dimension: int,
        cache: VectorCache,
        executor: Executor,
    ) -> None:
        self._client = client
        self._model = model
        self._dimension = dimension
        self._cache = cache
        self._executor = executor

    def of_query(self, text: str) -> Sequence[float]:
        """The vector to search by: one call, unless it is known."""
        return self._one(text, QUERY)

    def of_documents(self, texts: Sequence[str]) -> list[Sequence[float] | Exception]:
        """The vector of each text, or why it has none; side by side, because the models take one a call."""
        unique = list(dict.fromkeys(texts))
        answers = dict(zip(unique, self._executor.map(self._tried, unique), strict=True))
        return [answers[text] for text in texts]

    def _tried(self, text: str) -> Sequence[float] | Exception:
        try:
            return self._one(text, DOCUMENT)
        except Exception as fault:  # noqa: BLE001 - one text's trouble must not hold up the others
            return fault

    def _one(self, text: str, purpose: str) -> Sequence[float]:
        cut = text.encode("utf-8")[:MOST_BYTES].decode("utf-8", "ignore")
        body_of, vector_of = _FORMS[self._model]
        body = json.dumps(body_of(cut, self._dimension, purpose))
        digest = hashlib.sha256(f"{self._model} {body}".encode()).digest()
        found = self._cache.get(digest)
        if found is None:
            answer = self._client().invoke_model(modelId=self._model, body=body)
            found = vector_of(json.loads(answer["body"].read()))
            self._cache.put(digest, found)
        return found
