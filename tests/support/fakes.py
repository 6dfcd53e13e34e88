"""The other ports in memory, and the whole service on them: the same use cases and handlers, no AWS."""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import TYPE_CHECKING

from tests.support.clock import FakeClock, fake_world
from tests.support.knowledge_base import FakeIndex, FakeKnowledgeBase, FakeSearch
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application.ports import ConflictError, IndexScope, OpenScope, WorkScope
from unsay_core.domain.keys import Keyring
from unsay_core.domain.ledger import Area

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from unsay_core.application.access import ApiKey
    from unsay_core.application.ports import IndexTask
    from unsay_core.domain.memory import Memory
    from unsay_core.domain.scope import Action, Principal, Scope

PEPPER = "a pepper for tests, long enough to be one"


class MemoryDocuments:
    """See `Documents`."""

    def __init__(self) -> None:
        self.objects: dict[str, Memory] = {}
        self._lock = threading.Lock()

    def put(self, memory: Memory) -> None:
        with self._lock:
            there = self.objects.get(memory.id)
            if there is None or there.version <= memory.version:
                self.objects[memory.id] = memory

    def delete(self, memory_id: str) -> None:
        with self._lock:
            self.objects.pop(memory_id, None)

    def exists(self, memory_id: str) -> bool:
        return memory_id in self.objects


class MemoryKeys:
    """See `Keys`."""

    def __init__(self) -> None:
        self._keys: dict[str, ApiKey] = {}

    def find(self, key_id: str) -> ApiKey | None:
        return self._keys.get(key_id)

    def add(self, key: ApiKey) -> None:
        if key.id in self._keys:
            raise ConflictError("the id is taken")
        self._keys[key.id] = key


class MemoryRegistry:
    """See `Registry`."""

    def __init__(self) -> None:
        self._scopes: dict[str, Scope] = {}

    def add(self, scope: Scope) -> None:
        self._scopes[scope.canonical] = scope

    def roots(self) -> set[str]:
        return {scope.segments[0] for scope in self._scopes.values()}

    def below(self, root: str) -> list[Scope]:
        return [scope for _, scope in sorted(self._scopes.items()) if scope.segments[0] == root]


class MemoryIndexQueue:
    """See `IndexQueue`; a task that was sent before is taken once, as within the deduplication window."""

    def __init__(self) -> None:
        self.tasks: list[IndexTask] = []
        self.postponed: dict[str, int] = {}

    def send(self, tasks: Sequence[IndexTask]) -> None:
        self.tasks.extend(task for task in tasks if task not in self.tasks)

    def postpone(self, receipts: Mapping[str, int]) -> None:
        self.postponed |= receipts


class FakeService:
    """What `ApiService` is to the api λ and what its siblings are to the workers."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.world = fake_world(self.clock)
        self.keyring = Keyring.from_pepper(PEPPER)
        self.keys = MemoryKeys()
        self.registry = MemoryRegistry()
        self.knowledge_base = FakeKnowledgeBase()
        self.queue = MemoryIndexQueue()
        self.ledgers: dict[str, MemoryLedger] = defaultdict(MemoryLedger)
        self.documents: dict[str, MemoryDocuments] = defaultdict(MemoryDocuments)
        self.opened: list[str] = []

    def open_scope(
        self, principal: Principal, scope: Scope, action: Action, *, reading: bool = False
    ) -> OpenScope:
        """See `Door`."""
        principal.require(action, scope)
        scope_id = self.keyring.scope_id(scope.canonical)
        self.opened.append(scope.canonical)
        return OpenScope(
            scope=scope,
            id=scope_id,
            principal=principal,
            keys=self.keyring.for_scope(scope_id),
            ledger=self.ledgers[scope_id],
            search=FakeSearch(self.knowledge_base, scope_id),
        )

    def work_scope(self, scope_id: str) -> WorkScope:
        """A scope as the project λ opens it."""
        return WorkScope(scope_id, self.ledgers[scope_id], self.documents[scope_id])

    def index_scope(self, scope_id: str) -> IndexScope:
        """A scope as the index λ opens it."""
        index = FakeIndex(self.knowledge_base, scope_id)
        return IndexScope(scope_id, self.ledgers[scope_id], self.documents[scope_id], index)

    def dump(self) -> str:
        """Everything that lies in any store, as text: where a canary must not be."""
        entries = [ledger.page(area, limit=1_000_000) for ledger in self.ledgers.values() for area in Area]
        documents = [store.objects for store in self.documents.values()]
        base = self.knowledge_base
        return repr([entries, documents, base.documents, base.waiting, self.queue.tasks])
