"""The part of a caller's filter that the knowledge base can apply before it looks for what is near.

It knows a memory's kind and when it is valid from. What it cannot apply is left out; the memory itself is
held against the whole filter afterwards, so that a hit too many costs room, and never a wrong answer.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from unsay_core.domain.memory import Kind
from unsay_core.retrieval.filters import All, Comparison, Op, Some

if TYPE_CHECKING:
    from unsay_core.retrieval.filters import Filter

# A double has no room for microseconds after the year 2100: strict comparisons let what is equal there pass.
_RANGES = {
    Op.GT: "greaterThanOrEquals",
    Op.GTE: "greaterThanOrEquals",
    Op.LT: "lessThanOrEquals",
    Op.LTE: "lessThanOrEquals",
}


def pushed(wanted: Filter) -> list[dict[str, Any]]:
    """Conditions of the knowledge base, all of which hold for whatever the filter wants."""
    match wanted:
        case All(parts):
            return [condition for part in parts for condition in pushed(part)]
        case Some(parts):
            either = [pushed(part) for part in parts]
            return [one_of([c for (c,) in either])] if all(map(_is_single, either)) else []
        case Comparison(Op.EQ, "kind", str() as kind):
            return [_is_kind(kind)]
        case Comparison(Op.IN, "kind", list() as values) if kinds := [
            kind for kind in Kind if kind in values
        ]:
            return [one_of([_is_kind(kind) for kind in kinds])]
        case Comparison(op, "valid_from", datetime() as instant) if op in _RANGES:
            return [{_RANGES[op]: {"key": "valid_from", "value": instant.timestamp()}}]
        case _:
            return []


def _is_kind(kind: str) -> dict[str, Any]:
    return {"equals": {"key": "kind", "value": str(kind)}}


def _is_single(conditions: list[dict[str, Any]]) -> bool:
    return len(conditions) == 1 and "equals" in conditions[0]


def one_of(conditions: list[dict[str, Any]]) -> dict[str, Any]:
    """That one of these holds; `orAll` needs two members."""
    return conditions[0] if len(conditions) == 1 else {"orAll": conditions}
