"""What a caller's filter means, and how it is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.support.samples import memory
from unsay_core.contracts.filter import parse_filter, parse_filter_text
from unsay_core.domain.errors import InvalidRequestError, InvalidTimeError
from unsay_core.retrieval.filters import holds

NOON = datetime(2026, 5, 1, 12, 0, tzinfo=UTC)
BIG = 12345678901234567890123456789012345678
FACT: dict[str, Any] = {
    "key": "home_city",
    "tags": ("profile", "caf\u00e9"),
    "importance": Decimal("0.30"),
    "metadata": {
        "team": "red",
        "level": 1,
        "flag": True,
        "a.b": "dotted",
        "teams": ["red", "blue"],
        "big": BIG,
    },
    "data": {"n": Decimal("1.0"), "a": {"b": {"c": None}}, "list": [1, "x"], "a.b": "not reached"},
    "valid_from": NOON,
}


def wants(wanted: Any, **changes: Any) -> bool:
    return holds(parse_filter(wanted), memory(**(FACT | changes)))


@pytest.mark.parametrize(
    "wanted",
    [
        {"eq": ["metadata.team", "red"]},
        {"eq": ["metadata.level", Decimal("1.0")]},
        {"eq": ["data.n", 1]},
        {"eq": ["metadata.flag", True]},
        {"eq": ["metadata.a.b", "dotted"]},
        {"eq": ["metadata.big", BIG]},
        {"ne": ["metadata.big", BIG + 1]},
        {"gt": ["metadata.big", BIG - 1]},
        {"eq": ["data.a.b.c", None]},
        {"eq": ["data.a", {"b": {"c": None}}]},
        {"eq": ["data.list", [Decimal("1.00"), "x"]]},
        {"eq": ["tags", "cafe\u0301"]},
        {"eq": ["metadata.teams", "blue"]},
        {"ne": ["metadata.teams", "green"]},
        {"eq": ["kind", "semantic"]},
        {"in": ["kind", ["episodic", "semantic"]]},
        {"in": ["tags", ["x", "profile"]]},
        {"eq": ["importance", Decimal("0.3")]},
        {"gte": ["importance", Decimal("0.3")]},
        {"lt": ["key", "home_d"]},
        {"eq": ["valid_from", "2026-05-01T14:00:00+02:00"]},
        {"lt": ["valid_from", "2026-05-01T12:00:00.000001Z"]},
        {"exists": "metadata.team"},
        {"exists": ["data.a.b.c", True]},
        {"exists": ["metadata.gone", False]},
        {"not": {"exists": "metadata.gone"}},
        {"not": {"eq": ["metadata.team", "blue"]}},
        {"and": [{"eq": ["key", "home_city"]}, {"or": [{"eq": ["kind", "x"]}, {"exists": "tags"}]}]},
        {"or": [{"eq": ["metadata.gone", 1]}, {"eq": ["metadata.level", 1]}]},
        {"not": {"and": [{"eq": ["metadata.gone", 1]}, {"eq": ["metadata.level", 2]}]}},
    ],
)
def test_what_matches(wanted: Any) -> None:
    assert wants(wanted)
    assert not wants({"not": wanted})


@pytest.mark.parametrize(
    "wanted",
    [
        {"eq": ["metadata.gone", "red"]},
        {"ne": ["metadata.gone", "red"]},
        {"eq": ["metadata.level", True]},
        {"ne": ["metadata.level", "1"]},
        {"eq": ["metadata.flag", 1]},
        {"gt": ["metadata.flag", False]},
        {"gt": ["metadata.team", 1]},
        {"lt": ["tags", "z"]},
        {"eq": ["data.a.b.c.d", 1]},
        {"eq": ["data.list.0", 1]},
        {"eq": ["valid_from", "noon"]},
        {"lt": ["valid_from", 2_000_000_000]},
        {"under": ["kind", ["semantic"]]},
        {"under": ["path", "a"]},
        {"eq": ["key", None]},
        {"or": [{"eq": ["metadata.gone", 1]}, {"eq": ["metadata.level", 2]}]},
        {"and": [{"eq": ["metadata.gone", 1]}, {"eq": ["metadata.level", 1]}]},
        {"in": ["metadata.level", ["1", True]]},
    ],
)
def test_what_is_absent_or_of_another_type_does_not_match_and_neither_does_its_negation(wanted: Any) -> None:
    assert not wants(wanted)
    assert not wants({"not": wanted})


def test_a_key_and_a_time_that_are_not_given_are_absent() -> None:
    for field in ("key", "valid_from"):
        assert wants({"exists": [field, False]}, key=None, valid_from=None)
        assert wants({"exists": field})


def test_every_memory_has_tags_and_a_path() -> None:
    assert wants({"exists": "tags"}, tags=())
    assert wants({"ne": ["tags", "x"]}, tags=())
    assert wants({"under": ["path", []]})
    assert not wants({"under": ["path", ["a"]]})


COMPARISON = {"eq": ["kind", "semantic"]}


def nested(times: int) -> Any:
    wanted: Any = COMPARISON
    for _ in range(times):
        wanted = {"not": wanted}
    return wanted


@pytest.mark.parametrize(
    ("wanted", "path"),
    [
        (None, "filter"),
        ([], "filter"),
        ({}, "filter"),
        ("kind", "filter"),
        ({**COMPARISON, "ne": ["kind", "x"]}, "filter"),
        ({"like": ["kind", "x"]}, "filter"),
        ({"$eq": ["kind", "x"]}, "filter"),
        ({"EQ": ["kind", "x"]}, "filter"),
        ({"and": []}, "filter.and"),
        ({"or": COMPARISON}, "filter.or"),
        ({"not": [COMPARISON]}, "filter.not"),
        ({"and": [COMPARISON, {"near": ["kind", "x"]}]}, "filter.and.1"),
        ({"eq": "kind"}, "filter.eq"),
        ({"eq": ["kind"]}, "filter.eq"),
        ({"eq": ["kind", "x", "y"]}, "filter.eq"),
        ({"eq": [1, "x"]}, "filter.eq.0"),
        *(
            ({"not": {"eq": [field, "x"]}}, "filter.not.eq.0")
            for field in "scope id status trust content metadata metadata. data. Kind data source.x".split()
        ),
        ({"in": ["kind", "semantic"]}, "filter.in.1"),
        ({"in": ["kind", ["x"] * 101]}, "filter.in.1"),
        ({"exists": ["kind", 1]}, "filter.exists.1"),
        ({"exists": ["kind"]}, "filter.exists"),
        (nested(4), "filter.not.not.not.not"),
        ({"or": [COMPARISON] * 21}, "filter"),
    ],
)
def test_what_is_no_filter_is_refused_and_its_place_is_said(wanted: Any, path: str) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_filter(wanted)
    assert [error.path for error in refused.value.errors] == [path]


def test_the_largest_filters_are_taken() -> None:
    assert wants({"or": [COMPARISON] * 20})
    assert not wants(nested(3))
    assert wants({"in": ["kind", ["x"] * 99 + ["semantic"]]})


@pytest.mark.parametrize("naive", ["2026-05-01", "2026-05-01T12:00:00", "2026-05-01T25:00:00Z"])
def test_a_time_without_an_offset_is_refused(naive: str) -> None:
    for wanted in ({"gte": ["valid_from", naive]}, {"in": ["recorded_at", [naive]]}):
        with pytest.raises(InvalidTimeError):
            parse_filter(wanted)
    assert not wants({"eq": ["metadata.team", naive]})


@pytest.mark.parametrize(
    "text", ["", "{", '{"eq": ["kind", 1], "eq": ["kind", 2]}', '{"eq": ["kind", NaN]}', 7]
)
def test_a_text_that_is_no_filter_is_refused(text: object) -> None:
    with pytest.raises(InvalidRequestError) as refused:
        parse_filter_text(text)
    assert [error.path for error in refused.value.errors] == ["filter"]
