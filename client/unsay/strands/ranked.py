"""Several stores as one: ranked together, each within a deadline."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from strands.memory import MemoryEntry

from unsay.strands.store import MemoryStoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from strands.memory import AddMessagesContext, ExtractionConfig, MemoryStore, SearchOptions
    from strands.types.content import Message
    from strands.types.tools import AgentTool

_LOG = logging.getLogger(__name__)
_DEFAULT_RESULTS = 5


def own_score(found: MemoryEntry) -> float | None:
    """The score that a store of ours, or of a Bedrock knowledge base, gives an entry."""
    metadata = found.metadata or {}
    score = metadata.get("score", metadata.get("_relevance_score"))
    return float(score) if isinstance(score, int | float) else None


class RankedMemory:
    """Stores whose results are ranked as one: `MemoryManager(stores=[RankedMemory(alice, handbook)])`.

    A manager puts the results of its stores one after the other, so that the first crowds the others out, and
    waits for the slowest. Here the best come first whatever store they are of (`metadata["store"]`), and a
    store that fails or is later than `deadline_seconds` is left out; the entries that are there name it
    (`metadata["missing_stores"]`). If all fail, the search does. `score` reads an entry's score, of which 1
    is the best; entries without one come last.

    Raises `ValueError` for no stores, two of one name, and a writable store without a method to write.
    """

    def __init__(
        self,
        *stores: MemoryStore,
        name: str = "memory",
        description: str | None = None,
        max_search_results: int | None = None,
        deadline_seconds: float = 5.0,
        extraction: ExtractionConfig | bool | None = None,
        score: Callable[[MemoryEntry], float | None] = own_score,
    ) -> None:
        self._stores = stores
        self.name = name
        self.description = description or "; ".join(
            f"{store.name}: {store.description}" for store in stores if store.description
        )
        self.max_search_results = max_search_results
        self.extraction = extraction
        self._deadline = deadline_seconds
        self._score = score
        self._check()
        self.writable = any(store.writable for store in stores)

    def _check(self) -> None:
        names = [store.name for store in self._stores]
        if not names:
            raise ValueError("no store was given")
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"more than one store is called {', '.join(sorted(twice))}")
        for store in self._stores:
            if store.writable and not (_has(store, "add") or _has(store, "add_messages")):
                raise ValueError(f"store {store.name} is writable and has no method to write")

    async def initialize(self) -> None:
        """Initialize the stores, all at once."""
        await asyncio.gather(*(store.initialize() for store in self._stores if _has(store, "initialize")))

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        """The best of all stores; raises `MemoryStoreError` if none has answered."""
        limit = (options or {}).get("max_search_results") or self.max_search_results or _DEFAULT_RESULTS
        asked = [self._asked(store, query, {"max_search_results": limit}) for store in self._stores]
        answers = await asyncio.gather(*asked)
        failed = [store.name for store, found in zip(self._stores, answers, strict=True) if found is None]
        if len(failed) == len(self._stores):
            raise MemoryStoreError(f"no memory store has answered: {', '.join(failed)}")
        ranked = [
            (self._score(found), place, self._attributed(store, found, failed))
            for store, answer in zip(self._stores, answers, strict=True)
            for place, found in enumerate(answer or ())
        ]
        ranked.sort(key=lambda each: (each[0] is None, -(each[0] or 0), each[1]))
        return [found for _, _, found in ranked[:limit]]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> None:
        """Add to every writable store; raises `MemoryStoreError` with the names of those that failed."""
        await self._write("add", content, metadata)

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> None:
        """Hand messages to every writable store that takes them."""
        await self._write("add_messages", messages, context)

    def get_tools(self) -> list[AgentTool]:
        """The tools of all stores."""
        return [each for store in self._stores if _has(store, "get_tools") for each in store.get_tools()]

    async def _asked(
        self, store: MemoryStore, query: str, options: SearchOptions
    ) -> Sequence[MemoryEntry] | None:
        try:
            return await asyncio.wait_for(store.search(query, options), self._deadline)
        except Exception as error:  # noqa: BLE001 a store of anybody's may raise anything, and the others go on
            _LOG.warning("store %s has not answered: %s", store.name, type(error).__name__)
            return None

    def _attributed(self, store: MemoryStore, found: MemoryEntry, failed: Sequence[str]) -> MemoryEntry:
        missing = {"missing_stores": [*failed]} if failed else {}
        return MemoryEntry(
            found.content, store.name, {**(found.metadata or {}), "store": store.name, **missing}
        )

    async def _write(self, method: str, *given: Any) -> None:
        targets = [store for store in self._stores if store.writable and _has(store, method)]
        if not targets:
            raise MemoryStoreError(f"no store of {self.name} takes this")
        outcomes = await asyncio.gather(
            *(getattr(store, method)(*given) for store in targets), return_exceptions=True
        )
        failed = {
            store.name: outcome
            for store, outcome in zip(targets, outcomes, strict=True)
            if isinstance(outcome, BaseException)
        }
        if failed:
            told = "; ".join(
                str(error) if isinstance(error, MemoryStoreError) else f"{name}: it failed"
                for name, error in failed.items()
            )
            raise MemoryStoreError(told)


def _has(store: MemoryStore, method: str) -> bool:
    """Whether a store's own class has a method, as the manager looks at it."""
    from strands.memory import MemoryStore as Contract

    found = getattr(type(store), method, None)
    return callable(found) and found is not getattr(Contract, method, None)
