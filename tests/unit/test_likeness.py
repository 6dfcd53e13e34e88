"""How alike two statements are, and what is never one, in any script."""

from __future__ import annotations

import pytest

from unsay_core.extraction.likeness import Measure, groups, likeness, may_be_one, says_all, tokens


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
        ("Bob is the manager of Anna.", "Anna is the manager of Bob."),
    ],
)
def test_what_denies_another_or_has_another_number_or_order_is_not_one(one: str, other: str) -> None:
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
    assert groups(said, Measure(0.7)) == [["a", "b", "d"]]
    assert groups(said, Measure(0.85)) == [["a", "b"]]
    assert groups([], Measure(0.7)) == []
    chain = [("a", "one two three four"), ("b", "two three four five"), ("c", "three four five six")]
    assert groups(chain, Measure(0.6)) == [["a", "b"]], "c is like b and not like a"
    many = [(f"{n:02}", "Alice likes green tea") for n in range(20)]
    assert [len(group) for group in groups(many, Measure(1.0))] == [8, 8, 4]


def test_where_the_whole_is_wanted_the_longest_says_all_that_the_others_do() -> None:
    said = [
        ("a", "We meet every Monday in the large room on the second floor"),
        ("b", "We meet every Tuesday in the large room on the second floor"),
        ("c", "We meet every Monday in the large bright room on the second floor"),
    ]
    assert groups(said, Measure(0.8)) == [["a", "b"]]
    assert groups(said, Measure(0.8, whole=True)) == [["a", "c"]]


@pytest.mark.parametrize(
    ("longer", "shorter", "expected"),
    [
        ("Alice really likes green tea a lot", "Alice likes green tea.", True),
        ("Alice likes green tea", "alice likes GREEN tea!", True),
        ("Alice likes green tea", "Alice drinks tea", False),
        ("Tea likes Alice", "Alice likes tea", False),
        ("我很喜欢住在里斯本", "我喜欢住在里斯本", False),
        ("Alice", "", True),
    ],
)
def test_a_longer_statement_says_all_of_a_shorter_one(longer: str, shorter: str, expected: bool) -> None:
    assert says_all(longer, shorter) is expected


def test_vectors_tell_what_words_leave_open_and_no_more() -> None:
    said = [
        ("a", "Alice likes green tea."),
        ("b", "Alice really likes green tea a lot."),
        ("c", "Alice drinks green tea."),
        ("d", "Tea."),
    ]
    asked: list[str] = []

    def near(name: str, _text: str) -> dict[str, float]:
        asked.append(name)
        return dict.fromkeys("abcd", 0.97)

    assert groups(said, Measure(0.85)) == groups(said, Measure(0.85), near) == []
    assert asked == [], "nobody asked for vectors"
    assert groups(said, Measure(0.85, 0.95), near) == [["a", "b"]]
    assert asked == ["b"], "c says it in other words, d too little"
    assert groups(said, Measure(0.85, 0.98), near) == []
    assert groups(said, Measure(0.85, 0.95)) == []
