"""The normal form of a forgotten value: what does not slip by, and what never collides with it."""

from __future__ import annotations

import itertools
import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from unsay_core.application.digests import value_digest, value_digests
from unsay_core.application.keys import ScopeKeys
from unsay_core.domain.characters import DEFAULT_IGNORABLE
from unsay_core.domain.tombstone import NORMALISER, NORMALISERS, fold, normalise

VALUE = "Alice lives in Lisbon."

DISGUISES = {
    "case": "ALICE LIVES IN LISBON.",
    "spacing": "  Alice \t lives\nin\r\nLisbon.  ",
    "other spaces": "Alice\u00a0lives\u2003in\u3000Lisbon.\u2029",
    "braille blank": "Alice\u2800lives in Lisbon.\u2800",
    "full width": "Ａｌｉｃｅ　ｌｉｖｅｓ　ｉｎ　Ｌｉｓｂｏｎ．",
    "mathematical letters": "𝐀𝐥𝐢𝐜𝐞 𝓁𝒾𝓋ℯ𝓈 𝗂𝗇 𝕃𝕚𝕤𝕓𝕠𝕟.",
    "zero-width space": "Al\u200bice li\u200bves in Lis\u200bbon.",
    "joiners": "Al\u200dice li\u200cves in Lis\u2060bon.\ufeff",
    "soft hyphen": "Al\u00adice lives in Lis\u00adbon.",
    "bidi controls": "\u202aAlice\u202c \u2066lives\u2069 in Lisbon\u200f.\u061c",
    "variation selectors": "A\ufe0flice lives in Lisbon\U000e0100.",
    "tags": "Alice\U000e0041\U000e0042 lives in Lisbon.",
    "Hangul fillers": "Alice\u3164 lives\uffa0 in\u115f Lisbon\u1160.",
    "grapheme joiner": "Ali\u034fce lives in Lisbon.",
    "control characters": "Al\x00ice lives\x07 in Lisbon\x7f.\x9f",
    "no final punctuation": "Alice lives in Lisbon",
    "repeated": "Alice lives in Lisbon...!!!",
    "ellipsis": "Alice lives in Lisbon…",
    "spaced": "Alice lives in Lisbon . . .",
    "invisible between": "Alice lives in Lisbon.\u200b.\u200b",
    "question": "Alice lives in Lisbon⁈",
    "clause": "Alice lives in Lisbon,;:",
    "CJK full stop": "Alice lives in Lisbon。",
    "half-width full stop": "Alice lives in Lisbon｡",
    "danda": "Alice lives in Lisbon।",
    "Arabic": "Alice lives in Lisbon؟",
    "Greek question mark": "Alice lives in Lisbon\u037e",
    "Armenian": "Alice lives in Lisbon։",
    "Ethiopic": "Alice lives in Lisbon።",
    "interrobang": "Alice lives in Lisbon‽",
    "quotes": "“Alice lives in Lisbon.”",
    "quotes, then a full stop": "'Alice lives in Lisbon'.",
    "low quotes": "„Alice lives in Lisbon“",
    "angle quotes": "« Alice lives in Lisbon »",
    "corner brackets": "「Alice lives in Lisbon」",
    "code": "`Alice lives in Lisbon`",
    "bullet": "- Alice lives in Lisbon.",
    "round bullet": "• Alice lives in Lisbon",
    "block quote": "> “Alice lives in Lisbon”",
    "bold": "**Alice lives in Lisbon.**",
    "italics": "_Alice lives in Lisbon_",
    "bullets of bullets": "> - Alice lives in Lisbon",
    "round bullet, no space": "•Alice lives in Lisbon",
    "arrow": "→ Alice lives in Lisbon",
    "check box": "- [ ] Alice lives in Lisbon",
    "ticked": "- [x] Alice lives in Lisbon.",
    "item": "2) Alice lives in Lisbon",
    "brackets": "(Alice lives in Lisbon.)",
    "wide brackets": "（Alice lives in Lisbon）",
    "lenticular brackets": "【Alice lives in Lisbon】",
    "single angle quotes": "‹Alice lives in Lisbon›",
    "bullet and bold": "* ***Alice lives in Lisbon***",
}


