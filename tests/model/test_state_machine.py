"""Any sequence of calls on two scopes answers as the naive model says, and keeps what is promised."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from tests.model.machine import LedgerMachine, contents, keys, picks, run, scopes
from tests.model.naive import Row
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller
from unsay_core.application.ledger import Area
from unsay_core.application.remember import Remember, remember
from unsay_core.domain.errors import UnsayError
from unsay_core.domain.memory import Fact, Memory, Trust
from unsay_core.domain.scope import Action, Scope

moves = st.tuples(
    st.sampled_from(["remember", "put", "edit", "correct", "retract", "dispute", "approve", "forget"]),
    picks,
    contents,
    keys,
)


class InProcess(LedgerMachine):
    """With a clock that is moved, an index that is moved, and two calls at once."""

    new_service: ClassVar[Callable[[], FakeService]]

    def __init__(self) -> None:
        self.service = type(self).new_service()
        self.api, self.keyring = Caller(self.service), self.service.keyring
        super().__init__()

    def now(self) -> datetime:
        moment = self.service.clock.now()
        self.service.clock.stand_at(moment)
        return moment

    def moment(self) -> datetime:
        return self.service.clock.now()

    def ledger(self, scope: str) -> Any:
        return self.service.ledgers[self.scope_id(scope)]

    @rule(scope=scopes, content=contents, key=keys)
    def infer(self, scope: str, content: str, key: str | None) -> None:
        """What a model concluded; no call of the API says so, the extraction will."""
        model, now = self.models[scope], self.now()
        opened = self.service.open_scope(ADMIN, Scope.parse(scope), Action.WRITE)
        command = Remember(Fact(content, key=key), channel="extract", trust=Trust.INFERRED)
        self.written.add(scope)
        try:
            memory = remember(command, opened, self.service.world).memory
        except UnsayError as refusal:
            assert model.remember(Row("", content, now, key=key), now, "extract") == refusal.code
        else:
            row = Row(memory.id, content, memory.updated_at, key=key)
            assert model.remember(row, now, "extract") in ("ok", "twin")

    def move(self, scope: str, name: str, pick: int, content: str, key: str | None) -> None:
        """One call, of one of the rules."""
        match name:
            case "remember":
                self.remember(scope=scope, content=content, key=key)
            case "put":
                self.put(scope=scope, content=content, key=key or "a/b", data=pick, expires_at=None)
            case "edit":
                self.edit(scope=scope, pick=pick, current=True, changes={"content": content, "key": key})
            case "correct":
                self.correct(
                    scope=scope, pick=pick, current=True, content=content, because="changed", stated={}
                )
            case "forget":
                self.forget(scope=scope, pick=pick, tombstone="value")
            case _:
                self.judge(scope=scope, pick=pick, current=True, verb=name)

    @rule(scope=scopes, first=moves, second=moves)
    def two_at_once(self, scope: str, first: Any, second: Any) -> None:
        """The second is whole between the first one's decision and its commit: so it was first."""
        ledger = self.ledger(scope)
        commit = ledger.commit

        def overtaken(change: Any) -> None:
            ledger.commit = commit
            self.move(scope, *second)
            self.what_goes_on_has_a_name()
            commit(change)

        ledger.commit = overtaken
        try:
            self.move(scope, *first)
        finally:
            ledger.commit = commit

    @rule(hours=st.sampled_from([1, 25, 24 * 60]))
    def time_passes(self, hours: int) -> None:
        self.service.clock.pass_(hours=hours)

    def expiring(self) -> list[datetime]:
        rows = [row for model in self.models.values() for row in model.rows.values()]
        return [row.expires_at for row in rows if row.expires_at and row.status_at(self.now()) == "active"]

    @precondition(expiring)
    @rule()
    def something_expires(self) -> None:
        """The clock stands at the very instant: what expires at it is gone."""
        self.service.clock.stand_at(min(self.expiring()))

    @rule(scope=scopes)
    def the_index_takes_what_is_there(self, scope: str) -> None:
        """And keeps it: an index that never learns that something is gone."""
        scope_id = self.scope_id(scope)
        for memory in self.ledger(scope).page(Area.MEMORY, limit=1000):
            assert isinstance(memory, Memory)
            self.service.knowledge_base.documents.setdefault((scope_id, memory.id), memory)


@pytest.mark.parametrize(
    ("stores", "examples", "steps"),
    [("memory", 50, 30), ("sqlite", 8, 30), ("dynamodb", 3, 12)],
    indirect=["stores"],
)
def test_any_sequence_of_calls_answers_as_the_model_says(
    new_service: Callable[[], FakeService], examples: int, steps: int
) -> None:
    class Machine(InProcess):
        pass

    Machine.new_service = staticmethod(new_service)
    run(Machine, examples, steps)
