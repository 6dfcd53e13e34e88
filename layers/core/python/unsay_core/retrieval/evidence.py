"""What the words of a query find in one scope: how much speaks for each memory, 0 to 1.

A memory is seldom alone. What was said right before and after it, the question it answers and the whole of
its conversation say what it is about, and all of that follows from where each word stands: the postings of
the query's words are enough, and no text is stored twice.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from unsay_core.domain.values import dataclass
from unsay_core.retrieval.lexicon import rarity
from unsay_core.retrieval.postings import (
    ASKS,
    LEADS,
    LIVE,
    MOST_COUNTED,
    SIZE,
    length_and_traits,
    run_of,
    said,
    unpack,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MOST_READ = 1000  # postings looked at for one query; the rarest words' come first
_LONGEST_RUN = 1024  # places; beyond, what stands far out does not say how long a conversation is


@dataclass(frozen=True, slots=True)
class Weights:
    """How much each sort of evidence for a word of the query counts.

    `own`: the memory says it. `near`: it stands within two places of the memory in its conversation. `asked`:
    the question right before the memory says it. `run`: the conversation says it anywhere, where words
    that few conversations have count. `lead` is added where the query names who speaks. Each grows
    with every further mention and levels off: at one mention, or two nearby, half of it is reached. A long
    memory needs more mentions, to the share `by_length` in proportion to `usual_length` words.
    """

    own: float = 0.32
    near: float = 0.45
    asked: float = 0.36
    run: float = 0.87
    lead: float = 0.04
    usual_length: float = 15.0
    by_length: float = 0.3


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a query as the index knows it: how many memories have it, and the newest of these."""

    total: int = 0
    packed: bytes = b""


class _Word:
    """A word of the query: its weight, and how often it stands at each place that was looked at.

    `in_runs` is its weight among conversations, once these have been counted.
    """

    __slots__ = ("at", "in_runs", "name", "packed", "total", "weight")

    def __init__(self, name: bytes, term: Term, memories: int) -> None:
        self.name, self.total, self.packed = name, term.total, term.packed
        self.weight = rarity(term.total, memories)
        self.in_runs = 0.0
        self.at: dict[int, int] = {}


class _Found:
    """A memory that has a word of the query; `own` is the evidence in its own text."""

    __slots__ = ("leads", "length", "own", "place")

    def __init__(self, place: int, length: int) -> None:
        self.place, self.length = place, length
        self.own = 0.0
        self.leads = False


