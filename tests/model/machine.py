"""The calls on two scopes as a state machine: how each has to be answered, and what holds after each."""

from __future__ import annotations

from datetime import datetime, timedelta
from itertools import combinations
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.model.naive import ALWAYS, DAY, FOREVER, VALUES, Kept, NaiveScope, Row
from tests.support.clock import BEGIN
from tests.support.http import Answer, Caller
from unsay_core.adapters.records import to_record
from unsay_core.application.digests import value_digest
from unsay_core.application.keys import Keyring
from unsay_core.application.ledger import HEAD, Area

SCOPES = ("acme/alice", "acme/bob")
STATUSES = ("active", "candidate", "superseded", "retracted", "rejected", "expired")
CHECKED = 3  # past instants asked for after every step; all of them at the end

scopes = st.sampled_from(SCOPES)
contents = st.sampled_from([content for content in VALUES if content])
records = st.sampled_from(["", "", *VALUES])
keys = st.sampled_from([None, "home", "home", "work"])
years = st.sampled_from(
    [None, None, *(datetime(year, 1, 1, tzinfo=BEGIN.tzinfo) for year in (2020, 2025, 2030))]
)
expiries = st.sampled_from([None, None, None, *(BEGIN + timedelta(hours=hours) for hours in (30, 90, 2000))])
picks = st.integers(0, 30)
seen = st.sampled_from([True, True, True, True, True, True, False])  # the caller saw the current version


def wire(**fields: Any) -> dict[str, Any]:
    """Fields as a request carries them."""
    return {
        name: value.isoformat() if isinstance(value, datetime) else value for name, value in fields.items()
    }


def instant(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text) if text else None


