"""The filter grammar of a knowledge base's Retrieve, translated to that of S3 Vectors.

What AWS does on an S3 Vectors store, as far as it is documented or was reported:
- `startsWith` and `stringContains` are silently ignored: the clause is dropped and the
  query runs without it. A scope must therefore never rest on them;
- `notEquals` and `notIn` also match documents without the key;
- `andAll` and `orAll` need two members or more.
"""

from collections.abc import Mapping
from typing import Any

from local.aws_json import invalid

MAX_KEY_LENGTH = 100
IGNORED = frozenset({"startsWith", "stringContains"})

_COMPARISONS = {
    "greaterThan": "$gt",
    "greaterThanOrEquals": "$gte",
    "lessThan": "$lt",
    "lessThanOrEquals": "$lte",
}
_LEAVES = {
    "equals": "$eq",
    "notEquals": "$ne",
    "in": "$in",
    "notIn": "$nin",
    # Equality with any element is what S3 Vectors does for an array.
    "listContains": "$eq",
    **_COMPARISONS,
}
_COMBINATIONS = {"andAll": "$and", "orAll": "$or"}


def translate(document: Any) -> dict[str, Any] | None:
    """The S3 Vectors filter of a Retrieve filter; None when nothing is left to filter by."""
    operator, operand = _only_member(document)
    if operator in _COMBINATIONS:
        return _combination(operator, operand)
    if operator in _LEAVES or operator in IGNORED:
        return _leaf(operator, operand)
    raise invalid(f"Unknown filter operator '{operator}'.")


def _only_member(document: Any) -> tuple[str, Any]:
    if not isinstance(document, Mapping) or len(document) != 1:
        raise invalid("A filter must have exactly one operator.")
    return next(iter(document.items()))


def _combination(operator: str, clauses: Any) -> dict[str, Any] | None:
    if not isinstance(clauses, list) or len(clauses) < 2:
        raise invalid(f"Member '{operator}' must have length greater than or equal to 2.")
    kept = [clause for clause in map(translate, clauses) if clause is not None]
    return {_COMBINATIONS[operator]: kept} if kept else None


def _leaf(operator: str, attribute: Any) -> dict[str, Any] | None:
    if not isinstance(attribute, Mapping) or set(attribute) != {"key", "value"}:
        raise invalid(f"Member '{operator}' must have a key and a value.")
    key, value = attribute["key"], attribute["value"]
    if not isinstance(key, str) or not 1 <= len(key) <= MAX_KEY_LENGTH:
        raise invalid(f"A filter key must have length between 1 and {MAX_KEY_LENGTH}.")
    return None if operator in IGNORED else {key: {_LEAVES[operator]: value}}
