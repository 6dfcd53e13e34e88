"""An index by meaning for measuring: the model of the local cloud behind the ports `Index` and `Search`."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from local.embeddings import embed
from unsay_core.application.ports import DocumentState, Hit
from unsay_core.domain.memory import Status

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from local.embeddings import Vector
    from unsay_core.domain.memory import Memory

DIMENSION = 384


class Meanings:
    """The vectors of one scope; what is put can be found at once."""

    def __init__(self) -> None:
        self._vectors: dict[str, tuple[Memory, Vector]] = {}
        self._lock = threading.Lock()

    def put(self, memories: Sequence[Memory], *, token: str) -> None:
        """See `Index.put`."""
        vectors = embed([memory.fact.content for memory in memories], DIMENSION)
        with self._lock:
            for memory, vector in zip(memories, vectors, strict=True):
                self._vectors[memory.id] = memory, vector

    def delete(self, memory_ids: Sequence[str], *, token: str) -> None:
        """See `Index.delete`."""
        with self._lock:
            for memory_id in memory_ids:
                self._vectors.pop(memory_id, None)

    def states(self, memory_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        """See `Index.states`."""
        with self._lock:
            there = [memory_id for memory_id in memory_ids if memory_id in self._vectors]
        return dict.fromkeys(there, DocumentState(settled=True, present=True))

    def nearest(self, query: str, *, limit: int, live_only: bool, **_: Any) -> Sequence[Hit]:
        """See `Search.nearest`."""
        with self._lock:
            stored = list(self._vectors.values())
        held = [(m.id, v) for m, v in stored if m.status is Status.ACTIVE or not live_only]
        if not held:
            return []
        cosines = np.stack([vector for _, vector in held]) @ embed([query], DIMENSION)[0]
        best = np.argsort(-cosines, kind="stable")[:limit]
        return [Hit(held[at][0], min(1.0, max(0.0, float(cosines[at])))) for at in best]
