"""What must not be believed again, and the normal form under which a forgotten value is recognised.

Case, spacing, width, invisible characters, look-alikes of other scripts and final punctuation do not slip
by; values that differ beyond these stay different, in any script. A paraphrase is another value.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum

from unsay_core.domain.characters import BRAILLE_BLANK, DEFAULT_IGNORABLE
from unsay_core.domain.errors import WrongStatusError
from unsay_core.domain.look_alikes import read_words, stand_ins
from unsay_core.domain.memory import Reason

# Sentence_Terminal of the Unicode character database, which Python's unicodedata lacks, as inclusive ranges.
_SENTENCE_ENDS = (
    "! . ? \u0589 \u061d-\u061f \u06d4 \u0700-\u0702 \u07f9 \u0837 \u0839 \u083d-\u083e \u0964-\u0965 "
    "\u104a-\u104b \u1362 \u1367-\u1368 \u166e \u1735-\u1736 \u17d4-\u17d5 \u1803 \u1809 \u1944-\u1945 "
    "\u1aa8-\u1aab \u1b4e-\u1b4f \u1b5a-\u1b5b \u1b5e-\u1b5f \u1b7d-\u1b7f \u1c3b-\u1c3c \u1c7e-\u1c7f "
    "\u2024 \u203c-\u203d \u2047-\u2049 \u2cf9-\u2cfb \u2e2e \u2e3c \u2e53-\u2e54 \u3002 \ua4ff "
    "\ua60e-\ua60f \ua6f3 \ua6f7 \ua876-\ua877 \ua8ce-\ua8cf \ua92f \ua9c8-\ua9c9 \uaa5d-\uaa5f "
    "\uaaf0-\uaaf1 \uabeb \ufe12 \ufe15-\ufe16 \ufe52 \ufe56-\ufe57 \uff01 \uff0e \uff1f \uff61 "
    "\U00010a56-\U00010a57 \U00010f55-\U00010f59 \U00010f86-\U00010f89 \U00011047-\U00011048 "
    "\U000110be-\U000110c1 \U00011141-\U00011143 \U000111c5-\U000111c6 \U000111cd \U000111de-\U000111df "
    "\U00011238-\U00011239 \U0001123b-\U0001123c \U000112a9 \U000113d4-\U000113d5 \U0001144b-\U0001144c "
    "\U000115c2-\U000115c3 \U000115c9-\U000115d7 \U00011641-\U00011642 \U0001173c-\U0001173e \U00011944 "
    "\U00011946 \U00011a42-\U00011a43 \U00011a9b-\U00011a9c \U00011c41-\U00011c42 \U00011ef7-\U00011ef8 "
    "\U00011f43-\U00011f44 \U00016a6e-\U00016a6f \U00016af5 \U00016b37-\U00016b38 \U00016b44 "
    "\U00016d6e-\U00016d6f \U00016e98 \U0001bc9f \U0001da88"
)
# The rest of Terminal_Punctuation: what ends a clause, and in Greek (`;`) a question.
_CLAUSE_ENDS = (
    ", :-; \u037e \u0387 \u05c3 \u060c \u061b \u0703-\u070a \u070c \u07f8 \u0830-\u0835 \u0838 "
    "\u083a-\u083c \u085e \u0e5a-\u0e5b \u0f08 \u0f0d-\u0f12 \u1361 \u1363-\u1366 \u16eb-\u16ed \u17d6 "
    "\u17da \u1802 \u1804-\u1805 \u1808 \u1b5d \u1c3d-\u1c3f \u2e41 \u2e4c \u2e4e-\u2e4f \u3001 \ua4fe "
    "\ua60d \ua6f4-\ua6f6 \ua9c7 \uaadf \ufe50-\ufe51 \ufe54-\ufe55 \uff0c \uff1a-\uff1b \uff64 "
    "\U0001039f \U000103d0 \U00010857 \U0001091f \U00010af0-\U00010af5 \U00010b3a-\U00010b3f "
    "\U00010b99-\U00010b9c \U00011049-\U0001104d \U0001123a \U0001144d \U0001145a-\U0001145b "
    "\U000115c4-\U000115c5 \U00011aa1-\U00011aa2 \U00011c43 \U00011c71 \U00012470-\U00012474 \U00016b39 "
    "\U00016e97 \U0001da87 \U0001da89-\U0001da8a"
)
_ANNOTATION_MARKS = "\ufff9\ufffa\ufffb"


class TombstoneKind(StrEnum):
    """What must not come back: one id, or one value."""

    ID = "id"
    VALUE = "value"


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


def _characters(ranges: str) -> frozenset[str]:
    found: set[str] = set()
    for item in ranges.split(" "):
        first, last = item[0], item[-1]
        found.update(map(chr, range(ord(first), ord(last) + 1)))
    return frozenset(found)


def _unseen_controls() -> Iterable[str]:
    return (chr(code) for code in (*range(0x20), *range(0x7F, 0xA0)) if not chr(code).isspace())


_SENTENCE_END = _characters(_SENTENCE_ENDS)
_FINAL = _SENTENCE_END | _characters(_CLAUSE_ENDS)
_UNSEEN = str.maketrans(
    {
        **dict.fromkeys((*DEFAULT_IGNORABLE, *_ANNOTATION_MARKS, *_unseen_controls()), None),
        BRAILLE_BLANK: " ",
    }
)
_CLOSING_CATEGORIES = frozenset({"Pe", "Pi", "Pf"})  # Pi too: German closes with an English opening quote
_PLAIN_QUOTES = frozenset("\"'`")


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
    return _without_final_punctuation(" ".join(unicodedata.normalize("NFKC", shown).split()))


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


def _is_final(character: str, inside: bool) -> bool:
    ends = _SENTENCE_END if inside else _FINAL
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
