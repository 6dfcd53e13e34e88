"""The `Index` and `Search` ports, on every backend: most of them are late in both directions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tests.support.samples import memory
from unsay_core.application.ports import DocumentState
from unsay_core.domain.memory import Kind, Status
from unsay_core.retrieval.filters import narrowing

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.contract.conftest import Base
    from unsay_core.application.ports import Index, Search

TEA = memory(1, "Alice drinks green tea every morning.")
DOG = memory(2, "Alice has a dog called Bruno.")
ABSENT = DocumentState(settled=True, present=False)
PRESENT = DocumentState(settled=True, present=True)


def found(search: Search, query: str, *, live_only: bool = True) -> list[str]:
    return [hit.memory_id for hit in search.nearest(query, limit=10, live_only=live_only, timeout=5.0)]


def is_present(index: Index, memory_id: str) -> Callable[[], bool]:
    return lambda: index.states([memory_id]).get(memory_id) == PRESENT


def is_absent(index: Index, memory_id: str) -> Callable[[], bool]:
    return lambda: index.states([memory_id]).get(memory_id, ABSENT) == ABSENT


def test_what_was_put_is_found_with_the_nearest_first(base: Base) -> None:
    base.index.put([TEA, DOG], token="1")
    base.until(is_present(base.index, TEA.id))
    base.until(is_present(base.index, DOG.id))
    assert found(base.search, "green tea in the morning")[0] == TEA.id
    assert found(base.search, "a dog called what")[0] == DOG.id


def test_a_score_lies_between_nought_and_one(base: Base) -> None:
    base.index.put([TEA], token="2")
    base.until(is_present(base.index, TEA.id))
    (hit,) = base.search.nearest("green tea", limit=1, live_only=True, timeout=5.0)
    assert 0 < hit.score <= 1


def test_one_scope_never_finds_what_another_holds(base: Base) -> None:
    base.index.put([TEA], token="3")
    base.other_index.put([DOG], token="4")
    base.until(is_present(base.index, TEA.id))
    base.until(is_present(base.other_index, DOG.id))
    assert found(base.search, DOG.fact.content, live_only=False) == [TEA.id]
    assert found(base.other_search, TEA.fact.content, live_only=False) == [DOG.id]


def test_what_was_deleted_is_absent_and_its_neighbour_is_not(base: Base) -> None:
    base.index.put([TEA, DOG], token="5")
    base.until(is_present(base.index, TEA.id))
    base.until(is_present(base.index, DOG.id))
    base.index.delete([TEA.id], token="6")
    base.until(is_absent(base.index, TEA.id))
    base.until(lambda: found(base.search, TEA.fact.content) == [DOG.id])
    assert not base.index.still_found([TEA.id])
    assert set(base.index.still_found([TEA.id, DOG.id])) <= {DOG.id}


def test_deleting_what_was_never_there_ends_absent(base: Base) -> None:
    base.index.delete(["mem_00000000000000000000000404"], token="7")
    base.until(is_absent(base.index, "mem_00000000000000000000000404"))


def test_what_nobody_put_is_absent(base: Base) -> None:
    assert base.index.states([TEA.id]).get(TEA.id, ABSENT) == ABSENT


def test_only_the_live_are_found_unless_all_are_asked_for(base: Base) -> None:
    past = replace(TEA, status=Status.SUPERSEDED, version=2)
    base.index.put([past, DOG], token="8")
    base.until(is_present(base.index, past.id))
    base.until(is_present(base.index, DOG.id))
    assert found(base.search, "green tea") == [DOG.id]
    assert set(found(base.search, "green tea", live_only=False)) == {past.id, DOG.id}


def test_a_later_version_takes_the_place_of_an_earlier(base: Base) -> None:
    base.index.put([TEA], token="9")
    base.until(is_present(base.index, TEA.id))
    base.index.put([replace(TEA, status=Status.SUPERSEDED, version=2)], token="10")
    base.until(lambda: is_present(base.index, TEA.id)() and found(base.search, "green tea") == [])
    assert found(base.search, "green tea", live_only=False) == [TEA.id]


def test_a_request_that_was_seen_is_ignored(late_base: Base) -> None:
    late_base.index.put([TEA], token="11")
    late_base.until(is_present(late_base.index, TEA.id))
    late_base.index.delete([TEA.id], token="12")
    late_base.until(is_absent(late_base.index, TEA.id))
    late_base.index.put([TEA], token="11")
    assert is_absent(late_base.index, TEA.id)()
    late_base.index.put([TEA], token="13")
    late_base.until(is_present(late_base.index, TEA.id))


def test_a_filter_makes_room_for_what_is_wanted(base: Base) -> None:
    event = memory(1, "Alice drinks tea.", kind=Kind.EPISODIC)
    facts = [memory(number, f"Green tea {number}.") for number in range(2, 5)]
    base.index.put([event, *facts], token="15")
    for one in (event, *facts):
        base.until(is_present(base.index, one.id))
    wanted = narrowing({"kind": "episodic"})
    hits = base.search.nearest("green tea", limit=2, live_only=True, timeout=5.0, wanted=wanted)
    assert [hit.memory_id for hit in hits] == [event.id]
    assert len(base.search.nearest("green tea", limit=2, live_only=True, timeout=5.0)) == 2


def test_the_limit_is_kept(base: Base) -> None:
    many = [memory(number, f"Tea number {number}.") for number in range(1, 8)]
    base.index.put(many, token="14")
    for one in many:
        base.until(is_present(base.index, one.id))
    assert len(base.search.nearest("tea", limit=3, live_only=True, timeout=5.0)) == 3


def test_what_is_repeated_changes_nothing(base: Base) -> None:
    for token in ("15", "16"):
        base.index.put([TEA, DOG], token=token)
        base.until(is_present(base.index, TEA.id))
        base.until(is_present(base.index, DOG.id))
    for token in ("17", "18"):
        base.index.delete([TEA.id], token=token)
        base.until(is_absent(base.index, TEA.id))
    assert found(base.search, "tea") == [DOG.id]


def test_of_what_nobody_ever_wrote_nothing_is_found(base: Base) -> None:
    assert found(base.search, "tea") == []
    base.index.delete([TEA.id], token="19")
    base.until(is_absent(base.index, TEA.id))
