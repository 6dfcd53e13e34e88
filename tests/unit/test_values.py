"""A class of values is what the standard library would have made of it."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import FrozenInstanceError, field, replace
from itertools import product

import pytest

from unsay_core.domain import values


class Stated:
    """Some words on it."""

    name: str
    secret: bytes = field(default=b"", repr=False)
    tags: tuple[str, ...] = ()


class Single:
    only: str


class Bare:
    pass


class Odd:
    name: str

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return "odd"


def made(decorator: object, cls: type) -> type:
    """The class, of a copy of what was stated."""
    body = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    return decorator(frozen=True, slots=True)(type(cls.__name__, (), body))


def both(cls: type) -> tuple[type, type]:
    return made(values.dataclass, cls), made(dataclasses.dataclass, cls)


CASES = [
    (Stated, [("a",), ("a", b"s"), ("a", b"s", ("x",)), ("b",)]),
    (Single, [("a",), ("b",)]),
    (Bare, [()]),
    (Odd, [("a",), ("b",)]),
]


@pytest.mark.parametrize(("cls", "given"), CASES, ids=lambda case: getattr(case, "__name__", ""))
def test_values_are_compared_hashed_and_shown_as_those_of_the_standard_library(cls, given):
    ours, theirs = both(cls)
    for one, other in product(given, given):
        assert (ours(*one) == ours(*other)) is (theirs(*one) == theirs(*other))
        same = hash(ours(*one)) == hash(ours(*other))
        assert same is (hash(theirs(*one)) == hash(theirs(*other)))
    for one in given:
        assert repr(ours(*one)) == repr(theirs(*one))
        assert ours(*one).__eq__(theirs(*one)) is theirs(*one).__eq__(ours(*one))


def test_a_value_does_not_change_and_has_no_other_fields():
    ours, theirs = both(Stated)
    value = ours("a", b"s", ("x",))
    with pytest.raises(FrozenInstanceError):
        value.name = "b"
    with pytest.raises((AttributeError, TypeError)):
        value.other = 1
    assert not hasattr(value, "__dict__")
    assert dataclasses.asdict(value) == dataclasses.asdict(theirs("a", b"s", ("x",)))
    assert replace(value, name="b") == ours("b", b"s", ("x",))
    assert ours.__match_args__ == theirs.__match_args__
    assert ours.__doc__ == "Some words on it."


def test_one_that_extends_another_is_compared_by_all_its_fields():
    ours, _ = both(Stated)

    @values.dataclass(frozen=True, slots=True)
    class More(ours):
        more: int = 0

    assert More("a", more=1) != More("a", more=2)
    assert More("a") != ours("a")
    assert repr(More("a", more=1)).endswith("More(name='a', tags=(), more=1)")


@values.dataclass(frozen=True, slots=True)
class Kept:
    name: str
    parts: tuple[int, ...] = ()


def test_a_value_is_copied_and_pickled_whole():
    value = Kept("a", (1, 2))
    assert copy.copy(value) == copy.deepcopy(value) == pickle.loads(pickle.dumps(value)) == value
    assert Kept("a") != value
