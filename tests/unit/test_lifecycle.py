"""One table of legal moves; everything else is an error with a name."""

from __future__ import annotations

from itertools import product

import pytest

from unsay_core.domain.errors import WrongStatusError
from unsay_core.domain.lifecycle import TRANSITIONS, Act, after
from unsay_core.domain.memory import Status


@pytest.mark.parametrize(("status", "act"), [*product(Status, Act)])
def test_a_move_is_in_the_table_or_refused(status: Status, act: Act) -> None:
    if (status, act) in TRANSITIONS:
        assert after(status, act) is TRANSITIONS[status, act]
        return
    with pytest.raises(WrongStatusError) as refused:
        after(status, act)
    assert (refused.value.status, refused.value.code) == (409, "wrong_status")
    assert status in refused.value.detail
    assert act in refused.value.detail


def test_the_ends_are_ends() -> None:
    assert {status for status, _ in TRANSITIONS} == {Status.ACTIVE, Status.CANDIDATE, Status.SUPERSEDED}


def test_nothing_becomes_active_but_what_was_or_what_a_person_approves() -> None:
    made = {(status, act) for (status, act), end in TRANSITIONS.items() if end is Status.ACTIVE}
    assert {act for status, act in made if status is not Status.ACTIVE} == {Act.APPROVE}


def test_no_move_leads_to_expiry_and_only_a_lost_source_back_to_waiting() -> None:
    assert Status.EXPIRED not in TRANSITIONS.values()
    back = {move for move, end in TRANSITIONS.items() if end is Status.CANDIDATE}
    assert back == {(Status.ACTIVE, Act.WEAKEN)}
