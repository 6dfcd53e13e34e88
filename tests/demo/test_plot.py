"""The question of a demo comes from what was said, and finds it among the rest."""

import pytest

from local.demo import EXAMPLE
from local.demo_plot import plot
from local.transcript import Turn, read_transcript
from unsay_core.retrieval.lexicon import Vocabulary, query_words, words


def turns(*contents):
    return [Turn(line, "user", content) for line, content in enumerate(contents, start=1)]


def coverage(question, contents):
    spoken = [words(content) for content in contents]
    vocabulary = Vocabulary(spoken)
    return [vocabulary.coverage(query_words(question), text) for text in spoken]


def test_the_example_is_asked_as_a_person_would():
    told = plot(read_transcript(EXAMPLE).of("user"))
    assert told.question == told.next_question == "Where does my brother live?"
    assert "brother" in told.turn.content
    assert told.is_telling


@pytest.mark.parametrize(
    "contents",
    [
        [f"I like item {n}." for n in range(100)],
        [f"第{n}个苹果很甜" for n in range(100)],
        ["Hello there.", "My sister breeds alpacas near Cusco.", "Hello again."],
        [f"{n:040x} is number {n}" for n in range(20)],
        ["word " * 3_000 + f"number {n}" for n in range(5)],
    ],
)
def test_the_question_fits_its_turn_better_than_any_other(contents):
    told = plot(turns(*contents))
    assert told.is_telling
    fits = coverage(told.question, contents)
    assert fits[told.turn.line - 1] == max(fits)
    assert fits.count(max(fits)) == 1
    fits = coverage(told.next_question, [*contents, told.correction])
    assert fits[-1] == max(fits)
    assert fits.count(max(fits)) == 1


def test_the_turn_with_most_words_of_its_own_is_asked_for():
    told = plot(turns("ok", "ok then", "My sister breeds alpacas near Cusco", "ok"))
    assert told.turn.line == 3
    assert told.question == "sister breeds alpacas near Cusco"


@pytest.mark.parametrize(
    "contents", [["hello", "Hello!", "HELLO"], ["👍", "🎉"], ["a b", "b a"], [f"{n:040x}" for n in range(3)]]
)
def test_where_no_turn_has_words_of_its_own_the_plot_says_so(contents):
    told = plot(turns(*contents))
    assert not told.is_telling
    assert told.question


def test_a_question_and_a_correction_are_within_the_limits_of_the_service():
    told = plot(turns("x" * 16_000))
    assert 0 < len(told.question) <= 2_000
    assert len(told.next_question) <= 2_000
    assert told.correction != told.turn.content
