"""What the knowledge base is asked to filter by, held against the evaluator that decides."""

from __future__ import annotations

import operator
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest

from tests.support.plain_filter import some_filter
from tests.support.samples import memory
from unsay_core.adapters.bedrock.index import _attributes
from unsay_core.adapters.bedrock.pushdown import pushed
from unsay_core.adapters.bedrock.search import scope_filter
from unsay_core.contracts.filter import parse_filter
from unsay_core.domain.memory import Kind, Memory
from unsay_core.retrieval.filters import holds

SCOPE = "a" * 52
NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
TICK = timedelta(microseconds=1)
INSTANTS = [
    NOON,
    NOON + TICK,
    NOON - TICK,
    datetime(1969, 7, 20, tzinfo=UTC),
    datetime(9999, 1, 1, tzinfo=UTC),
]
MEMORIES = [
    memory(number, kind=kind, valid_from=instant)
    for number, (kind, instant) in enumerate((k, i) for k in Kind for i in [*INSTANTS, None])
]
RELATIONS = {
    "equals": operator.eq,
    "greaterThanOrEquals": operator.ge,
    "lessThanOrEquals": operator.le,
}


def passes(condition: dict[str, Any], found: Memory) -> bool:
    """What the knowledge base makes of a condition, by what it was told of a memory."""
    ((name, about),) = condition.items()
    if name == "orAll":
        assert len(about) > 1
        return any(passes(member, found) for member in about)
    told = {
        a["key"]: next(v for k, v in a["value"].items() if k != "type") for a in _attributes(SCOPE, found)
    }
    return about["key"] in told and bool(RELATIONS[name](told[about["key"]], about["value"]))


def at(instant: datetime) -> str:
    return instant.isoformat()


@pytest.mark.parametrize(
    "wanted",
    [
        {"eq": ["kind", "episodic"]},
        {"eq": ["kind", "nonsense"]},
        {"in": ["kind", ["episodic"]]},
        {"in": ["kind", ["episodic", "semantic", "nonsense", 1]]},
        {"or": [{"eq": ["kind", "episodic"]}, {"eq": ["kind", "procedural"]}]},
        {"gte": ["valid_from", at(NOON)]},
        {"lte": ["valid_from", at(NOON)]},
        {"and": [{"gte": ["valid_from", at(NOON - TICK)]}, {"lte": ["valid_from", at(NOON)]}]},
        {"and": [{"eq": ["kind", "semantic"]}, {"and": [{"gte": ["valid_from", at(NOON + TICK)]}]}]},
    ],
)
def test_what_is_pushed_down_is_exact(wanted: Any) -> None:
    conditions = pushed(parse_filter(wanted))
    assert conditions
    assert scope_filter(SCOPE, *conditions)
    for one in MEMORIES:
        assert all(passes(condition, one) for condition in conditions) == holds(parse_filter(wanted), one)


@pytest.mark.parametrize(("op", "beyond"), [("gt", TICK), ("lt", -TICK)])
def test_of_a_strict_comparison_at_most_what_is_equal_is_left_to_the_ledger(
    op: str, beyond: timedelta
) -> None:
    (condition,) = pushed(parse_filter({op: ["valid_from", at(NOON)]}))
    passed = [one.fact.valid_from for one in MEMORIES if passes(condition, one)]
    assert NOON in passed and NOON + beyond in passed and NOON - beyond not in passed and None not in passed


@pytest.mark.parametrize(
    "wanted",
    [
        {"ne": ["kind", "semantic"]},
        {"not": {"eq": ["kind", "semantic"]}},
        {"in": ["kind", []]},
        {"or": [{"eq": ["kind", "semantic"]}, {"eq": ["metadata.a", 1]}]},
        {"or": [{"eq": ["kind", "semantic"]}, {"gte": ["valid_from", at(NOON)]}]},
        {"eq": ["valid_from", at(NOON)]},
        {"gte": ["valid_from", "noon"]},
        {"eq": ["metadata.kind", "semantic"]},
    ],
)
def test_what_the_knowledge_base_cannot_be_sure_of_is_left_to_the_ledger(wanted: Any) -> None:
    assert pushed(parse_filter(wanted)) == []


def test_nothing_that_is_wanted_is_kept_back() -> None:
    chance, narrowed = Random(11), 0
    for _ in range(6_000):
        wanted = parse_filter(some_filter(chance))
        conditions = pushed(wanted)
        narrowed += bool(conditions)
        for one in MEMORIES if conditions else ():
            assert not holds(wanted, one) or all(passes(condition, one) for condition in conditions)
    assert narrowed > 40, narrowed
