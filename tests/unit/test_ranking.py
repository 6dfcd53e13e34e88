"""Scores: one absolute scale for every query and scope."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import AT, memory
from unsay_core.domain.memory import Kind
from unsay_core.retrieval.ranking import Ranking, Scores

RANKING = Ranking()
shares = st.floats(0, 1)


@given(st.none() | shares, shares, shares, shares)
def test_a_score_lies_between_nought_and_one(
    semantic: float | None, lexical: float, recency: float, importance: float
) -> None:
    assert 0 <= Scores(semantic, lexical, recency, importance).total(RANKING) <= 1.0000001


@pytest.mark.parametrize("part", Scores._fields)
@given(low=shares, high=shares)
def test_more_of_any_part_never_scores_less(part: str, low: float, high: float) -> None:
    plain = {"semantic": 0.5, "lexical": 0.5, "recency": 0.5, "importance": 0.5}
    totals = [Scores(**{**plain, part: value}).total(RANKING) for value in sorted((low, high))]
    assert totals[0] <= totals[1]


def test_recency_halves_with_every_half_life_of_the_kind() -> None:
    day = timedelta(days=1)
    semantic, episodic = memory(kind=Kind.SEMANTIC), memory(kind=Kind.EPISODIC)
    assert RANKING.recency_of(semantic, AT) == 1
    assert RANKING.recency_of(semantic, AT + 180 * day) == pytest.approx(0.5)
    assert RANKING.recency_of(semantic, AT + 360 * day) == pytest.approx(0.25)
    assert RANKING.recency_of(episodic, AT + 30 * day) == pytest.approx(0.5)


def test_instructions_do_not_age() -> None:
    assert RANKING.recency_of(memory(kind=Kind.PROCEDURAL), AT + timedelta(days=9_999)) == 1


def test_a_clock_that_runs_behind_makes_nothing_newer_than_new() -> None:
    assert RANKING.recency_of(memory(), AT - timedelta(days=1)) == 1


def test_what_neither_words_nor_meaning_bring_near_is_not_relevant() -> None:
    assert not Scores(None, 0, 1, 1).is_relevant(RANKING)
    assert not Scores(RANKING.floor - 0.01, RANKING.said - 0.01, 1, 1).is_relevant(RANKING)
    assert Scores(RANKING.floor, 0, 0, 0).is_relevant(RANKING)
    assert Scores(None, RANKING.said, 0, 0).is_relevant(RANKING)


def test_a_text_of_few_words_has_less_to_answer_with() -> None:
    lengths = [RANKING.substance_of("word " * n) for n in (1, 5, 20, 60, 600)]
    assert lengths == sorted(lengths)
    assert 1 - RANKING.brevity < lengths[0] < lengths[2] < 1
    assert lengths[-2:] == [pytest.approx(1, abs=0.02), 1]


def test_what_fits_outranks_what_is_merely_new_and_unknown() -> None:
    known = Scores(0.8, 0.6, 0.5, 0.5).total(RANKING)
    unknown = Scores(None, 0, 1, 0.5).total(RANKING)
    assert known > unknown
