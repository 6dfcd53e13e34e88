"""Every verb, stopped before and after every call of the ledger: a retry ends where it would have ended.

On DynamoDB these are the calls of AWS, between which the ledger and the use case do all that they do.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from enum import StrEnum
from typing import Any

import pytest

from tests.model.conftest import InMemory, Stores
from tests.model.lives import SCOPE, VERBS, Life
from tests.support.http import Answer, Caller, quoted
from unsay_core.application.ledger import Area, Duplicate, Put, Reviewable, Slot, Version
from unsay_core.domain.memory import Memory, Status
from unsay_core.domain.tombstone import Tombstone

BACKENDS = ("memory", "sqlite", "dynamodb")
REFUSED = "remember what was taken back"  # each try is refused, and each refusal is an event


class Died(BaseException):
    """The process was stopped: nothing of it catches this."""


class Fault(StrEnum):
    """What goes wrong at one call."""

    STOPPED_BEFORE = "stopped before"
    STOPPED_AFTER = "stopped after"
    LOST_ON_THE_WAY = "lost on the way"
    DONE_BUT_NOT_ANSWERED = "done but not answered"


class Faulty:
    """What is called counts its calls, and one of them fails."""

    def __init__(self, stores: Stores, at: int | None = None, fault: Fault | None = None) -> None:
        self._stores, self._at, self._fault = stores, at, fault
        self._callee: Any = None
        self.calls = 0

    def before(self, callee: Any) -> Faulty:
        """Stand before what is called."""
        self._callee = callee
        return self

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._callee, name)

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
            raise self._stores.silence()


def sent(life: Life, verb: str, stores: Stores, faulty: Faulty) -> Answer | None:
    """The answer, or None from a process that died."""
    try:
        return life.send(verb, stores.through(life.plain, faulty.before))
    except Died:
        return None


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("stores", BACKENDS, indirect=True)
def test_a_retry_ends_where_the_first_try_would_have_ended(stores: Stores, verb: str, fault: Fault) -> None:
    life, counted = Life(), Faulty(stores)
    life.begin(stores)
    before = life.looks()
    first = sent(life, verb, stores, counted)
    after = life.looks()
    assert first is not None
    assert first.status < 300 or verb == REFUSED, first.text
    assert before != after
    assert counted.calls >= 2
    for at in range(counted.calls):
        life.begin(stores)
        answer = sent(life, verb, stores, Faulty(stores, at, fault))
        left = life.looks()
        assert left in (before, after), f"call {at}"
        done = left == after
        if answer is not None:
            assert answer.status == (first.status if done else 503), answer.text
        again = life.send(verb)
        assert Caller(life.service).verify(SCOPE)["ok"] is True
        if "by name" in verb or not done:
            assert again.status == first.status
        else:  # nothing doubles: the second is told that it is done, or that the memory has moved on
            expected = {None, "version_conflict", "already_forgotten", "wrong_status"}
            assert again.code in (expected if verb != REFUSED else {"tombstoned"})
        if verb != REFUSED or not done:
            assert life.looks() == after, f"call {at}"


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("stores", BACKENDS, indirect=True)
def test_a_forget_of_many_transactions_goes_on_where_it_was_stopped(stores: Stores, fault: Fault) -> None:
    """It erases the oldest first and what was asked for last, so that the same request finds the rest."""
    rooms = 16  # more than one transaction can take
    service = Life().service
    api = Caller(service)
    current = api.remember("room 0", "acme/hotel", key="room")["id"]
    for number in range(1, rooms):
        current = api.correct(current, f"room {number}", scope="acme/hotel")["id"]
    scope_id = service.keyring.scope_id("acme/hotel")
    lived = InMemory().everything_in(service.ledgers[scope_id])
    for at in itertools.count():
        plain = again_in(stores, scope_id, lived)
        faulty = Faulty(stores, at, fault)
        service.ledgers[scope_id] = stores.through(plain, faulty.before)  # type: ignore[assignment]
        with contextlib.suppress(Died):
            api.forget(current, scope="acme/hotel")
        service.ledgers[scope_id] = plain
        api.forget(current, scope="acme/hotel")
        left = Counter(type(entry) for entry in stores.everything_in(plain))
        assert not left.keys() & {Memory, Version, Slot, Duplicate, Reviewable}
        assert left[Tombstone] == 2 * rooms
        receipts = api.send("GET", "/v1/erasures", query=f"scope={quoted('acme/hotel')}")["items"]
        assert sum(receipt["erased"] for receipt in receipts) == rooms
        assert api.forget(current, scope="acme/hotel").code == "already_forgotten"
        assert api.remember("room 7", "acme/hotel").code == "tombstoned"
        assert api.verify("acme/hotel")["ok"] is True
        if faulty.calls <= at:
            assert at > 4
            return


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("stores", BACKENDS, indirect=True)
def test_a_forget_that_weakens_what_was_built_on_it_goes_on_where_it_was_stopped(
    stores: Stores, fault: Fault
) -> None:
    """What has another source waits for a person before its first one is gone; what has none goes along."""
    service = Life().service
    api = Caller(service)
    source, other = (api.remember(said, "acme/zoo")["id"] for said in ("Ada has a cat.", "Ada has a dog."))
    both = api.remember("Ada has two pets.", "acme/zoo", derived_from=[source, other])["id"]
    alone = api.remember("Ada likes cats.", "acme/zoo", derived_from=[source])["id"]
    scope_id = service.keyring.scope_id("acme/zoo")
    lived = InMemory().everything_in(service.ledgers[scope_id])
    for at in itertools.count():
        plain = again_in(stores, scope_id, lived)
        faulty = Faulty(stores, at, fault)
        service.ledgers[scope_id] = stores.through(plain, faulty.before)  # type: ignore[assignment]
        with contextlib.suppress(Died):
            api.forget(source, scope="acme/zoo")
        service.ledgers[scope_id] = plain
        api.forget(source, scope="acme/zoo")
        left = {memory.id: memory.status for memory in plain.page(Area.MEMORY, limit=10)}
        assert left == {other: Status.ACTIVE, both: Status.CANDIDATE}
        assert api.get(alone, "acme/zoo").code == "not_found"
        assert api.forget(source, scope="acme/zoo").code == "already_forgotten"
        assert api.events("acme/zoo")[4:] == ["memory.weakened", "memory.forgotten"]
        assert api.verify("acme/zoo")["ok"] is True
        if faulty.calls <= at:
            assert at > 3
            return


def again_in(stores: Stores, scope_id: str, lived: list[Any]) -> Any:
    """Everything that was in a ledger, in one that held nothing."""
    plain = stores.new()(scope_id)
    for start in range(0, len(lived), 100):
        plain.commit(tuple(Put(entry) for entry in lived[start : start + 100]))
    return plain
