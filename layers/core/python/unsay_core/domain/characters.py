"""Characters that are there without being seen, and those that end what is said."""

from __future__ import annotations

from unsay_core.domain.confusables import PROPERTIES


def _having(unicode_property: str) -> frozenset[str]:
    ranges = [(item[0], item[-1]) for item in PROPERTIES[unicode_property].split(" ")]
    return frozenset(chr(code) for first, last in ranges for code in range(ord(first), ord(last) + 1))


DEFAULT_IGNORABLE = _having("Default_Ignorable_Code_Point")
SENTENCE_ENDS = _having("Sentence_Terminal")
CLAUSE_ENDS = _having("Terminal_Punctuation, the rest")  # and in Greek (`;`) of a question

# Looks like a space and is none to `str.isspace`, nor ignorable to Unicode.
BRAILLE_BLANK = "\u2800"
