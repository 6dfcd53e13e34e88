"""Near duplicates of a scope: found in a stretch of its memories at a time; no λ holds more than that."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from unsay_core.application.ledger import Area
from unsay_core.application.ports import SearchError
from unsay_core.domain.lifecycle import Act, may
from unsay_core.domain.memory import Memory, Status, Trust
from unsay_core.extraction.likeness import Measure, groups

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from datetime import datetime

    from unsay_core.application.ports import JobScope, Search

STRETCH = 4_000  # memories compared with each other at once: some seconds
STRIDE = STRETCH // 2  # the next stretch begins so far on: two with fewer between them are always compared
PAGE = 100
ASKED_MOST = 200  # times that the index is asked in one stretch; people who recall ask it too
NEAREST = 20  # memories that it answers with
SEARCH_TIMEOUT = 2.0  # seconds


@dataclass(frozen=True, slots=True)
class Found:
    """What a stretch has: groups of ids, oldest first; where the next begins, None if this was the last.

    `versions` are those of each group's members, in their order, by which they were found alike.
    """

    groups: list[list[str]]
    versions: list[list[int]]
    beyond: str | None
    compared: int
    asked: int


def near_duplicates(
    scope: JobScope,
    measure: Measure,
    kinds: Collection[str],
    now: datetime,
    *,
    after: str | None,
    but: Collection[str] = (),
) -> Found:
    """The near duplicates among the memories that come after an id, those aside that are found already."""
    memories, beyond = _stretch(scope, after)
    nearness = Nearness(scope.search)
    alike: dict[Any, list[tuple[str, str]]] = defaultdict(list)
    for memory in memories:
        if memory.id not in but and may_merge(memory, now) and memory.fact.kind.value in kinds:
            alike[sort_of(memory)].append((memory.id, memory.fact.content))
    found = [group for said in alike.values() for group in groups(said, measure, nearness.to)]
    known = {memory.id: memory.version for memory in memories}
    versions = [[known[memory_id] for memory_id in group] for group in found]
    return Found(found, versions, beyond, sum(map(len, alike.values())), nearness.asked)


class Nearness:
    """How near memories are to each other by their vectors, as the index tells; what it does not tell is far.

    One that fails, or has been asked often enough, is not asked again: words go on alone.
    """

    def __init__(self, search: Search) -> None:
        self._search = search
        self._is_up = True
        self._known: dict[str, Mapping[str, float]] = {}

    @property
    def asked(self) -> int:
        """How often the index answered."""
        return len(self._known)

    def to(self, memory_id: str, content: str) -> Mapping[str, float]:
        """The cosines of the memories nearest to one, by their ids."""
        if memory_id not in self._known and self._is_up and self.asked < ASKED_MOST:
            try:
                hits = self._search.nearest(content, limit=NEAREST, live_only=True, timeout=SEARCH_TIMEOUT)
            except SearchError:
                self._is_up = False
            else:
                self._known[memory_id] = {hit.memory_id: hit.score for hit in hits}
        return self._known.get(memory_id, {})


def may_merge(memory: Memory, now: datetime) -> bool:
    """Beliefs that nobody doubts and that take turns with no other; what is in a slot is one already."""
    return (
        memory.status_at(now) is Status.ACTIVE
        and memory.superseded_by is None
        and not memory.fact.is_item
        and memory.fact.slot is None
        and memory.trust is not Trust.DISPUTED
        and may(memory, Act.SUPERSEDE, now)
    )


def sort_of(memory: Memory) -> Any:
    """Everything in which members agree beside their words."""
    fact = memory.fact
    held = (fact.valid_from, fact.valid_to, fact.expires_at)
    return (fact.kind, memory.trust, held, repr(fact.data), repr(sorted(fact.metadata.items())))


def _stretch(scope: JobScope, after: str | None) -> tuple[Sequence[Memory], str | None]:
    """Up to `STRETCH` memories, and the id behind which the next stretch begins."""
    found: list[Memory] = []
    last = after
    while len(found) < STRETCH:
        page = scope.ledger.page(Area.MEMORY, after=last, limit=PAGE)
        found += [entry for entry in page if isinstance(entry, Memory)]
        if len(page) < PAGE:
            return found, None
        last = found[-1].id
    return found, found[STRIDE - 1].id