@pytest.mark.parametrize("name", DISGUISES)
def test_a_disguise_has_the_normal_form_of_the_value(name: str) -> None:
    assert normalise(DISGUISES[name]) == normalise(VALUE) == "alice lives in lisbon"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("é", "e\u0301"),
        ("e\u034f\u0301", "é"),
        ("STRASSE", "straße"),
        ("ΣΊΣΥΦΟΣ", "σίσυφος"),
        ("ﬁnal", "FINAL"),
        ("각", "각"),
        ("ﾊﾟﾋﾟ", "パピ"),
        ("ﷺ", "صلى الله عليه وسلم"),
        ("Ⅻ", "xii"),
        ("ᾳ", "ΑΙ"),
        ('He said "hi."', 'He said "hi".'),
        ("He said “hi!”", "He said “hi”"),
        ("„Hallo.“", "„Hallo“"),
        ("「はい。」", "「はい」。"),
        ("(Alice lives here.)", "(Alice lives here)"),
        ('(He said "hi.").', '(he said "hi")'),
    ],
)
def test_spellings_of_one_value_meet(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


NEIGHBOURS = [
    "Alice lives in Lisbon",
    "Alice lives in Lisboa",
    "Alice lived in Lisbon",
    "Alice does not live in Lisbon",
    "Alice, lives in Lisbon",
    "Alicelives in Lisbon",
    "Alice lives in Lisbon 2",
    "Alice lives in Lisbon #2",
    "C",
    "C#",
    "C++",
    "-5",
    "- 5",
    "5",
    "1. May is free",
    "2. May is free",
    "(5)",
    "[x]",
    "(Alice) lives (here)",
    "init",
    "__init__",
    "'Alice' and 'Bob'",
    "*Alice lives* in *Lisbon*",
    "'tis Lisbon",
    "''",
    "5 * 3",
    "5%",
    "€5",
    "5€",
    "$5",
    "1.5",
    "15",
    "1,5",
    ".net",
    "net",
    "@bob",
    "bob",
    "6'",
    '6"',
    "6",
    "resume",
    "résumé",
    "我喜欢猫",
    "我喜欢狗",
    "我喜歡貓",
    "मैं",
    "में",
    "כן",
    "כֵּן",
    "はな",
    "ばな",
    "ぱな",
    "ハナ",
    "나",
    "너",
    "สวัสดี",
    "สวัสดิ",
    "😀",
    "😃",
    "👍",
    "👍🏽",
    "👍🏿",
    "ok :)",
    "ok ;)",
    "ok :(",
    "🇵🇹",
    "🇵🇱",
    "!",
    "!!",
    "?",
    "...",
    "。",
    '"',
    '"."',
    "()",
    "-",
    "#",
]


def test_values_that_differ_in_more_than_that_never_collide_in_any_script() -> None:
    forms = {value: normalise(value) for value in NEIGHBOURS}
    collisions = [pair for pair in itertools.combinations(forms, 2) if forms[pair[0]] == forms[pair[1]]]
    assert collisions == []
    assert all(forms.values())


@pytest.mark.parametrize("value", ["!", "?!", ". . .", '"."', "(!)", "¿?", "«»", "...", "!!!!"])
def test_a_value_of_punctuation_alone_keeps_it(value: str) -> None:
    assert normalise(value) == value
    assert normalise("a" + value) != value


def test_what_shows_nothing_has_an_empty_form() -> None:
    assert normalise("\u200b \u3164\u2800\ufe0f\n") == normalise("") == ""


def test_every_default_ignorable_character_vanishes() -> None:
    assert all(normalise(f"a{character}b") == "ab" for character in DEFAULT_IGNORABLE)
    assert normalise("a-b") == "a-b"


def test_the_ignorable_characters_are_those_of_the_unicode_property() -> None:
    # 4174 code points in Unicode 13 to 17; of each assigned one the general category agrees.
    assert len(DEFAULT_IGNORABLE) == 4174
    categories = {unicodedata.category(character) for character in DEFAULT_IGNORABLE}
    assert categories == {"Cf", "Mn", "Lo", "Cn"}


def test_no_letter_digit_or_symbol_is_taken_for_final_punctuation() -> None:
    lost = [
        character
        for character in map(chr, range(0x110000))
        if unicodedata.category(character)[0] in "LNSM"
        and character not in DEFAULT_IGNORABLE
        and character != "\u2800"
        and normalise("x" + character) == "x"
    ]
    assert lost == []
    assert normalise("x!") == "x"


TEXTS = st.text(
    st.one_of(
        st.characters(exclude_categories=("Cs",)),
        st.sampled_from(" .!?;:,\"')”»。\u200b\u00ad\u034f\u0345\u0301\u3164\ufe0fİßΣᾳﷺ"),
    ),
    max_size=30,
)


@given(TEXTS)
@example('."."."')
@example("\u0345\u0301ͅ")
@example("a .) .”")
@example("x\u00a8.")
def test_what_is_folded_is_folded_for_good(value: str) -> None:
    once = normalise(value)
    assert fold(once) == once


@given(TEXTS)
def test_a_value_and_its_obvious_disguises_meet(value: str) -> None:
    form = normalise(value)
    assert normalise(unicodedata.normalize("NFD", value)) == form
    assert normalise("\u200b".join(value)) == form
    assert normalise(f"  {value}\n") == form


@given(
    st.text(st.characters(categories=("Lo",), exclude_characters=DEFAULT_IGNORABLE), min_size=1, max_size=12)
)
def test_a_final_stop_changes_nothing_and_a_letter_does(value: str) -> None:
    assert normalise(value + "。") == normalise(value)
    assert normalise(value + "x") != normalise(value)


def test_the_newest_normaliser_is_the_one_in_use() -> None:
    assert NORMALISER == max(NORMALISERS) == 1
    assert NORMALISERS[NORMALISER] is normalise


KEYS = ScopeKeys(b"a key of some length")


def test_a_tombstone_of_an_older_normaliser_still_matches() -> None:
    """As a release with a second normaliser would: what the first one wrote is found under its own digest."""
    written = value_digest(KEYS, "Alice lives in Lisbon.")
    released = {1: normalise, 2: lambda value: normalise(value).replace("-", " ")}
    asked = value_digests(KEYS, "ALICE lives in Lisbon", released)
    assert len(set(asked)) == 2
    assert asked[1] == written
    assert asked[0] == KEYS.tombstone_digest("alice lives in lisbon", 2)
    assert written not in value_digests(KEYS, "Alice lives in Porto", released)


def test_the_digest_written_is_the_first_one_asked_for() -> None:
    assert value_digests(KEYS, "x")[0] == value_digest(KEYS, "x") == KEYS.tombstone_digest("x", NORMALISER)
    assert len(value_digests(KEYS, "x")) == len(NORMALISERS)


@pytest.mark.parametrize("unit", ['."', "\u0345\u0301", "\ufdfa", ". ", "a\u0300\u0316", " \u034f"])
def test_the_longest_content_is_normalised_at_once(unit: str) -> None:
    longest = ("a" + unit * 16_384).encode()[:16_384].decode(errors="ignore")
    started = time.process_time()
    assert normalise(longest) == fold(normalise(longest))
    assert time.process_time() - started < 8
