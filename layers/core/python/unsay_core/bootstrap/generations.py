"""Which adapter stands behind a generation of the index."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from botocore.config import Config

from unsay_core.adapters.bedrock.embedding import BedrockEmbedding
from unsay_core.adapters.bedrock.index import KnowledgeBaseIndex
from unsay_core.adapters.bedrock.search import KnowledgeBaseSearch
from unsay_core.adapters.s3vectors.index import RootIndex, VectorIndex
from unsay_core.adapters.s3vectors.search import VectorSearch
from unsay_core.adapters.scoped_session import QUICK
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.values import dataclass
from unsay_core.generations import KnowledgeBaseGeneration, VectorsGeneration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor

    from unsay_core.adapters.bedrock.embedding import VectorCache
    from unsay_core.application.ports import Hit, Index, Search
    from unsay_core.application.reading import Reading
    from unsay_core.generations import Generation

# Recall has its own deadline and no time for a second try. A client for each patience, in seconds: a call
# that nobody waits for any longer soon ends by itself.
_PATIENCE = {
    seconds: Config(connect_timeout=1, read_timeout=seconds, retries={"total_max_attempts": 1})
    for seconds in (1, 3, 10)
}


def once(timeout: float) -> Config:
    """One try, in which little more than `timeout` seconds are waited for an answer."""
    return _PATIENCE[next((seconds for seconds in _PATIENCE if seconds >= timeout), 10)]


class Clients(Protocol):
    """The AWS clients of one session."""

    def client(self, service: str, config: Config = QUICK) -> Any:
        """A client of one service."""


@dataclass(frozen=True, slots=True)
class Opened:
    """One scope, as far as an index goes: its own session, and the way to one that opens its root.

    `root_id` is None for work that was asked for before markers named a root.
    """

    scope_id: str
    root_id: str | None
    clients: Clients
    for_root: Callable[[str, str], Clients]
    cache: VectorCache
    executor: Executor


def index_of(generation: Generation, opened: Opened) -> Index:
    """A generation as it is written, for one scope."""
    match generation:
        case KnowledgeBaseGeneration():
            client = opened.clients.client("bedrock-agent")
            base, source = generation.knowledge_base_id, generation.data_source_id
            search = partial(opened.clients.client, "bedrock-agent-runtime", QUICK)
            return KnowledgeBaseIndex(client, search, base, source, opened.scope_id)
        case VectorsGeneration():
            ours = _Vectors(generation, opened, generation.indexer_role_arn, QUICK)
            return VectorIndex(ours.store, ours.place, ours.embedding, opened.scope_id)


def watched(generation: Generation, opened: Opened) -> Index:
    """A generation as whoever proves something looks into it: under a role that changes nothing."""
    match generation:
        case KnowledgeBaseGeneration():
            return index_of(generation, opened)
        case VectorsGeneration():
            ours = _Vectors(generation, opened, generation.finder_role_arn, QUICK)
            return VectorIndex(ours.store, ours.place, ours.embedding, opened.scope_id)


class NoSearch:
    """See `Search`: work that nobody asked a question for finds nothing by nearness."""

    def nearest(self, query: str, **asked: Any) -> Sequence[Hit]:
        """Nothing."""
        return ()


def search_of(generation: Generation, opened: Opened, on_foreign: Callable[[int], None]) -> Search:
    """A generation as it is read, for one scope; `on_foreign` is told of hits that are not."""
    match generation:
        case KnowledgeBaseGeneration():
            base, scope_id = generation.knowledge_base_id, opened.scope_id
            return KnowledgeBaseSearch(
                lambda timeout: opened.clients.client("bedrock-agent-runtime", once(timeout)),
                base,
                scope_id,
                on_foreign,
            )
        case VectorsGeneration():

            def within(timeout: float) -> _Vectors:
                return _Vectors(generation, opened, generation.finder_role_arn, once(timeout))

            return VectorSearch(
                lambda timeout: within(timeout).store(),
                lambda timeout: within(timeout).embedding,
                within(0).place,
                opened.scope_id,
                on_foreign,
            )


class _Vectors:
    """What both sides of S3 Vectors are made of: the root's index, and the model, under one role."""

    def __init__(self, generation: VectorsGeneration, opened: Opened, role_arn: str, config: Config) -> None:
        if opened.root_id is None:
            raise UnavailableError("this was asked for before work named its root")
        self._role_arn = role_arn
        self._config = config
        self._for_root = opened.for_root
        self.place = RootIndex(generation.vector_bucket, opened.root_id, generation.dimension)
        self.embedding = BedrockEmbedding(
            lambda: self._client("bedrock-runtime"),
            generation.model,
            generation.dimension,
            opened.cache,
            opened.executor,
        )

    def store(self) -> Any:
        """The client of S3 Vectors."""
        return self._client("s3vectors")

    def _client(self, service: str) -> Any:
        return self._for_root(self._role_arn, self.place.root_id).client(service, self._config)


class SearchOfReading:
    """See `Search`: the generation that is read when it is asked, not when the scope was opened."""

    def __init__(
        self,
        reading: Reading,
        generations: Sequence[Generation],
        opened: Opened,
        on_foreign: Callable[[int], None],
    ) -> None:
        self._reading = reading
        self._generations = generations
        self._opened = opened
        self._on_foreign = on_foreign

    def nearest(self, query: str, **asked: Any) -> Sequence[Hit]:
        """As the generation answers."""
        number = self._reading.generation()
        (generation,) = (each for each in self._generations if each.number == number)
        return search_of(generation, self._opened, self._on_foreign).nearest(query, **asked)
