"""What a filter means, a second time: over the JSON that callers see, with negations pushed inwards.

And filters and memories at random, from a pool in which they meet often enough.
"""

from __future__ import annotations

import operator
import unicodedata
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from random import Random

TEXTS = ["red", "RED", "blue", "", "1", "true", "caf\u00e9", "cafe\u0301", "猫", "semantic", "episodic"]
NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 10**37, 10**37 + 1),
    *map(Decimal, ("1.0", "1.00", "0.5", "1e2", "-0.0", "0.1000000000000000055511151231257827021")),
]
INSTANTS = [
    "2026-01-01T00:00:00Z",
    "2026-01-01T02:00:00+02:00",
    "2026-01-01T00:00:00.000001Z",
    "2025-12-31T18:30:00-05:30",
    "1969-07-20T20:17:40Z",
]
NESTED: list[Any] = [{"b": 1}, {"b": {"c": "red"}}, [1, Decimal("1.0")], ["red", None], [], {}, None]
METADATA, DATA = ("team", "level", "flag", "a.b"), ("a", "a.b", "a.b.c", "n", "list")
PLAIN = ("kind", "key", "path", "tags", "importance", "valid_from", "recorded_at")
FIELDS = [*PLAIN, *(f"metadata.{name}" for name in METADATA), *(f"data.{name}" for name in DATA)]
COMPARISONS = ["eq", "ne", "gt", "gte", "lt", "lte", "in", "exists", "under"]


def matches(wanted: Any, memory: Any, *, negated: bool = False) -> bool:
    """True if a memory, as it is answered, is one that the filter wants."""
    ((op, about),) = wanted.items()
    if op == "not":
        return matches(about, memory, negated=not negated)
    if op in ("and", "or"):
        every = (op == "and") is not negated
        return (all if every else any)(matches(part, memory, negated=negated) for part in about)
    field, value = about if isinstance(about, list) else (about, True)
    found = _found(memory, field)
    if op == "exists":
        return bool(found) is (value is not negated)
    told = [_told(op, have, _prepared(field, value)) for have in found]
    return told == [not negated]


def _found(memory: Any, field: str) -> list[Any]:
    """The field's value, if there is one."""
    root, _, rest = field.partition(".")
    if root == "metadata":
        return [memory["metadata"][rest]] if rest in memory["metadata"] else []
    at = [memory["data"]] if root == "data" else [memory[field]]
    for step in rest.split(".") if rest else ():
        at = [value[step] for value in at if isinstance(value, dict) and step in value]
    if field in ("valid_from", "recorded_at"):
        at = [datetime.fromisoformat(value) for value in at if value is not None]
    return [value for value in at if value is not None or root == "data"]


def _prepared(field: str, value: Any) -> Any:
    if field not in ("valid_from", "recorded_at"):
        return value
    if isinstance(value, list):
        return [_prepared(field, member) for member in value]
    return datetime.fromisoformat(value) if value in INSTANTS else value


def _told(op: str, found: Any, value: Any) -> bool | None:
    """Whether a comparison holds, or None if it has no answer."""
    if op == "ne":
        equal = _told("eq", found, value)
        return None if equal is None else not equal
    if op == "in":
        return _one_of(_told("eq", found, member) for member in value)
    if op == "under":
        lists = isinstance(found, list) and isinstance(value, list)
        return _plain(found[: len(value)]) == _plain(value) if lists else None
    if op == "eq" and isinstance(found, list) and not isinstance(value, list):
        return _one_of(_told("eq", member, value) for member in found)
    (sort, have), (other, want) = _plain(found), _plain(value)
    if sort != other or (op != "eq" and sort not in ("number", "text", "instant")):
        return None
    relation = {"eq": operator.eq, "gt": operator.gt, "gte": operator.ge, "lt": operator.lt}
    return bool(relation.get(op, operator.le)(have, want))


def _one_of(outcomes: Iterable[bool | None]) -> bool | None:
    every = list(outcomes)
    return True if True in every else None if None in every else False


def _plain(value: Any) -> tuple[str, Any]:
    """A JSON value as its type and something that Python compares as JSON means it."""
    match value:
        case bool():
            return "boolean", value
        case int() | Decimal():
            return "number", Fraction(value)
        case str():
            return "text", unicodedata.normalize("NFC", value)
        case list():
            return "list", [_plain(member) for member in value]
        case dict():
            return "object", {name: _plain(member) for name, member in value.items()}
        case datetime():
            return "instant", value
        case _:
            return "null", None


def some_filter(chance: Random, depth: int = 4, most: int = 20) -> Any:
    """A filter that is allowed."""
    op = chance.choice(["and", "or", "not", *["a comparison"] * 3]) if depth > 1 else "a comparison"
    if op == "not":
        return {"not": some_filter(chance, depth - 1, most)}
    if op in ("and", "or"):
        parts = chance.randint(1, 2)
        return {op: [some_filter(chance, depth - 1, most // parts) for _ in range(parts)]}
    return _some_comparison(chance)


def _some_comparison(chance: Random) -> Any:
    op, field = chance.choice(COMPARISONS), chance.choice(FIELDS)
    if op == "exists":
        return {op: chance.choice([field, [field, True], [field, False]])}
    if op == "in":
        return {op: [field, [_some_value(chance, field) for _ in range(chance.randint(0, 4))]]}
    if op == "under" and chance.random() < 0.7:
        return {op: [field, chance.choice([[], ["red"], ["red", "blue"], ["caf\u00e9"]])]}
    return {op: [field, _some_value(chance, field)]}


def _some_value(chance: Random, field: str) -> Any:
    likely: Any = TEXTS
    if field in ("importance", "metadata.level", "data.n"):
        likely = NUMBERS
    if field in ("valid_from", "recorded_at"):
        likely = INSTANTS
    pool = likely if chance.random() < 0.7 else [*TEXTS, *NUMBERS, *NESTED, True, False, INSTANTS[0]]
    return chance.choice(pool)


def some_memory(chance: Random, number: int) -> dict[str, Any]:
    """What may be remembered; its content tells it apart."""
    fields: dict[str, Any] = {
        "content": f"Note {number} about tea.",
        "kind": chance.choice(["semantic", "episodic", "procedural"]),
        "importance": chance.choice([0, 1, Decimal("0.5"), Decimal("0.50"), Decimal("0.1")]),
        "tags": chance.sample(["red", "blue", "caf\u00e9", "猫"], chance.randint(0, 3)),
        "metadata": {
            name: chance.choice([*TEXTS, *NUMBERS, True, False, ["red", "1"], []])
            for name in METADATA
            if chance.random() < 0.6
        },
    }
    if chance.random() < 0.5:
        fields["valid_from"] = chance.choice(INSTANTS)
    if chance.random() < 0.7:
        pool = [*TEXTS, *NUMBERS, *NESTED, True, False]
        fields["data"] = {name: chance.choice(pool) for name in ("a", "n", "list") if chance.random() < 0.8}
    return fields
