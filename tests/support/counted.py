"""What an erasure of many asks of AWS, store by store: in the fakes, whose calls are those of the clients."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from tests.support.erasing import Eraser
from tests.support.fakes import FakeService, MemoryDocuments, MemoryGraves
from tests.support.http import Caller
from tests.support.knowledge_base import FakeKnowledgeBase
from tests.support.workers import SettlingClock, index_all
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application.graves import note_tombstones
from unsay_core.application.index_memories import foreign, index_memories
from unsay_core.application.ledger import Area, Put
from unsay_core.application.project import project_memories

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from unsay_core.application.ledger import Change

LABELS: dict[type, str] = {
    MemoryLedger: "ledger",
    MemoryDocuments: "documents",
    MemoryGraves: "list of tombstones",
    FakeKnowledgeBase: "knowledge base",
}
STREAM, QUEUE = 100, 10  # records and messages that come together
CONTENTS = ("Alice lives at {} Harbour Street.", "Alice has {} cats.", "Alice met Bob {} times.")


class Counted:
    """A scope of many memories, all of them indexed, and every call that their erasure makes from then on."""

    def __init__(self, many: int) -> None:
        self.service = FakeService()
        self.many = many
        self.eraser = Eraser(self.service, Caller(self.service))
        for number in range(many):
            self.eraser.api.remember(CONTENTS[number % len(CONTENTS)].format(number))
        index_all(self.service)
        self.calls: Counter[str] = Counter()
        self._records: list[tuple[Area, str]] = []

    def erase(self) -> dict[str, float]:
        """Calls for each erased memory, by what they ask for."""
        self._watch()
        answer = self.eraser.forget(all=True, confirm=self.eraser.scope)
        while self.eraser.run(answer) is not None:
            self._project()
            self._index()
        self._project()
        assert self.eraser.api.receipt(answer["id"])["state"] == "complete"
        return {name: calls / self.many for name, calls in sorted(self.calls.items())}

    def _watch(self) -> None:
        scope_id, once = self.eraser.scope_id, lambda *_: 1
        index = self.service.knowledge_base

        def all_of(items: Sequence[Any], *_: Any) -> int:
            return -(-len(items) // 1_000)

        self._count(self.eraser.ledger, "read", once)
        self._count(self.eraser.ledger, "page", once)
        self._count(self.eraser.ledger, "commit", self._streamed)
        self._count(self.service.documents[scope_id], "delete", all_of)
        self._count(self.service.documents[scope_id], "existing", all_of)
        self._count(self.service.graves[scope_id], "note", once)
        self._count(index, "ask", once)
        self._count(index, "states", once)
        self._count(index, "still_found", once)

    def _count(self, owner: Any, name: str, weigh: Callable[..., int]) -> None:
        call, label = getattr(owner, name), f"{LABELS[type(owner)]}: {name}"

        def counted(*args: Any, **named: Any) -> Any:
            self.calls[label] += weigh(*args)
            return call(*args, **named)

        setattr(owner, name, counted)

    def _streamed(self, change: Change) -> int:
        """A transaction; what it puts comes out of the stream."""
        self._records += [(part.ref.area, part.ref.id) for part in change if isinstance(part, Put)]
        return 1

    def _project(self) -> None:
        """The project λ: its records come in batches of each table."""
        scope, service = self.service.project_scope(self.eraser.scope_id), self.service
        for tombstones in _batches(self._taken(Area.TOMBSTONE), STREAM):
            note_tombstones(tombstones, scope.ledger, scope.graves)
        for markers in _batches(self._taken(Area.PENDING), STREAM):
            tasks = project_memories(markers, scope, service.scope_notes, service.world)
            service.queue.send(tasks)
            self.calls["queue: send"] += -(-len(tasks) // QUEUE)

    def _taken(self, area: Area) -> list[str]:
        found = [place for of, place in self._records if of is area]
        self._records = [record for record in self._records if record[0] is not area]
        return found

    def _index(self) -> None:
        """The index λ, until its queue is empty."""
        tasks, self.service.queue.tasks[:] = list(self.service.queue.tasks), []
        clock: Any = SettlingClock(self.service)
        for number, some in enumerate(_batches(tasks, QUEUE)):
            scope = self.service.index_scope(self.eraser.scope_id)
            assert not foreign(some, scope)
            assert index_memories(some, scope, clock, str(number)) == []


def _batches(items: list[Any], size: int) -> Iterator[list[Any]]:
    return (items[at : at + size] for at in range(0, len(items), size))
