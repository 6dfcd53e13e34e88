"""A caller's filter: an expression over what a memory says of itself, which can only narrow.

    {"and": [{"eq": ["metadata.team", "red"]}, {"not": {"lt": ["importance", 0.3]}}]}

A comparison has three outcomes, as in SQL: it holds, it fails, or it cannot be told, because the field is
absent or of another type. `not` turns the first two around and leaves the third; what cannot be told does not
match. So a negation matches only where the field exists, and no filter is an error for some memory.
"""

from __future__ import annotations

import operator
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeAlias

from unsay_core.domain.memory import BELIEFS
from unsay_core.domain.values import dataclass

if TYPE_CHECKING:
    from unsay_core.domain.memory import Kind, Memory


class Op(StrEnum):
    """What a test compares."""

    EQ = "eq"
    NE = "ne"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IN = "in"
    EXISTS = "exists"
    UNDER = "under"


class _Absent:
    """Stands for a field that a memory does not have; null is a value."""


ABSENT = _Absent()

# The fields that every memory has by name; beside them `metadata.<key>` and `data.<path>`.
PLAIN: Mapping[str, Callable[[Memory], Any]] = {
    "kind": lambda memory: memory.fact.kind.value,
    "key": lambda memory: ABSENT if memory.fact.key is None else memory.fact.key,
    "path": lambda memory: list(memory.fact.path),
    "tags": lambda memory: list(memory.fact.tags),
    "importance": lambda memory: memory.fact.importance,
    "valid_from": lambda memory: memory.fact.valid_from or ABSENT,
    "recorded_at": lambda memory: memory.recorded_at,
}
TIMES = frozenset({"valid_from", "recorded_at"})


@dataclass(frozen=True, slots=True)
class Comparison:
    """One field compared with a value; for times the value is an instant."""

    op: Op
    field: str
    value: Any

    def verdict(self, memory: Memory) -> bool | None:
        """True, False, or None where it cannot be told."""
        found = field_of(memory, self.field)
        if self.op is Op.EXISTS:
            return (found is not ABSENT) is self.value
        return None if found is ABSENT else _COMPARISONS[self.op](found, self.value)


@dataclass(frozen=True, slots=True)
class All:
    """Holds if every part does."""

    parts: tuple[Filter, ...]

    def verdict(self, memory: Memory) -> bool | None:
        """Fails if one part fails, whatever cannot be told of others."""
        return _inverse(_any(_inverse(part.verdict(memory)) for part in self.parts))


@dataclass(frozen=True, slots=True)
class Some:
    """Holds if one part does."""

    parts: tuple[Filter, ...]

    def verdict(self, memory: Memory) -> bool | None:
        """Holds if one part holds, whatever cannot be told of others."""
        return _any(part.verdict(memory) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    """Holds if its part fails."""

    part: Filter

    def verdict(self, memory: Memory) -> bool | None:
        """What cannot be told stays so."""
        return _inverse(self.part.verdict(memory))


Filter: TypeAlias = Comparison | All | Some | Not
EVERYTHING = All(())


def holds(wanted: Filter, memory: Memory) -> bool:
    """True if a memory is known to be one of those wanted."""
    return wanted.verdict(memory) is True


def among(kinds: Sequence[Kind]) -> Comparison:
    """One of these kinds; of none named, a belief: items are in no answer that does not ask for them."""
    return Comparison(Op.IN, "kind", list(kinds or BELIEFS))


def narrowing(equal: Mapping[str, Any], wanted: Filter | None = None) -> All:
    """Fields that must equal the values given for them (None is no restriction), beside a filter."""
    stated = [Comparison(Op.EQ, name, value) for name, value in equal.items() if value is not None]
    return All((*stated, *([wanted] if wanted else [])))


def field_of(memory: Memory, name: str) -> Any:
    """A field's value, or `ABSENT`. A metadata key may have dots; in `data`, a dot steps into an object."""
    if name in PLAIN:
        return PLAIN[name](memory)
    root, _, rest = name.partition(".")
    if root == "metadata":
        return memory.fact.metadata.get(rest, ABSENT)
    value = memory.fact.data
    for step in rest.split("."):
        if not isinstance(value, dict) or step not in value:
            return ABSENT
        value = value[step]
    return value


def _any(verdicts: Iterable[bool | None]) -> bool | None:
    """Kleene's disjunction: true if one is, else unknown if one is, else false."""
    outcome: bool | None = False
    for verdict in verdicts:
        if verdict:
            return True
        outcome = outcome if verdict is False else None
    return outcome


def _inverse(verdict: bool | None) -> bool | None:
    return None if verdict is None else not verdict


def _equal(found: Any, value: Any) -> bool | None:
    """A list has a value that one of its members equals; `1` equals `1.0` and not `true`."""
    if isinstance(found, list) and not isinstance(value, list):
        return _any(_equal(member, value) for member in found)
    kind = _kind(found)
    if kind is None or kind is not _kind(value):
        return None
    return _same(found, value)


def _same(one: Any, other: Any) -> bool:
    """Equality of two JSON values throughout; numbers by value, strings in NFC."""
    kind = _kind(one)
    if kind is not _kind(other):
        return False
    if kind is list:
        return len(one) == len(other) and all(map(_same, one, other))
    if kind is dict:
        return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
    return bool(_comparable(one) == _comparable(other))


def _kind(value: Any) -> type | None:
    """The type as JSON has it: whole numbers and fractions are of one, booleans of another."""
    return _KINDS.get(type(value)) or next((k for t, k in _KINDS.items() if isinstance(value, t)), None)


# A boolean is an `int` to Python: it goes before.
_KINDS: Mapping[type, type] = {
    str: str,
    bool: bool,
    int: Decimal,
    Decimal: Decimal,
    list: list,
    dict: dict,
    datetime: datetime,
    type(None): type(None),
}
_ORDERED = (str, Decimal, datetime)


def _comparable(value: Any) -> Any:
    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value


def _ordered(relation: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool | None]:
    """A comparison of numbers, of instants, or of strings by code point."""

    def compare(found: Any, value: Any) -> bool | None:
        kind = _kind(found)
        if kind not in _ORDERED or kind is not _kind(value):
            return None
        return relation(_comparable(found), _comparable(value))

    return compare


def _is_under(found: Any, value: Any) -> bool | None:
    """True if a path begins with these labels."""
    if not isinstance(found, list) or not isinstance(value, list):
        return None
    return _same(found[: len(value)], value)


_COMPARISONS: Mapping[Op, Callable[[Any, Any], bool | None]] = {
    Op.EQ: _equal,
    Op.NE: lambda found, value: _inverse(_equal(found, value)),
    Op.GT: _ordered(operator.gt),
    Op.GTE: _ordered(operator.ge),
    Op.LT: _ordered(operator.lt),
    Op.LTE: _ordered(operator.le),
    Op.IN: lambda found, values: _any(_equal(found, value) for value in values),
    Op.UNDER: _is_under,
}
