"""Which adapter stands behind a generation of the index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from botocore.config import Config

from unsay_core.adapters.bedrock.index import KnowledgeBaseIndex
from unsay_core.adapters.bedrock.search import KnowledgeBaseSearch
from unsay_core.adapters.scoped_session import QUICK

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsay_core.application.generations import Reading
    from unsay_core.application.ports import Hit, Index, Search
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


def index_of(generation: Generation, scope_id: str, clients: Clients) -> Index:
    """A generation as it is written, for one scope."""
    return KnowledgeBaseIndex(
        clients.client("bedrock-agent"), generation.knowledge_base_id, generation.data_source_id, scope_id
    )


def search_of(
    generation: Generation, scope_id: str, clients: Clients, on_foreign: Callable[[int], None]
) -> Search:
    """A generation as it is read, for one scope; `on_foreign` is told of hits that are not."""
    return KnowledgeBaseSearch(
        lambda timeout: clients.client("bedrock-agent-runtime", once(timeout)),
        generation.knowledge_base_id,
        scope_id,
        on_foreign,
    )


class SearchOfReading:
    """See `Search`: the generation that is read when it is asked, not when the scope was opened."""

    def __init__(
        self,
        reading: Reading,
        generations: Sequence[Generation],
        scope_id: str,
        clients: Clients,
        on_foreign: Callable[[int], None],
    ) -> None:
        self._reading = reading
        self._generations = generations
        self._scope_id = scope_id
        self._clients = clients
        self._on_foreign = on_foreign

    def nearest(self, query: str, **asked: Any) -> Sequence[Hit]:
        """As the generation answers."""
        number = self._reading.generation()
        (generation,) = (each for each in self._generations if each.number == number)
        search = search_of(generation, self._scope_id, self._clients, self._on_foreign)
        return search.nearest(query, **asked)
