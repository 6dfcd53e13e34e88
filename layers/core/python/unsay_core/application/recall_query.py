"""What recall is asked, and which memories may answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unsay_core.domain.memory import Status, Trust

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.domain.memory import Kind, Memory


@dataclass(frozen=True, slots=True)
class Recall:
    """A question to one or more scopes; `deadline` in seconds."""

    query: str
    limit: int = 5
    kinds: tuple[Kind, ...] = ()
    tags: tuple[str, ...] = ()
    min_trust: Trust | None = None
    min_score: float = 0.0
    include: frozenset[str] = frozenset()
    valid_at: datetime | None = None
    known_at: datetime | None = None
    deadline: float = 3.0

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
    def says_something(self) -> bool:
        """True if there are words to look for; without any, age and importance decide."""
        return bool(self.query.strip())

    @property
    def asks_when(self) -> bool:
        """True if it asks for another time than now: then what was superseded may answer."""
        return self.valid_at is not None or self.known_at is not None

    def _is_wanted(self, memory: Memory) -> bool:
        fact = memory.fact
        return (
            (not self.kinds or fact.kind in self.kinds)
            and set(self.tags) <= set(fact.tags)
            and (self.min_trust is None or memory.trust.rank >= self.min_trust.rank)
        )