class LedgerMachine(RuleBasedStateMachine):
    """Every rule is one call; the model says how it should have been answered."""

    api: Caller
    keyring: Keyring

    def __init__(self) -> None:
        super().__init__()
        self.models = {scope: NaiveScope() for scope in SCOPES}
        self.frozen: list[tuple[datetime, dict[str, dict[str, int]]]] = []
        self.before = {scope: self.dump(scope) for scope in SCOPES}
        self.written: set[str] = set()
        self.looked_at = dict(self.models)

    # How a rule names what it is about, and what it expects.

    def now(self) -> datetime:
        """The instant that the service will see at its next look, or one shortly before."""
        raise NotImplementedError

    def moment(self) -> datetime:
        """An instant at which nothing happens."""
        raise NotImplementedError

    def ledger(self, scope: str) -> Any:
        """The ledger of a scope, to look at."""
        raise NotImplementedError

    def row(self, scope: str, pick: int) -> Row | None:
        rows = list(self.models[scope].rows.values())
        return rows[-1 - pick % len(rows)] if rows else None

    def dump(self, scope: str) -> list[Any]:
        """Everything in a scope, to the byte."""
        ledger = self.ledger(scope)
        return [to_record(entry) for area in Area for entry in ledger.page(area, limit=1000)]

    def digest(self, scope: str, content: str) -> str:
        """What the tombstone of a content is found by."""
        return value_digest(self.keyring.for_scope(self.scope_id(scope)), content)

    def scope_id(self, scope: str) -> str:
        """Under what a scope is stored."""
        return self.keyring.scope_id(scope)

    def sayable(self, fields: dict[str, Any]) -> dict[str, Any]:
        """Of what a rule would say of a memory, what can be said here."""
        return fields

    def agree(self, scope: str, answer: Answer, expected: str) -> None:
        self.written.add(scope)
        said = answer.code or "ok"
        assert said == ("ok" if expected in ("twin", "over") else expected), (expected, answer.text)

    # The calls.

    @initialize()
    def somebody_has_said_something(self) -> None:
        """So that the first steps have something to be about; the neighbour will say the same."""
        expiring = {"key": "work", "expires_at": BEGIN + timedelta(hours=30)}
        for scope in SCOPES:
            self._remember(scope, "Alice lives in Lisbon.", {"key": "home"}, {})
            self._remember(scope, "Alice likes tea.", expiring, {})
            self.put(scope, "", key="home", data=1)

    @rule(scope=scopes, content=contents, key=keys, valid_from=years, valid_to=years, expires_at=expiries)
    def remember(self, scope: str, content: str, **fields: Any) -> None:
        self._remember(scope, content, fields, {})

    @rule(scope=scopes, content=contents, key=keys, name=st.sampled_from(["k1", "k2"]))
    def remember_by_name(self, scope: str, content: str, key: str | None, name: str) -> None:
        model, now = self.models[scope], self.now()
        kept = model.kept.get(name)
        if kept is None or kept.until <= now:
            self._remember(scope, content, {"key": key}, {"idempotency_key": name})
            return
        answer = self.api.remember(content, scope, key=key, headers={"idempotency_key": name})
        if kept.request != (content, key):
            assert answer.code == "idempotency_mismatch"
        elif kept.memory_id in model.forgotten:
            assert answer.code == "forgotten"
        else:
            assert (answer["id"], answer["version"]) == (kept.memory_id, kept.version)
            assert answer.headers["Idempotency-Replayed"] == "true"

    def _remember(self, scope: str, content: str, fields: dict[str, Any], headers: dict[str, str]) -> None:
        model, now, fields = self.models[scope], self.now(), self.sayable(fields)
        answer = self.api.remember(content, scope, headers=headers, **wire(**fields))
        begins, ends = fields.get("valid_from") or ALWAYS, fields.get("valid_to") or FOREVER
        if begins >= ends:
            assert answer.status == 400
            return
        self._remembered(scope, answer.body if answer.code is None else None, content, fields, now, answer)
        for name in headers.values():
            if answer.code is None:
                made = instant(answer["recorded_at"]) if answer.status == 201 else now
                until = ((made or now) + DAY).replace(microsecond=0)
                request = (content, fields["key"])
                model.kept[name] = Kept(request, answer["id"], answer["version"], until)

    def _remembered(
        self, scope: str, body: Any, content: str, fields: dict[str, Any], now: datetime, answer: Answer
    ) -> None:
        at = instant(body["updated_at"]) if body else now
        row = Row(body["id"] if body else "", content, at or now, **fields)
        expected = self.models[scope].remember(row, now)
        self.agree(scope, answer, expected)
        assert answer.status == {"ok": 201, "twin": 200, "tombstoned": 409}[expected]

    @rule(scope=scopes, items=st.lists(st.tuples(contents, keys), min_size=1, max_size=4))
    def remember_batch(self, scope: str, items: list[tuple[str, str | None]]) -> None:
        model, now = self.models[scope], self.now()
        body = {"scope": scope, "items": [{"content": content, "key": key} for content, key in items]}
        results = self.api.send("POST", "/v1/memories/batch", body)["results"]
        assert len(results) == len(items)
        self.written.add(scope)
        for (content, key), result in zip(items, results, strict=True):
            memory = result.get("memory")
            at = instant(memory["updated_at"]) if memory else now
            expected = model.remember(Row(memory["id"] if memory else "", content, at or now, key=key), now)
            assert result["status"] == {"ok": 201, "twin": 200, "tombstoned": 409}[expected]

    @rule(
        scope=scopes, content=records, key=st.sampled_from(["home", "a/b"]), data=picks, expires_at=expiries
    )
    def put(self, scope: str, content: str, **fields: Any) -> None:
        """An item, next to beliefs of the same key."""
        model, now, fields = self.models[scope], self.now(), self.sayable(fields)
        answer = self.api.remember(content, scope, kind="item", path=["a"], **wire(**fields))
        body = answer.body if answer.code is None else {}
        row = Row(body.get("id", ""), content, instant(body.get("updated_at")) or now, is_item=True, **fields)
        expected = model.put(row, now)
        self.agree(scope, answer, expected)
        assert answer.status == {"ok": 201, "over": 200, "tombstoned": 409}[expected]

    @rule(
        scope=scopes,
        pick=picks,
        current=seen,
        changes=st.fixed_dictionaries(
            {}, optional={"content": contents, "key": keys, "valid_to": years, "expires_at": expiries}
        ).filter(bool),
    )
    def edit(self, scope: str, pick: int, current: bool, changes: dict[str, Any]) -> None:
        changes = self.sayable(changes)
        if changes and (row := self.row(scope, pick)):
            version = row.version if current else row.version + 1
            now = self.now()
            answer = self.api.edit(row.id, version=version, scope=scope, **wire(**changes))
            at = instant(answer["updated_at"]) if answer.code is None else now
            self.agree(scope, answer, self.models[scope].edit(row.id, version, changes, at or now))

    @rule(
        scope=scopes,
        pick=picks,
        current=seen,
        content=contents,
        because=st.sampled_from(["changed", "wrong"]),
        stated=st.fixed_dictionaries({}, optional={"key": keys, "valid_from": years}),
    )
    def correct(
        self, scope: str, pick: int, current: bool, content: str, because: str, stated: dict[str, Any]
    ) -> None:
        if old := self.row(scope, pick):
            version = old.version if current else old.version + 1
            now = self.now()
            answer = self.api.correct(
                old.id, content, because, version=version, scope=scope, **wire(**stated)
            )
            done = answer.code is None
            at = (instant(answer["recorded_at"]) if done else now) or now
            start = stated.get("valid_from", at if because == "changed" else old.valid_from)
            new = Row(
                answer["id"] if done else "",
                content,
                at,
                key=stated.get("key", old.key),
                valid_from=start,
                valid_to=old.valid_to,
                expires_at=old.expires_at,
            )
            self.agree(scope, answer, self.models[scope].correct(old.id, version, new, because))

    @rule(
        scope=scopes,
        pick=picks,
        current=seen,
        verb=st.sampled_from(["retract", "dispute", "dispute", "approve", "reject"]),
    )
    def judge(self, scope: str, pick: int, current: bool, verb: str) -> None:
        if row := self.row(scope, pick):
            version = row.version if current else row.version + 1
            now = self.now()
            given: dict[str, Any] = {"version": version, "scope": scope}
            if verb in ("retract", "dispute"):
                answer = getattr(self.api, verb)(row.id, **given)
            else:
                answer = self.api.decide(row.id, verb, reason="incorrect", **given)
            at = instant(answer["updated_at"]) if answer.code is None else now
            self.agree(scope, answer, getattr(self.models[scope], verb)(row.id, version, at))

    @rule(scope=scopes, pick=picks, tombstone=st.sampled_from(["value", "id"]))
    def forget(self, scope: str, pick: int, tombstone: str) -> None:
        if row := self.row(scope, pick):
            answer = self.api.forget(row.id, scope=scope, tombstone=tombstone)
            family = self.models[scope].family(row.id) if answer.code is None else []
            self.agree(scope, answer, self.models[scope].forget(row.id, with_value=tombstone == "value"))
            assert not family or answer["erased"] == len(family)

    @rule(scope=scopes, pick=picks)
    def lift(self, scope: str, pick: int) -> None:
        said = list(VALUES)
        dead = [content for content in said if VALUES[content] in self.models[scope].dead]
        value = (dead or said)[pick % len(dead or said)]
        self.agree(
            scope,
            self.api.lift(self.digest(scope, value), scope=scope),
            self.models[scope].lift(VALUES[value]),
        )

    # What holds after every step.

    @invariant()
    def everything_that_is_promised_holds(self) -> None:
        """Of the scope that was written; of both, if only time has passed."""
        self.what_goes_on_has_a_name()
        self.the_other_scope_is_as_it_was()
        self.looked_at = {s: m for s, m in self.models.items() if s in self.written or not self.written}
        self.written.clear()
        self.every_listing_holds_what_it_should_and_nothing_else()
        self.recall_finds_what_is_believed_now_and_nothing_else()
        self.what_was_forgotten_never_answers()
        self.what_is_dead_stays_so_until_it_is_lifted()
        self.the_review_queue_holds_what_waits()
        self.every_change_is_one_event_of_a_whole_chain()
        self.the_head_counts_the_memories()
        self.a_slot_has_one_memory_at_each_valid_time()
        self.the_past_answers_as_it_did()

    def what_goes_on_has_a_name(self) -> None:
        """The model learns the id of what goes on after an interruption: it names the one before."""
        for scope, model in self.models.items():
            for row in model.unnamed():
                found = [
                    m for m in self.ledger(scope).page(Area.MEMORY, limit=1000) if m.id not in model.rows
                ]
                (memory_id,) = [m.id for m in found if m.derived_from == (row.goes_on_of,)]
                model.name(row, memory_id)

    def the_other_scope_is_as_it_was(self) -> None:
        after = {scope: self.dump(scope) for scope in SCOPES}
        for scope in set(SCOPES) - self.written:
            assert after[scope] == self.before[scope]
        self.before = after

    def every_listing_holds_what_it_should_and_nothing_else(self) -> None:
        for scope, model in self.looked_at.items():
            now = self.now()
            for status in STATUSES:
                for asked in ({}, {"kind": "item"}):
                    listed = self.api.list(scope, status=status, limit=100, **asked)["items"]
                    rows = model.listed(status, now, items=bool(asked))
                    assert {shown(memory) for memory in listed} == {expected(row, now) for row in rows}

    def recall_finds_what_is_believed_now_and_nothing_else(self) -> None:
        for scope, model in self.looked_at.items():
            items = self.api.recall("", scope, limit=50)["items"]
            assert {item["memory"]["id"] for item in items} == model.recalled(self.now())
            records = self.api.recall("", scope, limit=50, kinds=["item"])["items"]
            assert {item["memory"]["id"] for item in records} == model.recalled(self.now(), items=True)
            asked = self.api.recall("Alice lives in Lisbon.", scope, limit=50)["items"]
            assert {item["memory"]["id"] for item in asked} <= model.recalled(self.now())

    def what_was_forgotten_never_answers(self) -> None:
        for scope, model in self.looked_at.items():
            for memory_id in sorted(model.forgotten)[-CHECKED:]:
                assert self.api.get(memory_id, scope).code == "not_found"
                assert self.api.history(memory_id, scope)["versions"] == []

    def what_is_dead_stays_so_until_it_is_lifted(self) -> None:
        for scope, model in self.looked_at.items():
            graves = self.api.tombstones(scope, limit=100)["items"]
            standing = {g["id"] for g in graves if g["kind"] == "value" and not g["lifted"]}
            dead = {value for value, stands in model.dead.items() if stands}
            assert standing == {self.digest(scope, said) for said, value in VALUES.items() if value in dead}
            assert {g["id"] for g in graves if g["kind"] == "id"} == model.forgotten

    def the_review_queue_holds_what_waits(self) -> None:
        for scope, model in self.looked_at.items():
            for state in ("candidate", "disputed"):
                waiting = self.api.reviews(scope, state=state, limit=100)["items"]
                assert {memory["id"] for memory in waiting} == model.waiting(state, self.now())

    def every_change_is_one_event_of_a_whole_chain(self) -> None:
        for scope, model in self.looked_at.items():
            chain = self.api.verify(scope)
            assert (chain["ok"], chain["length"]) == (True, model.events)

    def the_head_counts_the_memories(self) -> None:
        for scope, model in self.looked_at.items():
            head = self.ledger(scope).read([HEAD]).get(HEAD)
            active = [row for row in model.rows.values() if row.status == "active"]
            assert (head.memories if head else 0) == len(active)

    def a_slot_has_one_memory_at_each_valid_time(self) -> None:
        for scope in self.looked_at:
            listed = self.api.list(scope, limit=100)["items"]
            listed += self.api.list(scope, trust="disputed", limit=100)["items"]
            for one, other in combinations([memory for memory in listed if memory["key"]], 2):
                starts = max(instant(m["valid_from"]) or ALWAYS for m in (one, other))
                ends = min(instant(m["valid_to"]) or FOREVER for m in (one, other))
                assert one["key"] != other["key"] or starts >= ends

    def the_past_answers_as_it_did(self) -> None:
        moment = self.moment()
        self.frozen.append((moment, {scope: m.as_of(moment) for scope, m in self.models.items()}))
        for asked in [*self.frozen[: CHECKED - 1], self.frozen[-1]]:
            self.check_past(*asked, self.looked_at)

    def check_past(
        self, moment: datetime, answered: dict[str, dict[str, int]], models: dict[str, NaiveScope]
    ) -> None:
        for scope, model in models.items():
            kept = {i: version for i, version in answered[scope].items() if i not in model.forgotten}
            asked = {"known_at": moment.isoformat(), "limit": 100}
            items = self.api.list(scope, **asked)["items"]
            items += self.api.list(scope, kind="item", **asked)["items"]
            assert {memory["id"]: memory["version"] for memory in items} == kept, moment

    def teardown(self) -> None:
        for asked in self.frozen:
            self.check_past(*asked, self.models)


def shown(memory: dict[str, Any]) -> tuple[Any, ...]:
    """What a listing says of a memory, as far as the model knows it."""
    names = ("id", "version", "content", "key", "data", "status", "trust", "superseded_by")
    times = (memory["valid_from"], memory["valid_to"], memory["expires_at"], memory["updated_at"])
    return (*(memory[name] for name in names), frozenset(memory["supersedes"]), *map(instant, times))


def expected(row: Row, now: datetime) -> tuple[Any, ...]:
    said = (row.id, row.version, row.content, row.key, row.data, row.status_at(now), row.trust)
    times = (row.valid_from, row.valid_to, row.expires_at, row.at)
    return (*said, row.superseded_by, frozenset(row.supersedes), *times)


def run(machine: type[LedgerMachine], examples: int, steps: int) -> None:
    """So many sequences of so many calls, the same ones each time."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
