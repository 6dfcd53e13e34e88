"""What the words of a query say of each memory, from nothing but where they stand."""

from __future__ import annotations

import pytest

from unsay_core.retrieval.evidence import Evidence, Term
from unsay_core.retrieval.postings import LEADS, LIVE, Posting, in_run, pack, packed_id

CAT, ANNA = b"cat", b"anna"
IDS = [f"mem_{number:026d}" for number in range(6)]


def posting(number: int, *, run: int = 1, place: int | None = None, traits: int = LIVE) -> Posting:
    where = in_run(run, number if place is None else place)
    return Posting(packed_id(IDS[number]), where, 1, 5, traits)


def evidence(*cats: Posting, anna: tuple[Posting, ...] = (), live_only: bool = True) -> Evidence:
    terms = {CAT: Term(len(cats), pack(cats)), ANNA: Term(len(anna), pack(anna))}
    return Evidence(terms, 100, live_only=live_only)


def best(found: Evidence) -> list[str]:
    scored = found.best(10)
    return [IDS[[packed_id(one) for one in IDS].index(key)] for key in scored]


def test_what_is_no_longer_believed_is_passed_over_unless_it_is_asked_for() -> None:
    postings = posting(0), posting(1, run=2, traits=0)
    assert best(evidence(*postings)) == [IDS[0]]
    assert set(best(evidence(*postings, live_only=False))) == {IDS[0], IDS[1]}


def test_two_memories_at_one_place_are_both_found() -> None:
    postings = posting(0, place=3), posting(1, place=3)
    assert set(best(evidence(*postings))) == {IDS[0], IDS[1]}


def test_who_speaks_counts_where_the_query_names_them() -> None:
    cats = posting(0), posting(1, run=2)
    anna = (posting(1, run=2, traits=LIVE | LEADS), posting(0))
    assert best(evidence(*cats, anna=anna))[0] == IDS[1]


def test_several_memories_of_one_conversation_say_how_long_it_is() -> None:
    postings = posting(0), posting(1), posting(5), posting(2, run=2)
    assert set(best(evidence(*postings))) == {IDS[0], IDS[1], IDS[5], IDS[2]}


def test_a_text_that_stands_alone_counts_as_much_wherever_its_words_were_found() -> None:
    alone = posting(0, run=7)
    found = evidence(alone, posting(1, run=2))
    assert found.of_text(5, {CAT: 1}) == pytest.approx(found.of(packed_id(IDS[0]), alone.place))
    assert found.of_text(5, {CAT: 2}) > found.of_text(5, {CAT: 1}) > found.of_text(50, {CAT: 1}) > 0
    assert found.of_text(300, {b"dog": 1}) == 0
