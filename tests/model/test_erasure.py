"""An erasure that is killed at any point ends as one that was not; 25,000 memories take no more room."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.erasing import Eraser
from tests.support.extraction import Talk
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller
from tests.support.samples import memory
from tests.support.transfers import opened, run
from tests.support.workers import index_all
from unsay_core.application.draft import Draft
from unsay_core.application.erase import PAGE
from unsay_core.application.ledger import Area, Delete, Put, ref_of
from unsay_core.application.transfer_jobs import Export, Import, begin_export, begin_import
from unsay_core.domain.audit import Event, Happening
from unsay_core.domain.scope import Action, Scope

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.fakes import MemoryTranscripts
    from unsay_core.application.ports import Ledger


class Killed(BaseException):
    """A worker is gone: nothing of it catches this."""


class Scene:
    """A scope with something of everything, and the erasure of it, whole or in part."""

    def __init__(self, selector: dict[str, Any]) -> None:
        self.service = FakeService()
        self.api = Caller(self.service)
        self.eraser = Eraser(self.service, self.api)
        talk = Talk(self.api, "run-1")
        talk.say("I live in Lisbon.", "My dog is called Bruno.", "I like tea.")
        said = {"run_id": "run-1", "message_seqs": [1], "quote": "I live in Lisbon."}
        source = self.api.remember("Alice lives in Lisbon.", tags=["x"], source=said)["id"]
        self.api.edit(self.api.remember("Alice has a flat.", source=said)["id"], tags=["flat"])
        other = self.api.remember("Alice has a dog.", source={"run_id": "run-1", "message_seqs": [2]})["id"]
        self.api.remember("Alice has a dog.", source={"run_id": "run-2"})
        self.api.remember("Alice is Portuguese.", derived_from=[source])
        self.api.remember("Alice walks in Lisbon.", derived_from=[source, other])
        old = self.api.remember("Alice is 30.", tags=["x"], key="age")["id"]
        self.api.correct(old, "Alice is 31.")
        for number in range(3):
            self.api.remember(f"Alice has {number} cats.", tags=["x"])
        Talk(self.api, "run-9").say("I see.", "Alice lives in Lisbon.", role="assistant")
        self.kept = self.api.remember("Alice plays chess.")["id"]
        index_all(self.service)
        self._files()
        self.answer = self.eraser.forget(**selector) if selector else self.api.forget(source)

    def _files(self) -> None:
        """An export, parts of an import, and a transcript that nobody will read."""
        there = opened(self.service)
        run(begin_export(Export(), there, self.service.world), there, self.service)
        begin_import(Import((b"{}",)), there, self.service.world)
        self.intake.put("run-1", "upl_nobodys", b"I live in Lisbon.")
        self.service.clock.pass_(seconds=1)

    @property
    def intake(self) -> MemoryTranscripts:
        return self.service.files[self.eraser.scope_id]

    def stores(self) -> list[tuple[Any, str]]:
        """Every call that leaves the worker, by its store."""
        scope_id, base = self.eraser.scope_id, self.service.knowledge_base
        transfers = self.service.transfers[scope_id]
        return [
            *((self.eraser.ledger, name) for name in ("read", "page", "commit")),
            (self.service.documents[scope_id], "existing"),
            *((transfers, name) for name in ("listed", "delete")),
            *((self.intake, name) for name in ("waiting", "remove")),
            *((base, name) for name in ("states", "still_found")),
        ]

    def outcome(self) -> tuple[Any, ...]:
        """What is left in every store, times and places in the chain apart; and the counts of the receipt."""
        receipt = self.eraser.finish(self.answer).body
        counts = {name: receipt[name] for name in ("matched", "erased", "tombstones", "redacted", "messages")}
        ledger = self.eraser.ledger
        left = {
            area.name: sorted(_name(entry) for entry in ledger.page(area, limit=10_000))
            for area in Area
            if area not in (Area.AUDIT, Area.HEAD, Area.ERASURE)
        }
        cascade = sorted((each["id"], each["why"], each["outcome"]) for each in receipt["cascade"])
        held = sorted(i for _, i in self.service.knowledge_base.documents)
        stores = {each["store"]: each["state"] for each in receipt["stores"]}
        files = len(self.service.transfers[self.eraser.scope_id].files), len(self.intake.files)
        documents = sorted(self.service.documents[self.eraser.scope_id].objects)
        return counts, stores, cascade, left, held, files, documents


def _name(entry: Any) -> str:
    """What an entry is about, without its place in the chain."""
    parts = [getattr(entry, name, "") for name in ("id", "digest", "memory_id", "run_id", "seq", "status")]
    return " ".join([type(entry).__name__, *map(str, parts if hasattr(entry, "run_id") else parts[:4])])


def kill(stores: list[tuple[Any, str]], at: int, *, after: bool) -> Callable[[], None]:
    """Let the worker die at its call of that number, before or after it is done; returns how to stop."""
    numbers = itertools.count()
    real = [(owner, name, getattr(owner, name)) for owner, name in stores]

    def dying(call: Callable[..., Any]) -> Callable[..., Any]:
        def die(*args: Any, **named: Any) -> Any:
            is_last = next(numbers) == at
            if is_last and not after:
                raise Killed
            found = call(*args, **named)
            if is_last:
                raise Killed
            return found

        return die

    for owner, name, call in real:
        setattr(owner, name, dying(call))

    def stop() -> None:
        for owner, name, call in real:
            setattr(owner, name, call)

    return stop


SELECTORS: dict[str, dict[str, Any]] = {
    "one memory": {},
    "fields": {"filter": {"tags": ["x"]}},
    "a conversation": {"run_id": "run-1"},
    "everything": {"all": True, "confirm": "acme/alice"},
}


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("way", SELECTORS)
def test_a_job_killed_between_any_two_calls_ends_alike(way: str, after: bool) -> None:
    expected = Scene(SELECTORS[way]).outcome()
    for at in itertools.count():
        scene = Scene(SELECTORS[way])
        stop = kill(scene.stores(), at, after=after)
        try:
            scene.eraser.run(scene.answer)
        except Killed:
            pass
        else:
            break  # it ends, or waits for the index, before that call
        finally:
            stop()
        assert scene.outcome() == expected, f"killed at call {at}"
    assert at > 8


MANY = 25_000


def filled(ledger: Ledger, service: FakeService, scope: str, many: int) -> None:
    """Memories in bulk, with the head that counts them."""
    opened = service.open_scope(ADMIN, Scope.parse(scope), Action.WRITE)
    draft = Draft(opened, service.clock.now())
    draft.record(Happening(Event.REMEMBERED))
    draft.commit()
    for start in range(0, many, 100):
        made = [
            replace(memory(n), fact=replace(memory(n).fact, content=f"{scope} fact {n}", key=None))
            for n in range(start, min(many, start + 100))
        ]
        ledger.commit(tuple(Put(each) for each in made))


def test_twenty_five_thousand_memories_go_beside_a_twin_that_stays_and_the_worker_does_not_grow() -> None:
    service = FakeService()
    api = Caller(service)
    eraser = Eraser(service, api)
    filled(eraser.ledger, service, "acme/alice", MANY)
    twin = service.ledgers[service.keyring.scope_id("acme/twin")]
    filled(twin, service, "acme/twin", 300)
    before = repr([twin.page(area, limit=1_000_000) for area in Area])
    answer = eraser.forget(all=True, confirm="acme/alice")
    eraser.run(answer, steps=20)
    tracemalloc.start()
    eraser.run(answer, steps=20)
    _, early = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    eraser.run(answer, steps=MANY // PAGE - 60)
    assert len(eraser.ledger.page(Area.MEMORY, limit=MANY)) > 0
    tracemalloc.start()
    eraser.run(answer, steps=20)
    _, late = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert late < 1.5 * early
    eraser.run(answer)
    for start in range(0, len(owed := eraser.ledger.page(Area.PENDING, limit=MANY)), 100):
        eraser.ledger.commit(tuple(Delete(ref_of(each)) for each in owed[start : start + 100]))
    receipt = eraser.finish(answer)
    assert (receipt["state"], receipt["matched"], receipt["erased"]) == ("complete", MANY, MANY)
    assert len(str(receipt.body)) < 3_000
    assert eraser.ledger.page(Area.MEMORY, limit=1) == []
    assert before == repr([twin.page(area, limit=1_000_000) for area in Area])
