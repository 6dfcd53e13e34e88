"""English word stems, after M. F. Porter, "An algorithm for suffix stripping" (1980).

Applied to every word of plain Latin letters, whatever its language: a stem need not be a word, only the same
on both sides, and what English endings do to words of other languages merges few of them.
"""

from __future__ import annotations

import re
from functools import lru_cache

_DOUBLE = re.compile(r"([^aeiou])\1$")
_SHORTEST = 3  # letters; shorter words are their own stems
_KEPT = 4096

_DERIVED = {  # the longest ending that fits is replaced where something of a word remains
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble",
    "alli": "al", "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate",
    "alism": "al", "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive",
    "biliti": "ble", "logi": "log",
}  # fmt: skip
_ADJECTIVES = {
    "icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": "",
}  # fmt: skip
_LAST = dict.fromkeys(
    (
        "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
    ).split(),
    "",
)  # fmt: skip


@lru_cache(_KEPT)
def stem(word: str) -> str:
    """The stem of a word in small letters a to z."""
    if len(word) < _SHORTEST:
        return word
    word = _without_plural(word)
    word = _without_tense(word)
    if word.endswith("y") and _has_vowel(word[:-1]):
        word = word[:-1] + "i"
    word = _replaced(word, _DERIVED, 0)
    word = _replaced(word, _ADJECTIVES, 0)
    word = _replaced(word, _LAST, 1)
    return _tidied(word)


def _without_plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _without_tense(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        rest = word.removesuffix(ending)
        if rest != word and _has_vowel(rest):
            return _restored(rest)
    return word


def _restored(rest: str) -> str:
    """What stood before "-ed" or "-ing": "hop" of "hopping", "hope" of "hoping"."""
    if rest.endswith(("at", "bl", "iz")):
        return rest + "e"
    if _DOUBLE.search(rest) and not rest.endswith(("l", "s", "z")):
        return rest[:-1]
    return rest + "e" if _measure(rest) == 1 and _is_short(rest) else rest


def _replaced(word: str, endings: dict[str, str], least: int) -> str:
    ending = max((e for e in endings if word.endswith(e)), key=len, default="")
    rest = word.removesuffix(ending)
    if not ending or _measure(rest) <= least or (ending == "ion" and not rest.endswith(("s", "t"))):
        return word
    return rest + endings[ending]


def _tidied(word: str) -> str:
    if word.endswith("e"):
        rest = word[:-1]
        if _measure(rest) > 1 or (_measure(rest) == 1 and not _is_short(rest)):
            word = rest
    return word[:-1] if word.endswith("ll") and _measure(word) > 1 else word


def _letters(word: str) -> str:
    """The word with every vowel as `a` and every other letter as `b`; y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        is_vowel = letter in "aeiou" or (letter == "y" and shape.endswith("b"))
        shape += "a" if is_vowel else "b"
    return shape


def _measure(word: str) -> int:
    """Porter's m: how often a vowel is followed by a consonant."""
    return _letters(word).count("ab")


def _has_vowel(word: str) -> bool:
    return "a" in _letters(word)


def _is_short(word: str) -> bool:
    """True if it ends as "hop" does: consonant, vowel, consonant other than w, x, y."""
    return _letters(word).endswith("bab") and word[-1] not in "wxy"
