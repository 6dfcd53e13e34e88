"""Every event one to three times, in any order, with the worker killed between any two of its effects.

And a model that answers every question in other words and with another number of facts. Each memory is there
once, none is missing, and every mark is right.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.support.extraction import AWAY, Talk, deliver, drain, fact, lines_of, ready, said, wrote
from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.adapters.memory_ledger import MemoryLedger
from unsay_core.application.ledger import Area
from unsay_core.application.metering import FAILURES_IN_A_ROW
from unsay_core.application.ports import ConflictError
from unsay_core.domain.errors import UnavailableError
from unsay_core.extraction.conversation import BatchState

SCOPE = "acme/alice"
RUNS = 200


class KilledError(BaseException):
    """The worker is gone: nothing catches this."""


class Mortal(MemoryLedger):
    """A ledger that lets its caller die at one of its calls, before or after it has its effect."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = 0
        self.dies_at: int | None = None
        self.dies_after = False
        self.silent = False

    def read(self, refs: Any) -> Any:
        return self._reached(super().read, refs)

    def page(self, *given: Any, **named: Any) -> Any:
        return self._reached(super().page, *given, **named)

    def commit(self, change: Any) -> None:
        self._reached(super().commit, change)

    def _reached(self, act: Any, *given: Any, **named: Any) -> Any:
        self.calls += 1
        strikes = self.calls == self.dies_at
        if strikes and not self.dies_after:
            raise UnavailableError("lost on the way") if self.silent else KilledError
        found = act(*given, **named)
        if strikes:
            raise UnavailableError("done but not answered") if self.silent else KilledError
        return found

    def die_at(self, call: int | None, *, after: bool = False, silent: bool = False) -> None:
        """At which of the calls from now on; None for immortal."""
        self.dies_at = None if call is None else self.calls + call
        self.dies_after, self.silent = after, silent


class Fickle:
    """Answers about every message, each time in other words, and sometimes with a fact more."""

    def __init__(self, service: FakeService, chance: random.Random, *, least: int = 1) -> None:
        self.answers: dict[int, list[str]] = {}
        self._chance, self._least = chance, least
        service.model.otherwise = self._answer

    def _answer(self, question: Any) -> Any:
        number = len(self.answers) + 1
        facts = [
            fact(line["n"], line["text"], f"{line['text'].removesuffix('.')}, answer {number}-{k}.")
            for line in lines_of(question)
            for k in range(self._chance.randint(self._least, 2))
        ]
        self.answers[number] = [each["content"] for each in facts]
        return said(*facts)


def mortal_service() -> tuple[FakeService, Mortal]:
    service, ledger = FakeService(), Mortal()
    service.ledgers[service.keyring.scope_id(SCOPE)] = ledger
    return service, ledger


def attempt(service: FakeService, event: tuple[str, str, int]) -> None:
    """One delivery; the worker may die on the way, and the message comes back."""
    try:
        deliver(service, *event)
    except (KilledError, UnavailableError):
        pass


def holds(service: FakeService, ledger: Mortal, model: Fickle, batches: int) -> None:
    """Every fact of the answer that each batch was planned from is one memory, and nothing else is."""
    ledger.die_at(None)
    memories = {m.id: m for m in ledger.page(Area.MEMORY, limit=10_000)}  # type: ignore[union-attr]
    by_batch: Counter[str] = Counter()
    entries = ledger.page(Area.CONVERSATION, limit=10_000)
    done = [entry for entry in entries if hasattr(entry, "created") and hasattr(entry, "seqs")]
    assert len(done) == batches
    assert not [entry for entry in entries if hasattr(entry, "facts")], "a plan goes with its last fact"
    assert ledger.page(Area.READY, limit=10) == []
    for batch in done:
        assert batch.state is BatchState.DONE
        contents = [memories[memory_id].fact.content for memory_id in batch.created]  # type: ignore[union-attr]
        answers = {content.rpartition("answer ")[2].partition("-")[0] for content in contents}
        assert len(answers) == 1, "one plan, one answer"
        assert Counter(contents) == Counter(model.answers[int(answers.pop())])
        by_batch.update(batch.created)
    assert set(by_batch) == set(memories)
    assert set(by_batch.values()) == {1}
    assert Caller(service).verify(SCOPE)["ok"]


