"""Every verb, stopped before and after every call of the ledger: a retry ends where it would have ended."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from enum import StrEnum
from typing import Any

import pytest

from tests.model.lives import SCOPE, VERBS, Life
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, quoted
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application.ledger import Area, Put
from unsay_core.domain.errors import UnavailableError

REFUSED = "remember what was taken back"  # each try is refused, and each refusal is an event


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


def sent(life: Life, verb: str, at: int, fault: Fault) -> Answer | None:
    """The answer, or None from a process that died."""
    try:
        return life.send(verb, Faulty(life.plain, at, fault))
    except Died:
        return None


@pytest.fixture
def backend() -> str:
    return "memory"


@pytest.mark.parametrize("fault", Fault)
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != REFUSED])
def test_a_retry_ends_where_the_first_try_would_have_ended(
    backend: str, new_service: Callable[[], FakeService], verb: str, fault: Fault
) -> None:
    smooth = Life(new_service())
    before, counted = smooth.looks(), Faulty(smooth.plain)
    first = smooth.send(verb, counted)
    after, calls = smooth.looks(), counted.calls
    assert first.status < 300, first.text
    assert before != after
    assert calls >= 2
    for at in range(calls):
        life = Life(new_service())
        assert life.looks() == before
        answer = sent(life, verb, at, fault)
        assert life.looks() in (before, after)
        done = life.looks() == after
        if answer is not None:
            assert answer.status == (first.status if done else 503), answer.text
        again = life.send(verb)
        assert life.looks() == after, f"call {at}"
        if "by name" in verb or not done:
            assert again.status == first.status
        else:  # nothing doubles: the second is told that it is done, or that the memory has moved on
            assert again.code in (None, "version_conflict", "already_forgotten", "wrong_status")
        assert Caller(life.service).verify(SCOPE)["ok"] is True


@pytest.mark.parametrize("fault", Fault)
def test_a_forget_of_many_transactions_goes_on_where_it_was_stopped(
    backend: str, new_service: Callable[[], FakeService], fault: Fault
) -> None:
    """It erases the oldest first and what was asked for last, so that the same request finds the rest."""
    rooms = 30
    service = new_service()
    current = Caller(service).remember("room 0", SCOPE, key="room")["id"]
    for number in range(1, rooms):
        current = Caller(service).correct(current, f"room {number}", scope=SCOPE)["id"]
    ((scope_id, plain),) = service.ledgers.items()
    lived = everything_in(plain)
    for at in itertools.count():
        plain = service.ledgers[scope_id] = MemoryLedger()
        for entry in lived:
            plain.commit((Put(entry),))
        service.ledgers[scope_id] = faulty = Faulty(plain, at, fault)  # type: ignore[assignment]
        with contextlib.suppress(Died):
            Caller(service).forget(current, scope=SCOPE)
        service.ledgers[scope_id] = plain
        Caller(service).forget(current, scope=SCOPE)
        api = Caller(service)
        left = {area: len(plain.page(area, limit=500)) for area in Area}
        gone = (Area.MEMORY, Area.VERSION, Area.SLOT, Area.DUPLICATE, Area.REVIEW)
        assert {area: left[area] for area in gone} == dict.fromkeys(gone, 0)
        assert left[Area.TOMBSTONE] == 2 * rooms
        receipts = api.send("GET", "/v1/erasures", query=f"scope={quoted(SCOPE)}")["items"]
        assert sum(receipt["erased"] for receipt in receipts) == rooms
        assert api.forget(current, scope=SCOPE).code == "already_forgotten"
        assert api.remember("room 7", SCOPE).code == "tombstoned"
        assert api.verify(SCOPE)["ok"] is True
        if faulty.calls <= at:
            assert at > 4
            return


def everything_in(ledger: Any) -> list[Any]:
    return [entry for area in Area for entry in ledger.page(area, limit=500)]
