"""Writes `unsay_core/domain/confusables.py`: characters taken for one another, or not seen, or final.

    uv run --no-project --with icukit-pyicu==78.3.1 python tools/look_alikes.py

The data are Unicode's confusables (UTS #39), which ICU carries: its skeleton of a single character is that
character's line in `confusables.txt`. What of them is right for values, and why, is in
`docs/adr/look-alikes-across-scripts.md`. Run it for a new Unicode version only together with a new version
of the normaliser: tombstones are found by what the table said when they were written.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import icu

TARGET = Path(__file__).parents[1] / "layers/core/python/unsay_core/domain/confusables.py"

# Unicode's types of characters that everyday writing does not need: these may stand for ASCII in Latin too.
OUT_OF_USE = {icu.UIdentifierType.OBSOLETE, icu.UIdentifierType.TECHNICAL}
RECOMMENDED = icu.UIdentifierType.RECOMMENDED
# Romanian is written with either, and no language tells them apart: comma below, cedilla.
SAME_WRITING = {"\u0326": "\u0327"}
# Its letters are Latin capitals, turned and mirrored too.
OF_CAPITALS = "Lisu"
HANGUL_JAMO = {*range(0x1100, 0x1200), *range(0xA960, 0xA980), *range(0xD7B0, 0xD800)}

LINE = 110

CHECKER = icu.SpoofChecker()
DECOMPOSE = icu.Normalizer2.getNFKDInstance().normalize

Pairs = dict[str, str]
Tables = dict[str, Pairs]
Class = tuple[str, tuple[str, ...]]  # what its members look like, and of which kind they are


def skeleton(character: str) -> str:
    """What Unicode says it looks like; itself if it is the model, empty if nobody sees it."""
    return str(CHECKER.getSkeleton(0, character))


def script(character: str) -> str:
    """The script it belongs to; "Common" and "Inherited" for what all scripts share."""
    return str(icu.Script.getScript(character).getName())


def types(character: str) -> set[int]:
    """Its identifier types: whether it is in use, technical, obsolete."""
    return set(icu.Char.getIDTypes(ord(character)))


def is_ascii_letter(text: str) -> bool:
    """Whether a skeleton is a single one of A to Z, a to z."""
    return len(text) == 1 and text.isascii() and text.isalpha()


def case_folded(character: str) -> str:
    """Its form after case folding."""
    return str(icu.UnicodeString(character).foldCase())


def candidates() -> list[str]:
    """Every visible character that compatibility decomposition leaves as it is."""
    codes = (code for code in range(0x110000) if code not in HANGUL_JAMO and not 0xD800 <= code < 0xE000)
    seen = (c for c in map(chr, codes) if icu.Char.isdefined(c) and not c.isspace() and skeleton(c))
    return [character for character in seen if DECOMPOSE(character) == character]


def kind(character: str) -> tuple[str, ...]:
    """What only its like may stand for: a letter for a letter, a number for the same number."""
    category = CATEGORIES.get(icu.Char.charType(character), "Cn")
    if category[0] == "N":
        return "N", str(icu.Char.getNumericValue(character))
    if category[0] == "M":
        return "M", "reordered" if icu.Char.getCombiningClass(character) else "in place"
    if category[0] in "PS":
        return "P", *ends(character)
    return (category[0],)


def ends(character: str) -> list[str]:
    """Whether it ends a sentence, a clause: the normaliser drops these at the end."""
    properties = {"sentence": icu.UProperty.S_TERM, "clause": icu.UProperty.TERMINAL_PUNCTUATION}
    return [name for name, which in properties.items() if icu.Char.hasBinaryProperty(character, which)]


def _categories() -> dict[int, str]:
    """ICU's numbers of the general categories, from characters of every one."""
    return {icu.Char.charType(chr(code)): unicodedata.category(chr(code)) for code in reversed(range(0x3000))}


CATEGORIES = _categories()


def readings(characters: Iterable[str]) -> Tables:
    """Each script's letters that look like one letter of ASCII, in the case in which they do."""
    tables: Tables = defaultdict(dict)
    for character in sorted(characters, key=preference):
        shown = skeleton(character)
        if kind(character) == ("L",) and is_ascii_letter(shown) and script(character) != "Latin":
            capital = character.isupper() or script(character) == OF_CAPITALS
            tables[script(character)][character] = "I" if shown == "l" and capital else shown
    return tables


def preference(character: str) -> tuple[bool, bool, bool, int]:
    """ASCII first, then what is in use, then Latin, then the older."""
    in_use = RECOMMENDED in types(character)
    return (not character.isascii(), not in_use, script(character) != "Latin", ord(character))


def capitals(pairs: Pairs) -> Pairs:
    """Of one script's readings the capitals, one to each letter of ASCII."""
    chosen: Pairs = {}
    for character, shown in pairs.items():
        if shown.isupper() and shown not in chosen.values():
            chosen[character] = shown
    return chosen


def look_alikes(characters: Iterable[str], read: Tables) -> Tables:
    """What stands for what after case folding: in every class, one character in use of each script."""
    classes: dict[Class, list[str]] = defaultdict(list)
    for character in characters:
        if case_folded(character) == character:
            classes[skeleton(character), kind(character)].append(character)
    modifiers_join_quotes(classes)
    tables: Tables = defaultdict(dict)
    for (_, sort), members in classes.items():
        for character, stands_for in choose(sorted(members, key=preference), number=sort[0] == "N"):
            if not hides_a_capital(character, stands_for, capitals(read.get(script(character), {}))):
                tables[script(character)][character] = stands_for
    for pairs in tables.values():
        pairs.update({one: SAME_WRITING.get(other, other) for one, other in pairs.items()})
    for character, stands_for in SAME_WRITING.items():
        tables[script(character)][character] = stands_for
    return tables


