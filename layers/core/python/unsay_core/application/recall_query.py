"""What recall is asked, and which memories may answer."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from unsay_core.domain.memory import BELIEFS, Status, Trust
from unsay_core.domain.values import dataclass
from unsay_core.retrieval.filters import All, Comparison, Op, among, holds

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.domain.memory import Kind, Memory
    from unsay_core.retrieval.filters import Filter


@dataclass(frozen=True)
class Recall:
    """A question to one or more scopes; `deadline` in seconds."""

    query: str
    limit: int = 5
    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    filter: Filter | None = None
    min_trust: Trust | None = None
    min_score: float = 0.0
    include: frozenset[str] = frozenset()
    valid_at: datetime | None = None
    known_at: datetime | None = None
    deadline: float = 3.0

    @cached_property
    def narrowing(self) -> All:
        """The filter, and what kinds and tags say in the same terms."""
        return All((among(self.kinds), *self._within_kinds.parts))

    def admits(self, memory: Memory, now: datetime) -> bool:
        """True if a memory may be shown at all, however well it fits."""
        return self._stands(memory, now) and self._is_wanted(memory)

    def _stands(self, memory: Memory, now: datetime) -> bool:
        if memory.trust is Trust.DISPUTED and "disputed" not in self.include:
            return False
        if memory.status_at(self.known_at or now) is Status.CANDIDATE:
            return "candidate" in self.include
        return memory.answers(now=now, valid_at=self.valid_at, known_at=self.known_at)

    @property
    def narrows(self) -> bool:
        """True if not all that is believed is wanted."""
        return self.min_trust is not None or bool(self.kinds or self.tags or self.filter)

    @property
    def says_something(self) -> bool:
        """True if there are words to look for; without any, age and importance decide."""
        return bool(self.query.strip())

    @property
    def asks_when(self) -> bool:
        """True if it asks for another time than now: then what was superseded may answer."""
        return self.valid_at is not None or self.known_at is not None

    def wants(self, kind: Kind) -> bool:
        """True for the kinds asked for; items are in no answer that does not ask for them."""
        return kind in (self.kinds or BELIEFS)

    def _is_wanted(self, memory: Memory) -> bool:
        trusted = self.min_trust is None or memory.trust.rank >= self.min_trust.rank
        return trusted and self.wants(memory.fact.kind) and holds(self._within_kinds, memory)

    @cached_property
    def _within_kinds(self) -> All:
        """What narrows beside the kind, which is looked at before: for every memory of every recall."""
        tags = [Comparison(Op.EQ, "tags", tag) for tag in self.tags]
        return All((*tags, *([self.filter] if self.filter else [])))
