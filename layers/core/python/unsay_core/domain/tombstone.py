"""What must not be believed again, and the normal form under which a forgotten value is recognised.

Case, spacing, width, invisible characters, look-alikes of other scripts, final punctuation and the marks
around a whole value (quotes, a bullet, emphasis) do not slip by; values that differ beyond these stay
different, in any script. A paraphrase is another value.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from enum import StrEnum

from unsay_core.domain.characters import BRAILLE_BLANK, CLAUSE_ENDS, DEFAULT_IGNORABLE, SENTENCE_ENDS
from unsay_core.domain.errors import WrongStatusError
from unsay_core.domain.look_alikes import read_words, stand_ins
from unsay_core.domain.memory import Reason
from unsay_core.domain.values import dataclass

_ANNOTATION_MARKS = "\ufff9\ufffa\ufffb"


class TombstoneKind(StrEnum):
    """What must not come back: one id, one value, or what a whole scope held until then."""

    ID = "id"
    VALUE = "value"
    SCOPE = "scope"


@dataclass(frozen=True, slots=True)
class Tombstone:
    """A refusal to believe again; holds a keyed digest, never text. `seq` is the last entry about it."""

    digest: str
    kind: TombstoneKind
    at: datetime
    actor: str
    reason: Reason
    erasure_id: str | None = None
    seq: int = 0
    hits: int = 0
    lifted: bool = False
    schema: int = 1

    def lift(self, seq: int) -> Tombstone:
        """Its value may be learned again; raises `WrongStatusError` if it may be already."""
        if self.lifted:
            raise WrongStatusError("this tombstone was lifted before")
        return replace(self, lifted=True, seq=seq)


def _unseen_controls() -> Iterable[str]:
    return (chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace())


_FINAL = SENTENCE_ENDS | CLAUSE_ENDS
_UNSEEN = str.maketrans(
    {
        **dict.fromkeys((*DEFAULT_IGNORABLE, *_ANNOTATION_MARKS, *_unseen_controls()), None),
        BRAILLE_BLANK: " ",
    }
)
_CLOSING_CATEGORIES = frozenset({"Pe", "Pi", "Pf"})  # Pi too: German closes with an English opening quote
_PLAIN_QUOTES = frozenset("\"'`")
_QUOTES = "\"'`„‚“”‘’«»‹›「」『』《》〈〉❝❞❛❜"
_EMPHASIS = "*_~"
# What stands before an item of a list, and has a word after it: `- 5` is a number, and `1. May` a day.
_BULLETS = re.compile(
    rf"\A(?:[-*+–—>#]+ |[•‣◦▪·→] ?|\[[ x]?\] |\d\d?\) )+(?=[{_EMPHASIS}{_QUOTES}]*[^\W\d_])"
)
_BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">", "【": "】"}
_QUOTE_AT_AN_EDGE = re.compile(rf"(?<!\w)[{_QUOTES}]|[{_QUOTES}](?!\w)")


def normalise(value: str) -> str:
    """The normal form of a value; empty only for what shows nothing.

    Words are read first, in the letters as they came: later they have lost their case.
    """
    return fold(read_words(_decomposed(value)))


def fold(value: str) -> str:
    """Everything of the normal form that does not look at words; idempotent.

    It is applied to its own output until nothing changes: folding, composing and dropping each give the
    others new work, and a second pass must not bring two values together that the first kept apart.
    """
    while (folded := _once(value)) != value:
        value = folded
    return folded


def _once(value: str) -> str:
    shown = stand_ins(_decomposed(value.casefold()))
    return _bare(_without_final_punctuation(" ".join(unicodedata.normalize("NFKC", shown).split())))


def _decomposed(value: str) -> str:
    return unicodedata.normalize("NFKD", value.translate(_UNSEEN)).translate(_UNSEEN)


def _without_final_punctuation(value: str) -> str:
    """Drop what ends the last sentence or clause, before closing quotes and brackets too.

    The quotes and brackets stay, for `6"` is not `6'`; and only the end of a sentence goes from inside
    them, for `:)` is not `;)`. A value of punctuation alone keeps it all.
    """
    closers: list[str] = []
    end = len(value)
    while end and _is_final(value[end - 1], bool(closers)):
        end -= 1
        if _closes(value[end]):
            closers.append(value[end])
    if _only_punctuation(value[:end]):
        return value
    return value[:end] + "".join(reversed(closers))


def _bare(value: str) -> str:
    """Without bullets before the whole value, or emphasis, brackets or quotes around it.

    Emphasis and brackets are of several words, for `__init__` is a name; quotes within are those of a part.
    """
    value = _BULLETS.sub("", value)
    mark, inner = _around(value, _EMPHASIS)
    if mark and mark not in inner and _is_phrase(inner):
        return inner
    opening, closing = value[:1], _BRACKETS.get(value[:1])
    if closing and value.endswith(closing) and value.count(opening) == value.count(closing) == 1:
        return value[1:-1] if _is_phrase(value[1:-1]) else value
    mark, inner = _around(value, _QUOTES)
    if mark and not _QUOTE_AT_AN_EDGE.search(inner) and not _only_punctuation(inner):
        return inner
    return value


def _is_phrase(value: str) -> bool:
    return " " in value.strip() == value


def _around(value: str, marks: str) -> tuple[str, str]:
    """The marks that a value starts with, if it ends with as many, and what is between."""
    inner = value.strip(marks)
    before = value[: len(value) - len(value.lstrip(marks))]
    is_closed = len(value) == len(inner) + 2 * len(before)
    return (before, inner) if inner and is_closed else ("", value)


def _is_final(character: str, inside: bool) -> bool:
    ends = SENTENCE_ENDS if inside else _FINAL
    return character == " " or character in ends or _closes(character)


def _closes(character: str) -> bool:
    return character in _PLAIN_QUOTES or unicodedata.category(character) in _CLOSING_CATEGORIES


def _only_punctuation(value: str) -> bool:
    return all(unicodedata.category(character)[0] in "PZ" for character in value)


Normaliser = Callable[[str], str]

# Every normaliser that ever wrote a tombstone, by version, which is part of the digest: a change to what
# `normalise` answers comes as a new version beside the old function, which stays as it was.
NORMALISERS: Mapping[int, Normaliser] = {1: normalise}
NORMALISER = max(NORMALISERS)
