"""How well a memory answers a query: one absolute scale, the same for every query and scope."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

from unsay_core.domain.memory import Kind

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.domain.memory import Memory

_HALF_LIVES = {Kind.EPISODIC: timedelta(days=30), Kind.SEMANTIC: timedelta(days=180)}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The weights of a score. They add up to one, so that a score lies between 0 and 1.

    `floor` is the cosine below which a text is not about the query. `unknown` stands for the cosine of
    a memory that the index does not hold yet: it must be found, but not before what is known to fit.
    """

    semantic: float = 0.35
    lexical: float = 0.35
    recency: float = 0.15
    importance: float = 0.15
    floor: float = 0.25
    unknown: float = 0.25
    half_lives: dict[Kind, timedelta] = field(default_factory=lambda: dict(_HALF_LIVES))

    def recency_of(self, memory: Memory, now: datetime) -> float:
        """Halves with every half-life of the kind; instructions do not age."""
        half_life = self.half_lives.get(memory.fact.kind)
        if half_life is None:
            return 1.0
        age = max(now - memory.recorded_at, timedelta())
        return float(0.5 ** (age / half_life))


@dataclass(frozen=True, slots=True)
class Scores:
    """The parts of a score, each 0 to 1; `semantic` is None where the index holds no vector yet."""

    semantic: float | None
    lexical: float
    recency: float
    importance: float

    def total(self, ranking: Ranking) -> float:
        """The weighted sum."""
        semantic = ranking.unknown if self.semantic is None else self.semantic
        return (
            ranking.semantic * semantic
            + ranking.lexical * self.lexical
            + ranking.recency * self.recency
            + ranking.importance * self.importance
        )

    def is_relevant(self, ranking: Ranking) -> bool:
        """False only for what is known not to be about the query."""
        return self.semantic is None or self.lexical > 0 or self.semantic >= ranking.floor
