"""Every verb, stopped before and after every call of the ledger: a retry ends where it would have ended."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.application.digests import value_digest
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.ledger import (
    HEAD,
    Area,
    Erasure,
    Head,
    Pending,
    Reviewable,
    Slot,
    Tombstone,
    Version,
)
from unsay_core.domain.memory import Memory

SCOPE = "acme/alice"
LISBON, PORTO, FARO, TEA = (
    "Alice lives in Lisbon.",
    "Alice lives in Porto.",
    "Alice lives in Faro.",
    "Alice likes tea.",
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
    "edit": lambda api, home, doubted: api.edit(home, content=PORTO),
    "leave the slot": lambda api, home, doubted: api.edit(home, key=None),
    "correct": lambda api, home, doubted: api.correct(home, PORTO),
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


class Died(BaseException):
    """The process was stopped: nothing of it catches this."""


class Fault(StrEnum):
    """What goes wrong at one call of the ledger."""

    STOPPED_BEFORE = "stopped before"
    STOPPED_AFTER = "stopped after"
    LOST_ON_THE_WAY = "lost on the way"
    DONE_BUT_NOT_ANSWERED = "done but not answered"


class Faulty:
    """A ledger that counts its calls and fails at one of them."""

    def __init__(self, ledger: Any, at: int | None = None, fault: Fault | None = None) -> None:
        self._ledger, self._at, self._fault = ledger, at, fault
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._ledger, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            fault = self._fault if self.calls == self._at else None
            self.calls += 1
            self._fail(fault, (Fault.STOPPED_BEFORE, Fault.LOST_ON_THE_WAY))
            answer = member(*args, **kwargs)
            self._fail(fault, (Fault.STOPPED_AFTER, Fault.DONE_BUT_NOT_ANSWERED))
            return answer

        return call

    def _fail(self, fault: Fault | None, now: tuple[Fault, Fault]) -> None:
        stopped, lost = now
        if fault is stopped:
            raise Died
        if fault is lost:
            raise UnavailableError("the ledger cannot be reached")


class Life:
    """A scope with a past, one verb about to happen to it, and how its ledger looks."""

    def __init__(self, service: FakeService, verb: str) -> None:
        self.service, self.verb = service, VERBS[verb]
        api = Caller(service)
        self.home = api.remember(LISBON, key="home")["id"]
        self.doubted = api.remember("Alice has a dog.")["id"]
        api.dispute(self.doubted)
        api.retract(api.remember(TEA)["id"])
        (self.scope_id,) = service.ledgers
        self.plain = service.ledgers[self.scope_id]

    def send(self, at: int | None = None, fault: Fault | None = None) -> tuple[Answer | None, int]:
        """The request, to a process that has just started; None if it died. And its calls."""
        ledger = Faulty(self.plain, at, fault)
        self.service.ledgers[self.scope_id] = ledger  # type: ignore[assignment]
        try:
            return self.verb(Caller(self.service), self.home, self.doubted), ledger.calls
        except Died:
            return None, ledger.calls
        finally:
            self.service.ledgers[self.scope_id] = self.plain

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


@pytest.fixture
def backend() -> str:
    return "memory"


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("verb", VERBS)
def test_a_retry_ends_where_the_first_try_would_have_ended(
    backend: str, new_service: Callable[[], FakeService], verb: str, fault: Fault
) -> None:
    smooth = Life(new_service(), verb)
    before = smooth.looks()
    first, calls = smooth.send()
    after = smooth.looks()
    assert first is not None
    assert first.status < 300, first.text
    assert before != after
    assert calls >= 2
    for at in range(calls):
        life = Life(new_service(), verb)
        assert life.looks() == before
        answer, _ = life.send(at, fault)
        assert life.looks() in (before, after)
        done = life.looks() == after
        if answer is not None:
            assert answer.status == (first.status if done else 503), answer.text
        again, _ = life.send()
        assert life.looks() == after, f"call {at}"
        assert again is not None
        if "by name" in verb or not done:
            assert again.status == first.status
        else:  # nothing doubles: the second is told that it is done, or that the memory has moved on
            assert again.code in (None, "version_conflict", "already_forgotten", "wrong_status")
        assert Caller(life.service).verify(SCOPE)["ok"] is True
