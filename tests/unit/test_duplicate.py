"""The exact statement: equal for duplicates, different for everything else."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unsay_core.contracts import exact_json
from unsay_core.domain.duplicate import statement
from unsay_core.domain.memory import Fact, Kind

FACT = Fact("Alice lives in Lisbon.")
words = st.text(st.characters(exclude_categories=("Cs",)), max_size=4)
scalars = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([Decimal("1.0"), Decimal("0.0")]) | words
)
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=2) | st.dictionaries(words, v, max_size=2), max_leaves=4
)


@pytest.mark.parametrize(
    "same",
    [
        replace(FACT, content="  Alice\tlives \n in\u2003Lisbon. "),
        replace(FACT, tags=("a",)),
        replace(FACT, importance=Decimal(1)),
        replace(FACT, metadata={"a": 1}),
        replace(FACT, valid_to=datetime(2030, 1, 1, tzinfo=UTC)),
        replace(FACT, expires_at=datetime(2030, 1, 1, tzinfo=UTC)),
    ],
)
def test_white_space_and_what_is_not_stated_make_no_difference(same: Fact) -> None:
    assert statement(same) == statement(FACT)


def test_composed_and_decomposed_letters_are_the_same() -> None:
    assert statement(Fact("Zo\u00e9")) == statement(Fact("Zoe\u0301"))


@pytest.mark.parametrize(
    "other",
    [
        replace(FACT, content="Alice lives in lisbon."),
        replace(FACT, content="Alice lives in Lisbon"),
        replace(FACT, content="AlicelivesinLisbon."),
        replace(FACT, kind=Kind.EPISODIC),
        replace(FACT, key="home"),
        replace(FACT, data={}),
        replace(FACT, data=[]),
        replace(FACT, data=""),
        replace(FACT, data=0),
        replace(FACT, data=False),
        replace(FACT, valid_from=datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_every_stated_part_makes_a_difference(other: Fact) -> None:
    assert statement(other) != statement(FACT)


@given(values, values)
def test_data_is_the_same_if_and_only_if_its_json_is(one: Any, other: Any) -> None:
    def sorted_json(value: Any) -> str:
        if isinstance(value, dict):
            return (
                "{" + ",".join(f"{exact_json.dumps(k)}:{sorted_json(value[k])}" for k in sorted(value)) + "}"
            )
        if isinstance(value, list):
            return "[" + ",".join(map(sorted_json, value)) + "]"
        return exact_json.dumps(value)

    same = sorted_json(one) == sorted_json(other)
    assert (statement(replace(FACT, data=one)) == statement(replace(FACT, data=other))) is same


def test_the_order_of_members_makes_no_difference() -> None:
    one, other = {"a": 1, "b": [{"c": 2, "d": 3}]}, {"b": [{"d": 3, "c": 2}], "a": 1}
    assert statement(replace(FACT, data=one)) == statement(replace(FACT, data=other))


def test_parts_do_not_run_into_each_other() -> None:
    assert statement(Fact("b", key="a")) != statement(Fact("a", key="b"))
    assert statement(Fact("x", data="None")) != statement(Fact("x", data=None))
    assert statement(Fact("x", data=["a", "b"])) != statement(Fact("x", data=["a,b"]))


def test_what_is_not_json_is_an_error() -> None:
    with pytest.raises(TypeError):
        statement(replace(FACT, data=1.5))
