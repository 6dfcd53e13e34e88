"""Entries as plain records and back: no store can bend a number or a string."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.support.samples import EVERY_ENTRY, HARD_MEMORY, memory
from unsay_core.adapters.dynamodb.items import from_attributes, to_attributes
from unsay_core.adapters.records import from_record, to_record
from unsay_core.application.ledger import Entry
from unsay_core.contracts import exact_json
from unsay_core.domain.memory import Memory
from unsay_core.extraction.conversation import Cadence
from unsay_core.extraction.steering import Consolidation, Steering

text = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
scalars = st.none() | st.booleans() | st.integers(-(10**37), 10**37) | text
scalars |= st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000, places=3)
data = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(text, v, max_size=3), max_leaves=8
)
instants = st.datetimes(timezones=st.just(UTC))


def kinds(value: Any) -> Any:
    """The value with the type of each part: equal only for what is the same to the digit."""
    if isinstance(value, dict):
        return {name: kinds(member) for name, member in value.items()}
    if isinstance(value, list):
        return [kinds(member) for member in value]
    return type(value).__name__, str(value)


@pytest.mark.parametrize("entry", EVERY_ENTRY.values(), ids=list(EVERY_ENTRY))
def test_every_entry_survives_the_round_trip(entry: Entry) -> None:
    assert from_record(type(entry), to_record(entry)) == entry


@given(data, instants, st.none() | instants)
def test_whatever_a_caller_sends_survives_in_value_and_in_kind(
    value: Any, recorded: datetime, ends: datetime | None
) -> None:
    before = memory(data=value, metadata={"k": value}, recorded_at=recorded, valid_to=ends)
    after = from_record(Memory, to_record(before))
    assert after == before
    assert kinds(after.fact.data) == kinds(value)
    assert kinds(after.fact.metadata) == kinds({"k": value})


def test_never_is_not_taken_for_what_is_usual() -> None:
    never = Steering(cadence=Cadence(idle=None), consolidation=Consolidation(every_days=None, cosine=None))
    record = to_record(never)
    assert from_record(Steering, from_attributes(to_attributes(record))) == never
    assert from_record(Steering, json.loads(json.dumps(record))) == never
    assert from_record(Steering, {}) == Steering(), "the control: what nobody has said is as usual"


def test_a_record_holds_no_floats_no_decimals_and_no_nulls() -> None:
    def plain(value: Any) -> None:
        assert type(value) in (str, int, bool, list, dict)
        for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
            plain(member)

    for entry in EVERY_ENTRY.values():
        plain(to_record(entry))


def test_decimals_keep_every_digit() -> None:
    exact = replace(HARD_MEMORY.fact, importance=Decimal("0.10"))
    after = from_record(Memory, to_record(replace(HARD_MEMORY, fact=exact)))
    assert str(after.fact.importance) == "0.10"


@pytest.mark.parametrize(
    "bent",
    [{"status": "nonsense"}, {"version": "x"}, {"recorded_at": "never"}, {"fact": {"kind": "semantic"}}],
)
def test_a_record_that_lost_its_form_is_an_error_and_not_another_entry(bent: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        from_record(Memory, {**to_record(memory()), **bent})


def test_the_callers_json_is_kept_as_its_own_text() -> None:
    assert to_record(HARD_MEMORY)["fact"]["data"] == exact_json.dumps(HARD_MEMORY.fact.data)
