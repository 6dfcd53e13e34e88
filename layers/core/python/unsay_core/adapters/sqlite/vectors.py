"""Vectors in a ledger file: written and searched scope by scope, every one of them looked at."""

from __future__ import annotations

import math
from array import array
from importlib.util import find_spec
from itertools import chain, islice
from typing import TYPE_CHECKING

from unsay_core.application.ports import DocumentState, Hit, SearchError
from unsay_core.domain.memory import Kind, Status
from unsay_core.retrieval.filters import EVERYTHING, Comparison, Op

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from unsay_core.adapters.sqlite.file import AnyFile
    from unsay_core.application.ports import Embedder
    from unsay_core.domain.memory import Memory
    from unsay_core.retrieval.filters import All

LEXICAL_ONLY, DOWN = "lexical_only", "embedder_unavailable"  # why a recall went by words alone
_FLOAT_BYTES = 4
_PRESENT = DocumentState(settled=True, present=True)


class SqliteVectors:
    """See `Index` and `Search`: the vectors of one scope, of each memory those of its passages.

    Without an embedder it notes what is indexed, for whoever opens the file with one.
    """

    def __init__(self, file: AnyFile, scope_id: str, embedder: Embedder | None) -> None:
        self._file = file
        self._scope_id = scope_id
        self._embedder = embedder

    def put(self, memories: Sequence[Memory], *, token: str) -> None:
        """One call of the embedder, and one transaction."""
        vectors = self._vectors([memory.fact.passages for memory in memories])
        name = self._embedder.name if self._embedder else ""
        rows = [
            (
                self._scope_id,
                memory.id,
                memory.status is Status.ACTIVE,
                memory.fact.kind.value,
                name,
                vector,
            )
            for memory, vector in zip(memories, vectors, strict=True)
        ]
        with self._file.transaction() as connection:
            connection.executemany("INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?, ?, ?)", rows)

    def delete(self, memory_ids: Sequence[str], *, token: str) -> None:
        """One transaction; the log is emptied, for a vector tells of its text."""
        with self._file.transaction() as connection:
            connection.executemany(
                "DELETE FROM vector WHERE scope = ? AND id = ?", [(self._scope_id, i) for i in memory_ids]
            )
        self._file.clear_log()

    def states(self, memory_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        """What has a vector; all that is noted, where nobody can make one."""
        places = ", ".join("?" * len(memory_ids))
        query = f"SELECT id, vector IS NULL FROM vector WHERE scope = ? AND id IN ({places})"  # noqa: S608 - question marks alone
        with self._file.connection() as connection:
            rows = connection.execute(query, [self._scope_id, *memory_ids]).fetchall()
        return {memory_id: _PRESENT for memory_id, lacks_one in rows if not (lacks_one and self._embedder)}

    def still_found(self, memory_ids: Sequence[str]) -> Collection[str]:
        """None: a search reads the very rows whose states are told."""
        return ()

    def nearest(
        self, query: str, *, limit: int, live_only: bool, timeout: float, wanted: All = EVERYTHING
    ) -> Sequence[Hit]:
        """By the cosine with every vector of the scope."""
        if self._embedder is None:
            raise SearchError(LEXICAL_ONLY)
        if not self._holds_any():
            return []
        try:
            (asked,) = self._embedder.embed([query])
        except Exception as fault:  # whatever a caller's embedder raises - the words remain
            raise SearchError(DOWN) from fault
        rows = self._rows(live_only, len(asked), _kinds(wanted))
        scores = iter(_cosines(_unit(asked), [vector for _, vector in rows]))
        own = len(asked) * _FLOAT_BYTES
        pooled = [(max(islice(scores, len(vector) // own)), memory_id) for memory_id, vector in rows]
        best = sorted(pooled, reverse=True)[:limit]
        return [Hit(memory_id, min(1.0, max(0.0, score))) for score, memory_id in best]

    def _holds_any(self) -> bool:
        """False if there is nothing that could be near anything: then nobody waits for a model."""
        look = "SELECT 1 FROM vector WHERE scope = ? AND vector IS NOT NULL LIMIT 1"
        with self._file.connection() as connection:
            return connection.execute(look, (self._scope_id,)).fetchone() is not None

    def _rows(self, live_only: bool, dimension: int, kinds: Sequence[str]) -> list[tuple[str, bytes]]:
        name = self._embedder.name if self._embedder else ""
        places = ", ".join("?" * len(kinds))
        query = (
            "SELECT id, vector FROM vector WHERE scope = ? AND live >= ? AND embedder = ?"
            " AND length(vector) %% ? = 0 AND kind IN (%s)"
        )
        values = [self._scope_id, live_only, name, dimension * _FLOAT_BYTES, *kinds]
        with self._file.connection() as connection:
            return connection.execute(query % places, values).fetchall()

    def _vectors(self, texts: Sequence[Sequence[str]]) -> list[bytes | None]:
        """The vectors of each memory's texts, one behind the other."""
        if self._embedder is None:
            return [None] * len(texts)
        found = (_unit(vector).tobytes() for vector in self._embedder.embed([*chain.from_iterable(texts)]))
        return [b"".join(islice(found, len(some))) for some in texts]


def _kinds(wanted: All) -> list[str]:
    """The kinds that a filter leaves; whatever else it wants, whoever has the memories applies."""
    left = {str(kind) for kind in Kind}
    for part in wanted.parts:
        match part:
            case Comparison(Op.EQ, "kind", str() as kind):
                left &= {str(kind)}
            case Comparison(Op.IN, "kind", list() as kinds):
                left &= set(map(str, kinds))
    return sorted(left)


def unembedded(file: AnyFile, limit: int) -> list[tuple[str, str]]:
    """Scope and id of memories that are indexed without a vector."""
    with file.connection() as connection:
        return connection.execute(
            "SELECT scope, id FROM vector WHERE vector IS NULL LIMIT ?", (limit,)
        ).fetchall()


def drop_others(file: AnyFile, embedder: Embedder) -> None:
    """Vectors of another model are of no use to this one: they are to be made anew."""
    with file.transaction() as connection:
        connection.execute(
            "UPDATE vector SET vector = NULL, embedder = ? WHERE embedder <> ?", (embedder.name,) * 2
        )


def _unit(vector: Sequence[float]) -> array[float]:
    """The vector at length one; one without a direction stays as it is, and is near nothing."""
    length = math.sqrt(sum(number * number for number in vector)) or 1.0
    return array("f", (number / length for number in vector))


def _cosines(asked: array[float], vectors: Sequence[bytes]) -> list[float]:
    """Of unit vectors, one behind the other; a hundred times faster where numpy is installed."""
    if vectors and find_spec("numpy") is not None:
        import numpy as np

        matrix = np.frombuffer(b"".join(vectors), dtype=np.float32).reshape(-1, len(asked))
        return [float(score) for score in matrix @ np.frombuffer(asked.tobytes(), dtype=np.float32)]
    every = array("f", b"".join(vectors))
    starts = range(0, len(every), len(asked))
    return [sum(map(float.__mul__, asked, every[at : at + len(asked)])) for at in starts]
