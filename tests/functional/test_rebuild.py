"""Documents and index are written anew from the ledger, in place, scope after scope."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import FakeService, MemoryBookmark
from tests.support.http import Caller, principal
from unsay_core.application import reindex
from unsay_core.application.ledger import Anything, Area, Delete, ref_of
from unsay_core.application.reindex import Rebuilt, rebuild_all
from unsay_core.domain.scope import Action, Scope

if TYPE_CHECKING:
    from collections.abc import Iterator

    from unsay_core.application.ports import Documents, OpenScope

SCOPES = [Scope.parse(f"acme/{name}") for name in ("a", "b", "c")]
EACH = 5


@pytest.fixture(autouse=True)
def written(service: FakeService, api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some memories in each scope, with nothing owed; two of them are asked for in one step."""
    monkeypatch.setattr(reindex, "AT_ONCE", 2)
    for scope in SCOPES:
        for number in range(EACH):
            api.remember(f"Fact {number}.", scope.canonical)
        opened, documents = door(service, scope)
        for memory in opened.ledger.page(Area.MEMORY, limit=99):
            documents.put(memory)  # type: ignore[arg-type]
        settle(service, scope)


def settle(service: FakeService, scope: Scope) -> None:
    """Nothing is owed any more."""
    opened, _ = door(service, scope)
    for owed in opened.ledger.page(Area.PENDING, limit=99):
        opened.ledger.commit((Delete(ref_of(owed), Anything()),))


def door(service: FakeService, scope: Scope) -> tuple[OpenScope, Documents]:
    opened = service.open_scope(principal(), scope, Action.ADMIN)
    return opened, service.documents[opened.id]


def rebuilding(service: FakeService, bookmark: MemoryBookmark) -> Iterator[Rebuilt]:
    return rebuild_all(SCOPES, lambda scope: door(service, scope), service.world, bookmark)


def owed(service: FakeService) -> list[int]:
    """How many memories of each scope the projections owe."""
    return [len(door(service, scope)[0].ledger.page(Area.PENDING, limit=99)) for scope in SCOPES]


def test_every_memory_of_every_scope_is_owed_again(service: FakeService) -> None:
    assert owed(service) == [0, 0, 0]
    *_, last = rebuilding(service, MemoryBookmark())
    assert last == Rebuilt(3, 15)
    assert owed(service) == [EACH, EACH, EACH]


def test_one_that_was_interrupted_goes_on_behind_what_it_reached(service: FakeService) -> None:
    bookmark = MemoryBookmark()
    for done in rebuilding(service, bookmark):
        if done.memories == EACH + 2:
            break
    assert owed(service) == [EACH, 2, 0]
    for scope in SCOPES:
        settle(service, scope)
    *_, last = rebuilding(service, bookmark)
    assert last == Rebuilt(3, EACH - 2 + EACH)
    assert owed(service) == [0, EACH - 2, EACH]


def test_the_next_one_begins_anew(service: FakeService) -> None:
    bookmark = MemoryBookmark()
    list(rebuilding(service, bookmark))
    *_, last = rebuilding(service, bookmark)
    assert last.memories == len(SCOPES) * EACH


def test_documents_of_what_the_ledger_does_not_have_are_removed_and_the_others_stay(
    service: FakeService, api: Caller
) -> None:
    opened, documents = door(service, SCOPES[1])
    *kept, gone = opened.ledger.page(Area.MEMORY, limit=99)
    api.forget(gone.id, scope="acme/b")  # type: ignore[union-attr]
    assert documents.exists(gone.id)  # type: ignore[union-attr]
    list(rebuilding(service, MemoryBookmark()))
    assert set(documents.listed()) == {memory.id for memory in kept}  # type: ignore[union-attr]


def test_each_step_is_in_the_chain(service: FakeService, api: Caller) -> None:
    before = api.verify("acme/a")["length"]
    list(rebuilding(service, MemoryBookmark()))
    found = api.verify("acme/a")
    assert (found["ok"], found["length"]) == (True, before + 3)
