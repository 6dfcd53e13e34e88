"""The contract of `Registry`, on every backend."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import MemoryRegistry
from unsay_core.adapters.dynamodb.access import DynamoRegistry
from unsay_core.adapters.sqlite.kept import SqliteRegistry
from unsay_core.domain.scope import Scope

if TYPE_CHECKING:
    from unsay_core.application.scopes import Registry

_numbers = count(1)


@pytest.fixture(params=["memory", "sqlite", "moto"])
def registry(request: pytest.FixtureRequest) -> Registry:
    if request.param == "memory":
        return MemoryRegistry()
    if request.param == "sqlite":
        return SqliteRegistry(request.getfixturevalue("ledger_file"))
    client = request.getfixturevalue("moto_session").client("dynamodb")
    return DynamoRegistry(lambda: client, "access")


@pytest.fixture
def root() -> str:
    """A first segment nobody has used: tests share a table."""
    return f"registry-{next(_numbers)}"


def add(registry: Registry, *names: str) -> None:
    for name in names:
        registry.add(Scope.parse(name))


def below(registry: Registry, root: str) -> list[str]:
    return [scope.canonical for scope in registry.below(root)]


def test_a_noted_scope_is_below_its_root_and_its_root_is_one(registry: Registry, root: str) -> None:
    assert root not in set(registry.roots())
    add(registry, f"{root}/users/alice", root)
    assert root in set(registry.roots())
    assert below(registry, root) == [root, f"{root}/users/alice"]


def test_noting_again_changes_nothing(registry: Registry, root: str) -> None:
    for _ in range(2):
        add(registry, f"{root}/a")
    assert below(registry, root) == [f"{root}/a"]
    assert list(registry.roots()).count(root) == 1


def test_a_root_that_another_begins_with_is_another(registry: Registry, root: str) -> None:
    add(registry, f"{root}/a", f"{root}-too/a")
    assert below(registry, root) == [f"{root}/a"]


def test_names_come_back_as_they_were_and_in_order(registry: Registry, root: str) -> None:
    names = sorted([f"{root}/a%2Fb", f"{root}/ü ä", f"{root}/一", f"{root}/#1"])
    add(registry, *reversed(names))
    assert below(registry, root) == names
