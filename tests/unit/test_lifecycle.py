"""One table of legal moves; everything else is an error with a name."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from tests.support.samples import AT, memory
from unsay_core.domain.errors import WrongStatusError
from unsay_core.domain.lifecycle import TRANSITIONS, Act, after, may
from unsay_core.domain.memory import Memory, Status, Trust


def of(status: Status, **changes: Any) -> Memory:
    """A memory that stands there at `AT`."""
    if status is Status.EXPIRED:
        return memory(expires_at=AT, **changes)
    return memory(status=status, **changes)


@pytest.mark.parametrize(("status", "act"), [*product(Status, Act)])
def test_a_move_is_in_the_table_or_refused(status: Status, act: Act) -> None:
    assert may(of(status), act, AT) is ((status, act) in TRANSITIONS)
    if (status, act) in TRANSITIONS:
        assert after(of(status), act, AT) is TRANSITIONS[status, act]
        return
    with pytest.raises(WrongStatusError) as refused:
        after(of(status), act, AT)
    assert (refused.value.status, refused.value.code) == (409, "wrong_status")
    assert status in refused.value.detail
    assert act in refused.value.detail


def test_what_a_person_has_approved_is_not_approved_again_unless_it_waits_again() -> None:
    assert not may(of(Status.ACTIVE, trust=Trust.VERIFIED), Act.APPROVE, AT)
    assert may(of(Status.ACTIVE, trust=Trust.VERIFIED), Act.DISPUTE, AT)
    assert may(of(Status.ACTIVE, trust=Trust.DISPUTED), Act.APPROVE, AT)
    assert may(of(Status.CANDIDATE, trust=Trust.VERIFIED), Act.APPROVE, AT)


def test_the_ends_are_ends() -> None:
    assert {status for status, _ in TRANSITIONS} == {Status.ACTIVE, Status.CANDIDATE, Status.SUPERSEDED}


def test_nothing_becomes_active_but_what_was_or_what_a_person_approves() -> None:
    made = {(status, act) for (status, act), end in TRANSITIONS.items() if end is Status.ACTIVE}
    assert {act for status, act in made if status is not Status.ACTIVE} == {Act.APPROVE}


def test_no_move_leads_to_expiry_and_only_a_lost_source_back_to_waiting() -> None:
    assert Status.EXPIRED not in TRANSITIONS.values()
    back = {move for move, end in TRANSITIONS.items() if end is Status.CANDIDATE}
    assert back == {(Status.ACTIVE, Act.WEAKEN)}
