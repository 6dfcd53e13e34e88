"""The WordPiece tokenizer of BERT base uncased.

Written out in plain Python, so that no tokenizer library is needed.
The rules are those of Devlin et al. (2018): clean, split off CJK and punctuation,
lower-case without accents, then the longest matching piece first.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from itertools import islice

START, END, UNKNOWN = "[CLS]", "[SEP]", "[UNK]"
# A longer word is not split but unknown, as in the reference implementation.
MAX_WORD_LENGTH = 100

_CJK_BLOCKS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
# ASCII symbols that Unicode does not class as punctuation, but BERT does.
_ASCII_SYMBOLS = frozenset("$+<=>^`|~")


class WordPiece:
    """Turns a text into the token ids of a vocabulary."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._ids = vocabulary

    def encode(self, text: str, limit: int) -> list[int]:
        """Token ids with start and end marks, cut to `limit`; the rest is not read."""
        pieces = list(islice(self._pieces(text), limit - 2))
        return [self._ids[piece] for piece in (START, *pieces, END)]

    def count(self, text: str) -> int:
        """How many tokens the text has, without the marks."""
        return sum(1 for _ in self._pieces(text))

    def _pieces(self, text: str) -> Iterator[str]:
        for word in _words(text):
            yield from self._split(word)

    def _split(self, word: str) -> list[str]:
        if len(word) > MAX_WORD_LENGTH:
            return [UNKNOWN]
        pieces: list[str] = []
        start = 0
        while start < len(word):
            piece = self._longest(word, start)
            if piece is None:
                return [UNKNOWN]
            pieces.append(piece)
            start += len(piece.removeprefix("##")) if start else len(piece)
        return pieces

    def _longest(self, word: str, start: int) -> str | None:
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            piece = prefix + word[start:end]
            if piece in self._ids:
                return piece
        return None


def _words(text: str) -> Iterator[str]:
    word: list[str] = []
    for character in unicodedata.normalize("NFD", text.lower()):
        if _is_dropped(character):
            continue
        if character.isspace() or _stands_alone(character):
            if word:
                yield "".join(word)
                word.clear()
            if not character.isspace():
                yield character
        else:
            word.append(character)
    if word:
        yield "".join(word)


def _is_dropped(character: str) -> bool:
    """Accents (they are combining marks after NFD), control characters, broken ones."""
    category = unicodedata.category(character)
    return category == "Mn" or character == "\ufffd" or (category[0] == "C" and not character.isspace())


def _stands_alone(character: str) -> bool:
    if character in _ASCII_SYMBOLS or unicodedata.category(character)[0] == "P":
        return True
    return any(first <= ord(character) <= last for first, last in _CJK_BLOCKS)
