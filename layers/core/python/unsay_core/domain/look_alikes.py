"""Characters of one script that pass for those of another, by Unicode's table of confusables.

Within a script what differs stays different: two letters of one alphabet never stand for the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from unsay_core.domain.confusables import LOOK_ALIKES, READINGS
from unsay_core.domain.values import dataclass

# Letters of the scripts that set words apart; Chinese, Japanese and Korean join theirs to those of others.
_WORD = re.compile(r"(?:(?![\u1100-\u11ff\u3040-\u9fff])[^\W\d_]|[\u0300-\u036f])+")
_LATIN = "LATIN"
_MICRO = re.compile("\u03bc[A-Za-z]{1,3}")  # a unit: µA is not mA, though a capital mu passes for M


def _pairs(table: str) -> dict[str, str]:
    return {pair[0]: pair[1] for pair in table.split()}


_STAND_INS = {one: other for table in LOOK_ALIKES.values() for one, other in _pairs(table).items()}
_TRANSLATION = str.maketrans(_STAND_INS)


@dataclass(frozen=True)
class _Script:
    """What the letters of a script look like in ASCII, and the other way round."""

    shows: dict[str, str]  # a letter, in its own case
    letters: dict[str, str]  # a letter of ASCII, in its own case: which of the script looks like it
    capitals: dict[str, str]  # a letter of either case: what its capital looks like, in lower case
    betraying: frozenset[str]  # small letters that pass for ASCII, but stand for themselves in a native word


def _script(table: str) -> _Script:
    shows = _pairs(table)
    letters: dict[str, str] = {}
    for letter, shown in shows.items():
        letters.setdefault(shown, letter)
    capitals = {letter: shown.lower() for shown, letter in letters.items() if shown.isupper()}
    return _Script(
        shows,
        letters,
        capitals | {letter.lower(): shown for letter, shown in capitals.items()},
        frozenset(letter for letter in shows if letter.islower() and letter not in _STAND_INS),
    )


_SCRIPTS = {name.upper(): _script(table) for name, table in READINGS.items()}
_SHOWS = {letter: shown for script in _SCRIPTS.values() for letter, shown in script.shows.items()}


def stand_ins(value: str) -> str:
    """Each character of a decomposed, case-folded value replaced by the one that stands for its class."""
    return value.translate(_TRANSLATION)


def read_words(value: str) -> str:
    """The words of a decomposed value, each in the letters of the one script it belongs to.

    Case matters here: a Greek capital nu passes for N, a small one for v. A word that is all of another
    script, and whose capitals all pass for Latin ones, is read as Latin in either case: so a name in Greek
    capitals is found, and the same name in small letters is still the same.
    """
    if value.isascii():
        return value
    whole = _belongs_to(value)
    return _WORD.sub(lambda match: _read(match[0], whole), value)


def _read(word: str, whole: str | None) -> str:
    """A word in the letters of the script that the whole text belongs to, or else the word by itself."""
    if word.isascii() or _MICRO.fullmatch(word):
        return word
    name = whole or _belongs_to(word)
    return word if name is None else _by_capitals(_spelt(word, name) or word, name)


def _belongs_to(text: str) -> str | None:
    """The script that has all letters of a text, or twins of them; of several the one that has more."""
    count = Counter(map(_script_name, filter(str.isalpha, text)))
    names = [name for name in count if name in _SCRIPTS] + [_LATIN] * (len(count) > 1)
    possible = [name for name in names if _spelt(text, name) is not None]
    return max(possible, key=lambda name: (_betrayed(text, name), count[name], name == _LATIN), default=None)


def _spelt(word: str, name: str) -> str | None:
    """A word with all its letters as those of one script; None if one of them has no twin there."""
    spelt: list[str] = []
    for character in word:
        twin = _twin(character, name) if character.isalpha() else character
        if twin is None:
            return None
        spelt.append(twin)
    return "".join(spelt)


def _twin(letter: str, name: str) -> str | None:
    if _script_name(letter) == name:
        return letter
    shown = _SHOWS.get(letter, letter)
    if name == _LATIN:
        return shown if shown.isascii() else None
    return _SCRIPTS[name].letters.get(shown)


def _betrayed(word: str, name: str) -> bool:
    return name in _SCRIPTS and not _SCRIPTS[name].betraying.isdisjoint(word)


def _by_capitals(word: str, name: str) -> str:
    letters = list(filter(str.isalpha, word))
    capitals = _SCRIPTS[name].capitals if name in _SCRIPTS else {}
    if len(letters) < 2 or not all(letter in capitals for letter in letters):
        return word
    return "".join(capitals.get(character, character) for character in word)


@lru_cache(maxsize=4096)
def _script_name(letter: str) -> str:
    """The first word of a letter's name: of the scripts in question, the script."""
    return unicodedata.name(letter, "").partition(" ")[0]
