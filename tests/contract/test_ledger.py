"""The `Ledger` port: one suite, every ledger."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.samples import AT, EVERY_ENTRY, audit_entry, memory
from unsay_core.adapters.records import to_record
from unsay_core.application.ledger import (
    HEAD,
    Absent,
    Anything,
    Area,
    Check,
    Delete,
    Duplicate,
    Head,
    Holds,
    Put,
    audit_ref,
    duplicate_ref,
    memory_ref,
    pending_ref,
    ref_of,
    value_tombstone_ref,
    version_ref,
)
from unsay_core.application.ports import ConflictError
from unsay_core.contracts import exact_json
from unsay_core.domain.audit import entry_hash
from unsay_core.domain.memory import Memory, Reason
from unsay_core.domain.tombstone import Tombstone, TombstoneKind

if TYPE_CHECKING:
    from collections.abc import Callable

    from unsay_core.application.ledger import Entry
    from unsay_core.application.ports import Ledger

IDS = [memory(number).id for number in range(1, 8)]


@pytest.fixture
def seven(ledger: Ledger) -> Ledger:
    """A ledger with seven memories, written out of order."""
    ledger.commit(tuple(Put(memory(number)) for number in (4, 1, 7, 2, 6, 3, 5)))
    return ledger


def ids(entries: object) -> list[str]:
    return [entry.id for entry in entries if isinstance(entry, Memory)]  # type: ignore[attr-defined]


@pytest.mark.parametrize("entry", EVERY_ENTRY.values(), ids=list(EVERY_ENTRY))
def test_every_entry_comes_back_exactly_as_it_was_put(ledger: Ledger, entry: Entry) -> None:
    ledger.commit((Put(entry),))
    found = ledger.read([ref_of(entry)]).get(ref_of(entry))
    assert found == entry
    assert to_record(found) == to_record(entry)  # records tell 1 from 1.0 and from true


@pytest.mark.parametrize("entry", EVERY_ENTRY.values(), ids=list(EVERY_ENTRY))
def test_a_page_gives_the_same_entry_as_a_read(ledger: Ledger, entry: Entry) -> None:
    ledger.commit((Put(entry),))
    assert list(ledger.page(ref_of(entry).area, limit=2)) == [entry]


def test_numbers_keep_their_kind_and_their_digits(ledger: Ledger) -> None:
    sent = "[1,1.0,1.00,1E+2,1e-130,true,-0.0,12345678901234567890123456789012345678,0.10]"
    ledger.commit((Put(memory(data=exact_json.loads(sent, max_depth=2))),))
    found = ledger.read([memory_ref(IDS[0])]).get(memory_ref(IDS[0]))
    assert found is not None
    assert exact_json.dumps(found.fact.data) == exact_json.dumps(exact_json.loads(sent, max_depth=2))
    assert [type(n).__name__ for n in found.fact.data[:4]] == ["int", "Decimal", "Decimal", "Decimal"]
    assert found.fact.data[5] is True


def test_an_audit_entry_still_has_its_hash_after_the_round_trip(ledger: Ledger) -> None:
    ledger.commit((Put(audit_entry()),))
    found = ledger.read([audit_ref(1)]).get(audit_ref(1))
    assert found is not None
    assert entry_hash(found) == found.hash == audit_entry().hash


def test_what_was_never_written_is_not_there_and_its_neighbour_is(seven: Ledger) -> None:
    snapshot = seven.read([memory_ref(IDS[0]), memory_ref("mem_never"), duplicate_ref(IDS[0])])
    assert snapshot.get(memory_ref(IDS[0])) == memory(1)
    assert snapshot.get(memory_ref("mem_never")) is None
    assert snapshot.get(duplicate_ref(IDS[0])) is None
    assert snapshot.memories() == [memory(1)]


def test_one_hundred_places_are_read_at_once(ledger: Ledger) -> None:
    for start in (0, 50):
        ledger.commit(tuple(Put(memory(start + number)) for number in range(50)))
    refs = [memory_ref(memory(number).id) for number in range(100)]
    assert sorted(ids(ledger.read(refs).memories())) == [ref.id for ref in refs]


def test_a_place_named_twice_is_read_once(seven: Ledger) -> None:
    assert ids(seven.read([memory_ref(IDS[0]), memory_ref(IDS[0])]).memories()) == [IDS[0]]


def test_a_page_is_in_the_order_of_ids_either_way(seven: Ledger) -> None:
    assert ids(seven.page(Area.MEMORY, limit=100)) == IDS
    assert ids(seven.page(Area.MEMORY, limit=100, newest_first=True)) == IDS[::-1]


@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_of_any_size_hold_everything_once(seven: Ledger, newest_first: bool) -> None:
    for limit in (1, 2, 3, 7, 8):
        found: list[str] = []
        while page := ids(
            seven.page(
                Area.MEMORY, after=found[-1] if found else None, limit=limit, newest_first=newest_first
            )
        ):
            assert len(page) <= limit
            found += page
        assert found == (IDS[::-1] if newest_first else IDS)


def test_a_page_goes_on_after_an_id_that_is_gone(seven: Ledger) -> None:
    seven.commit((Delete(memory_ref(IDS[2])),))
    assert ids(seven.page(Area.MEMORY, after=IDS[2], limit=2)) == IDS[3:5]
    assert ids(seven.page(Area.MEMORY, after=IDS[2], limit=9, newest_first=True)) == [IDS[1], IDS[0]]


def test_a_page_of_one_area_holds_nothing_of_another(seven: Ledger) -> None:
    seven.commit((Put(Duplicate("digest", IDS[0])), Put(Head(seq=1)), Put(audit_entry())))
    assert list(seven.page(Area.DUPLICATE, limit=9)) == [Duplicate("digest", IDS[0])]
    assert list(seven.page(Area.AUDIT, limit=9)) == [audit_entry()]
    assert list(seven.page(Area.SLOT, limit=9)) == []


def test_versions_and_audit_entries_sort_by_number(ledger: Ledger) -> None:
    ledger.commit(tuple(Put(audit_entry(seq)) for seq in (9, 100, 10, 99)))
    found = ledger.page(Area.AUDIT, after=audit_ref(9).id, limit=10)
    assert [entry.seq for entry in found] == [10, 99, 100]  # type: ignore[union-attr]
    assert version_ref("mem_1", 9).id < version_ref("mem_1", 10).id


def test_a_page_larger_than_a_megabyte_comes_whole(ledger: Ledger) -> None:
    large = "x" * 16_384
    for start in range(0, 90, 30):
        ledger.commit(tuple(Put(memory(start + number, large, data="y" * 8_192)) for number in range(30)))
    found = ledger.page(Area.MEMORY, limit=80)
    assert ids(found) == [memory(number).id for number in range(80)]


def test_a_change_is_committed_whole(ledger: Ledger) -> None:
    ledger.commit((Put(memory(1)), Put(memory(2)), Put(audit_entry())))
    ledger.commit((Delete(memory_ref(IDS[0])), Put(replace(memory(2), version=2)), Put(memory(3))))
    assert [(m.id, m.version) for m in ledger.page(Area.MEMORY, limit=9)] == [  # type: ignore[union-attr]
        (IDS[1], 2),
        (IDS[2], 1),
    ]


@pytest.mark.parametrize("place", [0, 1, 2])
def test_one_failed_expectation_leaves_everything_as_it_was(seven: Ledger, place: int) -> None:
    parts: list[Put | Delete] = [Put(memory(8)), Delete(memory_ref(IDS[0]))]
    parts.insert(place, Put(memory(2, "other"), Absent()))
    with pytest.raises(ConflictError):
        seven.commit(tuple(parts))
    assert list(seven.page(Area.MEMORY, limit=100)) == [memory(number) for number in range(1, 8)]


def test_absent_holds_where_nothing_lies(ledger: Ledger) -> None:
    ledger.commit((Put(memory(1), Absent()),))
    with pytest.raises(ConflictError):
        ledger.commit((Put(memory(1, "again"), Absent()),))
    ledger.commit((Delete(memory_ref(IDS[0])),))
    ledger.commit((Put(memory(1, "anew"), Absent()),))
    assert [m.fact.content for m in ledger.read([memory_ref(IDS[0])]).memories()] == ["anew"]


def test_holds_is_about_the_value_of_a_field(ledger: Ledger) -> None:
    ledger.commit((Put(memory(1)),))
    ledger.commit((Put(replace(memory(1), version=2), Holds("version", 1)),))
    for stale in (1, 3):
        with pytest.raises(ConflictError):
            ledger.commit((Put(replace(memory(1), version=9), Holds("version", stale)),))
        with pytest.raises(ConflictError):
            ledger.commit((Delete(memory_ref(IDS[0]), Holds("version", stale)),))
    ledger.commit((Delete(memory_ref(IDS[0]), Holds("version", 2)),))
    assert ledger.read([memory_ref(IDS[0])]).memories() == []


def test_holds_fails_where_nothing_lies(ledger: Ledger) -> None:
    with pytest.raises(ConflictError):
        ledger.commit((Put(Head(seq=1), Holds("seq", 0)),))
    with pytest.raises(ConflictError):
        ledger.commit((Delete(pending_ref("mem_1"), Holds("seq", 0)),))
    assert ledger.read([HEAD]).get(HEAD) is None


def test_anything_writes_over_and_deletes_what_is_not_there(ledger: Ledger) -> None:
    ledger.commit((Delete(memory_ref("mem_never"), Anything()),))
    ledger.commit((Put(memory(1)),))
    ledger.commit((Put(memory(1, "other"), Anything()),))
    assert [m.fact.content for m in ledger.read([memory_ref(IDS[0])]).memories()] == ["other"]


def test_a_check_changes_nothing_and_decides_over_the_rest(ledger: Ledger) -> None:
    grave = value_tombstone_ref("digest")
    ledger.commit((Put(memory(1)), Check(grave, Absent())))
    assert ledger.read([grave]).get(grave) is None
    assert ids(ledger.read([memory_ref(IDS[0])]).memories()) == [IDS[0]]
    ledger.commit((Put(Tombstone("digest", TombstoneKind.VALUE, AT, "key_1", Reason.TEST)),))
    with pytest.raises(ConflictError):
        ledger.commit((Put(memory(2)), Check(grave, Absent())))
    assert ids(ledger.page(Area.MEMORY, limit=9)) == [IDS[0]]


def test_a_change_names_a_place_once(ledger: Ledger) -> None:
    with pytest.raises(Exception, match=r"(?i)multiple operations on one item|duplicate"):
        ledger.commit((Delete(duplicate_ref("digest")), Put(Duplicate("digest", "mem_1"))))
    assert ledger.read([duplicate_ref("digest")]).get(duplicate_ref("digest")) is None


def test_a_change_has_at_most_one_hundred_parts(ledger: Ledger) -> None:
    ledger.commit(tuple(Put(memory(number)) for number in range(100)))
    with pytest.raises(Exception, match=r"(?i)100|member must have length"):
        ledger.commit(tuple(Put(memory(200 + number)) for number in range(101)))
    assert len(ledger.page(Area.MEMORY, limit=300)) == 100


def test_one_scope_sees_nothing_of_another(new_ledger: Callable[[], Ledger]) -> None:
    one, other = new_ledger(), new_ledger()
    one.commit((Put(memory(1)), Put(Head(seq=1))))
    assert one.read([memory_ref(IDS[0])]).memories() == [memory(1)]
    assert other.read([memory_ref(IDS[0]), HEAD]).memories() == []
    assert list(other.page(Area.MEMORY, limit=9)) == []
    other.commit((Put(memory(1, "mine"), Absent()),))
    assert one.read([memory_ref(IDS[0])]).memories() == [memory(1)]


def test_of_many_writers_at_once_exactly_one_wins_each_round(ledger: Ledger) -> None:
    ledger.commit((Put(Head(seq=0)),))

    def win(number: int) -> bool:
        try:
            ledger.commit((Put(Head(seq=1, memories=number), Holds("seq", 0)), Put(memory(number))))
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(win, range(16)))
    assert won.count(True) == 1
    head = ledger.read([HEAD]).get(HEAD)
    assert head == Head(seq=1, memories=won.index(True))
    assert ids(ledger.page(Area.MEMORY, limit=99)) == [memory(won.index(True)).id]
