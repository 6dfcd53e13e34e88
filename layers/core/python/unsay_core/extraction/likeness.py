"""How alike two statements are, by their words; and what keeps two from being one, however alike they are.

Token Jaccard: the words in common, as a share of all. Every word counts here, small ones too, for it is the
small ones that turn a statement round. Scripts without spaces are compared by pairs of characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TOKEN = re.compile(r"[\w'’]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
_DENIALS = frozenset(
    "not no never none nobody nothing cannot without nicht nie kein keine keinen keinem keiner niemand ohne "
    "ne pas jamais aucun sans nunca jamás nadie sin não nenhum sem non mai nessuno senza niet geen nooit "
    "zonder değil yok hiç không chưa δεν μη όχι не нет ни никогда без "
    "לא אין لا ليس لم لن لست ما नहीं न मत".split()
)
_DENYING_CHARACTERS = re.compile(r"[不没沒無无非未別别勿]|ない|なかっ|ません|안 |못|않|없")


def tokens(text: str) -> frozenset[str]:
    """The words of a statement, case and width folded."""
    return frozenset(part for token in _TOKEN.findall(_folded(text)) for part in _parts(token))


def likeness(one: frozenset[str], other: frozenset[str]) -> float:
    """Words in common, as a share of all: from 0 to 1."""
    return len(one & other) / len(one | other) if one | other else 0.0


def may_be_one(one: str, other: str) -> bool:
    """False for statements of which one denies what the other says, or that differ in a number."""
    return _denials(one) == _denials(other) and _numbers(one) == _numbers(other)


def groups(statements: Sequence[tuple[str, str]], threshold: float, most: int) -> list[list[str]]:
    """Which of these (id, statement) say nearly the same: each group's members are all alike, in order.

    Each is in one group at most; a group has `most` members at most, and what is alone is in none.
    """
    found: list[list[_Said]] = []
    placed: dict[str, list[list[_Said]]] = defaultdict(list)  # by word: where a statement with it may belong
    for name, text in statements:
        said = _Said(name, text, tokens(text))
        group = _group_for(said, placed, threshold, most)
        if group is None:
            group = []
            found.append(group)
            for word in said.words:
                placed[word].append(group)
        group.append(said)
    return [[said.name for said in group] for group in found if len(group) > 1]


@dataclass(frozen=True, slots=True)
class _Said:
    name: str
    text: str
    words: frozenset[str]

    def is_like(self, other: _Said, threshold: float) -> bool:
        return likeness(self.words, other.words) >= threshold and may_be_one(self.text, other.text)


def _group_for(
    said: _Said, placed: Mapping[str, list[list[_Said]]], threshold: float, most: int
) -> list[_Said] | None:
    """The first group all of which is like a statement; two with no word in common are never compared."""
    near = {id(group): group for word in said.words for group in placed.get(word, [])}
    for group in sorted(near.values(), key=lambda group: group[0].name):
        if len(group) < most and all(said.is_like(member, threshold) for member in group):
            return group
    return None


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