def modifiers_join_quotes(classes: dict[Class, list[str]]) -> None:
    """A modifier letter that looks like an apostrophe is typed as one."""
    for mark in "'", skeleton('"'):
        letters = classes.get((mark, ("L",)), [])
        modifiers = [letter for letter in letters if CATEGORIES[icu.Char.charType(letter)] == "Lm"]
        classes[mark, ("P",)] += modifiers
        classes[mark, ("L",)] = [letter for letter in letters if letter not in modifiers]


def choose(members: list[str], *, number: bool) -> Iterable[tuple[str, str]]:
    """Who of a class is replaced by its first, so that no script loses a distinction it uses."""
    first, *others = members or [""]
    if kind_of_mark(first) and not first.isascii():
        return
    taken = {script(first)} if first else set()
    for character in others:
        typed = kind_of_mark(first) and script(character) == "Common"
        follows = number or typed or (first.isascii() and types(character) <= OUT_OF_USE)
        if character.isascii() or not (follows or script(character) not in taken):
            continue
        if not follows:
            taken.add(script(character))
        yield character, first


def kind_of_mark(character: str) -> bool:
    """Punctuation and symbols: few, of no script, and looked up under those of ASCII alone."""
    return bool(character) and kind(character)[0] == "P"


def hides_a_capital(character: str, stands_for: str, capital: Pairs) -> bool:
    """Whether another letter of its script, as a capital, already shows as that letter."""
    wanted = stands_for.upper()
    own = capital.get(str(icu.UnicodeString(character).toUpper()))
    return is_ascii_letter(stands_for) and wanted in capital.values() and own != wanted


def rows(tables: Tables, order: Callable[[tuple[str, str]], tuple[Any, ...]]) -> str:
    """The tables as source: pairs set apart by spaces, in escapes that no editor reorders."""
    return "\n".join(entry(name, sorted(pairs.items(), key=order)) for name, pairs in sorted(tables.items()))


def by_code(pair: tuple[str, str]) -> tuple[int]:
    """The order of the character database."""
    return (ord(pair[0]),)


def entry(name: str, pairs: list[tuple[str, str]]) -> str:
    """One script's part of a table, in as few lines as the formatter would make of it."""
    text = " ".join(escaped("".join(pair)) for pair in pairs)
    alone = f'    "{name}": "{text}",'
    if len(alone) <= LINE:
        return alone
    lines = [text] if len(text) <= LINE - 10 else textwrap.wrap(text, LINE - 11, break_on_hyphens=False)
    parts = [f'        "{line} "' for line in lines[:-1]] + [f'        "{lines[-1]}"']
    return "\n".join([f'    "{name}": (', *parts, "    ),"])


def escaped(text: str) -> str:
    """As it stands between double quotes."""
    return text.encode("unicode_escape").decode().replace('"', r"\x22")


def properties() -> Tables:
    """What Python's `unicodedata` does not tell: who is not seen, who ends a sentence, who ends a clause."""
    unseen, final = icu.UProperty.DEFAULT_IGNORABLE_CODE_POINT, icu.UProperty.TERMINAL_PUNCTUATION
    ends_sentence = having(icu.UProperty.S_TERM)
    return {
        "Default_Ignorable_Code_Point": ranges(having(unseen)),
        "Sentence_Terminal": ranges(ends_sentence),
        "Terminal_Punctuation, the rest": ranges(having(final) - ends_sentence),
    }


def having(which: int) -> set[int]:
    """The code points with a property."""
    return {code for code in range(0x110000) if icu.Char.hasBinaryProperty(code, which)}


def ranges(codes: set[int]) -> Pairs:
    """The first of each run of code points, and how the run goes on: nothing, or a dash and its last."""
    firsts = sorted(code for code in codes if code - 1 not in codes)
    lasts = sorted(code for code in codes if code + 1 not in codes)
    runs = zip(firsts, lasts, strict=True)
    return {chr(first): "" if first == last else f"-{chr(last)}" for first, last in runs}


MODULE = '''"""Characters taken for one another, or not seen, or final. Generated by `tools/look_alikes.py`.

Derived from the confusables and the properties of Unicode {unicode} (UTS #39, UAX #44), from ICU {icu}.
Copyright © 1991-2025 Unicode, Inc., under the Unicode License V3 (SPDX Unicode-3.0): see
`LICENSES/Unicode-3.0.txt`. Not for editing.
"""

from __future__ import annotations

UNICODE = "{unicode}"

# By script: a letter and the letter of ASCII it looks like, each in its own case; those in use come first.
READINGS = {{
{readings}
}}

# By script: a case-folded character and the one that stands for it.
LOOK_ALIKES = {{
{look_alikes}
}}

# By property: single characters and inclusive ranges, set apart by spaces.
PROPERTIES = {{
{properties}
}}
'''


def main() -> None:
    """Write the module."""
    characters = candidates()
    read = readings(characters)
    TARGET.write_text(
        MODULE.format(
            unicode=icu.UNICODE_VERSION,
            icu=icu.ICU_VERSION,
            readings=rows(read, lambda pair: preference(pair[0])),
            look_alikes=rows(look_alikes(characters, read), by_code),
            properties=rows(properties(), by_code),
        ),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
