"""Any two writes of one scope, the second whole between any two steps of the first."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from tests.model.conftest import Stores
from tests.model.lives import LISBON, PORTO, SCOPE, VERBS, Life
from tests.support.http import Answer, Caller
from unsay_core.application.digests import commitment, duplicate_digest, value_digest, waiting_digest
from unsay_core.application.ledger import Area, ref_of
from unsay_core.domain.memory import Status

PAIRS = list(itertools.product([verb for verb in VERBS if "by name" not in verb], repeat=2))
# Every pair in memory; of the others, which take longer, a spread that has every verb first and second.
ON = {"memory": PAIRS, "sqlite": PAIRS[::5], "dynamodb": PAIRS[::19]}
RUNS = [(kind, *pair) for kind, pairs in ON.items() for pair in pairs]


class Between:
    """What is called, with something that happens before one call of the first writer."""

    def __init__(self, at: int, happens: Callable[[], None]) -> None:
        self._at, self._happens = at, happens
        self._callee: Any = None
        self.calls = 0

    def before(self, callee: Any) -> Between:
        """Stand before what is called."""
        self._callee = callee
        return self

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._callee, name)

        def call(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            if self.calls == self._at:
                self._happens()
            return member(*args, **kwargs)

        return call


def test_every_verb_is_first_and_second_on_every_ledger() -> None:
    for pairs in ON.values():
        for place in (0, 1):
            assert {pair[place] for pair in pairs} == {pair[place] for pair in PAIRS}


@pytest.mark.parametrize(("stores", "first", "second"), RUNS, ids=map(", ".join, RUNS), indirect=["stores"])
def test_two_writes_at_once_are_one_after_the_other(stores: Stores, first: str, second: str) -> None:
    """Both the ledger and the two answers are those of one of the two orders."""
    life = Life()
    orders = [in_turn(life, stores, first, second), in_turn(life, stores, second, first, swapped=True)]
    for at in itertools.count(1):
        life.begin(stores)
        answers = interleaved(life, first, second, at)
        if len(answers) == 1:
            assert at > 2
            return
        assert told(life, *answers) in orders, [answer.text for answer in answers]
        is_whole(life)


def interleaved(life: Life, first: str, second: str, at: int) -> list[Answer]:
    """Both answers, or only that of the first if it makes fewer calls."""
    meanwhile: list[Answer] = []
    between = Between(at, lambda: meanwhile.append(life.send(second)))
    return [life.send(first, life.stores.through(life.plain, between.before)), *meanwhile]


def in_turn(life: Life, stores: Stores, one: str, other: str, *, swapped: bool = False) -> list[Any]:
    life.begin(stores)
    answers = [life.send(one), life.send(other)]
    is_whole(life)
    return told(life, *(reversed(answers) if swapped else answers))


def told(life: Life, first: Answer, second: Answer) -> list[Any]:
    """What both writers were answered, and what is left."""
    return [first.status, first.code, second.status, second.code, life.looks()]


def is_whole(life: Life) -> None:
    """What holds of a scope at every moment, whoever wrote what."""
    entries: dict[Area, list[Any]] = {area: [] for area in Area}
    for entry in life.stores.everything_in(life.plain):
        entries[ref_of(entry).area].append(entry)
    keys = life.service.keyring.for_scope(life.scope_id)
    active = [m for m in entries[Area.MEMORY] if m.status is Status.ACTIVE]
    held = {(entry.digest, entry.memory_id) for entry in entries[Area.DUPLICATE]}
    candidates = [m for m in entries[Area.MEMORY] if m.status is Status.CANDIDATE]
    said = {(duplicate_digest(keys, m.fact), m.id) for m in active}
    assert held == said | {(waiting_digest(keys, m.fact), m.id) for m in candidates}
    occupied = [(s.key, o.memory_id) for s in entries[Area.SLOT] for o in s.occupants]
    assert sorted(occupied) == sorted((m.fact.slot, m.id) for m in active if m.fact.slot)
    in_slots = [[o.validity for o in s.occupants] for s in entries[Area.SLOT]]
    assert not any(a.overlaps(b) for slot in in_slots for a, b in itertools.combinations(slot, 2))
    waiting = {place.memory_id for place in entries[Area.REVIEW]}
    assert waiting == {m.id for m in entries[Area.MEMORY] if m.waits_at(life.service.clock.now())}
    standing = {grave.digest: grave.seq for grave in entries[Area.TOMBSTONE] if not grave.lifted}
    assert not standing.keys() & {m.id for m in entries[Area.MEMORY]}
    written = {e.happening.commitment: e.seq for e in entries[Area.AUDIT]}
    for memory in (memory for memory in active if not memory.fact.is_item):
        said = written[commitment(memory)]
        assert said <= standing.get(value_digest(keys, memory.fact.content), said)
    assert Caller(life.service).verify(SCOPE)["ok"] is True


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("verb", ["correct", "edit", "remember into the slot"])
@pytest.mark.parametrize("stores", ON, indirect=True)
def test_a_recall_between_any_two_steps_of_which_a_fact_changes_finds_it_once(
    stores: Stores, verb: str, indexed: bool
) -> None:
    life = Life()
    for at in itertools.count(1):
        life.begin(stores)
        if indexed:
            life.settle_index()
        changed: list[Answer] = []
        between = Between(at, lambda changed=changed: changed.append(life.send(verb)))  # type: ignore[misc]
        life.service.ledgers[life.scope_id] = stores.through(life.plain, between.before)
        found = Caller(life.service).recalled("Where does Alice live?", SCOPE)
        about_home = [content for content in found if "lives" in content]
        assert about_home in ([LISBON], [PORTO]), at
        if not changed:
            assert at > 2
            return
