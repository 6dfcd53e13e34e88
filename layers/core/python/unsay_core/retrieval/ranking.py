"""How well a memory answers a query: one absolute scale, the same for every query and scope."""

from __future__ import annotations

from dataclasses import field
from datetime import timedelta
from math import log1p
from typing import TYPE_CHECKING, NamedTuple

from unsay_core.domain.memory import Kind
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from datetime import datetime

    from unsay_core.domain.memory import Memory

_WORD = 6  # bytes of a word, about, with its space
_HALF_LIVES = {Kind.EPISODIC: timedelta(days=30), Kind.SEMANTIC: timedelta(days=180)}


@dataclass(frozen=True, slots=True)
class Ranking:
    """The weights of a score. They add up to one, so that a score lies between 0 and 1.

    `floor` is the cosine, and `said` the evidence in words, below which a text is not about the query.
    `unknown` stands for a cosine that is not known: what is not indexed yet must be found, but not before
    what is known to fit. `brevity` is what the shortest text loses of both to one of `substantial` bytes
    or more: it has little to answer with.
    """

    semantic: float = 0.2
    lexical: float = 0.6
    recency: float = 0.1
    importance: float = 0.1
    floor: float = 0.25
    said: float = 0.05
    unknown: float = 0.2
    brevity: float = 1 / 3
    substantial: int = 360
    half_lives: dict[Kind, timedelta] = field(default_factory=lambda: dict(_HALF_LIVES))

    def substance_of(self, text: str) -> float:
        """What a text of this length can hold of an answer, growing with the logarithm of its words."""
        length = min(len(text.encode()), self.substantial)
        return 1 - self.brevity * (1 - log1p(length / _WORD) / log1p(self.substantial / _WORD))

    def recency_of(self, memory: Memory, now: datetime) -> float:
        """Halves with every half-life of the kind; instructions do not age."""
        half_life = self.half_lives.get(memory.fact.kind)
        if half_life is None:
            return 1.0
        age = max(now - memory.recorded_at, timedelta())
        return float(0.5 ** (age / half_life))


class Scores(NamedTuple):
    """The parts of a score, each 0 to 1; `semantic` is None where the index did not say."""

    semantic: float | None
    lexical: float
    recency: float
    importance: float

    def total(self, ranking: Ranking, unknown: float | None = None) -> float:
        """The weighted sum; `unknown` stands where the cosine is not known, the ranking's own by default."""
        if unknown is None:
            unknown = ranking.unknown
        semantic = unknown if self.semantic is None else self.semantic
        return (
            ranking.semantic * semantic
            + ranking.lexical * self.lexical
            + ranking.recency * self.recency
            + ranking.importance * self.importance
        )

    def is_relevant(self, ranking: Ranking) -> bool:
        """False for what neither its words nor, as far as it is known, its meaning brings near the query."""
        return self.lexical >= ranking.said or (self.semantic or 0.0) >= ranking.floor
