"""How a caller writes a filter: JSON, checked whole, with the place of whatever is wrong."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from unsay_core.contracts import exact_json
from unsay_core.contracts.base import DEPTH, parse_instant
from unsay_core.domain.errors import InvalidRequestError
from unsay_core.retrieval.filters import PLAIN, TIMES, All, Comparison, Filter, Not, Op, Some

NESTED = 4
MOST_COMPARISONS = 20
MOST_VALUES = 100  # of `in`
FIELDS = f"{', '.join(PLAIN)}, metadata.<key> or data.<path>"
OPERATORS = ", ".join([*Op, "and", "or", "not"])

_OPS = {op.value: op for op in Op}
_BEGINS_WITH_A_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def parse_filter(value: object) -> Filter:
    """A filter, in the evaluator's form; raises `InvalidRequestError` or `InvalidTimeError`.

    A value of another type than the field's is no error: it matches nothing.
    """
    return _Reader().expression(value, "filter", NESTED)


def parse_filter_text(value: object) -> Filter:
    """A filter as a query string carries it: JSON text."""
    if not isinstance(value, str):
        raise _wrong("filter", "a filter as JSON text")
    try:
        parsed = exact_json.loads(value, max_depth=DEPTH)
    except InvalidRequestError:
        raise _wrong("filter", "not the JSON text of a filter") from None
    return parse_filter(parsed)


class _Reader:
    """Reads one filter, and counts its comparisons."""

    def __init__(self) -> None:
        self._comparisons = 0

    def expression(self, value: object, path: str, depth: int) -> Filter:
        """One operator and what it is about."""
        if depth == 0:
            raise _wrong(path, f"a filter is nested at most {NESTED} deep")
        if not isinstance(value, dict) or len(value) != 1:
            raise _wrong(path, f"an object with one operator: {OPERATORS}")
        ((name, about),) = value.items()
        match name:
            case "and":
                return All(self._parts(about, f"{path}.and", depth))
            case "or":
                return Some(self._parts(about, f"{path}.or", depth))
            case "not":
                return Not(self.expression(about, f"{path}.not", depth - 1))
            case _ if name in _OPS:
                return self._comparison(_OPS[name], about, f"{path}.{name}")
        raise _wrong(path, f"an operator is one of {OPERATORS}")

    def _parts(self, about: object, path: str, depth: int) -> tuple[Filter, ...]:
        if not isinstance(about, list) or not about:
            raise _wrong(path, "a list of one or more filters")
        return tuple(self.expression(part, f"{path}.{at}", depth - 1) for at, part in enumerate(about))

    def _comparison(self, op: Op, about: object, path: str) -> Comparison:
        self._comparisons += 1
        if self._comparisons > MOST_COMPARISONS:
            raise _wrong("filter", f"a filter has at most {MOST_COMPARISONS} comparisons")
        if op is Op.EXISTS:
            about = [about, True] if isinstance(about, str) else about
        if not isinstance(about, list) or len(about) != 2:
            raise _wrong(path, "a list of a field and a value")
        field, value = about
        if not isinstance(field, str) or not _is_field(field):
            raise _wrong(f"{path}.0", f"a field is {FIELDS}")
        return Comparison(op, field, _value(op, field, value, f"{path}.1"))


def _is_field(name: str) -> bool:
    root, dot, rest = name.partition(".")
    return name in PLAIN or (root in ("metadata", "data") and bool(dot and rest))


def _value(op: Op, field: str, value: object, path: str) -> Any:
    if op is Op.EXISTS and not isinstance(value, bool):
        raise _wrong(path, "true or false")
    if op is Op.IN:
        if not isinstance(value, list) or len(value) > MOST_VALUES:
            raise _wrong(path, f"a list of at most {MOST_VALUES} values")
        return [_instant(member) for member in value] if field in TIMES else value
    return _instant(value) if field in TIMES else value


def _instant(value: object) -> object:
    """An instant, if the value sets out to be one; `InvalidTimeError` if it then is none."""
    begins = isinstance(value, str) and _BEGINS_WITH_A_DATE.match(value)
    return parse_instant(value) if begins else value


def _wrong(path: str, message: str) -> InvalidRequestError:
    return InvalidRequestError.at(path, message)


_COMPARED = {"type": "array", "prefixItems": [{"type": "string", "examples": ["metadata.team"]}, {}]}
_SCHEMA = {
    "type": "object",
    "minProperties": 1,
    "maxProperties": 1,
    "description": f"{NESTED} deep and {MOST_COMPARISONS} comparisons at most. A field is {FIELDS}.",
    "examples": [{"and": [{"eq": ["metadata.team", "red"]}, {"not": {"lt": ["importance", 0.3]}}]}],
    "properties": {
        **{op.value: {**_COMPARED, "minItems": 2, "maxItems": 2} for op in Op},
        "and": {"type": "array", "items": {"type": "object"}, "minItems": 1},
        "or": {"type": "array", "items": {"type": "object"}, "minItems": 1},
        "not": {"type": "object"},
    },
    "additionalProperties": False,
}
_AS_STATED = PlainSerializer(repr, return_type=str)  # tells every two filters apart: cursors are bound to it
FilterField = Annotated[Filter, PlainValidator(parse_filter), _AS_STATED, WithJsonSchema(_SCHEMA)]
FilterText = Annotated[
    Filter,
    PlainValidator(parse_filter_text),
    _AS_STATED,
    WithJsonSchema({"type": "string", "examples": ['{"eq": ["metadata.team", "red"]}']}),
]
