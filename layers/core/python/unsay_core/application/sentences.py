"""Where sentences begin and end, in any script, without a model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_CLOSING = r"[\"'”’»)\]」』）】*_]*"
_END = re.compile(
    rf"(?P<spaced>[.!?…\u0589\u06d4\u061f\u037e]+{_CLOSING})(?=\s|$)"
    rf"|(?P<unspaced>[。！？｡।॥။៕።፧]+[”’」』）】]*)"
    r"|(?P<line>[\r\n]+)"
)
# Words that a full stop shortens, in the languages of the tests; an initial (`J.`) is one too.
_SHORTENED = frozenset(
    "dr mr mrs ms mx prof st vs jr sr mt ave approx dept fig vol vgl bzw ca usw str hr fr frl sra dra "
    "mme mlle gen col sgt capt lt rev hon gov ph e.g i.e z.b u.a d.h p.ej т.е т.к г ул".split()
)
_NUMBERED = frozenset("no nr núm num n art pp p".split())
_LAST_WORD = re.compile(r"[^\s(\[\"'“„«]+$")
_INITIAL = re.compile(r"[^\W\d_](?:\.[^\W\d_])*", re.UNICODE)
_QUESTION = re.compile(rf"[?？؟\u037e፧]+[!！]*{_CLOSING}\s*\Z")
_GREEK_QUESTION = re.compile(r"[\u0370-\u03ff].*;\s*\Z", re.DOTALL)


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """The sentences of a text as (start, end), without the white space around them; a line ends one."""
    start = 0
    for match in _END.finditer(text):
        if match["spaced"] and _is_shortened(text, start, match):
            continue
        yield from _trimmed(text, start, match.end() if not match["line"] else match.start())
        start = match.end()
    yield from _trimmed(text, start, len(text))


def sentence_around(text: str, start: int, end: int) -> str:
    """The sentences that a stretch of a text lies in."""
    found = [(a, b) for a, b in sentences(text) if a < end and b > start]
    return text[found[0][0] : found[-1][1]] if found else text[start:end]


def is_question(sentence: str) -> bool:
    """True if a sentence asks."""
    return bool(_QUESTION.search(sentence) or _GREEK_QUESTION.search(sentence))


def _is_shortened(text: str, start: int, match: re.Match[str]) -> bool:
    if match["spaced"].rstrip("\"'”’»)]") != ".":
        return False
    word = _LAST_WORD.search(text, start, match.start())
    last = word[0].casefold() if word else ""
    if last in _NUMBERED:
        return text[match.end() :].lstrip()[:1].isdigit()
    return last in _SHORTENED or _is_initial(word[0] if word else "")


def _is_initial(word: str) -> bool:
    """True for `J` and `J.R`: a capital alone, but not the English pronoun."""
    return word != "I" and word[:1].isupper() and bool(_INITIAL.fullmatch(word))


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    piece = text[start:end]
    first = start + len(piece) - len(piece.lstrip())
    last = start + len(piece.rstrip())
    if first < last:
        yield first, last
