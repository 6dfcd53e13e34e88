"""Words of any script, made comparable: what a query and a memory have in common."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

# What `\w` leaves out: the vowel signs and tone marks that tell Thai, Hindi or Tamil words apart.
_MARKS = "".join(
    chr(code)
    for code in (*range(0x0300, 0x1E00), *range(0xA660, 0xAC00))
    if unicodedata.category(chr(code))[0] == "M"
)
_WORD = re.compile(rf"[^\W_](?:[^\W_]|[{_MARKS}])*")
# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han, and Hangul by syllable.
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_BEYOND_ACCENTS = 0x0530  # below: Latin, Greek and Cyrillic, where a mark is an accent and not a vowel
_STOP = frozenset(
    (
        "a about an and any are as at be been but by can could did do does for from had has have he her his "
        "how i if in into is it its me my no not of on or our she should so some than that the their them "
        "then there these they this to us was we were what when where which who why will with would you your"
    ).split()
)
_SUFFIXES = (("ies", "y"), ("ing", ""), ("ed", ""), ("es", ""), ("s", ""), ("e", ""))
_SHORTEST_STEM = 3


def words(text: str) -> list[str]:
    """The comparable words of a text, in order; pairs of characters where a script has no spaces."""
    found: list[str] = []
    for word in _WORD.findall(_folded(text)):
        if _UNSPACED.search(word):
            found.extend(_pairs(word))
        else:
            found.append(_stem(word))
    return found


def query_words(text: str) -> frozenset[str]:
    """The words of a query that say something; all of them if none does."""
    meaningful = [word for word in _WORD.findall(_folded(text)) if word not in _STOP]
    return frozenset(words(" ".join(meaningful) if meaningful else text))


class Vocabulary:
    """How telling each word is among the texts at hand: rare words count more.

    The weight is the inverse document frequency of Robertson and Spärck Jones, kept positive as in
    Lucene: ln(1 + (N - n + 0.5) / (n + 0.5)).
    """

    def __init__(self, texts: Iterable[Sequence[str]]) -> None:
        sets = [frozenset(text) for text in texts]
        self._total = len(sets)
        self._having = Counter(word for text in sets for word in text)

    def coverage(self, query: frozenset[str], text: Iterable[str]) -> float:
        """The share of the query's weight that a text holds, 0 to 1: an absolute scale."""
        whole = sum(map(self._weight, query))
        held = sum(map(self._weight, query.intersection(text)))
        return held / whole if whole else 0.0

    def _weight(self, word: str) -> float:
        having = self._having[word]
        return math.log(1 + (self._total - having + 0.5) / (having + 0.5))


def _folded(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
    kept = []
    base = 0
    for character in decomposed:
        if unicodedata.category(character) != "Mn":
            base = ord(character)
        elif base < _BEYOND_ACCENTS:
            continue
        kept.append(character)
    return unicodedata.normalize("NFC", "".join(kept))


def _pairs(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)] or [word]


def _stem(word: str) -> str:
    """A light stem: enough to bring "lives" to "live"; rough on purpose, the same on both sides."""
    for suffix, instead in _SUFFIXES:
        if word.endswith(suffix) and len(word) - len(suffix) >= _SHORTEST_STEM:
            return word.removesuffix(suffix) + instead
    return word
