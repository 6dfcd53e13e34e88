"""The metadata filter grammar of S3 Vectors.

A filter is compiled once and then run on the metadata of every vector, so that a
malformed filter is refused even when no vector would have been looked at.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from local.aws_json import invalid

Metadata: TypeAlias = Mapping[str, Any]
Predicate: TypeAlias = Callable[[Metadata], bool]
Test: TypeAlias = Callable[[Any], bool]

# Constraints a query may name, all levels together.
MAX_CONSTRAINTS = 100


def match_all(_: Metadata) -> bool:
    """The predicate of a query without a filter."""
    return True


def compile_filter(document: Any, non_filterable: frozenset[str] = frozenset()) -> Predicate:
    """The predicate a filter document stands for; a broken one is a ValidationException."""
    if document is None:
        return match_all
    if _constraints(document) > MAX_CONSTRAINTS:
        raise invalid(f"Invalid query filter: at most {MAX_CONSTRAINTS} constraints are allowed")
    return _every(document, non_filterable)


def _constraints(document: Any) -> int:
    if not isinstance(document, Mapping):
        return 1
    return sum(_constraints_of(key, value) for key, value in document.items())


def _constraints_of(key: str, value: Any) -> int:
    combines = key in ("$and", "$or") and isinstance(value, list)
    return sum(map(_constraints, value)) if combines else 1


def _every(document: Any, non_filterable: frozenset[str]) -> Predicate:
    """All entries of one filter object hold."""
    if not isinstance(document, Mapping) or not document:
        raise invalid("Invalid query filter: a filter must be a non-empty object")
    parts = [_entry(key, value, non_filterable) for key, value in document.items()]
    return lambda metadata: all(part(metadata) for part in parts)


def _entry(key: str, value: Any, non_filterable: frozenset[str]) -> Predicate:
    if key in ("$and", "$or"):
        return _combination(key, value, non_filterable)
    if key.startswith("$"):
        raise invalid(f"Invalid query filter: unknown operator {key}")
    if key in non_filterable:
        raise invalid(f"Invalid query filter: metadata key {key} is not filterable")
    tests = _tests(value)
    return lambda metadata: all(test(metadata.get(key)) for test in tests)


def _combination(operator: str, value: Any, non_filterable: frozenset[str]) -> Predicate:
    if not isinstance(value, list) or not value:
        raise invalid(f"Invalid query filter: {operator} takes a non-empty array of filters")
    parts = [_every(part, non_filterable) for part in value]
    combine = all if operator == "$and" else any
    return lambda metadata: combine(part(metadata) for part in parts)


def _tests(condition: Any) -> list[Test]:
    """The tests of one key; a bare value means equality."""
    if not isinstance(condition, Mapping):
        return [_equal(condition)]
    if not condition:
        raise invalid("Invalid query filter: a condition must name an operator")
    return [_test(operator, operand) for operator, operand in condition.items()]


def _test(operator: str, operand: Any) -> Test:
    make = _OPERATORS.get(operator)
    if make is None:
        raise invalid(f"Invalid query filter: unknown operator {operator}")
    return make(operand)


def _equal(operand: Any) -> Test:
    """Equality; on an array, equality with any of its elements."""
    if not _is_primitive(operand):
        raise invalid("Invalid query filter: equality takes a string, number or boolean")
    return lambda value: any(_same(element, operand) for element in _elements(value))


def _in(operand: Any) -> Test:
    if not isinstance(operand, list) or not operand or not all(map(_is_primitive, operand)):
        raise invalid("Invalid query filter: $in and $nin take a non-empty array of primitives")
    tests = [_equal(member) for member in operand]
    return lambda value: any(test(value) for test in tests)


def _negated(make: Callable[[Any], Test]) -> Callable[[Any], Test]:
    """The opposite; it holds for an absent key too, as on AWS."""

    def made(operand: Any) -> Test:
        test = make(operand)
        return lambda value: not test(value)

    return made


def _ordered(compare: Callable[[float, float], bool]) -> Callable[[Any], Test]:
    """A numeric comparison; a value that is no number never matches."""

    def made(operand: Any) -> Test:
        if not _is_number(operand):
            raise invalid("Invalid query filter: $gt, $gte, $lt and $lte take a number")
        return lambda value: _is_number(value) and compare(value, operand)

    return made


def _exists(operand: Any) -> Test:
    if not isinstance(operand, bool):
        raise invalid("Invalid query filter: $exists takes a boolean")
    return lambda value: (value is not None) is operand


def _elements(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, list) else (value,)


def _same(one: Any, other: Any) -> bool:
    """Equality that tells True from 1, which Python does not."""
    return isinstance(one, bool) is isinstance(other, bool) and one == other


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_primitive(value: Any) -> bool:
    return isinstance(value, str | int | float)


_OPERATORS: dict[str, Callable[[Any], Test]] = {
    "$eq": _equal,
    "$ne": _negated(_equal),
    "$in": _in,
    "$nin": _negated(_in),
    "$gt": _ordered(lambda value, bound: value > bound),
    "$gte": _ordered(lambda value, bound: value >= bound),
    "$lt": _ordered(lambda value, bound: value < bound),
    "$lte": _ordered(lambda value, bound: value <= bound),
    "$exists": _exists,
}
