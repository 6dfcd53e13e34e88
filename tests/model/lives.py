"""A scope with a past, every verb that may happen to it next, and how its ledger looks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.application.digests import value_digest
from unsay_core.application.ledger import (
    HEAD,
    Area,
    Delete,
    Head,
    Pending,
    Reviewable,
    Slot,
    Version,
    pending_ref,
)
from unsay_core.domain.erasure import Erasure
from unsay_core.domain.memory import Memory
from unsay_core.domain.tombstone import Tombstone

SCOPE = "acme/alice"
LISBON, PORTO, FARO, TEA, DOG = (
    "Alice lives in Lisbon.",
    "Alice lives in Porto.",
    "Alice lives in Faro.",
    "Alice likes tea.",
    "Alice has a dog.",
)
NAMED = {"headers": {"idempotency_key": "k"}}
FROM_A_RUN = {"source": {"run_id": "run-1", "message_seqs": [3]}}


def batch(api: Caller, **headers: str) -> Answer:
    items = [{"content": PORTO, "key": "home"}, {"content": LISBON}, {"content": FARO}, {"no": "item"}]
    return api.send("POST", "/v1/memories/batch", {"scope": SCOPE, "items": items}, **headers)


def lift(api: Caller) -> Answer:
    keyring = api.service.keyring
    return api.lift(value_digest(keyring.for_scope(keyring.scope_id(SCOPE)), TEA))


# Every verb, on a memory in the slot `home` (version 1) and one in doubt (version 2).
VERBS: dict[str, Callable[[Caller, str, str], Answer]] = {
    "remember": lambda api, home, doubted: api.remember(PORTO),
    "remember by name": lambda api, home, doubted: api.remember(PORTO, **NAMED),
    "remember into the slot": lambda api, home, doubted: api.remember(PORTO, key="home"),
    "remember a duplicate": lambda api, home, doubted: api.remember(LISBON, key="home", **FROM_A_RUN),
    "remember a duplicate by name": lambda api, home, doubted: api.remember(
        LISBON, key="home", **FROM_A_RUN, **NAMED
    ),
    "batch": lambda api, home, doubted: batch(api),
    "batch by name": lambda api, home, doubted: batch(api, idempotency_key="k"),
    "remember what was taken back": lambda api, home, doubted: api.remember(TEA),
    "edit": lambda api, home, doubted: api.edit(home, content=PORTO),
    "leave the slot": lambda api, home, doubted: api.edit(home, key=None),
    "correct": lambda api, home, doubted: api.correct(home, PORTO),
    "correct to a value that is elsewhere": lambda api, home, doubted: api.correct(home, DOG, key=None),
    "restate": lambda api, home, doubted: api.correct(home, LISBON.lower(), "wrong", tags=["a"]),
    "correct by name": lambda api, home, doubted: api.correct(home, PORTO, "wrong", **NAMED),
    "retract": lambda api, home, doubted: api.retract(home, note="never"),
    "retract what waits": lambda api, home, doubted: api.retract(doubted, version=2),
    "dispute": lambda api, home, doubted: api.dispute(home),
    "approve": lambda api, home, doubted: api.decide(doubted, "approve", version=2),
    "reject": lambda api, home, doubted: api.decide(doubted, "reject", version=2, reason="incorrect"),
    "forget": lambda api, home, doubted: api.forget(home),
    "forget the id": lambda api, home, doubted: api.forget(home, tombstone="id"),
    "forget what waits": lambda api, home, doubted: api.forget(doubted),
    "lift": lambda api, home, doubted: lift(api),
}


class Life:
    """A scope in which one memory holds a slot, one is in doubt and one was taken back."""

    def __init__(self, service: FakeService) -> None:
        self.service = service
        api = Caller(service)
        self.home = api.remember(LISBON, key="home")["id"]
        self.doubted = api.remember(DOG)["id"]
        api.dispute(self.doubted)
        api.retract(api.remember(TEA)["id"])
        (self.scope_id,) = service.ledgers
        self.plain: Any = service.ledgers[self.scope_id]

    def send(self, verb: str, ledger: Any = None) -> Answer:
        """The request, to a process that has just started and sees the ledger through another."""
        self.service.ledgers[self.scope_id] = ledger or self.plain
        try:
            return VERBS[verb](Caller(self.service), self.home, self.doubted)
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
        seen = [_seen(entry) for area in Area for entry in self.plain.page(area, limit=100)]
        head = self.plain.read([HEAD]).get(HEAD) or Head()
        events = Caller(self.service).events(SCOPE)
        return [head.seq, head.epoch, head.memories, events, sorted(seen, key=repr)]


def _seen(entry: Any) -> tuple[Any, ...]:
    match entry:
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