class Evidence:
    """The evidence for one query in a scope of `memories` memories, by the query's words."""

    def __init__(
        self,
        terms: Mapping[bytes, Term],
        memories: int,
        *,
        live_only: bool = True,
        weights: Weights | None = None,
    ) -> None:
        self._weights = weights = weights or Weights()
        self._memories = max(1, memories, *(term.total for term in terms.values()))
        words = [_Word(name, term, self._memories) for name, term in terms.items()]
        self._words = sorted(words, key=lambda word: (word.total, word.name))
        self._whole = sum(word.weight for word in words) or 1.0
        fixed, each = 1 - weights.by_length, weights.by_length / weights.usual_length
        self._half = [fixed + each * length for length in range(MOST_COUNTED + 1)]
        self._found: dict[bytes, _Found] = {}
        self._asking: set[int] = set()
        self._runs: dict[int, float] | None = None
        self._is_cut = False
        self._read(LIVE if live_only else 0)

    def best(self, most: int) -> dict[bytes, float]:
        """The memories that most speaks for, best first, by a rough measure: mentions nearby just add up."""
        runs, said = self._by_run(), dict[int, float]()
        near = self._weights.near / 2
        own, run = self._weights.own + near, self._weights.run
        get = said.get
        for found in self._found.values():
            if found.own > get(found.place, 0.0):
                said[found.place] = found.own
        rough = [
            (
                own * found.own
                + run * runs[(place := found.place) >> 32]
                + near * (get(place - 1, 0.0) + get(place + 1, 0.0))
                + near * 0.7 * (get(place - 2, 0.0) + get(place + 2, 0.0)),
                memory,
            )
            for memory, found in self._found.items()
        ]
        rough.sort(reverse=True)
        return {memory: score / self._whole for score, memory in rough[:most]}

    def add(self, memory: bytes, place: int, wording: bytes) -> None:
        """Take in a memory that the index does not hold yet, or rightly, with its packed wording."""
        length, traits = length_and_traits(wording)
        words, found = said(wording), _Found(place, length)
        self._found.pop(memory, None)
        for word in self._words:
            times, leads = words.get(word.name, (0, 0))
            if times:
                self._found[memory] = found
                word.at[place] = word.at.get(place, 0) + times
                found.own += word.weight * times / (times + self._half[length])
                found.leads = found.leads or bool(leads)
        if traits & ASKS:
            self._asking.add(place)
        self._runs = None

    def of(self, memory: bytes, place: int) -> float:
        """How much speaks for a memory at a place, 0 to 1: the share of the query's weight that is found."""
        weights, found = self._weights, self._found.get(memory)
        own, lead = (found.own, weights.lead * found.leads) if found else (0.0, 0.0)
        near, asked = self._around(place)
        run = self._by_run().get(run_of(place), 0.0)
        known = weights.own * own + weights.near * near + weights.asked * asked + weights.run * run
        return min(1.0, known / self._whole + lead)

    def of_text(self, length: int, said: Mapping[bytes, int]) -> float:
        """How much speaks for a text of so many words that stands alone, 0 to 1, by the words it has."""
        self._by_run()
        weights, half, known = self._weights, self._half[min(length, MOST_COUNTED)], 0.0
        for word in self._words:
            if times := said.get(word.name, 0):
                known += weights.own * word.weight * times / (times + half)
                known += weights.near * word.weight * times / (times + 2)
                known += weights.run * word.in_runs * times / (times + 1)
        return min(1.0, known / self._whole)

    def overlooks(self, memory: bytes) -> bool:
        """True of what may have words of the query and was beyond the postings that were looked at."""
        return self._is_cut and memory not in self._found

    def _read(self, needed: int) -> None:
        """Look at the postings, the rarest words' first; those without the needed traits are passed over."""
        left, known, half = MOST_READ, self._found, self._half
        for word in self._words:
            at, weight = word.at, word.weight
            packed = word.packed[: left * SIZE]
            left -= len(packed) // SIZE
            self._is_cut = self._is_cut or word.total > len(packed) // SIZE
            for memory, place, count, length, traits in unpack(packed):
                if traits & needed != needed:
                    continue
                at[place] = at.get(place, 0) + count
                found = known.get(memory)
                if found is None:
                    found = known[memory] = _Found(place, length)
                    if traits & ASKS:
                        self._asking.add(place)
                found.own += weight * count / (count + half[length])
                if traits & LEADS:
                    found.leads = True

    def _around(self, place: int) -> tuple[float, float]:
        near = asked = 0.0
        before = place - 1 if place - 1 in self._asking else None
        for word in self._words:
            if not word.at:
                continue
            get = word.at.get
            count = (
                get(place, 0) + get(place - 1, 0) + get(place + 1, 0) + get(place - 2, 0) + get(place + 2, 0)
            )
            if count:
                near += word.weight * count / (count + 2)
                if before is not None:
                    said = get(before, 0)
                    asked += word.weight * said / (said + 1)
        return near, asked

    def _by_run(self) -> dict[int, float]:
        """The evidence in each conversation that has a word of the query."""
        if self._runs is None:
            runs = self._number_of_runs()
            self._runs = {}
            for word in self._words:
                self._count_runs(word, runs, self._runs)
        return self._runs

    def _count_runs(self, word: _Word, runs: float, scores: dict[int, float]) -> None:
        counts = Counter([place >> 32 for place in word.at])
        for place, count in word.at.items():
            if count > 1:
                counts[place >> 32] += count - 1
        unseen = max(1.0, word.total / max(1, len(word.at)))
        word.in_runs = weight = rarity(min(runs, max(1, len(counts)) * unseen), runs)
        for run, count in counts.items():
            scores[run] = scores.get(run, 0.0) + weight * count / (count + 1)

    def _number_of_runs(self) -> float:
        """About how many conversations there are, each as long as those that were looked at."""
        places = set[int]().union(*(word.at for word in self._words))
        runs = len({place >> 32 for place in places})
        if runs == len(places):
            return float(max(runs, self._memories))
        first = {place >> 32: place for place in sorted(places, reverse=True)}
        last = {place >> 32: place for place in sorted(places)}
        length = sum(min(last[run] - first[run] + 1, _LONGEST_RUN) for run in last) / runs
        return max(runs, self._memories / length)


def terms_of(words: Iterable[bytes], wordings: Iterable[bytes]) -> dict[bytes, Term]:
    """What can be said of a query's words where no index is asked: how many of some texts have them."""
    having = Counter(word for wording in wordings for word in said(wording))
    return {word: Term(having[word]) for word in words}
