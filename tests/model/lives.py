"""A scope with a past, every verb that may happen to it next, and how its ledger looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.model.conftest import InMemory, Stores
from tests.support.candidates import candidate
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.application.digests import value_digest
from unsay_core.application.ledger import (
    Area,
    Delete,
    Head,
    Pending,
    Put,
    Reviewable,
    Slot,
    Version,
    pending_ref,
)
from unsay_core.application.review import RESTATED
from unsay_core.domain.audit import AuditEntry
from unsay_core.domain.memory import Memory
from unsay_core.domain.tombstone import Tombstone
from unsay_core.jobs.erasure import Erasure

SCOPE = "acme/alice"
LISBON, PORTO, FARO, TEA, DOG = (
    "Alice lives in Lisbon.",
    "Alice lives in Porto.",
    "Alice lives in Faro.",
    "Alice likes tea.",
    "Alice has a dog.",
)
NAMED = {"headers": {"idempotency_key": "k"}}
FOR_A_YEAR = {"valid_from": "2024-01-01T00:00:00Z", "valid_to": "2025-01-01T00:00:00Z"}
FROM_A_RUN = {"source": {"run_id": "run-1", "message_seqs": [3]}}


def batch(api: Caller, **headers: str) -> Answer:
    items = [{"content": PORTO, "key": "home"}, {"content": LISBON}, {"content": FARO}, {"no": "item"}]
    return api.send("POST", "/v1/memories/batch", {"scope": SCOPE, "items": items}, **headers)


def lift(api: Caller) -> Answer:
    keyring = api.service.keyring
    return api.lift(value_digest(keyring.for_scope(keyring.scope_id(SCOPE)), TEA))


# Every verb, on a memory in the slot `home` (version 1), one in doubt (version 2), and one that the user has
# said anew after it was taken back.
VERBS: dict[str, Callable[[Caller, Life], Answer]] = {
    "remember": lambda api, life: api.remember(PORTO),
    "remember by name": lambda api, life: api.remember(PORTO, **NAMED),
    "remember into the slot": lambda api, life: api.remember(PORTO, key="home"),
    "interrupt": lambda api, life: api.remember(PORTO, key="home", **FOR_A_YEAR),
    "write an item": lambda api, life: api.remember(
        "", kind="item", key="k", data=[1], headers={"idempotency_key": "i"}
    ),
    "remember a duplicate": lambda api, life: api.remember(LISBON, key="home", **FROM_A_RUN),
    "remember a duplicate by name": lambda api, life: api.remember(LISBON, key="home", **FROM_A_RUN, **NAMED),
    "batch": lambda api, life: batch(api),
    "batch by name": lambda api, life: batch(api, idempotency_key="k"),
    "remember what was taken back": lambda api, life: api.remember(TEA),
    "edit": lambda api, life: api.edit(life.home, content=PORTO),
    "leave the slot": lambda api, life: api.edit(life.home, key=None),
    "correct": lambda api, life: api.correct(life.home, PORTO),
    "correct to a value that is elsewhere": lambda api, life: api.correct(life.home, DOG, key=None),
    "restate": lambda api, life: api.correct(life.home, LISBON.lower(), "wrong", tags=["a"]),
    "correct by name": lambda api, life: api.correct(life.home, PORTO, "wrong", **NAMED),
    "retract": lambda api, life: api.retract(life.home, note="never"),
    "retract what waits": lambda api, life: api.retract(life.doubted, version=2),
    "dispute": lambda api, life: api.dispute(life.home),
    "approve": lambda api, life: api.decide(life.doubted, "approve", version=2),
    "reject": lambda api, life: api.decide(life.doubted, "reject", version=2, reason="incorrect"),
    "approve what was said anew": lambda api, life: api.decide(life.anew, "approve"),
    "reject what was said anew": lambda api, life: api.decide(life.anew, "reject", reason="policy"),
    "retract by name": lambda api, life: api.retract(life.home, **NAMED),
    "dispute by name": lambda api, life: api.dispute(life.home, **NAMED),
    "approve by name": lambda api, life: api.decide(life.doubted, "approve", version=2, **NAMED),
    "reject by name": lambda api, life: api.decide(
        life.doubted, "reject", version=2, reason="incorrect", **NAMED
    ),
    "forget": lambda api, life: api.forget(life.home),
    "forget the id": lambda api, life: api.forget(life.home, tombstone="id"),
    "forget what waits": lambda api, life: api.forget(life.doubted),
    "lift": lambda api, life: lift(api),
}


class Life:
    """A scope in which one memory holds a slot, one is in doubt and one was taken back and said anew."""

    def __init__(self) -> None:
        self.service = FakeService()
        api = Caller(self.service)
        self.home = api.remember(LISBON, key="home")["id"]
        self.doubted = api.remember(DOG)["id"]
        api.dispute(self.doubted)
        api.retract(api.remember(TEA)["id"])
        self.anew = candidate(self.service, TEA, RESTATED).id
        ((self.scope_id, self.plain),) = self.service.ledgers.items()  # type: ignore[var-annotated]
        self.stores: Stores = InMemory()
        self.past = self.stores.everything_in(self.plain)

    def begin(self, stores: Stores) -> Any:
        """The same past again, in a ledger of its own."""
        self.stores, self.plain = stores, stores.new()(self.scope_id)
        self.plain.commit(tuple(Put(entry) for entry in self.past))
        self.service.ledgers[self.scope_id] = self.plain
        return self.plain

    def send(self, verb: str, ledger: Any = None) -> Answer:
        """The request, to a process that has just started and sees the ledger through another."""
        self.service.ledgers[self.scope_id] = ledger or self.plain
        try:
            return VERBS[verb](Caller(self.service), self)
        finally:
            self.service.ledgers[self.scope_id] = self.plain

    def settle_index(self) -> None:
        """The index holds what is there now, and nothing is owed to it."""
        base = self.service.knowledge_base
        for memory in self.plain.page(Area.MEMORY, limit=100):
            base.documents[self.scope_id, memory.id] = memory
            self.plain.commit((Delete(pending_ref(memory.id)),))

    def looks(self) -> list[Any]:
        """Everything in the ledger but ids, times and digests, which differ from one try to the next."""
        return sorted(map(_seen, self.stores.everything_in(self.plain)), key=repr)


def _seen(entry: Any) -> tuple[Any, ...]:
    match entry:
        case Head(seq=seq, epoch=epoch, memories=memories):
            return ("head", seq, epoch, memories)
        case AuditEntry(seq=seq, happening=happening):
            return ("event", seq, happening.event, happening.reason, happening.version)
        case Memory() as m:
            links = len(m.supersedes), m.superseded_by is None, m.superseded_because, len(m.corroborations)
            return (
                "memory",
                m.fact.content,
                m.fact.key,
                m.status,
                m.trust,
                m.version,
                m.review is None,
                links,
            )
        case Version(memory=m):
            return ("version", m.fact.content, m.status, m.trust, m.version)
        case Pending(work=work, fact=fact):
            return ("pending", work, fact and fact.content)
        case Tombstone(kind=kind, lifted=lifted, hits=hits, reason=reason):
            return ("tombstone", kind, lifted, hits, reason)
        case Slot(key=key, occupants=occupants):
            return ("slot", key, len(occupants))
        case Reviewable(waiting=waiting):
            return ("waits", waiting)
        case Erasure(erased=erased, tombstones=tombstones):
            return ("erasure", erased, tombstones)
        case _:
            return (type(entry).__name__,)
