"""A knowledge base in memory: late in both directions until it settles, as the real one is."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unsay_core.application.ports import DocumentState, Hit, SearchError
from unsay_core.domain.memory import Memory, Status
from unsay_core.retrieval.filters import EVERYTHING, All, Comparison, holds
from unsay_core.retrieval.lexicon import words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence


@dataclass
class FakeKnowledgeBase:
    """Documents of every scope. What is asked for happens when `settle` is called, or at once."""

    at_once: bool = False
    drops_deletes: bool = False
    drops_puts: bool = False
    keeps_answering: bool = False  # with what it says is not there
    failing: SearchError | None = None
    before_search: Callable[[], None] = lambda: None
    intruders: list[Hit] = field(default_factory=list)
    documents: dict[tuple[str, str], Memory] = field(default_factory=dict)
    ghosts: dict[tuple[str, str], Memory] = field(default_factory=dict)
    waiting: list[tuple[str, str, Memory | None]] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)
    requests: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)

    def ask(self, scope_id: str, wishes: Mapping[str, Memory | None], *, verb: str, token: str) -> None:
        """Take a request, unless it was seen before."""
        with self.lock:
            if token in self.tokens:
                return
            self.tokens.add(token)
            self.requests.append((verb, tuple(wishes)))
            dropped = self.drops_deletes if verb == "delete" else self.drops_puts
            if not dropped:
                self.waiting.extend((scope_id, memory_id, memory) for memory_id, memory in wishes.items())
            if self.at_once:
                self.settle()

    def settle(self) -> None:
        """Do what was asked for, in the order it was."""
        with self.lock:
            for scope_id, memory_id, memory in self.waiting:
                if memory is None:
                    gone = self.documents.pop((scope_id, memory_id), None)
                    if gone and self.keeps_answering:
                        self.ghosts[scope_id, memory_id] = gone
                else:
                    self.documents[scope_id, memory_id] = memory
            self.waiting.clear()

    @property
    def answering(self) -> dict[tuple[str, str], Memory]:
        """What is not there, and found."""
        return self.ghosts if self.keeps_answering else {}

    def states(self, scope_id: str, memory_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        """What it says of some documents."""
        with self.lock:
            moving = {i for scope, i, _ in self.waiting if scope == scope_id}
            there = {i for scope, i in self.documents if scope == scope_id}
            return {
                i: DocumentState(settled=i not in moving, present=i in there | moving) for i in memory_ids
            }

    def still_found(self, scope_id: str, memory_ids: Sequence[str]) -> Collection[str]:
        """Those of some memories that a search answers with."""
        with self.lock:
            return [i for i in memory_ids if (scope_id, i) in self.documents | self.answering]

    def lose(self, memory_id: str) -> None:
        """A document is gone, and nobody asked for it."""
        with self.lock:
            self.documents = {place: m for place, m in self.documents.items() if place[1] != memory_id}

    def hold(self, scope_id: str, memory: Memory) -> None:
        """A document is there, and nobody asked for it."""
        with self.lock:
            self.documents[scope_id, memory.id] = memory

    def holds(self, memory_id: str) -> bool:
        """True if a document of the memory is there or on its way."""
        with self.lock:
            arriving = {i for _, i, memory in self.waiting if memory is not None}
            return memory_id in arriving | {i for _, i in self.documents}


class FakeIndex:
    """See `Index`."""

    def __init__(self, base: FakeKnowledgeBase, scope_id: str) -> None:
        self._base = base
        self._scope_id = scope_id

    def put(self, memories: Sequence[Memory], *, token: str) -> None:
        self._base.ask(self._scope_id, {m.id: m for m in memories}, verb="put", token=token)

    def delete(self, memory_ids: Sequence[str], *, token: str) -> None:
        self._base.ask(self._scope_id, dict.fromkeys(memory_ids), verb="delete", token=token)

    def states(self, memory_ids: Sequence[str]) -> Mapping[str, DocumentState]:
        return self._base.states(self._scope_id, memory_ids)

    def still_found(self, memory_ids: Sequence[str]) -> Collection[str]:
        return self._base.still_found(self._scope_id, memory_ids)


class FakeSearch:
    """See `Search`: how near two texts are is the share of words they have in common."""

    def __init__(self, base: FakeKnowledgeBase, scope_id: str) -> None:
        self._base = base
        self._scope_id = scope_id

    def nearest(
        self, query: str, *, limit: int, live_only: bool, timeout: float, wanted: All = EVERYTHING
    ) -> Sequence[Hit]:
        self._base.before_search()
        if self._base.failing:
            raise self._base.failing
        of_kinds = [p for p in wanted.parts if isinstance(p, Comparison) and p.field == "kind"]
        with self._base.lock:
            found = [
                Hit(memory_id, _nearness(query, memory.fact.content))
                for (scope_id, memory_id), memory in (self._base.documents | self._base.answering).items()
                if scope_id == self._scope_id and (memory.status is Status.ACTIVE or not live_only)
                if all(holds(part, memory) for part in of_kinds)
            ]
        found += self._base.intruders
        return sorted(found, key=lambda hit: hit.score, reverse=True)[:limit]


def _nearness(query: str, text: str) -> float:
    asked, said = set(words(query)), set(words(text))
    return len(asked & said) / len(asked | said) if asked | said else 0.0
