"""The script a text is mostly written in, by the names Unicode gives its letters."""

from __future__ import annotations

import unicodedata
from collections import Counter

_JAPANESE = frozenset({"HIRAGANA", "KATAKANA", "CJK"})


def main_script(text: str) -> str:
    """`LATIN`, `CYRILLIC`, `CJK` …, kana and what is written with them being one; empty without letters."""
    found = Counter(_script(character) for character in text if character.isalpha())
    return found.most_common(1)[0][0] if found else ""


def _script(character: str) -> str:
    name = unicodedata.name(character, "").partition(" ")[0].removesuffix("-WIDTH")
    return "CJK" if name in _JAPANESE else name
