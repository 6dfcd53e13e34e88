"""Where a quote stands in what was said: word for word, whatever the white space."""

from __future__ import annotations

import re
import unicodedata


def find_quote(text: str, quote: str) -> tuple[int, int] | None:
    """Where a quote lies in a text that is in NFC, as (start, end); None if it does not.

    It begins and ends with whole words: `art` is no quote from `party`.
    """
    words = unicodedata.normalize("NFC", quote).split()
    if not words:
        return None
    pattern = r"\s+".join(map(re.escape, words))
    for match in re.finditer(pattern, text):
        if _is_whole(text, match.start(), match.end()):
            return match.span()
    return None


def _is_whole(text: str, start: int, end: int) -> bool:
    before, first = text[start - 1 : start], text[start]
    last, after = text[end - 1], text[end : end + 1]
    return not (_joins(before, first) or _joins(last, after))


def _joins(left: str, right: str) -> bool:
    """True if two characters stand within one word, in a script that has spaces between words."""
    return left.isalnum() and right.isalnum() and not (_is_unspaced(left) or _is_unspaced(right))


def _is_unspaced(character: str) -> bool:
    code = ord(character)
    return (
        0x0E00 <= code <= 0x0EFF
        or 0x1000 <= code <= 0x109F
        or 0x1780 <= code <= 0x17FF
        or 0x3040 <= code <= 0x30FF
        or 0x3400 <= code <= 0x9FFF
    )
