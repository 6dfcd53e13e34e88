"""Memories that say nearly the same become one that stands on them all, and it can be undone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.candidates import infer
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller, principal
from unsay_core.application.consolidate import Consolidate, begin_consolidation
from unsay_core.application.job_steps import STEPS
from unsay_core.application.jobs import run_job, task_of
from unsay_core.application.ledger import job_ref
from unsay_core.application.replay import IdempotencyKey
from unsay_core.domain.errors import NotFoundError
from unsay_core.domain.memory import Kind
from unsay_core.domain.scope import Action, Scope
from unsay_core.jobs.job import Job, JobState

TEA, TEA_NOW = "Alice likes green tea a lot.", "Alice likes green tea a lot now."
SCOPE = "acme/alice"


class Desk:
    """Whoever asks for a consolidation, and the λ that does it."""

    def __init__(self, service: FakeService) -> None:
        self.service = service

    def begin(self, scope: str = SCOPE, **asked: Any) -> Job:
        opened = self.service.open_scope(ADMIN, Scope.parse(scope), Action.WRITE)
        return begin_consolidation(Consolidate(**({"threshold": 0.8} | asked)), opened, self.service.world)[0]

    def run(self, job: Job, scope: str = SCOPE, *, steps: int = 1_000) -> Job:
        scope_id = self.service.keyring.scope_id(scope)
        found = self.service.job_scope(task_of(job, scope_id))
        assert found is not None
        left = iter(range(steps))
        run_job(
            task_of(job, scope_id), found, self.service.world, STEPS, lambda: next(left, None) is not None
        )
        now = found.ledger.read([job_ref(job.id)]).get(job_ref(job.id))
        assert now is not None
        return now

    def consolidate(self, scope: str = SCOPE, **asked: Any) -> Job:
        return self.run(self.begin(scope, **asked), scope)


@pytest.fixture
def desk(service: FakeService) -> Desk:
    return Desk(service)


def ids(*answers: Any) -> list[str]:
    return [answer["id"] for answer in answers]


def test_near_duplicates_become_one_that_is_derived_from_them(api: Caller, desk: Desk) -> None:
    members = ids(
        api.remember(TEA, tags=["a"], importance=0.2), api.remember(TEA_NOW, tags=["b"], importance=0.9)
    )
    api.remember("Bob drives a red car.")
    job = desk.consolidate()
    assert (job.state, job.done, job.total, job.problems) == (JobState.COMPLETE, 1, 1, ())
    (merge,) = job.result["merges"]
    assert (merge["from"], job.result["merged"]) == (members, 2)
    merged = api.get(merge["into"])
    assert merged["content"] == TEA_NOW, "the longest, word for word"
    assert (merged["derived_from"], merged["supersedes"]) == (members, members)
    assert (merged["trust"], merged["tags"], str(merged["importance"])) == ("asserted", ["a", "b"], "0.9")
    assert (merged["source"]["channel"], merged["source"]["actor"]) == ("consolidate", "key_admin")
    for member in members:
        found = api.get(member)
        assert (found["status"], found["superseded_by"]) == ("superseded", merged["id"])
    assert sorted(api.listed()) == sorted([TEA_NOW, "Bob drives a red car."])
    assert api.recalled("green tea")[0] == TEA_NOW
    assert api.events()[-1] == "memory.merged"
    assert api.verify()["ok"]
    again = api.remember(TEA_NOW)
    assert (again.status, again["id"]) == (200, merged["id"]), "what is said again is known"


def test_what_is_said_again_is_not_merged_twice(api: Caller, desk: Desk) -> None:
    api.remember(TEA)
    api.remember(TEA_NOW)
    desk.consolidate()
    length = api.verify()["length"]
    job = desk.consolidate()
    assert (job.state, job.result["merges"], api.verify()["length"]) == (JobState.COMPLETE, [], length)


def test_a_dry_run_says_what_it_would_do_and_changes_nothing(api: Caller, desk: Desk) -> None:
    members = ids(api.remember(TEA), api.remember(TEA_NOW))
    length = api.verify()["length"]
    job = desk.consolidate(dry_run=True)
    assert (job.state, job.result["groups"], job.result["merged"]) == (JobState.COMPLETE, [members], 0)
    assert (sorted(api.listed()), api.verify()["length"]) == (sorted([TEA, TEA_NOW]), length)


PAIRS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "kinds": ({"kind": "semantic"}, {"kind": "procedural"}),
    "slots": ({"key": "tea"}, {"key": "drink"}),
    "a slot and none": ({"key": "tea"}, {}),
    "times": ({"valid_from": "2020-01-01T00:00:00Z"}, {}),
    "ends": ({"valid_to": "2990-01-01T00:00:00Z"}, {}),
    "expiries": ({"expires_at": "2990-01-01T00:00:00Z"}, {}),
    "metadata": ({"metadata": {"team": "red"}}, {"metadata": {"team": "blue"}}),
    "data": ({"data": {"n": 1}}, {"data": {"n": 1.5}}),
}


@pytest.mark.parametrize("differing", PAIRS)
def test_what_differs_is_never_merged(api: Caller, desk: Desk, differing: str) -> None:
    one, other = PAIRS[differing]
    api.remember(TEA, **one)
    api.remember(TEA_NOW, **other)
    assert desk.consolidate().result["merges"] == []
    for content in (TEA, TEA_NOW):
        api.remember(content, "acme/control")
    assert len(desk.consolidate("acme/control").result["merges"]) == 1, "the control"


def test_neither_trust_nor_scopes_nor_denials_nor_numbers_nor_items_are_mixed(
    service: FakeService, api: Caller, desk: Desk
) -> None:
    api.remember(TEA)
    infer(service, TEA_NOW)
    api.remember(TEA_NOW.replace("likes", "never likes"))
    api.remember("Alice owns 2 green tea cups, all of them old.")
    api.remember("Alice owns 3 green tea cups, all of them old.")
    for key in ("one", "two"):
        api.remember(TEA, kind="item", key=key)
    api.remember(TEA_NOW, "acme/bob")
    assert desk.consolidate(threshold=0.6).result["merges"] == []
    assert desk.consolidate("acme/bob", threshold=0.6).result["merges"] == []


def test_what_somebody_doubts_or_decides_on_is_left_alone(api: Caller, desk: Desk) -> None:
    doubted = api.remember(TEA)
    api.dispute(doubted["id"])
    gone = api.remember("Alice likes green tea a lot too.")
    api.retract(gone["id"])
    api.remember(TEA_NOW)
    assert desk.consolidate().result["merges"] == []


def test_only_the_kinds_that_are_named(api: Caller, desk: Desk) -> None:
    for kind in ("semantic", "episodic"):
        for content in (TEA, TEA_NOW):
            api.remember(content, kind=kind)
    job = desk.consolidate(kinds=(Kind.EPISODIC,))
    (merge,) = job.result["merges"]
    assert api.get(merge["into"])["kind"] == "episodic"


def test_it_can_be_undone(api: Caller, desk: Desk) -> None:
    members = ids(api.remember(TEA), api.remember(TEA_NOW))
    done = desk.consolidate()
    (merge,) = done.result["merges"]
    job = desk.consolidate(undo=done.id)
    assert (job.state, job.result["merges"], job.problems) == (JobState.COMPLETE, [merge], ())
    assert sorted(api.listed()) == sorted([TEA, TEA_NOW])
    assert [api.get(i)["status"] for i in members] == ["active", "active"]
    assert api.get(merge["into"])["status"] == "superseded"
    assert [api.remember(content)["id"] for content in (TEA, TEA_NOW)] == members
    assert api.verify()["ok"] and api.events()[-1] == "memory.unmerged"
    again = desk.consolidate(undo=done.id)
    assert [problem.code for problem in again.problems] == ["version_conflict"]
    api.forget(members[0])
    assert TEA_NOW not in desk.service.dump() or api.get(members[1])["status"] == "active"
    assert api.get(merge["into"]).status == 404, "its words may be those of what was forgotten"


def test_a_merge_that_was_edited_since_is_not_undone(api: Caller, desk: Desk) -> None:
    ids(api.remember(TEA), api.remember(TEA_NOW))
    done = desk.consolidate()
    (merge,) = done.result["merges"]
    api.edit(merge["into"], tags=["mine"])
    job = desk.consolidate(undo=done.id)
    assert [problem.code for problem in job.problems] == ["version_conflict"]
    assert api.listed() == [TEA_NOW]


def test_an_unknown_job_cannot_be_undone(desk: Desk) -> None:
    with pytest.raises(NotFoundError):
        desk.begin(undo=f"job_{0:026d}")


def test_forgetting_a_member_takes_what_was_merged_out_of_belief(api: Caller, desk: Desk) -> None:
    members = ids(api.remember(TEA), api.remember(TEA_NOW))
    (merge,) = desk.consolidate().result["merges"]
    api.forget(members[0])
    assert api.get(merge["into"])["status"] == "candidate", "the other still supports it"
    api.forget(members[1])
    assert api.get(merge["into"]).status == 404


def test_forgetting_the_merged_takes_its_members_along(api: Caller, desk: Desk) -> None:
    members = ids(api.remember(TEA), api.remember(TEA_NOW))
    (merge,) = desk.consolidate().result["merges"]
    api.forget(merge["into"])
    assert [api.get(i).status for i in members] == [404, 404]
    assert api.remember(TEA).code == api.remember(TEA_NOW).code == "tombstoned"


def test_a_member_that_changed_meanwhile_is_left_as_it_is(api: Caller, desk: Desk) -> None:
    one = api.remember(TEA)
    api.remember(TEA_NOW)
    job = desk.begin()
    desk.run(job, steps=1)
    api.retract(one["id"])
    ended = desk.run(job)
    assert (ended.state, [p.code for p in ended.problems]) == (JobState.COMPLETE, ["version_conflict"])
    assert api.listed() == [TEA_NOW]


def test_what_an_erasure_came_between_is_looked_for_anew(api: Caller, desk: Desk) -> None:
    one = api.remember(TEA)
    for content in (TEA_NOW, "Alice likes green tea a lot, mind."):
        api.remember(content)
    job = desk.begin(threshold=0.7)
    desk.run(job, steps=1)
    api.forget(one["id"])
    ended = desk.run(job)
    (merge,) = ended.result["merges"]
    assert (len(merge["from"]), one["id"] in merge["from"]) == (2, False)
    assert (ended.state, ended.problems) == (JobState.COMPLETE, ())


def test_killed_after_any_step_it_ends_the_same(api: Caller, desk: Desk) -> None:
    for name in ("Alice", "Bob", "Carol"):
        for end in ("", " now", " indeed"):
            api.remember(f"{name} likes green tea a lot{end}.")
    job = desk.begin(threshold=0.7)
    for _ in range(20):
        job = desk.run(job, steps=1)
    assert (job.state, job.done, job.result["merged"]) == (JobState.COMPLETE, 3, 9)
    assert len(api.listed()) == 3


def test_the_same_request_again_is_the_same_job(service: FakeService, desk: Desk) -> None:
    opened = service.open_scope(ADMIN, Scope.parse(SCOPE), Action.WRITE)
    key = IdempotencyKey("k" * 52, "d" * 52)
    first, again = (
        begin_consolidation(Consolidate(idempotency=key), opened, service.world) for _ in range(2)
    )
    assert (first[1], again[1], again[0].id) == (False, True, first[0].id)


def asked(api: Caller, **fields: Any) -> Any:
    headers = fields.pop("headers", {})
    return api.send("POST", "/v1/consolidate", {"scope": SCOPE, **fields}, **headers)


def looked_up(api: Caller, job_id: str) -> Any:
    return api.send("GET", f"/v1/jobs/{job_id}", query="scope=acme%2Falice")


def test_it_is_asked_for_and_looked_up_by_whoever_may_write(
    service: FakeService, api: Caller, desk: Desk
) -> None:
    members = ids(api.remember(TEA), api.remember(TEA_NOW))
    writer = Caller(service, principal("acme/alice", Action.WRITE))
    answer = asked(writer, threshold=0.8, kinds=["semantic"])
    assert (answer.status, answer["kind"], answer["state"]) == (202, "consolidate", "running")
    assert answer.headers["Location"] == f"/v1/jobs/{answer['id']}?scope=acme%2Falice"
    job = (
        service.ledgers[service.keyring.scope_id(SCOPE)]
        .read([job_ref(answer["id"])])
        .get(job_ref(answer["id"]))
    )
    assert job is not None
    desk.run(job)
    for who in (writer, api):
        found = looked_up(who, answer["id"])
        assert (found.status, found["state"], found["result"]["merged"]) == (200, "complete", 2)
        assert found["result"]["merges"][0]["from"] == members
    assert looked_up(Caller(service, principal("acme/alice", Action.READ)), answer["id"]).status == 403
    undone = asked(writer, undo=answer["id"])
    assert undone.status == 202
    export = api.send("POST", "/v1/export", {"scope": SCOPE})
    assert looked_up(writer, export["id"]).status == 404, "another's kind of job"
    assert looked_up(api, export["id"]).status == 200


def test_the_same_call_again_gets_the_same_job(api: Caller) -> None:
    named = {"headers": {"idempotency_key": "k"}}
    first, again = asked(api, **named), asked(api, **named)
    assert (again.status, again["id"]) == (202, first["id"])
    assert again.headers["Idempotency-Replayed"] == "true"
    assert asked(api, threshold=0.9, **named).code == "idempotency_mismatch"


@pytest.mark.parametrize(
    "wrong",
    [
        {"threshold": 0.4},
        {"threshold": 1.01},
        {"threshold": "0.9"},
        {"kinds": []},
        {"kinds": ["item"]},
        {"undo": 7},
        {"more": 1},
    ],
)
def test_what_is_wrong_is_refused(api: Caller, wrong: dict[str, Any]) -> None:
    refused = asked(api, **wrong)
    assert (refused.status, refused.code) == (400, "invalid_request")


def test_a_job_that_is_not_there_is_not_undone(api: Caller) -> None:
    assert asked(api, undo=f"job_{0:026d}").status == 404
    assert asked(api, undo=api.send("POST", "/v1/export", {"scope": SCOPE})["id"]).status == 404
