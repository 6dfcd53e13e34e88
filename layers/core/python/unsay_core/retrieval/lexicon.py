"""Words of any script, made comparable: what a query and a memory have in common."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from unsay_core.domain.values import dataclass
from unsay_core.retrieval.function_words import telling
from unsay_core.retrieval.stemming import stem

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping

# Possessive, and begun once in a run of letters: a long word without a hump is looked at once.
_CAMEL = re.compile(r"(?:[A-Z]|(?<![a-z]))[a-z]++[0-9]*+[A-Z][A-Za-z0-9]*+")
_HUMP = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
# Scripts written without spaces: Thai, Lao, Myanmar, Khmer, kana, Han, and Hangul by syllable.
_HAN = "\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = rf"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\uac00-\ud7af{_HAN}]"
# Plain text, as `re` compiles it when first asked for: most processes see no such script.
_STRETCH = rf"(?s){_UNSPACED}+|(?:(?!{_UNSPACED}).)+"
_IDEOGRAPH = rf"[{_HAN}]"
_PLAIN = re.compile(r"[a-z]+")
_BEYOND_ACCENTS = 0x0530  # below: Latin, Greek and Cyrillic, where a mark is an accent and not a vowel
_CONTRACTED = frozenset({"s", "m", "d", "re", "ve", "ll"})
_ELIDED = 2  # letters at most of what an apostrophe cuts short: `l'`, `d'`, `qu'`
_LONGEST = 64  # characters of a joined word that is kept whole, beside its parts
# Who says it, as transcripts write: "Anna: …", also after a date or time in brackets.
_LABEL = re.compile(r"\s*(?:[\[(][^\])\n]{1,40}[\])]\s*)?([^:：\n]{1,40})(?::\s|：)")
_ASKING = "?？؟"


@cache
def _forms(*, is_ascii: bool) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A word or what is written as one (`user_id`, `C:\\repo\\main.py`, `e-mail`, `don't`); and a word.

    ASCII has none of the marks that `\\w` leaves out, and is sooner read without them.
    """
    word = r"[^\W_]+" if is_ascii else rf"[^\W_](?:[^\W_]|[{_marks()}])*"
    return re.compile(rf"{word}(?:[_./\\:@#'’+-]{{1,2}}{word})*"), re.compile(word)


def _marks() -> str:
    """The vowel signs and tone marks that tell Thai, Hindi or Tamil words apart."""
    codes = (*range(0x0300, 0x1E00), *range(0xA660, 0xAC00))
    return "".join(chr(code) for code in codes if unicodedata.category(chr(code))[0] == "M")


def words(text: str) -> list[str]:
    """The comparable words of a text, in order, without those that say little in a known language.

    Scripts without spaces give pairs of characters, and ideographs also single ones; what is joined, as an
    identifier or a path, its parts and the whole.
    """
    found: list[str] = []
    folded = _folded(text)
    joined_words, _ = _forms(is_ascii=folded.isascii())
    for joined in joined_words.findall(folded):
        found.extend(_split(joined))
    for camel in _CAMEL.findall(text):
        found.extend(part.casefold() for part in _HUMP.findall(camel))
    return [word for part in telling(found) for word in _comparable(part)]


def query_words(text: str) -> frozenset[str]:
    """The words of a query that say something; all of them if none does."""
    return frozenset(words(text))


@dataclass(frozen=True, slots=True)
class Wording:
    """What a text is found by: how often it has each word, and what it is as a turn of a conversation.

    `lead` are the words that name who speaks. `asks` is true of a question: what follows may answer it.
    """

    counts: Mapping[str, int]
    lead: frozenset[str]
    asks: bool

    @property
    def length(self) -> int:
        """In words."""
        return sum(self.counts.values())

    @classmethod
    def of(cls, text: str) -> Wording:
        """The wording of a text."""
        label = _LABEL.match(text)
        return cls(
            counts=Counter(words(text)),
            lead=frozenset(words(label[1])) if label else frozenset(),
            asks=text.rstrip().endswith(tuple(_ASKING)),
        )


class Vocabulary:
    """How telling each word is among the texts at hand: rare words count more.

    The weight is the inverse document frequency of Robertson and Spärck Jones, kept positive as in
    Lucene: ln(1 + (N - n + 0.5) / (n + 0.5)).
    """

    def __init__(self, texts: Iterable[Iterable[Hashable]]) -> None:
        sets = [frozenset(text) for text in texts]
        self._total = len(sets)
        self._having = Counter(word for text in sets for word in text)

    def coverage(self, query: frozenset[Hashable], text: Iterable[Hashable]) -> float:
        """The share of the query's weight that a text holds, 0 to 1: an absolute scale."""
        whole = sum(map(self._weight, query))
        held = sum(map(self._weight, query.intersection(text)))
        return held / whole if whole else 0.0

    def _weight(self, word: Hashable) -> float:
        return rarity(self._having[word], self._total)


def rarity(having: float, total: float) -> float:
    """How telling a word is that `having` of `total` have."""
    return math.log(1 + max(0.0, total - having + 0.5) / (having + 0.5))


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
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


def _split(joined: str) -> list[str]:
    """A joined word's parts, and itself where it is more than they are."""
    if joined.isalnum():
        return [joined]
    bare = _without_apostrophes(joined)
    _, word = _forms(is_ascii=bare.isascii())
    parts = word.findall(bare)
    is_spaced = bare.isascii() or not re.search(_UNSPACED, bare)
    return [*parts, bare] if 1 < len(parts) and len(bare) <= _LONGEST and is_spaced else parts


def _without_apostrophes(joined: str) -> str:
    """What stands for "Anna's" is Anna, for "l'avion" avion, for "don't" dont."""
    before, apostrophe, after = joined.replace("’", "'").partition("'")
    if not apostrophe or after in _CONTRACTED:
        return before
    return after.replace("'", "") if len(before) <= _ELIDED else before + after.replace("'", "")


def _comparable(part: str) -> list[str]:
    if part.isascii():
        return [stem(part) if _PLAIN.fullmatch(part) else part]
    return [word for stretch in re.findall(_STRETCH, part) for word in _of_stretch(stretch)]


def _of_stretch(stretch: str) -> list[str]:
    if re.match(_UNSPACED, stretch):
        return [*_pairs(stretch), *(re.findall(_IDEOGRAPH, stretch) if len(stretch) > 1 else ())]
    return [stem(stretch) if _PLAIN.fullmatch(stretch) else stretch]


def _pairs(word: str) -> list[str]:
    return [word[at : at + 2] for at in range(len(word) - 1)] or [word]
