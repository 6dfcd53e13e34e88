"""When two statements say exactly the same thing."""

from __future__ import annotations

import unicodedata
from decimal import Decimal
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from unsay_core.domain.memory import Fact


def identity(fact: Fact) -> bytes:
    """What a fact is known by: its statement, or the address of an item, whatever lies there."""
    if fact.is_item:
        return _bytes([fact.kind.value, fact.path, fact.key])
    return statement(fact)


def statement(fact: Fact) -> bytes:
    """What makes a fact the same as another: kind, key, data, start of validity and folded words.

    Injective: every value carries its type, so that `1`, `1.0`, `"1"` and `true` stay apart.
    """
    started = fact.valid_from.isoformat() if fact.valid_from else None
    words = " ".join(unicodedata.normalize("NFC", fact.content).split())
    return _bytes([fact.kind.value, fact.key, fact.data, started, words])


def is_same(one: Fact, other: Fact) -> bool:
    """True if nothing differs, not even the kind of a number: to Python, `1`, `1.0` and `True` are equal."""
    return one == other and _typed([one.data, one.metadata]) == _typed([other.data, other.metadata])


def _bytes(parts: list[Any]) -> bytes:
    return repr(_typed(parts)).encode("utf-8", "surrogatepass")


def _typed(value: Any) -> tuple[object, ...]:
    match value:
        case None:
            return ("null",)
        case bool():
            return ("bool", value)
        case int():
            return ("int", value)
        case Decimal():
            return ("float", str(value))
        case str():
            return ("str", value)
        case dict():
            return ("dict", *sorted((name, _typed(member)) for name, member in value.items()))
        case list() | tuple():
            return ("list", *map(_typed, value))
        case _:
            raise TypeError(f"not a JSON value: {type(value).__name__}")
