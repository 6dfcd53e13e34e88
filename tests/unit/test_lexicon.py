"""Words made comparable, in any script."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsay_core.retrieval.lexicon import Vocabulary, query_words, words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives", "live"),
        ("living", "lives"),
        ("cities", "city"),
        ("CAFÉ", "cafe"),
        ("Straße", "STRASSE"),
        ("ｔｅａ", "tea"),
        ("naïve", "nai\u0308ve"),
        ("Москва", "москва"),
        ("Αθήνα", "αθηνα"),
    ],
)
def test_forms_of_a_word_are_one_word(one: str, other: str) -> None:
    assert words(one) == words(other)


@pytest.mark.parametrize(
    ("one", "other"), [("tea", "team"), ("1", "2"), ("ช่าง", "ช้าง"), ("が", "か"), ("दिन", "दान")]
)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert words(one) != words(other)


@pytest.mark.parametrize("text", ["東京に住んでいます", "서울에 산다", "อาศัยอยู่ในกรุงเทพ", "北京", "京"])
def test_scripts_without_spaces_are_compared_by_pairs(text: str) -> None:
    found = words(text)
    assert found
    assert Vocabulary([found]).coverage(query_words(text), found) == 1


def test_a_query_keeps_what_says_something() -> None:
    assert query_words("Where does Alice live?") == frozenset(words("Alice live"))
    assert query_words("who are you") == frozenset(words("who are you"))
    assert query_words("?!") == frozenset()


def test_rare_words_count_more() -> None:
    texts = [words(text) for text in ("tea tea", "tea cup", "tea pot", "tea dog")]
    vocabulary = Vocabulary(texts)
    query = query_words("tea dog")
    assert vocabulary.coverage(query, texts[3]) == 1
    assert vocabulary.coverage(query, texts[0]) < 0.5


def test_a_word_nobody_has_counts_against_all() -> None:
    texts = [words("tea")]
    assert Vocabulary(texts).coverage(query_words("tea unicorn"), texts[0]) < 1


def test_nothing_asked_is_nothing_covered() -> None:
    assert Vocabulary([["tea"]]).coverage(frozenset(), ["tea"]) == 0.0
    assert Vocabulary([]).coverage(frozenset({"tea"}), []) == 0.0


@given(st.lists(st.text(max_size=20), max_size=5), st.text(max_size=20))
def test_coverage_is_a_share(texts: list[str], query: str) -> None:
    spoken = [words(text) for text in texts]
    vocabulary = Vocabulary(spoken)
    for text in spoken:
        assert 0 <= vocabulary.coverage(query_words(query), text) <= 1.0000001


@pytest.mark.parametrize("text", ["a" * 16_384, "é" * 8_192, "e\u0301" * 5_000, "東" * 5_461, "a b " * 4_096])
def test_the_longest_content_takes_little_time(text: str) -> None:
    started = time.process_time()
    words(text)
    assert time.process_time() - started < 10


def test_a_long_run_of_letters_is_one_word_and_not_looked_at_once_a_letter() -> None:
    # Quadratic, this took minutes.
    assert len(words("x" * 200_000)) == 1


def test_humps_are_found_wherever_they_begin() -> None:
    for text in ("getUserName", "a1B", "xgetUser", "XGetUser", "ab12Cd"):
        assert len(words(text)) > 1, text
