"""`GET /v1/scopes`: who was written to is noted on the way to the index, and told to who may read it."""

from __future__ import annotations

from tests.support.fakes import FakeService, MemoryRegistry
from tests.support.http import Caller, principal, quoted
from tests.support.workers import project_memory
from unsay_core.application.ledger import Area, Pending, pending_ref
from unsay_core.application.ports import IndexTask
from unsay_core.application.scopes import NotedOnce
from unsay_core.domain.scope import Action, Scope


def project(service: FakeService, scope: str, memory_id: str) -> IndexTask | None:
    scope_id = service.keyring.scope_id(scope)
    return project_memory(memory_id, service.work_scope(scope_id), service.scope_notes, service.world)


def write(api: Caller, *scopes: str) -> None:
    """Write to each scope, and let the change be projected."""
    for scope in scopes:
        project(api.service, scope, api.remember("a fact", scope)["id"])


def listed(caller: Caller, prefix: str | None = None) -> list[str]:
    answer = caller.send("GET", "/v1/scopes", query=f"prefix={quoted(prefix)}" if prefix else "")
    assert answer.status == 200, answer.text
    return list(answer["items"])


def test_a_scope_is_known_once_its_first_memory_was_projected(api: Caller, service: FakeService) -> None:
    memory = api.remember("a fact", "acme/alice")
    assert listed(api) == []
    project(service, "acme/alice", memory["id"])
    assert listed(api) == ["acme/alice"]


def test_a_prefix_names_a_scope_and_what_is_below_it_and_no_look_alike(api: Caller) -> None:
    write(api, "acme", "acme/alice", "acme/alice/work", "acme/alicia", "acme-corp/alice")
    assert listed(api, "acme") == ["acme", "acme/alice", "acme/alice/work", "acme/alicia"]
    assert listed(api, "acme/alice") == ["acme/alice", "acme/alice/work"]
    assert listed(api, "nobody") == []
    assert len(listed(api)) == 5


def test_others_see_what_they_may_read_and_nothing_else(api: Caller) -> None:
    write(api, "acme/alice", "acme/bob", "acme-corp/alice")
    alice = api.as_(principal("acme/alice", Action.READ))
    below = api.as_(principal("acme/*", Action.READ))
    stranger = api.as_(principal("elsewhere/*", Action.READ))
    writer = api.as_(principal("acme/*", Action.WRITE))
    assert listed(alice) == ["acme/alice"]
    assert listed(below) == ["acme/alice", "acme/bob"]
    assert [listed(caller, "acme") for caller in (stranger, writer)] == [[], []]
    assert listed(alice, "acme-corp") == []


def test_names_of_every_script_come_back_as_they_were_given(api: Caller) -> None:
    names = ["root/ü ä", "root/一二", "root/a%2Fb", "root/#1+1=2"]
    write(api, *names)
    assert listed(api) == sorted(names)


def test_a_name_that_is_known_is_not_noted_again(api: Caller, service: FakeService) -> None:
    notes = MemoryRegistry()
    noted: list[str] = []
    notes.add = lambda scope: noted.append(scope.canonical)  # type: ignore[method-assign]
    service.scope_notes = NotedOnce(notes)
    write(api, "a", "b", "a", "a")
    assert noted == ["a", "b"]


def test_a_name_that_could_not_be_noted_is_noted_with_the_next_try() -> None:
    class DownOnce(MemoryRegistry):
        down = True

        def add(self, scope: Scope) -> None:
            if self.down:
                self.down = False
                raise RuntimeError("down")
            super().add(scope)

    registry = DownOnce()
    notes = NotedOnce(registry)
    for _ in range(2):
        try:
            notes.add(Scope.parse("a/b"))
        except RuntimeError:
            assert registry.roots() == set()
    assert registry.roots() == {"a"}


def test_the_index_is_not_asked_before_the_name_is_noted(api: Caller, service: FakeService) -> None:
    memory = api.remember("a fact", "acme/alice")

    class Down(MemoryRegistry):
        def add(self, scope: Scope) -> None:
            raise RuntimeError("down")

    scope_id = service.keyring.scope_id("acme/alice")
    try:
        project_memory(memory["id"], service.work_scope(scope_id), Down(), service.world)
        raise AssertionError("it went on without the name")
    except RuntimeError:
        assert not service.documents[scope_id].exists(memory["id"])


def test_the_name_lies_in_the_head_and_the_marker_and_nowhere_else_in_the_scope(
    api: Caller, service: FakeService
) -> None:
    memory = api.remember("a fact", "quokka/alice")
    api.correct(memory["id"], "another fact", scope="quokka/alice")
    scope_id = service.keyring.scope_id("quokka/alice")
    ledger = service.ledgers[scope_id]
    marker = ledger.read([pending_ref(memory["id"])]).get(pending_ref(memory["id"]))
    assert isinstance(marker, Pending)
    assert marker.scope == "quokka/alice"
    task = project(service, "quokka/alice", memory["id"])
    others = [ledger.page(area, limit=1000) for area in Area if area not in (Area.PENDING, Area.HEAD)]
    assert "quokka" not in repr([others, task, service.documents])


def test_what_was_taken_back_leaves_no_name_in_the_marker(api: Caller, service: FakeService) -> None:
    memory = api.remember("a fact", "quokka/alice")
    api.forget(memory["id"], scope="quokka/alice")
    ledger = service.ledgers[service.keyring.scope_id("quokka/alice")]
    assert "quokka" not in repr(ledger.page(Area.PENDING, limit=10))
