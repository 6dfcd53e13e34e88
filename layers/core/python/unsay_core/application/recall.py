"""Recall: the knowledge base proposes ids; what a caller sees is loaded from the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from unsay_core.application.ledger import HEAD, Area, Pending, Work, memory_ref
from unsay_core.application.look_up import as_known
from unsay_core.application.ports import SearchError
from unsay_core.domain.lexicon import Vocabulary, query_words, words
from unsay_core.domain.memory import Kind, Memory, Status, Trust
from unsay_core.domain.ranking import Ranking, Scores

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from unsay_core.application.ports import Hit, OpenScope, Snapshot, World

HYDRATED = 99  # memories loaded in one read of 100, beside the head
BACKLOG = 200  # pending memories looked at
RECENT = 99  # newest memories looked at when the knowledge base cannot propose any
CHASES = 3  # reads beside the first, for what is replaced while it is being recalled
FOR_THE_INDEX = 0.8  # share of the deadline that the knowledge base may use up
NOTHING_RELEVANT, SCOPE_EMPTY, INDEX_BACKLOG = "nothing_relevant", "scope_empty", "index_backlog"


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
    query: Recall, scopes: Sequence[OpenScope], world: World, ranking: Ranking | None = None
) -> Recollection:
    """The best memories of all scopes together, on one scale.

    Raises `UnavailableError` if the ledger cannot be read: an empty answer would be a lie.
    """
    started = world.clock.monotonic()
    asked = [_Asked(query, opened, world) for opened in scopes]
    for question in asked:
        question.wait(started + query.deadline * FOR_THE_INDEX)
    loading = [world.executor.submit(question.load) for question in asked]
    answers = [
        _judged(q, f.result(), world, ranking or Ranking()) for q, f in zip(asked, loading, strict=True)
    ]
    return _together(answers, query.limit)


class _Asked:
    """The questions put to the stores of one scope, side by side, and what came back in time."""

    def __init__(self, query: Recall, opened: OpenScope, world: World) -> None:
        self.query, self.opened, self._world = query, opened, world
        self.hits: dict[str, float] = {}
        self.reasons: list[str] = []
        self.pending: list[Pending] = []
        self._chosen_at = 0  # the newest change that is known when the candidates are chosen
        self._owed = world.executor.submit(self._read_pending)
        self._proposed = world.executor.submit(self._search) if query.query.strip() else None

    def wait(self, until: float) -> None:
        """Take what the stores say until then; a late or failing index is a reason, not an error."""
        owed = self._owed.result()
        self.pending = [entry for entry in owed if entry.work is Work.PUT]
        self._chosen_at = max((entry.seq for entry in owed), default=0)
        if len(owed) == BACKLOG:
            self._is_behind()
        if self._proposed is None:
            return
        try:
            patience = max(0.0, until - self._world.clock.monotonic())
            self.hits = {hit.memory_id: hit.score for hit in self._proposed.result(patience)}
        except TimeoutError:
            self.reasons.append("knowledge_base_timeout")
        except SearchError as failure:
            self.reasons.append(failure.reason)

    @property
    def is_degraded(self) -> bool:
        """True if a store did not say all it might have."""
        return bool(self.reasons)

    def load(self) -> Snapshot:
        """The head and every candidate, in one consistent read.

        A candidate that was replaced since it was chosen leads to its successor: else a fact that is being
        corrected would be found neither as it was nor as it is.
        """
        wanted = self._candidates()
        snapshot = self._read(wanted)
        for _ in range(CHASES):
            missed = [i for i in self._successors(snapshot) if i not in wanted]
            if not missed:
                break
            wanted = [*missed, *wanted][:HYDRATED]
            snapshot = self._read(wanted)
        return snapshot

    def _read(self, memory_ids: Sequence[str]) -> Snapshot:
        return self.opened.ledger.read([HEAD, *map(memory_ref, memory_ids)])

    def _successors(self, snapshot: Snapshot) -> list[str]:
        return [m.superseded_by for m in snapshot.memories() if m.superseded_by and m.seq > self._chosen_at]

    def _candidates(self) -> list[str]:
        owed = self._best_pending()
        enough = self._proposed is not None and not self.is_degraded and not self.query.asks_when
        proposed = list(self.hits) if enough else self._recent()
        room = HYDRATED - min(len(owed), HYDRATED // 2)
        chosen = list(dict.fromkeys([*proposed[:room], *owed]))[:HYDRATED]
        if not set(owed) <= set(chosen):
            self._is_behind()
        return chosen

    def _is_behind(self) -> None:
        if INDEX_BACKLOG not in self.reasons:
            self.reasons.append(INDEX_BACKLOG)

    def as_known(self, memories: list[Memory]) -> list[Memory]:
        """The versions that were current at the time asked for.

        Now, what another names as replaced is not: a store reads place by place, and the change may have
        been committed between the two.
        """
        if self.query.known_at is None:
            replaced = {i for memory in memories for i in memory.supersedes}
            return [m for m in memories if m.id not in replaced or m.status is not Status.ACTIVE]
        return list(as_known(memories, self.query.known_at, self.opened).values())

    def _best_pending(self) -> list[str]:
        asked = query_words(self.query.query)
        texts = {p.memory_id: words(p.fact.content) for p in self.pending if p.fact}
        vocabulary = Vocabulary(texts.values())
        return sorted(texts, key=lambda i: (vocabulary.coverage(asked, texts[i]), i), reverse=True)

    def _recent(self) -> list[str]:
        page = self.opened.ledger.page(Area.MEMORY, limit=RECENT, newest_first=True)
        return [*self.hits, *(entry.id for entry in page if isinstance(entry, Memory))]

    def _read_pending(self) -> list[Pending]:
        page = self.opened.ledger.page(Area.PENDING, limit=BACKLOG, newest_first=True)
        return [entry for entry in page if isinstance(entry, Pending)]

    def _search(self) -> Sequence[Hit]:
        return self.opened.search.nearest(
            self.query.query,
            limit=min(100, max(50, 4 * self.query.limit)),
            live_only=not self.query.asks_when,
            timeout=self.query.deadline,
        )


@dataclass(frozen=True, slots=True)
class _Answer:
    items: list[Recalled]
    reasons: list[str]
    degraded: bool
    considered: int


def _judged(asked: _Asked, snapshot: Snapshot, world: World, ranking: Ranking) -> _Answer:
    now = world.clock.now()
    memories = [memory for memory in asked.as_known(snapshot.memories()) if asked.query.admits(memory, now)]
    spoken = {memory.id: words(memory.fact.content) for memory in memories}
    vocabulary, sought = Vocabulary(spoken.values()), query_words(asked.query.query)
    items = []
    for memory in memories:
        scores = Scores(
            semantic=asked.hits.get(memory.id),
            lexical=vocabulary.coverage(sought, spoken[memory.id]),
            recency=ranking.recency_of(memory, now),
            importance=float(memory.fact.importance),
        )
        item = Recalled(asked.opened, memory, scores.total(ranking), scores)
        if scores.is_relevant(ranking) and item.score >= asked.query.min_score:
            items.append(item)
    head = snapshot.get(HEAD)
    empty = [] if items else [NOTHING_RELEVANT if head and head.memories else SCOPE_EMPTY]
    return _Answer(items, [*asked.reasons, *empty], asked.is_degraded, len(memories))


def _together(answers: Sequence[_Answer], limit: int) -> Recollection:
    found = [item for answer in answers for item in answer.items]
    found.sort(key=lambda item: (item.score, item.memory.id), reverse=True)
    reasons = dict.fromkeys(reason for answer in answers for reason in answer.reasons)
    if found or NOTHING_RELEVANT in reasons:
        reasons.pop(SCOPE_EMPTY, None)
    if found:
        reasons.pop(NOTHING_RELEVANT, None)
    return Recollection(
        items=tuple(found[:limit]),
        reasons=tuple(reasons),
        degraded=any(answer.degraded for answer in answers),
        considered=sum(answer.considered for answer in answers),
    )
