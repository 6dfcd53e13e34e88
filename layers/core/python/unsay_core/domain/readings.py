"""What else a value may say: looked for among the tombstones, and never written into one.

A character that is not seen may stand in a word or in place of a space, and a number, a sign or a picture
around a sentence may be its dress or a part of what it says. One form cannot decide that: with "likes 🍕"
and "likes 🍣" reduced to "likes", forgetting the one would forbid the other. So a tombstone keeps the value
whole, and a value is held against all that it may be: two that differ in their dress never meet, and one in
a dress meets the same without.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

from unsay_core.domain.characters import BRAILLE_BLANK, DEFAULT_IGNORABLE
from unsay_core.domain.tombstone import fold, normalise

# Unseen, and as wide as a space or put where words end: more likely to be one than the others.
_BLANKS = "\u115f\u1160\u3164\uffa0\u200b\u180e" + BRAILLE_BLANK
_HIDDEN = DEFAULT_IGNORABLE
_ALL_AS_SPACES = str.maketrans(dict.fromkeys((*_HIDDEN, BRAILLE_BLANK), " "))
_BLANKS_AS_SPACES = str.maketrans(dict.fromkeys(_BLANKS, " "))
_STRIKES = (0x334, 0x339), (0x488, 0x48A), (0x20D2, 0x20D4), (0x20D8, 0x20DB), (0x20DD, 0x20F1)
_ALPHABETS = 0x1F150, 0x1F170, 0x1F1E6  # light on dark, in circles and squares; of flags
_SMALL = "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"
_DRAWN = "ϲϹ⍺⍴℮੦٥ƽ×", "ccapeoosx"
# Strokes through letters and rings around them, letters that are no letters, and what looks like one.
_MASKS = str.maketrans(
    {
        **dict.fromkeys(code for first, end in _STRIKES for code in range(first, end)),
        ord("\ufffc"): None,  # where an object was
        **{first + at: chr(ord("a") + at) for first in _ALPHABETS for at in range(26)},
        **dict(zip(map(ord, _SMALL[0] + _DRAWN[0]), _SMALL[1] + _DRAWN[1], strict=True)),
    }
)
_NUMBER = re.compile(r"\d{1,3}(?:[.):]\)?|\u20e3)|[(\[]\d{1,3}[)\]][.:]?")  # of a list
_WORN = "*_~|^·•="  # signs that may touch the last word
_FIRST_PICTURE = "\u2190"  # before it there is `°`
LETTERS = 4  # that have to be left for the rest to be a dress; `C++` is no dressed `C`


def readings(value: str, form: str) -> tuple[str, ...]:
    """The forms a value is asked about beside its own, each once."""
    seen = [] if value.isascii() else [*_spaced(value), *_unmasked(value)]
    meant = dict.fromkeys([*seen, *map(_undressed, (form, *seen))])
    return tuple(other for other in meant if other and other != form)


def _spaced(value: str) -> Iterator[str]:
    """Its forms if what is not seen stands for spaces: all of it, or what is blank."""
    if _HIDDEN.isdisjoint(value):
        return
    yield normalise(value.translate(_ALL_AS_SPACES))
    yield normalise(value.translate(_BLANKS_AS_SPACES))


def _unmasked(value: str) -> Iterator[str]:
    """Its form without strokes through its letters, and with letters for what passes for them."""
    composed = unicodedata.normalize("NFC", value)  # `≠` is no struck `=`
    plain = composed.translate(_MASKS)
    if plain != composed:
        yield normalise(plain)


def _undressed(form: str) -> str:
    """A form without numbers, signs and pictures before and behind; as it is, if hardly a word is left."""
    words = form.split(" ")
    while words and (_NUMBER.fullmatch(words[0]) or _is_sign(words[0])):
        del words[0]
    end = len(words)
    while end and _is_sign(words[end - 1]):
        end -= 1
    bare = " ".join(words[:end] if end and _letters(words[end - 1]) >= LETTERS else words)
    start, end = _pictures(bare), len(bare) - _pictures(reversed(bare))
    bare = fold(bare[start:end])
    if _letters(bare.rpartition(" ")[2]) >= LETTERS:
        bare = fold(bare.rstrip(_WORN))
    return bare if _letters(bare) >= LETTERS else form


def _is_sign(word: str) -> bool:
    return all(unicodedata.category(character)[0] in "PS" for character in word)


def _pictures(characters: Iterable[str]) -> int:
    """How many characters at the beginning are pictures, or belong to them."""
    count = 0
    for character in characters:
        is_picture = unicodedata.category(character) in ("So", "Sk") and character > _FIRST_PICTURE
        if not is_picture and character != " ":
            break
        count += 1
    return count


def _letters(text: str) -> int:
    return sum(unicodedata.category(character)[0] in "LM" for character in text)
