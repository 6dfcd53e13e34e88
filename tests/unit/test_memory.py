"""A memory: its status at an instant, and what superseding makes of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from tests.support.samples import AT, HARD_MEMORY, memory
from unsay_core.domain.memory import MOST_PASSAGES, Because, Fact, IndexState, Kind, Status, Trust

TICK = timedelta(microseconds=1)


def test_a_memory_expires_at_its_instant_and_not_before() -> None:
    mortal = memory(expires_at=AT)
    assert mortal.status_at(AT - TICK) is Status.ACTIVE
    assert mortal.status_at(AT) is Status.EXPIRED
    assert memory().status_at(AT + timedelta(days=99_999)) is Status.ACTIVE


@pytest.mark.parametrize("status", [status for status in Status if status is not Status.ACTIVE])
def test_only_the_active_expire(status: Status) -> None:
    assert memory(status=status, expires_at=AT).status_at(AT) is status


def test_what_changed_ends_where_its_successor_starts() -> None:
    old, new = memory(1, valid_from=AT - timedelta(days=9)), memory(2, valid_from=AT - timedelta(days=2))
    after = old.superseded(by=new, because=Because.CHANGED, at=AT)
    assert (after.fact.valid_from, after.fact.valid_to) == (old.fact.valid_from, new.fact.valid_from)
    assert (after.status, after.version, after.superseded_by) == (Status.SUPERSEDED, 2, new.id)
    assert (after.invalidated_at, after.updated_at, after.recorded_at) == (AT, AT, old.recorded_at)


def test_what_changed_at_an_unknown_time_ends_now() -> None:
    after = memory(1).superseded(by=memory(2), because=Because.CHANGED, at=AT)
    assert (after.fact.valid_from, after.fact.valid_to) == (None, AT)


def test_what_changed_before_it_began_held_at_no_time() -> None:
    old = memory(1, valid_from=AT)
    after = old.superseded(by=memory(2, valid_from=AT - timedelta(days=1)), because=Because.CHANGED, at=AT)
    assert after.fact.validity.is_empty
    assert after.fact.valid_to == after.fact.valid_from == AT


def test_an_earlier_end_is_kept() -> None:
    old = memory(1, valid_to=AT - timedelta(days=5))
    after = old.superseded(by=memory(2, valid_from=AT), because=Because.CHANGED, at=AT)
    assert after.fact.valid_to == AT - timedelta(days=5)


def test_what_was_wrong_keeps_the_interval_it_was_recorded_with() -> None:
    old = memory(1, valid_from=AT)
    after = old.superseded(by=memory(2, valid_from=AT), because=Because.WRONG, at=AT)
    assert after.fact == old.fact
    assert after.superseded_because is Because.WRONG


def test_a_new_version_is_not_in_the_index_yet() -> None:
    indexed = replace(HARD_MEMORY, index_state=IndexState.INDEXED)
    after = indexed.superseded(by=memory(2), because=Because.WRONG, at=AT)
    assert (after.index_state, after.indexed_at) == (IndexState.PENDING, None)


def test_trust_has_an_order() -> None:
    assert sorted(Trust, key=lambda trust: trust.rank) == [
        Trust.DISPUTED,
        Trust.INFERRED,
        Trust.ASSERTED,
        Trust.VERIFIED,
    ]


def test_an_item_is_compared_by_its_paragraphs_and_a_belief_as_a_whole() -> None:
    text = "One.\n \n\nTwo,\nstill two."
    assert Fact(text, Kind.ITEM, "k").passages == ("One.", "Two,\nstill two.")
    assert Fact(text).passages == (text,)
    assert Fact("", Kind.ITEM, "k").passages == ("",)
    many = Fact("\n\n".join(f"Text {n}." for n in range(40)), Kind.ITEM, "k").passages
    assert (len(many), many[31].count("Text")) == (MOST_PASSAGES, 9)