@pytest.mark.parametrize("seed", range(RUNS))
def test_each_memory_is_there_once_however_events_come_and_workers_die(seed: int) -> None:
    chance = random.Random(seed)
    service, ledger = mortal_service()
    model = Fickle(service, chance)
    talk = Talk(Caller(service), scope=SCOPE)
    batches = chance.randint(1, 3)
    for _ in range(batches):
        talk.say(*(f"I own cup {talk.seq + n}." for n in range(chance.randint(1, 5))), flush=True)
    seen: set[tuple[str, str, int]] = set()
    for _ in range(400):
        ledger.die_at(None)
        seen |= set(ready(service))
        if not list(ready(service)):
            break
        events = [event for event in seen for _ in range(chance.randint(1, 3))]
        chance.shuffle(events)
        for event in events:
            silent = chance.random() < 0.3
            dies = chance.randint(1, 12) if chance.random() < 0.6 else None
            ledger.die_at(dies, after=chance.random() < 0.5, silent=silent)
            attempt(service, event)
            service.clock.sleep(chance.choice([0, 1, 10, 400]))
    holds(service, ledger, model, batches)


CALLS = 30


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("silent", [False, True], ids=["killed", "silence"])
def test_a_batch_of_sixty_facts_survives_a_death_at_every_one_of_its_calls(after: bool, silent: bool) -> None:
    """Also between two of the transactions that it takes."""

    def run(dies_at: int) -> tuple[int, int]:
        service, ledger = mortal_service()
        model = Fickle(service, random.Random(dies_at), least=2)
        api = Caller(service)
        api.send("PUT", "/v1/policy", {"cadence": {"user_turns": 50}}, query="scope=acme")
        talk = Talk(api, scope=SCOPE)
        talk.say(*(f"I own cup {n}." for n in range(30)), flush=True)
        (event,) = ready(service)
        before = ledger.calls
        ledger.die_at(dies_at, after=after, silent=silent)
        attempt(service, event)
        made = ledger.calls - before
        ledger.die_at(None)
        service.clock.sleep(400)
        drain(service)
        holds(service, ledger, model, 1)
        return made, len(model.answers)

    made = CALLS
    for dies_at in range(1, CALLS):
        made, asked = run(dies_at)
        if made < dies_at:
            break
        assert asked <= 2
    assert 8 < made < CALLS, "every call of the batch was met"


def test_a_lease_that_runs_out_in_mid_flight_lets_one_of_the_two_write() -> None:
    service, ledger = mortal_service()
    model = Fickle(service, random.Random(1))
    talk = Talk(Caller(service), scope=SCOPE)
    talk.say("I own cup 1.", "I own cup 2.", flush=True)
    (event,) = ready(service)
    slow = service.model.otherwise

    def overtaken(question: Any) -> Any:
        service.model.otherwise = slow
        service.clock.sleep(600)  # longer than a lease
        deliver(service, *event)
        return slow(question)  # type: ignore[operator]

    service.model.otherwise = overtaken
    deliver(service, *event)
    drain(service)
    holds(service, ledger, model, 1)
    assert len(model.answers) == 2


@pytest.mark.parametrize("lost", ["plan", "end"])
def test_who_loses_a_race_gives_the_lease_back(lost: str) -> None:
    service, ledger = mortal_service()
    model = Fickle(service, random.Random(1))
    talk = Talk(Caller(service), scope=SCOPE)
    talk.say("I own cup 1.", flush=True)
    (event,) = ready(service)
    ask, commit = service.model.otherwise, ledger.commit
    races = {"plan": 1, "end": 100}

    def contended(change: Any) -> None:
        kinds = {part.ref.area for part in change}
        if (Area.MEMORY in kinds) is (lost == "end") and races[lost]:
            races[lost] -= 1
            raise ConflictError("somebody was faster")
        commit(change)

    def asked(question: Any) -> Any:
        ledger.commit = contended  # type: ignore[method-assign]
        return ask(question)  # type: ignore[operator]

    service.model.otherwise = asked
    pause = deliver(service, *event)
    ledger.commit = commit  # type: ignore[method-assign]
    assert pause == 1.0 and races[lost] < 100
    service.clock.pass_(seconds=1)
    assert deliver(service, *event) is None, "and does not wait for it to run out"
    holds(service, ledger, model, 1)


