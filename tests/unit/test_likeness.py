"""How alike two statements are, and what is never one, in any script."""

from __future__ import annotations

import pytest

from unsay_core.extraction.likeness import groups, likeness, may_be_one, tokens


def alike(one: str, other: str) -> float:
    return likeness(tokens(one), tokens(other))


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("Alice lives in Lisbon.", "alice LIVES in Lisbon", 1.0),
        ("Alice lives in Lisbon.", "Alice lives in Lisbon now.", 0.8),
        ("Alice lives in Lisbon.", "The weather is fine.", 0.0),
        ("I don’t eat meat", "I don't eat meat.", 1.0),
        ("我住在里斯本", "我住在里斯本。", 1.0),
        ("我住在里斯本", "我住在波尔图", 1 / 4),
        ("ｆｕｌｌ width", "full width", 1.0),
        ("猫", "猫", 1.0),
        ("!!", "??", 0.0),
    ],
)
def test_likeness_is_the_share_of_words_in_common(one: str, other: str, share: float) -> None:
    assert alike(one, other) == pytest.approx(share)
    assert alike(other, one) == alike(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I eat meat and fish.", "I don't eat meat and fish."),
        ("Ich esse Fleisch.", "Ich esse kein Fleisch."),
        ("J'aime le vin.", "J'aime pas le vin."),
        ("Я ем мясо.", "Я не ем мясо."),
        ("我吃肉。", "我不吃肉。"),
        ("肉を食べる。", "肉を食べない。"),
        ("أنا آكل اللحم", "أنا لا آكل اللحم"),
        ("I have 2 cats.", "I have 3 cats."),
        ("The code is 4711-12.", "The code is 4711-13."),
    ],
)
def test_what_denies_the_other_or_differs_in_a_number_is_not_one(one: str, other: str) -> None:
    assert not may_be_one(one, other)
    assert may_be_one(one, one) and may_be_one(other, other)


def test_a_group_is_all_alike_and_nobody_is_in_two() -> None:
    said = [
        ("a", "Alice likes green tea a lot"),
        ("b", "Alice likes green tea a lot indeed"),
        ("c", "Bob drives a red car to work"),
        ("d", "Alice likes green tea a lot, truly"),
        ("e", "Alice does not like green tea a lot"),
    ]
    assert groups(said, 0.7, 8) == [["a", "b", "d"]]
    assert groups(said, 0.85, 8) == [["a", "b"]]
    assert groups(said, 0.7, 2) == [["a", "b"]]
    assert groups([], 0.7, 8) == []
    chain = [("a", "one two three four"), ("b", "two three four five"), ("c", "three four five six")]
    assert groups(chain, 0.6, 8) == [["a", "b"]], "c is like b and not like a"
