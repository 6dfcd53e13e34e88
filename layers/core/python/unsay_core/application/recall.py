"""Recall: the stores propose ids; what a caller sees is loaded from the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unsay_core.application.recall_query import Recall
from unsay_core.application.recall_scope import ScopeRecall
from unsay_core.application.recall_sources import SOURCES
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.lexicon import Vocabulary, query_words, words
from unsay_core.domain.memory import Memory
from unsay_core.domain.ranking import Ranking, Scores

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.recall_load import Loading
    from unsay_core.application.recall_sources import Source

NOTHING_RELEVANT, SCOPE_EMPTY = "nothing_relevant", "scope_empty"

__all__ = ["Recall", "Recalled", "Recollection", "recall"]


@dataclass(frozen=True, slots=True)
class Recalled:
    """One answer, with the scope it came from and the parts of its score."""

    opened: OpenScope
    memory: Memory
    score: float
    scores: Scores


@dataclass(frozen=True, slots=True)
class Recollection:
    """What was found; `reasons` say why it may be less than there is, `degraded` if a store failed."""

    items: tuple[Recalled, ...]
    reasons: tuple[str, ...]
    degraded: bool
    considered: int


def recall(
    query: Recall,
    doors: Sequence[Callable[[], OpenScope]],
    world: World,
    *,
    ranking: Ranking | None = None,
    sources: Sequence[Source] = SOURCES,
    note: Callable[[str], None] = lambda _: None,
) -> Recollection:
    """The best memories of all scopes together, on one scale; each door opens one scope.

    Answers within the deadline, with reasons for whatever was late or down; `note` is told of each. Raises
    `UnavailableError` if no scope could be read at all: an empty answer would be a lie.
    """
    started = world.clock.monotonic()
    asked = [ScopeRecall(query, door, sources, world, started=started) for door in doors]
    for scope in asked:
        scope.gather()
    loaded = [found for scope in asked if (found := scope.loaded())]
    reasons = list(dict.fromkeys(reason for scope in asked for reason in scope.reasons))
    for reason in reasons:
        note(reason)
    if not loaded:
        raise UnavailableError("no store answered in time", reasons=reasons)
    return _together(query, loaded, reasons, world, ranking or Ranking())


def _together(
    query: Recall, loaded: Sequence[Loading], reasons: Sequence[str], world: World, ranking: Ranking
) -> Recollection:
    found = [item for scope in loaded for item in _judged(query, scope, world, ranking)]
    found.sort(key=lambda item: (item.score, item.memory.id), reverse=True)
    nothing = [SCOPE_EMPTY if all(scope.is_empty for scope in loaded) else NOTHING_RELEVANT]
    return Recollection(
        items=tuple(found[: query.limit]),
        reasons=(*reasons, *([] if found else nothing)),
        degraded=bool(reasons),
        considered=sum(len(scope.memories) for scope in loaded),
    )


def _judged(query: Recall, loaded: Loading, world: World, ranking: Ranking) -> list[Recalled]:
    """The memories of one scope that are about the query, with their scores."""
    now = world.clock.now()
    semantic = loaded.scores.get("semantic", {})
    memories = loaded.unreplaced()
    spoken = {memory.id: words(memory.fact.content) for memory in memories}
    vocabulary, sought = Vocabulary(spoken.values()), query_words(query.query)
    items = []
    for memory in memories:
        scores = Scores(
            semantic=semantic.get(memory.id),
            lexical=vocabulary.coverage(sought, spoken[memory.id]),
            recency=ranking.recency_of(memory, now),
            importance=float(memory.fact.importance),
        )
        item = Recalled(loaded.opened, memory, scores.total(ranking), scores)
        if scores.is_relevant(ranking) and item.score >= query.min_score:
            items.append(item)
    return items
