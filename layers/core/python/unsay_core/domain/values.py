"""`dataclass` for values, made in half the time.

For each class the standard library compiles six functions, and compiling is most of what a class costs. Three
of them all values can share: how one is compared, hashed and shown. A cold start makes some 120 classes.
"""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["dataclass"]

T = TypeVar("T")


def _dataclass(*, frozen: Literal[True], slots: bool = False) -> Callable[[type[T]], type[T]]:
    """A class with the fields it states, as `dataclasses.dataclass` makes it."""

    def made(cls: type[T]) -> type[T]:
        own = {*cls.__dict__}
        value: Any = dataclasses.dataclass(frozen=frozen, slots=slots, eq=False, repr=False)(cls)
        for function in _shared(dataclasses.fields(value)):
            if function.__name__ not in own:
                setattr(value, function.__name__, function)
        return cast("type[T]", value)

    return made


def _shared(fields: Sequence[dataclasses.Field[Any]]) -> Iterator[Callable[..., Any]]:
    names = [field.name for field in fields]
    shown = [field.name for field in fields if field.repr]
    # Of one name alone, or of none, `attrgetter` makes no tuple.
    parts = attrgetter(*names) if len(names) > 1 else lambda value: [getattr(value, name) for name in names]

    def __eq__(self: object, other: object) -> bool:
        return parts(self) == parts(other) if other.__class__ is self.__class__ else NotImplemented

    def __hash__(self: object) -> int:
        return hash(tuple(parts(self)))

    def __repr__(self: object) -> str:
        told = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
        return f"{self.__class__.__qualname__}({told})"

    yield from (__eq__, __hash__, __repr__)


if TYPE_CHECKING:
    from dataclasses import dataclass  # what it is to a checker, and to whoever reads it
else:
    dataclass = _dataclass
