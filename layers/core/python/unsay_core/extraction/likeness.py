"""How alike two statements are, by their words; and what keeps two from being one, however alike they are.

Token Jaccard: the words in common, as a share of all. Every word counts here, small ones too, for it is the
small ones that turn a statement round. Scripts without spaces are compared by pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_TOKEN = re.compile(r"[\w'’]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_DENIALS = frozenset(
    "not no never none nobody nothing cannot without nicht nie kein keine keinen keinem keiner niemand ohne "
    "ne pas jamais aucun sans nunca jamás nadie sin não nenhum sem non mai nessuno senza niet geen nooit "
    "zonder değil yok hiç không chưa δεν μη όχι не нет ни никогда без "
    "לא אין لا ليس لم لن لست ما नहीं न मत".split()
)
_DENYING_CHARACTERS = re.compile(r"[不没沒無无非未別别勿]|ない|なかっ|ません|안 |못|않|없")


Cosines: TypeAlias = "Callable[[str, str], Mapping[str, float]]"
LEAST = 0.5  # share of words in common below which no vector makes two statements one
MOST_MEMBERS = 8  # of one group


@dataclass(frozen=True, slots=True)
class Measure:
    """When two statements are near duplicates: by `words` in common, as a share of all, or by their vectors.

    What only the `cosine` calls alike has half of its words in common at least, and the longer one says all
    that the shorter one says; so it is by words too, where `whole`: then nothing is lost with the shorter.
    """

    words: float
    cosine: float | None = None
    whole: bool = False


def tokens(text: str) -> frozenset[str]:
    """The words of a statement, case and width folded."""
    return frozenset(_in_order(text))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Words in common, as a share of all: from 0 to 1."""
    return len(one & other) / len(one | other) if one | other else 0.0


def may_be_one(one: str, other: str) -> bool:
    """False for two of which one denies what the other says, that differ in a number, or in who does what."""
    if _denials(one) != _denials(other) or _numbers(one) != _numbers(other):
        return False
    first, second = _in_order(one), _in_order(other)
    common = set(first) & set(second)
    return _first_of(first, common) == _first_of(second, common)


def says_all(longer: str, shorter: str) -> bool:
    """True if every word of the shorter statement stands in the longer one, in the same order."""
    left = iter(_in_order(longer))
    return all(word in left for word in _in_order(shorter))


def groups(
    statements: Sequence[tuple[str, str]], measure: Measure, cosines: Cosines | None = None
) -> list[list[str]]:
    """Which of these (id, statement) say nearly the same: each group's members are all alike, in order.

    Each is in one group at most; a group has `MOST_MEMBERS` at most, and what is alone is in none. `cosines`
    tells how near the vector of a statement is to others, by their ids; it is asked where words do not tell.
    """
    said = [_Said(name, text, tokens(text)) for name, text in statements]
    judge = _Judge(measure, cosines)
    rarity = Counter(word for each in said for word in each.words)
    found: list[list[_Said]] = []
    placed: dict[str, list[list[_Said]]] = defaultdict(list)
    for each in said:
        rare = judge.rare_words(each, rarity)
        near = {id(group): group for word in rare for group in placed.get(word, [])}
        ordered = sorted(near.values(), key=lambda group: group[0].name)
        group = next((group for group in ordered if judge.takes(group, each)), None)
        if group is None:
            group = []
            found.append(group)
            for word in rare:
                placed[word].append(group)
        group.append(each)
    return [[each.name for each in group] for group in found if len(group) > 1]


@dataclass(frozen=True, slots=True)
class _Said:
    name: str
    text: str
    words: frozenset[str]


class _Judge:
    """Whether two statements are near duplicates by a measure."""

    def __init__(self, measure: Measure, cosines: Cosines | None) -> None:
        self._measure = measure
        self._cosines = cosines if measure.cosine is not None else None
        self._least = min(measure.words, LEAST) if self._cosines else measure.words

    def rare_words(self, said: _Said, rarity: Mapping[str, int]) -> list[str]:
        """The rarest words of a statement: two that have enough in common share one of these.

        All but a share of `least` may be missing of the words, and the first of those that are not is here.
        """
        ordered = sorted(said.words, key=lambda word: (rarity[word], word))
        return ordered[: len(ordered) - ceil(self._least * len(ordered)) + 1]

    def takes(self, group: Sequence[_Said], said: _Said) -> bool:
        """True if a group has room, and all of it is like a statement."""
        return len(group) < MOST_MEMBERS and all(self._are_alike(member, said) for member in group)

    def _are_alike(self, one: _Said, other: _Said) -> bool:
        share = likeness(one.words, other.words)
        if share < self._least or not may_be_one(one.text, other.text):
            return False
        longer, shorter = sorted((one, other), key=lambda said: -len(said.text))
        if share >= self._measure.words:
            return not self._measure.whole or says_all(longer.text, shorter.text)
        return says_all(longer.text, shorter.text) and self._is_near(one, other)

    def _is_near(self, one: _Said, other: _Said) -> bool:
        near = self._cosines(other.name, other.text) if self._cosines else {}
        return near.get(one.name, 0.0) >= (self._measure.cosine or 1)


def _in_order(text: str) -> list[str]:
    return [part for token in _TOKEN.findall(_folded(text)) for part in _parts(token)]


def _first_of(words: Sequence[str], wanted: set[str]) -> list[str]:
    """These words, each where it comes first."""
    return list(dict.fromkeys(word for word in words if word in wanted))


def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def _parts(token: str) -> list[str]:
    if not _UNSPACED.search(token) or len(token) == 1:
        return [token]
    return [token[at : at + 2] for at in range(len(token) - 1)]


def _denials(text: str) -> int:
    folded = _folded(text)
    words: int = sum(token in _DENIALS or token.endswith("n't") for token in _TOKEN.findall(folded))
    return words + len(_DENYING_CHARACTERS.findall(folded))


def _numbers(text: str) -> list[str]:
    return sorted(re.findall(r"\d+(?:[.,:/-]\d+)*", unicodedata.normalize("NFKC", text)))
