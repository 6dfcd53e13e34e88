"""Recall: the stores propose ids; what a caller sees is loaded from the ledger."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from unsay_core.application.digests import keyed_wording
from unsay_core.application.recall_query import Recall
from unsay_core.application.recall_scope import ScopeRecall
from unsay_core.application.recall_sources import KNOWLEDGE_BASE, PENDING, SOURCES, WORDS, sought_words
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.memory import IndexState, Memory
from unsay_core.domain.values import dataclass
from unsay_core.metrics import DEGRADED_RECALLS
from unsay_core.retrieval.evidence import Evidence, terms_of
from unsay_core.retrieval.lexicon import words
from unsay_core.retrieval.postings import packed_id, place_of
from unsay_core.retrieval.ranking import Ranking, Scores

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from unsay_core.application.ports import OpenScope, World
    from unsay_core.application.recall_load import Loading
    from unsay_core.application.recall_sources import Source

NOTHING_RELEVANT, SCOPE_EMPTY = "nothing_relevant", "scope_empty"

__all__ = ["Recall", "Recalled", "Recollection", "recall"]


class Recalled(NamedTuple):
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
) -> Recollection:
    """The best memories of all scopes together, on one scale; each door opens one scope.

    Answers within the deadline, with reasons for whatever was late or down, and each is counted. Raises
    `UnavailableError` if no scope could be read at all: an empty answer would be a lie.
    """
    started = world.clock.monotonic()
    asked = [ScopeRecall(query, door, sources, world, started=started) for door in doors]
    for scope in asked:
        scope.gather()
    loaded = [found for scope in asked if (found := scope.loaded())]
    reasons = list(dict.fromkeys(reason for scope in asked for reason in scope.reasons))
    for reason in reasons:
        world.signals.tell(DEGRADED_RECALLS, reason=reason)
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
    """The memories of one scope that are about the query, with their scores.

    What the index does not hold yet is never called irrelevant: how near it is, nobody knows.
    """
    now = world.clock.now()
    memories = loaded.unreplaced()
    nearest, evidence = loaded.scores.get("semantic", {}), _evidence(query, loaded, memories)
    farthest, items = _farthest(loaded, ranking), []
    sought: Mapping[str, bytes] = {}  # looked up where there is a memory of several passages
    for memory in memories:
        nearness, own = nearest.get(memory.id), packed_id(memory.id)
        passages = memory.fact.passages if memory.fact.is_item else ()
        if len(passages) > 1:
            sought = sought or sought_words(query, loaded.opened)
            weighed = [(ranking.substance_of(p), _spoken_for(p, sought, evidence)) for p in passages]
            substance, lexical = max(weighed, key=lambda pair: (pair[0] * pair[1], pair[0]))
        else:
            substance = ranking.substance_of(memory.fact.content)
            lexical = evidence.of(own, place_of(memory, own))
        scores = Scores(
            semantic=None if nearness is None else nearness * substance,
            lexical=lexical * substance,
            recency=ranking.recency_of(memory, now),
            importance=float(memory.fact.importance),
        )
        is_indexed = memory.index_state is IndexState.INDEXED
        score = scores.total(ranking, farthest * substance if is_indexed else None)
        is_late = not is_indexed or not query.says_something
        if score >= query.min_score and (is_late or scores.is_relevant(ranking)):
            items.append(Recalled(loaded.opened, memory, score, scores))
    return items


def _spoken_for(text: str, sought: Mapping[str, bytes], evidence: Evidence) -> float:
    """How much speaks for a text by itself."""
    said = Counter(words(text))
    return evidence.of_text(said.total(), {sought[word]: said[word] for word in said.keys() & sought.keys()})


def _farthest(loaded: Loading, ranking: Ranking) -> float:
    """What is indexed and not among the nearest is no nearer than the last of these, if there are more."""
    proposal = loaded.proposals.get(KNOWLEDGE_BASE)
    known = [score for score in proposal.scores.values() if score] if proposal and proposal.is_cut else []
    return min(known, default=ranking.unknown)


def _evidence(query: Recall, loaded: Loading, memories: Sequence[Memory]) -> Evidence:
    """What the index by words found, and the words that it does not hold yet, or rightly, or overlooks.

    Where it could not be asked, the texts at hand have to do.
    """
    posted, nearest = loaded.proposals.get(WORDS), loaded.scores.get("semantic", {})
    evidence = posted.evidence if posted else None
    wordings = loaded.proposals[PENDING].wordings if PENDING in loaded.proposals else {}
    late = {
        m.id: wordings.get(m.id) or keyed_wording(loaded.opened.keys, m.fact.content)
        for m in memories
        if evidence is None
        or m.index_state is not IndexState.INDEXED
        or (nearest.get(m.id) is None and evidence.overlooks(packed_id(m.id)))
    }
    if evidence is None:
        sought = sought_words(query, loaded.opened).values()
        evidence = Evidence(terms_of(sought, late.values()), len(memories))
    for memory in memories:
        if memory.id in late:
            own = packed_id(memory.id)
            evidence.add(own, place_of(memory, own), late[memory.id])
    return evidence
