"""Where recall's candidates come from: each source is asked beside the others, and may be late or down alone.

A source proposes ids; it decides nothing. What it proposes is loaded from the ledger before it is judged.
"""

from __future__ import annotations

from dataclasses import field
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from unsay_core.application.ledger import HEAD, Area, Head, Pending, Work, postings_ref
from unsay_core.application.pages import intact_page
from unsay_core.application.post_words import term_name
from unsay_core.domain.memory import Kind, Memory
from unsay_core.domain.values import dataclass
from unsay_core.retrieval.evidence import Evidence, Term
from unsay_core.retrieval.lexicon import Vocabulary, words
from unsay_core.retrieval.postings import NO_WORDS, said, unpacked_id

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Mapping

    from unsay_core.application.ports import OpenScope, Snapshot
    from unsay_core.application.recall_query import Recall

BACKLOG = 200  # pending memories looked at
MOST_ASKED = 48  # different words of a query that are looked up: two entries each in one read
PROPOSED = 99  # memories proposed for their words
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
    the newest change the source knew of: what was replaced since leads to its successor. `evidence` weighs
    any memory by the words of the query; `wordings` are those that no index has yet.
    """

    scores: Mapping[str, float | None] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()
    is_cut: bool = False
    seq: int = 0
    evidence: Evidence | None = None
    wordings: Mapping[str, bytes] = field(default_factory=dict)


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
    query, opened = asked.query, asked.opened
    page = opened.ledger.page(Area.PENDING, limit=BACKLOG, newest_first=True)
    owed = [entry for entry in page if isinstance(entry, Pending)]
    wanted = [p for p in owed if p.fact and p.work is Work.PUT and query.wants(p.fact.kind)]
    wordings = {p.memory_id: p.words or NO_WORDS for p in wanted}
    spoken = {memory_id: said(wording) for memory_id, wording in wordings.items()}
    vocabulary = Vocabulary(spoken.values())
    sought: frozenset[Hashable] = frozenset(sought_words(query, opened).values())
    best = sorted(spoken, key=lambda i: (vocabulary.coverage(sought, spoken[i]), i), reverse=True)
    is_cut = len(owed) == BACKLOG
    return Proposal(
        dict.fromkeys(best),
        reasons=(INDEX_BACKLOG,) if is_cut else (),
        is_cut=is_cut,
        seq=max((entry.seq for entry in owed), default=0),
        wordings=wordings,
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


def _words(asked: Asked) -> Proposal:
    """What the words of the query speak for: one read, however many memories there are."""
    query, opened = asked.query, asked.opened
    names = {digest: term_name(digest) for digest in sought_words(query, opened).values()}
    refs = [postings_ref(name, is_stock=stock) for name in names.values() for stock in (False, True)]
    found = opened.ledger.read([HEAD, *refs])
    terms = {digest: _term(name, found) for digest, name in names.items()}
    head = found.get(HEAD) or Head()
    only_believed = not query.asks_when and "candidate" not in query.include and Kind.ITEM not in query.kinds
    evidence = Evidence(terms, head.memories, live_only=only_believed)
    best = evidence.best(PROPOSED)
    return Proposal(
        {unpacked_id(memory): score for memory, score in best.items()},
        is_cut=len(best) == PROPOSED,
        evidence=evidence,
    )


def sought_words(query: Recall, opened: OpenScope) -> dict[str, bytes]:
    """The words of a query, with the digests under which this scope's index has them."""
    return opened.keys.word_digests(list(dict.fromkeys(words(query.query)))[:MOST_ASKED])


def _term(name: str, found: Snapshot) -> Term:
    fresh, stock = (found.get(postings_ref(name, is_stock=is_stock)) for is_stock in (False, True))
    packed = [there.packed for there in (fresh, stock) if there]
    return Term(fresh.total if fresh else 0, b"".join(packed))


PENDING = Source(_pending, late="ledger_timeout", down="ledger_unavailable")
KNOWLEDGE_BASE = Source(
    _knowledge_base,
    late="knowledge_base_timeout",
    down="knowledge_base_unavailable",
    judges="semantic",
    needs_words=True,
)
WORDS = Source(_words, late="ledger_timeout", down="ledger_unavailable", judges="lexical", needs_words=True)
SOURCES = (PENDING, KNOWLEDGE_BASE, WORDS)


def newest(opened: OpenScope, limit: int) -> Proposal:
    """The newest memories: what there is when nothing could be searched."""
    damaged: list[str] = []
    page = intact_page(opened.ledger, damaged, Area.MEMORY, limit=limit, newest_first=True)
    return Proposal(
        {entry.id: None for entry in page if isinstance(entry, Memory)} | dict.fromkeys(damaged),
        is_cut=len(page) == limit,
    )


def interleaved(proposals: Iterable[Proposal], most: int) -> list[str]:
    """Ids of all sources in turn, best first, each once, so that no source crowds another out."""
    in_turn = chain.from_iterable(zip_longest(*(proposal.scores for proposal in proposals)))
    return list(islice(dict.fromkeys(i for i in in_turn if i is not None), most))
