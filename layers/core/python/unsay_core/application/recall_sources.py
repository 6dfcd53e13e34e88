"""Where recall's candidates come from: each source is asked beside the others, and may be late or down alone.

A source proposes ids; it decides nothing. What it proposes is loaded from the ledger before it is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from unsay_core.application.ledger import Area, Pending, Work
from unsay_core.domain.lexicon import Vocabulary, query_words, words
from unsay_core.domain.memory import Memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from unsay_core.application.ports import OpenScope
    from unsay_core.application.recall_query import Recall

BACKLOG = 200  # pending memories looked at
INDEX_BACKLOG = "index_backlog"


@dataclass(frozen=True, slots=True)
class Asked:
    """One question to one opened scope; `timeout` in seconds is what a source may take."""

    query: Recall
    opened: OpenScope
    timeout: float


@dataclass(frozen=True, slots=True)
class Proposal:
    """The ids a source proposes, best first, with how well each fits (0 to 1) where it can tell.

    `reasons` say what it may lack. `is_cut` is true if more might have fitted than were proposed. `seq` is
    the newest change the source knew of: what was replaced since leads to its successor.
    """

    scores: Mapping[str, float | None] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    is_cut: bool = False
    seq: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """One source: how it is asked, and the reasons given when it is late or down.

    `propose` runs in a thread of its own. It may raise `SearchError` with a reason, or `UnavailableError`.
    `judges` names the score its numbers are (`semantic`, `lexical`), and is empty where they are none.
    """

    propose: Callable[[Asked], Proposal]
    late: str
    down: str
    judges: str = ""
    needs_words: bool = False


def _pending(asked: Asked) -> Proposal:
    """What the index does not hold yet, best first by its words."""
    page = asked.opened.ledger.page(Area.PENDING, limit=BACKLOG, newest_first=True)
    owed = [entry for entry in page if isinstance(entry, Pending)]
    sought = query_words(asked.query.query)
    due = [p for p in owed if p.fact and p.work is Work.PUT and asked.query.wants(p.fact.kind)]
    texts = {p.memory_id: words(p.fact.content) for p in due if p.fact}
    vocabulary = Vocabulary(texts.values())
    best = sorted(texts, key=lambda i: (vocabulary.coverage(sought, texts[i]), i), reverse=True)
    is_cut = len(owed) == BACKLOG
    return Proposal(
        dict.fromkeys(best),
        reasons=(INDEX_BACKLOG,) if is_cut else (),
        is_cut=is_cut,
        seq=max((entry.seq for entry in owed), default=0),
    )


def _knowledge_base(asked: Asked) -> Proposal:
    """What lies near the query."""
    query = asked.query
    limit = min(100, max(50, 4 * query.limit))
    hits = asked.opened.search.nearest(
        query.query,
        limit=limit,
        live_only=not query.asks_when,
        timeout=asked.timeout,
        wanted=query.narrowing,
    )
    return Proposal({hit.memory_id: hit.score for hit in hits}, is_cut=len(hits) >= limit)


PENDING = Source(_pending, late="ledger_timeout", down="ledger_unavailable")
KNOWLEDGE_BASE = Source(
    _knowledge_base,
    late="knowledge_base_timeout",
    down="knowledge_base_unavailable",
    judges="semantic",
    needs_words=True,
)
SOURCES = (PENDING, KNOWLEDGE_BASE)


def newest(opened: OpenScope, limit: int) -> Proposal:
    """The newest memories: what there is when nothing could be searched."""
    page = opened.ledger.page(Area.MEMORY, limit=limit, newest_first=True)
    return Proposal(
        {entry.id: None for entry in page if isinstance(entry, Memory)}, is_cut=len(page) == limit
    )


def interleaved(proposals: Iterable[Proposal], most: int) -> list[str]:
    """Ids of all sources in turn, best first, each once, so that no source crowds another out."""
    in_turn = chain.from_iterable(zip_longest(*(proposal.scores for proposal in proposals)))
    return list(islice(dict.fromkeys(i for i in in_turn if i is not None), most))
