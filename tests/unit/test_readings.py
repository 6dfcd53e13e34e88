"""What a value may say beside what stands there: one in a dress meets it, two dressed ones never meet."""

from __future__ import annotations

import itertools
from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsay_core.application.digests import value_digest, value_digests
from unsay_core.application.keys import ScopeKeys
from unsay_core.domain.characters import DEFAULT_IGNORABLE
from unsay_core.domain.readings import LETTERS, readings
from unsay_core.domain.tombstone import fold, normalise

VALUE = "Alice lives in Lisbon."
KEYS = ScopeKeys(b"a key of some length")


def asked(value: str) -> set[str]:
    form = normalise(value)
    return {form, *readings(value, form)}


DRESSED = {
    "filler for a space": "Alice\u3164lives\u3164in\u3164Lisbon",
    "other fillers": "Alice\u115flives\u1160in\uffa0Lisbon",
    "zero-width spaces": "Alice\u200blives\u200bin\u200bLisbon.",
    "joiners": "Alice\u200dlives\u200cin\u2060Lisbon.",
    "soft hyphens and a byte order mark": "Alice\u00adlives\ufeffin\u00adLisbon.",
    "fillers for spaces, and joiners in the words": "Al\u200dice\u3164li\u2060ves\u3164in\u3164Lis\u00adbon",
    "fillers in the words": "Al\u3164ice li\u1160ves in Lis\u200bbon",
    "number": "1. Alice lives in Lisbon.",
    "number in brackets": "(12) Alice lives in Lisbon",
    "number with both": "3.) Alice lives in Lisbon",
    "key of a number": "1\ufe0f\u20e3 Alice lives in Lisbon",
    "number and bold": "- 1. **Alice lives in Lisbon** \u2705",
    "emoji before": "\U0001f44d Alice lives in Lisbon.",
    "emoji behind": "Alice lives in Lisbon! \U0001f389\U0001f389",
    "emoji that touch": "\U0001f1f5\U0001f1f9Alice lives in Lisbon\u2764\ufe0f",
    "family": "Alice lives in Lisbon \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "skin": "Alice lives in Lisbon \U0001f44d\U0001f3fd",
    "quotes and emoji": "“Alice lives in Lisbon.” \U0001f44d",
    "tick": "✓ Alice lives in Lisbon.",
    "star that touches": "Alice lives in Lisbon*",
    "tilde that touches": "Alice lives in Lisbon~",
    "dash": "Alice lives in Lisbon -",
    "smiley": "Alice lives in Lisbon :)",
    "several signs": "# = Alice lives in Lisbon # |",
}


@pytest.mark.parametrize("name", DRESSED)
def test_a_value_in_a_dress_is_asked_about_without_it(name: str) -> None:
    assert normalise(VALUE) in asked(DRESSED[name])
    assert value_digest(KEYS, VALUE) in value_digests(KEYS, DRESSED[name])


MASKED = [
    *("p̶a̶c̶o̶ sees oxen", "p̸aco sees oxen", "p⃝aco sees oxen", "paco sees oxen\ufffc"),
    *("🅟🅐🅒🅞 sees oxen", "🅿🅰🅲🅾 sees oxen", "🇵🇦🇨🇴 sees oxen", "ᴘᴀᴄᴏ ꜱᴇᴇꜱ ᴏxᴇɴ"),
    *("paϲo sees oxen", "paϹo sees oxen", "p⍺co sees oxen", "⍴aco sees oxen", "paco s℮es oxen"),
    *("pac੦ sees oxen", "pac٥ sees oxen", "paco ƽees oxen", "paco sees o×en", "1. p̶aco sees oxen 🎉"),
]


@pytest.mark.parametrize("value", MASKED)
def test_letters_behind_a_mask_are_read_too(value: str) -> None:
    assert normalise("Paco sees oxen.") in asked(value)
    assert normalise("Paco sees foxes.") not in asked(value)


def test_marks_that_spell_are_no_mask() -> None:
    assert not asked("año") & asked("ano")
    assert not asked("ọ́ dára") & asked("ọ dára")
    assert not asked("a ≠ b") & asked("a = b")
    assert not asked("a =\u0338 b") & asked("a = b")


MEANT = [
    *("C", "C++", "C#", "Alice writes C", "Alice writes C++", "Alice writes C#"),
    *("The discount is 5", "The discount is 5%", "The discount is 5€", "It has 5°", "It has 5"),
    *("Blood group A", "Blood group A +", "Blood group A -"),
    *("ok", "ok :)", "ok ;)", "a", "@a", "bob", "@bob", "net", ".net", "5", "-5", "#5"),
    *("\U0001f44d", "\U0001f44e", "", "!", "-", "1.", "2."),
]


def test_signs_that_are_meant_are_no_dress() -> None:
    others = [
        (one, other) for one, other in itertools.permutations(MEANT, 2) if normalise(one) in asked(other)
    ]
    assert others == []


DIFFERENT = [
    *("Alice likes \U0001f355", "Alice likes \U0001f363"),
    *("1. May is free", "2. May is free"),
    *("Alice lives in \U0001f1f5\U0001f1f9", "Alice lives in \U0001f1f5\U0001f1f1"),
    *("Bob bid three ♠", "Bob bid three ♥"),
    *("Lisbon is nice :)", "Lisbon is nice :("),
    *("Al\u200bice lives", "A\u200blice lives here"),
]


def test_two_values_that_differ_in_their_dress_never_meet() -> None:
    met = [pair for pair in itertools.permutations(DIFFERENT, 2) if normalise(pair[0]) in asked(pair[1])]
    assert met == []


PICTURES = [c for c in map(chr, range(0x2190, 0x1FAFF)) if category(c) == "So" and normalise(c) == c]
UNSEEN = sorted(DEFAULT_IGNORABLE)
LETTERS_OF_ALL = st.characters(categories=("Lo", "Ll"), exclude_characters=UNSEEN)
WORDS = st.text(LETTERS_OF_ALL.filter(lambda c: normalise(c) == c), min_size=LETTERS, max_size=8)
PHRASES = st.lists(WORDS, min_size=2, max_size=4)


@given(PHRASES, st.sampled_from(UNSEEN))
def test_any_unseen_character_stands_for_spaces_or_for_nothing(words: list[str], unseen: str) -> None:
    assert normalise(" ".join(words)) in asked(unseen.join(words))
    assert normalise("".join(words)) in asked(unseen.join(words))


@given(
    PHRASES,
    st.text(st.sampled_from(PICTURES), max_size=4),
    st.integers(0, 999),
)
def test_any_pictures_and_any_number_are_a_dress(words: list[str], pictures: str, number: int) -> None:
    value = " ".join(words)
    assert normalise(value) in asked(f"{number}. {value} {pictures}")
    assert normalise(value) in asked(f"{pictures} {value}")


@given(
    st.text(
        st.one_of(st.characters(exclude_categories=("Cs",)), st.sampled_from("\u3164\u200b *1.)-✓")),
        max_size=30,
    )
)
def test_whatever_is_asked_about_is_a_normal_form_and_each_once(value: str) -> None:
    form = normalise(value)
    others = readings(value, form)
    assert all(other and fold(other) == other for other in others)
    assert len({form, *others}) == 1 + len(others)


def test_what_was_written_by_earlier_releases_still_stands() -> None:
    """A tombstone is written as ever: nothing in a table has to be changed for what is asked about since."""
    assert value_digest(KEYS, "1. Alice lives in Lisbon \u2705") == KEYS.tombstone_digest(
        "1. alice lives in lisbon \u2705", 1
    )
