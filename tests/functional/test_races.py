"""Any two writes of one scope, the second whole between any two steps of the first."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.application.digests import duplicate_digest, value_digest
from unsay_core.application.ports import Snapshot
from unsay_core.domain.audit import AuditEntry, Event
from unsay_core.domain.ledger import Area, Duplicate, Head, Slot, Tombstone, TombstoneKind
from unsay_core.domain.memory import Memory, Status

SCOPE = "acme/alice"
LISBON, PORTO, FARO = "Alice lives in Lisbon.", "Alice lives in Porto.", "Alice lives in Faro."

WRITES: dict[str, Callable[[Caller, str], Answer]] = {
    "remember the same": lambda api, _: api.remember(LISBON, key="home"),
    "remember another": lambda api, _: api.remember(FARO),
    "remember into the slot": lambda api, _: api.remember(PORTO, key="home"),
    "remember with a key": lambda api, _: api.remember(FARO, headers={"idempotency_key": "k"}),
    "correct": lambda api, memory: api.correct(memory, PORTO, "changed"),
    "correct as wrong": lambda api, memory: api.correct(memory, FARO, "wrong"),
    "restate": lambda api, memory: api.correct(memory, LISBON, "wrong", tags=["a"]),
    "restate otherwise": lambda api, memory: api.correct(memory, LISBON.lower(), "wrong"),
    "leave the slot": lambda api, memory: api.correct(memory, PORTO, "changed", key=None),
    "forget": lambda api, memory: api.forget(memory),
    "forget the id": lambda api, memory: api.forget(memory, tombstone="id"),
}


class Between:
    """A ledger in which something happens before one call of the first writer."""

    def __init__(self, service: FakeService, scope_id: str, at: int, happens: Callable[[], None]) -> None:
        self._ledger = service.ledgers[scope_id]
        self._calls = itertools.count()
        self._at = at
        self._happens = happens
        self._inside = False

    def __getattr__(self, name: str) -> object:
        member = getattr(self._ledger, name)

        def call(*args: object, **kwargs: object) -> object:
            if not self._inside and next(self._calls) == self._at:
                self._inside = True
                self._happens()
                self._inside = False
            return member(*args, **kwargs)

        return call


@pytest.mark.parametrize("at", range(5))
@pytest.mark.parametrize("second", WRITES)
@pytest.mark.parametrize("first", WRITES)
def test_two_writes_at_once_leave_what_one_after_the_other_could(
    api: Caller, service: FakeService, first: str, second: str, at: int
) -> None:
    memory = api.remember(LISBON, key="home")
    (scope_id,) = service.ledgers
    plain = service.ledgers[scope_id]
    answers: list[Answer] = []
    between = Between(service, scope_id, at, lambda: answers.append(WRITES[second](api, memory["id"])))
    service.ledgers[scope_id] = between  # type: ignore[assignment]
    answers.append(WRITES[first](api, memory["id"]))
    service.ledgers[scope_id] = plain
    assert all(answer.status < 500 for answer in answers), [answer.text for answer in answers]
    whole(service, scope_id)
    assert api.verify()["ok"] is True


def whole(service: FakeService, scope_id: str) -> None:
    """What holds of a scope at every moment, whoever wrote what."""
    ledger, keys = service.ledgers[scope_id], service.keyring.for_scope(scope_id)
    memories = [m for m in ledger.page(Area.MEMORY, limit=99) if isinstance(m, Memory)]
    active = [m for m in memories if m.status is Status.ACTIVE]
    graves = [t for t in ledger.page(Area.TOMBSTONE, limit=99) if isinstance(t, Tombstone)]
    entries = [e for e in ledger.page(Area.AUDIT, limit=99) if isinstance(e, AuditEntry)]
    dug = {entry.at: entry.seq for entry in entries}
    born = {e.happening.memory_id: e.seq for e in entries if e.happening.event is not Event.FORGOTTEN}
    values = {(value_digest(keys, m.fact.content), born[m.id]) for m in active}
    buried = [(grave.digest, dug[grave.at]) for grave in graves if grave.kind is TombstoneKind.VALUE]
    assert not [
        (value, at) for value, at in values for digest, since in buried if value == digest and at > since
    ]
    assert not {t.digest for t in graves if t.kind is TombstoneKind.ID} & {m.id for m in memories}
    statements = [duplicate_digest(keys, m.fact) for m in active]
    known = [d for d in ledger.page(Area.DUPLICATE, limit=99) if isinstance(d, Duplicate)]
    assert {(d.digest, d.memory_id) for d in known} == {
        (digest, m.id) for digest, m in zip(statements, active, strict=True)
    }
    slots = [s for s in ledger.page(Area.SLOT, limit=99) if isinstance(s, Slot)]
    occupants = {(s.key, o.memory_id) for s in slots for o in s.occupants}
    assert occupants == {(m.fact.key, m.id) for m in active if m.fact.key}
    assert len(occupants) <= 1
    (head,) = (h for h in ledger.page(Area.HEAD, limit=9) if isinstance(h, Head))
    assert head.memories == len(active)
    assert head.seq == len(ledger.page(Area.AUDIT, limit=99))


REWRITES: dict[str, Callable[[Caller, str], Answer]] = {
    "remember": lambda api, _: api.remember(LISBON),
    "correct": lambda api, other: api.correct(other, LISBON),
}


@pytest.mark.parametrize("write", REWRITES)
@pytest.mark.parametrize("late", [Area.HEAD, Area.TOMBSTONE, Area.DUPLICATE])
def test_a_read_that_is_not_one_moment_brings_nothing_back(
    api: Caller, service: FakeService, write: str, late: Area
) -> None:
    """A store reads the places of one request one by one: a forget may commit between two of them."""
    memory, other = api.remember(LISBON), api.remember("Alice has a dog.")
    (ledger,) = service.ledgers.values()
    read, torn = ledger.read, iter([True])

    def reading(refs: Sequence[Any]) -> Snapshot:
        before = read(refs)
        if not next(torn, False):
            return before
        api.forget(memory["id"])
        after = read(refs)
        chosen = {ref: (after if ref.area is late else before).get(ref) for ref in refs}
        return Snapshot({ref: entry for ref, entry in chosen.items() if entry is not None})

    ledger.read = reading  # type: ignore[method-assign]
    answer = REWRITES[write](api, other["id"])
    assert (answer.status, answer.code) == (409, "tombstoned")
    assert api.listed() == ["Alice has a dog."]