def test_somebody_who_holds_the_lease_is_left_alone() -> None:
    service, ledger = mortal_service()
    model = Fickle(service, random.Random(1))
    talk = Talk(Caller(service), scope=SCOPE)
    talk.say("I own cup 1.", flush=True)
    (event,) = ready(service)
    ask = service.model.otherwise
    pauses: list[float | None] = []

    def meanwhile(question: Any) -> Any:
        pauses.append(deliver(service, *event))
        return ask(question)  # type: ignore[operator]

    service.model.otherwise = meanwhile
    deliver(service, *event)
    assert pauses[0] is not None and pauses[0] > 100
    holds(service, ledger, model, 1)
    assert len(model.answers) == 1


def test_a_model_that_is_down_for_six_hours_fails_nothing_and_all_drains_after() -> None:
    service = FakeService()
    api = Caller(service)
    for n in range(500):
        Talk(api, f"run-{n:03d}").say(f"I own cup {n}.", flush=True)
    service.model.otherwise = AWAY
    rounds = 18
    for _ in range(rounds):
        for event in list(ready(service)):
            deliver(service, *event)
        service.clock.pass_(minutes=20)
    asked = len(service.model.asked)
    assert asked < FAILURES_IN_A_ROW + rounds * 500 / 3 + 1, "the breaker lets every third one try"
    assert len(list(ready(service))) == 500
    assert service.dead_letters.letters == []
    service.model.otherwise = lambda question: said(
        *(fact(line["n"], line["text"]) for line in lines_of(question))
    )
    drain(service)
    runs = [talk.read() for talk in (Talk(api, f"run-{n:03d}") for n in range(500))]
    assert {run["batches"][0]["state"] for run in runs} == {"done"}
    assert {run["batches"][0]["attempts"] for run in runs} == {0}
    assert sum(len(run["batches"][0]["created"]) for run in runs) == 500


def test_a_reply_that_is_bad_for_ever_delays_neither_the_next_batch_nor_another_scope() -> None:
    service = FakeService()
    poisoned, other = Talk(Caller(service)), Talk(Caller(service), scope="other/bob")
    answer = service.model.otherwise

    def poison(question: Any) -> Any:
        bad = any("poison" in line["text"] for line in lines_of(question))
        return wrote("?") if bad else answer(question)  # type: ignore[operator]

    service.model.otherwise = poison
    poisoned.say("I keep poison.", flush=True)
    poisoned.say("I own a cup.", flush=True)
    other.say("I own a mug.", flush=True)
    for event in list(ready(service)):
        deliver(service, *event)
    assert other.read()["batches"][0]["state"] == "done"
    drain(service, rounds=4)
    first, second = poisoned.read()["batches"]
    assert (first["state"], first["attempts"], second["state"]) == ("failed", 3, "done")
    assert poisoned.read()["extracted_through"] is None
    assert len(service.dead_letters.letters) == 1
    service.model.otherwise = answer
    poisoned.retry()
    drain(service)
    assert {batch["state"] for batch in poisoned.read()["batches"]} == {"done"}
    assert sorted(Caller(service).listed()) == ["I keep poison.", "I own a cup."]


def test_a_worker_that_dies_of_one_batch_every_time_gives_it_up_in_the_end() -> None:
    service, ledger = mortal_service()
    talk = Talk(Caller(service), scope=SCOPE)
    talk.say("I own cup 1.", flush=True)

    def deadly(_question: Any) -> Any:
        raise KilledError

    service.model.otherwise = deadly
    for _ in range(30):
        for event in list(ready(service)):
            attempt(service, event)
        service.clock.sleep(400)
    (batch,) = talk.read()["batches"]
    assert (batch["state"], batch["error"]) == ("failed", "abandoned")
    assert len(service.dead_letters.letters) == 1
    assert ledger.page(Area.READY, limit=10) == []


def test_a_budget_that_is_spent_stops_extraction_with_a_reason_and_never_the_api() -> None:
    service = FakeService()
    api, talk = Caller(service), Talk(Caller(service))
    api.send("PUT", "/v1/policy", {"budget": {"daily_tokens": 150}}, query="scope=acme")
    for n in range(3):
        assert talk.say(f"I own cup {n}.", flush=True).status == 202
        for event in list(ready(service)):
            deliver(service, *event)
    states = [(batch["state"], batch["error"]) for batch in talk.read()["batches"]]
    assert states == [("done", None), ("done", None), ("queued", "budget")]
    assert len(service.model.asked) == 2
    service.clock.pass_(days=1)
    drain(service)
    assert [batch["state"] for batch in talk.read()["batches"]] == ["done"] * 3
