"""What an earlier release stored comes to the form of this one, beside whoever writes."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from tests.support.fakes import FakeService, MemoryBookmark
from tests.support.http import ADMIN, Caller
from unsay_core.application.ledger import HEAD, Put
from unsay_core.application.migrations import MIGRATIONS, Migrated, Migration, migrate
from unsay_core.application.ports import OpenScope
from unsay_core.domain.errors import BusyError
from unsay_core.domain.scope import Action, Scope

COUNT = MIGRATIONS[0]
NAMES = ("acme/a", "acme/b", "acme/c")
SCOPES = [Scope.parse(name) for name in NAMES]


@pytest.fixture
def old(service: FakeService, api: Caller) -> FakeService:
    """Three scopes whose heads an earlier release has written."""
    for name in NAMES:
        api.remember("12345", name)
        api.correct(api.remember("123", name)["id"], "1234567", scope=name)
        forget_usage(service, name)
    return service


def forget_usage(service: FakeService, name: str) -> None:
    """What a release without quotas leaves of a head that it writes."""
    ledger = service.ledgers[service.keyring.scope_id(name)]
    head: Any = ledger.read([HEAD]).get(HEAD)
    ledger.commit((Put(replace(head, usage=None)),))


def opened(service: FakeService, scope: Scope) -> OpenScope:
    return service.open_scope(ADMIN, scope, Action.WRITE)


def usages(service: FakeService) -> list[Any]:
    heads: list[Any] = [opened(service, scope).ledger.read([HEAD]).get(HEAD) for scope in SCOPES]
    return [head.usage and head.usage.bytes for head in heads]


def run(service: FakeService, migration: Migration, bookmark: MemoryBookmark) -> list[Migrated]:
    return list(migrate(migration, SCOPES, lambda scope: opened(service, scope), service.world, bookmark))


def test_heads_of_an_earlier_release_come_to_count_what_they_hold(old: FakeService, api: Caller) -> None:
    assert usages(old) == [None] * 3
    steps = run(old, COUNT, MemoryBookmark())
    assert usages(old) == [12] * 3, "five bytes, and seven of the correction; not what it replaced"
    assert [step.changed for step in steps] == [1, 2, 3, 0, 0, 0], "a second pass finds nothing"
    api.remember("abc", "acme/a")
    assert usages(old) == [15, 12, 12]
    assert api.verify("acme/a")["ok"] is True
    assert len(api.events("acme/a")) == 4, "a change of form is no event"


def test_it_goes_on_where_it_was_interrupted(old: FakeService) -> None:
    bookmark, seen = MemoryBookmark(), []

    def step(scope: OpenScope, world: Any) -> bool:
        seen.append(scope.scope.canonical)
        return COUNT.step(scope, world)

    watched = replace(COUNT, step=step)
    steps = migrate(watched, SCOPES, lambda scope: opened(old, scope), old.world, bookmark)
    list(islice(steps, 2))
    assert seen == ["acme/a", "acme/b"]
    seen.clear()
    run(old, watched, bookmark)
    assert seen[:1] == ["acme/c"]
    assert usages(old) == [12] * 3
    assert bookmark.read() is None


def test_what_a_writer_of_the_earlier_release_undoes_is_done_again(old: FakeService) -> None:
    steps = migrate(COUNT, SCOPES, lambda scope: opened(old, scope), old.world, MemoryBookmark())
    next(steps)
    next(steps)
    forget_usage(old, "acme/a")
    list(steps)
    assert usages(old) == [12] * 3


def test_a_write_while_it_counts_makes_it_count_again(old: FakeService, api: Caller) -> None:
    scope = opened(old, SCOPES[0])
    page = old.ledgers[scope.id].page
    late = iter(["Written while it counted."])

    def paged(*given: Any, **more: Any) -> Any:
        found = page(*given, **more)
        for content in late:
            api.remember(content, "acme/a")
        return found

    old.ledgers[scope.id].page = paged  # type: ignore[method-assign]
    assert COUNT.step(scope, old.world) is True
    assert usages(old)[0] == 12 + len("Written while it counted.")


def test_a_scope_that_is_too_busy_holds_up_no_other_and_is_told(old: FakeService) -> None:
    def step(scope: OpenScope, world: Any) -> bool:
        if scope.scope.canonical == "acme/b":
            raise BusyError
        return COUNT.step(scope, world)

    steps = run(old, replace(COUNT, step=step), MemoryBookmark())
    assert usages(old) == [12, None, 12]
    assert (steps[-1].busy, len(steps)) == (1, 30)


def test_a_scope_that_was_never_written_to_is_left_alone(service: FakeService) -> None:
    assert [step.changed for step in run(service, COUNT, MemoryBookmark())] == [0, 0, 0]


def test_migrations_are_numbered_in_order() -> None:
    assert [each.number for each in MIGRATIONS] == list(range(1, len(MIGRATIONS) + 1))
