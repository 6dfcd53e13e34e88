"""The audit chain: each entry bound to all before it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.samples import AT
from unsay_core.domain.audit import GENESIS, AuditEntry, Event, Happening, entry_hash, sealed, walk

texts = st.none() | st.text(st.characters(exclude_categories=("Cs",)), max_size=5)
happenings = st.builds(
    Happening,
    st.sampled_from(Event),
    texts,
    st.none() | st.integers(1, 9),
    texts,
    st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=3), max_size=3).map(tuple),
    texts,
    texts,
    texts,
)


def chain(length: int) -> list[AuditEntry]:
    entries: list[AuditEntry] = []
    for seq in range(1, length + 1):
        prev = entries[-1].hash if entries else GENESIS
        entries.append(sealed(AuditEntry(seq, AT, "key_1", Happening(Event.REMEMBERED, f"mem_{seq}"), prev)))
    return entries


def test_a_chain_holds_from_its_start_and_from_any_entry() -> None:
    entries = chain(5)
    assert walk(entries, previous=None).ok
    for start in range(1, 5):
        assert walk(entries[start:], previous=entries[start - 1]).ok


def test_an_empty_chain_holds() -> None:
    verdict = walk([], previous=None)
    assert (verdict.ok, verdict.last, verdict.first_bad) == (True, None, None)


def test_the_first_bad_entry_is_named() -> None:
    entries = chain(5)
    for bad in range(5):
        changed = [*entries[:bad], replace(entries[bad], actor="key_2"), *entries[bad + 1 :]]
        verdict = walk(changed, previous=None)
        assert (verdict.ok, verdict.first_bad) == (False, bad + 1)


def test_a_chain_of_another_scope_does_not_continue_ours() -> None:
    entries, other = chain(3), chain(3)
    other[2] = sealed(replace(other[2], prev="f" * 64))
    assert walk([*entries[:2], other[2]], previous=None).first_bad == 3


@given(happenings, happenings)
def test_what_differs_in_any_part_has_another_hash(one: Happening, other: Happening) -> None:
    hashes = {entry_hash(AuditEntry(1, AT, "key_1", happening, GENESIS)) for happening in (one, other)}
    assert len(hashes) == len({one, other})


@given(happenings)
def test_the_hash_does_not_cover_itself_and_sealing_twice_changes_nothing(happening: Happening) -> None:
    entry = sealed(AuditEntry(1, AT, "key_1", happening, GENESIS))
    assert sealed(entry) == entry
    assert len(entry.hash) == 64
