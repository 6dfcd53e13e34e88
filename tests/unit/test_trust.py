"""What each kind of word may do to each; nothing but a review makes `verified`."""

from __future__ import annotations

from itertools import product

import pytest

from unsay_core.domain.memory import Trust
from unsay_core.domain.trust import after_corroboration, after_edit, may_replace

D, I, A, V = Trust.DISPUTED, Trust.INFERRED, Trust.ASSERTED, Trust.VERIFIED  # noqa: E741 - a table


@pytest.mark.parametrize(("new", "old"), [*product(Trust, Trust)])
def test_who_may_replace_whom(new: Trust, old: Trust) -> None:
    allowed = {(I, I), *product((A, V), Trust)}
    assert may_replace(new, old) is ((new, old) in allowed)


@pytest.mark.parametrize(("trust", "restated"), [(D, D), (I, A), (A, A), (V, A)])
def test_who_edits_the_words_vouches_for_them_and_ends_no_dispute(trust: Trust, restated: Trust) -> None:
    assert after_edit(trust, is_restated=True) is restated
    assert after_edit(trust, is_restated=False) is trust


@pytest.mark.parametrize(
    ("trust", "said", "then"),
    [(I, I, I), (I, A, A), (A, I, A), (A, A, A), (V, A, V), (V, I, V), (D, A, D), (D, I, D)],
)
def test_the_better_word_counts_unless_it_is_disputed(trust: Trust, said: Trust, then: Trust) -> None:
    assert after_corroboration(trust, said) is then
