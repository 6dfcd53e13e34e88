"""Any two writes of one scope, the second whole between any two steps of the first."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.model.lives import LISBON, PORTO, SCOPE, VERBS, Life
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.application.digests import duplicate_digest, value_digest
from unsay_core.application.ledger import Area
from unsay_core.domain.memory import Status

PAIRS = list(itertools.product([verb for verb in VERBS if "by name" not in verb], repeat=2))


@pytest.fixture
def backend() -> str:
    return "memory"


class Between:
    """A ledger in which something happens before one call of the first writer."""

    def __init__(self, ledger: Any, at: int, happens: Callable[[], None]) -> None:
        self._ledger, self._at, self._happens = ledger, at, happens
        self.calls = 0

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._ledger, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self._at:
                self._happens()
            return member(*args, **kwargs)

        return call


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{one}, {other}" for one, other in PAIRS])
def test_two_writes_at_once_are_one_after_the_other(
    backend: str, new_service: Callable[[], FakeService], first: str, second: str
) -> None:
    """Both the ledger and the two answers are those of one of the two orders."""
    orders = [in_turn(Life(new_service()), first, second)]
    orders.append(in_turn(Life(new_service()), second, first, swapped=True))
    for at in itertools.count(1):
        life = Life(new_service())
        answers = interleaved(life, first, second, at)
        if len(answers) == 1:
            assert at > 2
            return
        assert told(life, *answers) in orders, [answer.text for answer in answers]
        is_whole(life)


def interleaved(life: Life, first: str, second: str, at: int) -> list[Answer]:
    """Both answers, or only that of the first if it makes fewer calls."""
    meanwhile: list[Answer] = []
    between = Between(life.plain, at, lambda: meanwhile.append(life.send(second)))
    return [life.send(first, between), *meanwhile]


def in_turn(life: Life, one: str, other: str, *, swapped: bool = False) -> list[Any]:
    answers = [life.send(one), life.send(other)]
    is_whole(life)
    return told(life, *(reversed(answers) if swapped else answers))


def told(life: Life, first: Answer, second: Answer) -> list[Any]:
    """What both writers were answered, and what is left."""
    return [first.status, first.code, second.status, second.code, life.looks()]


def is_whole(life: Life) -> None:
    """What holds of a scope at every moment, whoever wrote what."""
    entries: dict[Area, list[Any]] = {area: list(life.plain.page(area, limit=200)) for area in Area}
    keys = life.service.keyring.for_scope(life.scope_id)
    active = [m for m in entries[Area.MEMORY] if m.status is Status.ACTIVE]
    held = {(entry.digest, entry.memory_id) for entry in entries[Area.DUPLICATE]}
    assert held == {(duplicate_digest(keys, m.fact), m.id) for m in active}
    occupied = [(s.key, o.memory_id) for s in entries[Area.SLOT] for o in s.occupants]
    assert sorted(occupied) == sorted((m.fact.key, m.id) for m in active if m.fact.key)
    assert len({key for key, _ in occupied}) == len(occupied)  # no interval here ends
    waiting = {place.memory_id for place in entries[Area.REVIEW]}
    assert waiting == {m.id for m in active if m.review and m.review.decision is None}
    standing = {grave.digest: grave.seq for grave in entries[Area.TOMBSTONE] if not grave.lifted}
    assert not standing.keys() & {m.id for m in entries[Area.MEMORY]}
    written = {e.happening.memory_id: e.seq for e in entries[Area.AUDIT] if e.happening.commitment}
    for memory in active:
        assert written[memory.id] <= standing.get(value_digest(keys, memory.fact.content), written[memory.id])
    assert Caller(life.service).verify(SCOPE)["ok"] is True


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("verb", ["correct", "edit", "remember into the slot"])
def test_a_recall_between_any_two_steps_of_which_a_fact_changes_finds_it_once(
    new_service: Callable[[], FakeService], verb: str, indexed: bool
) -> None:
    for at in itertools.count(1):
        life = Life(new_service())
        if indexed:
            life.settle_index()
        changed: list[Answer] = []
        between = Between(life.plain, at, lambda life=life, changed=changed: changed.append(life.send(verb)))  # type: ignore[misc]
        life.service.ledgers[life.scope_id] = between
        found = Caller(life.service).recalled("Where does Alice live?", SCOPE)
        about_home = [content for content in found if "lives" in content]
        assert about_home in ([LISBON], [PORTO]), at
        if not changed:
            assert at > 2
            return
