"""Memories that say nearly the same become one that stands on them all, and it can be undone."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.candidates import candidate, infer
from tests.support.consolidating import SCOPE, Desk
from tests.support.extraction import AWAY
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller, principal
from tests.support.sweeping import a_day_passes
from unsay_core.application import consolidate, near_duplicates
from unsay_core.application.consolidate import Consolidate, begin_consolidation
from unsay_core.application.ledger import Area, job_ref
from unsay_core.application.model import Answer, Stop, UnusableReplyError
from unsay_core.application.ports import Hit, SearchError
from unsay_core.application.replay import IdempotencyKey
from unsay_core.domain.errors import NotFoundError
from unsay_core.domain.memory import Kind
from unsay_core.domain.scope import Action, Scope
from unsay_core.extraction.likeness import Measure
from unsay_core.jobs.job import Job, JobKind, JobState
from unsay_core.metrics import MEMORIES_MERGED, MODEL_TOKENS

TEA, TEA_NOW = "Alice likes green tea a lot.", "Alice likes green tea a lot now."
LONG = "We meet every Monday in the large room on the second floor."
LONGER = "We meet every Monday in the large bright room on the second floor."
OTHER_DAY = LONG.replace("Monday", "Tuesday")


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
    assert api.get(merge["into"]).status == 404, "its words may be those of what was forgotten"
    assert api.listed() == [TEA_NOW], "and the other stays what it has become"


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


@pytest.mark.parametrize("edited", [0, 1])
def test_a_member_that_was_edited_meanwhile_keeps_what_it_says_now(
    api: Caller, desk: Desk, edited: int
) -> None:
    members = ids(api.remember(TEA), api.remember(TEA_NOW))
    job = desk.begin()
    desk.run(job, steps=1)
    assert api.edit(members[edited], content="Bob sold his car.").status == 200
    ended = desk.run(job)
    assert (ended.state, ended.result["merges"]) == (JobState.COMPLETE, [])
    assert [p.code for p in ended.problems] == ["version_conflict"]
    assert sorted(api.listed()) == sorted(["Bob sold his car.", (TEA_NOW, TEA)[edited]])


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
        begin_consolidation(Consolidate(Measure(0.85), idempotency=key), opened, service.world)
        for _ in range(2)
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


def test_where_nothing_was_ever_held_there_is_nothing_to_wait_for(api: Caller) -> None:
    answer = asked(api)
    assert (answer.status, answer["state"], answer["total"]) == (202, "complete", 0)
    assert looked_up(api, answer["id"])["result"] == {"merges": [], "merged": 0, "groups": []}
    api.remember(TEA, SCOPE)
    assert asked(api)["state"] == "running", "the control"


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


# ---- nobody asked: the sweep


def test_the_sweep_merges_what_loses_nothing_by_it_and_says_by_which_job(api: Caller, desk: Desk) -> None:
    members = ids(api.remember(LONG), api.remember(LONGER))
    api.remember(OTHER_DAY)
    a_day_passes(desk.service)
    assert sorted(api.listed()) == sorted([LONGER, OTHER_DAY]), "Tuesday is not Monday, however alike"
    merged = next(m for m in api.list()["items"] if m["content"] == LONGER)
    assert (merged["derived_from"], merged["source"]["actor"]) == (members, "sweeper")
    (event,) = [each for each in api.audit()["items"] if each["event"] == "memory.merged"]
    *related, job_id = event["related"]
    assert related == members
    assert desk.consolidate(undo=job_id).problems == ()
    assert sorted(api.listed()) == sorted([LONG, LONGER, OTHER_DAY])
    a_day_passes(desk.service)
    assert len(api.listed()) == 3, "a week has not passed"
    a_day_passes(desk.service, days=7)
    assert sorted(api.listed()) == sorted([LONGER, OTHER_DAY])
    length = api.verify()["length"]
    a_day_passes(desk.service, days=7)
    a_day_passes(desk.service, days=7)
    begun = [j for j in service_jobs(desk) if j.kind is JobKind.CONSOLIDATE and not j.request["undo"]]
    assert (len(begun), api.verify()["length"]) == (3, length), "then nothing had changed"


def service_jobs(desk: Desk) -> list[Job]:
    (ledger,) = desk.service.ledgers.values()
    return [entry for entry in ledger.page(Area.JOB, limit=100) if isinstance(entry, Job)]


def test_the_policy_of_a_root_says_how_often_and_by_which_measure(api: Caller, desk: Desk) -> None:
    for scope in (SCOPE, "calm/alice"):
        for content in (LONG, LONGER):
            api.remember(content, scope)
    api.send("PUT", "/v1/policy", {"consolidation": {"every_days": None}}, query="scope=calm")
    a_day_passes(desk.service, days=30)
    assert (len(api.listed()), len(api.listed("calm/alice"))) == (1, 2)
    api.send("PUT", "/v1/policy", {"consolidation": {"threshold": 0.99}}, query="scope=calm")
    a_day_passes(desk.service)
    assert len(api.listed("calm/alice")) == 2
    found = api.send("PUT", "/v1/policy", {"consolidation": {"threshold": 0.8}}, query="scope=calm")
    assert (found.status, found["consolidation"]["every_days"]) == (200, 7)
    api.remember("Bob drives a red car.", "calm/alice")
    a_day_passes(desk.service, days=7)
    assert len(api.listed("calm/alice")) == 2


# ---- by vectors

SHORT, AT_LENGTH = "Alice likes green tea.", "Alice really likes green tea a lot."


def test_vectors_find_what_words_leave_open(service: FakeService, api: Caller, desk: Desk) -> None:
    one, other = (api.remember(text)["id"] for text in (SHORT, AT_LENGTH))
    service.knowledge_base.intruders = [Hit(i, 0.96) for i in (one, other)]
    job = desk.consolidate(threshold=0.85, cosine=0.97)
    assert (job.result["merges"], job.result["searched"]) == ([], 1)
    assert desk.consolidate(threshold=0.85).result["merges"] == [], "nobody asked for vectors"
    service.knowledge_base.failing = SearchError("knowledge_base_throttled")
    job = desk.consolidate(threshold=0.85, cosine=0.95)
    assert (job.state, job.result["merges"], job.result["searched"]) == (JobState.COMPLETE, [], 0)
    service.knowledge_base.failing = None
    (merge,) = desk.consolidate(threshold=0.85, cosine=0.95).result["merges"]
    assert merge["from"] == [one, other]


# ---- a stretch at a time


def test_a_large_scope_is_compared_a_stretch_at_a_time(
    api: Caller, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(near_duplicates, "STRETCH", 100)
    monkeypatch.setattr(near_duplicates, "STRIDE", 50)
    far = api.remember("Zoe keeps seven grey geese behind the mill.")["id"]
    for n in range(230):
        api.remember(f"Box {n} holds {n * 7} red buttons.")
    near = [
        api.remember(f"Zoe keeps seven grey geese behind the old mill{end}")["id"] for end in (".", " now.")
    ]
    job = desk.consolidate(dry_run=True)
    assert (job.state, job.result["groups"]) == (JobState.COMPLETE, [near]), (
        "too much lies between the first and these"
    )
    assert job.result["compared"] > 233, "the stretches overlap"
    (merge,) = desk.consolidate().result["merges"]
    assert (merge["from"], api.get(far)["status"]) == (near, "active")


def test_a_job_ends_when_it_has_as_much_as_it_can_remember(
    api: Caller, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consolidate, "MOST_GROUPS", 2)
    monkeypatch.setattr(near_duplicates, "STRETCH", 100)
    monkeypatch.setattr(near_duplicates, "STRIDE", 50)
    for name in ("Alice", "Bob", "Carol"):
        for end in ("", " now"):
            api.remember(f"{name} likes green tea a lot{end}.")
    for n in range(100):
        api.remember(f"Box {n} holds {n * 7} red buttons.")
    first, second = desk.consolidate(), desk.consolidate()
    assert [len(job.result["merges"]) for job in (first, second)] == [2, 1]
    assert (first.result.get("more"), second.result.get("more")) == (True, None)


# ---- in the words of a model


def by_model(api: Caller) -> None:
    api.send("PUT", "/v1/policy", {"consolidation": {"text": "model"}}, query="scope=acme")


def stated(content: Any) -> Answer:
    return Answer(Stop.DONE, {"content": content}, (), "scripted", 50)


GREEN, OFTEN = "Alice likes green tea a lot.", "Alice likes tea a lot in Lisbon."
BOTH = "Alice likes green tea a lot in Lisbon."


def test_a_model_words_what_is_merged_where_the_policy_wants_it(
    service: FakeService, api: Caller, desk: Desk
) -> None:
    members = ids(api.remember(GREEN), api.remember(OFTEN))
    by_model(api)
    service.model.otherwise = stated(BOTH)
    (merge,) = desk.consolidate(threshold=0.6).result["merges"]
    merged = api.get(merge["into"])
    assert (merged["content"], merged["derived_from"]) == (BOTH, members)
    assert (merged["trust"], merged["source"]["model"]) == ("inferred", "scripted merge prompt 1")
    (question,) = service.model.asked
    assert (question.tool, GREEN in question.text, OFTEN in question.text) == ("report_statement", True, True)
    assert service.signals.values(MODEL_TOKENS) == [50]
    assert service.signals.values(MEMORIES_MERGED) == [2]
    (job,) = service_jobs(desk)
    desk.consolidate(undo=job.id)
    assert sorted(api.listed()) == sorted([GREEN, OFTEN])


@pytest.mark.parametrize(
    "reply",
    [
        stated("Alice likes green tea a lot in Porto."),
        stated("Alice never likes green tea a lot in Lisbon."),
        stated("Alice likes 2 green tea a lot in Lisbon."),
        stated("In Lisbon Alice likes green tea a lot."),
        stated(""),
        stated(7),
        stated(OFTEN),
        stated("Alice likes tea. " * 100),
        Answer(Stop.TRUNCATED, {"content": BOTH}, (), "scripted", 50),
        Answer(Stop.DONE, None, (BOTH,), "scripted", 50),
        AWAY,
        UnusableReplyError("question_refused"),
    ],
)
def test_what_the_members_do_not_say_is_not_taken(
    service: FakeService, api: Caller, desk: Desk, reply: Any
) -> None:
    api.remember(GREEN)
    api.remember(OFTEN)
    by_model(api)
    service.model.otherwise = reply
    (merge,) = desk.consolidate(threshold=0.6).result["merges"]
    merged = api.get(merge["into"])
    assert (merged["content"], merged["trust"], merged["source"]["model"]) == (OFTEN, "asserted", None)


def test_no_model_is_asked_beyond_the_budget_nor_about_what_a_person_verified(
    service: FakeService, api: Caller, desk: Desk
) -> None:
    by_model(api)
    for content in (GREEN, OFTEN):
        api.decide(candidate(service, content, scope="acme/bob").id, scope="acme/bob")
    (merge,) = desk.consolidate("acme/bob", threshold=0.6).result["merges"]
    assert api.get(merge["into"], "acme/bob")["trust"] == "verified"
    policy = {"consolidation": {"text": "model"}, "budget": {"daily_tokens": 1}}
    api.send("PUT", "/v1/policy", policy, query="scope=acme")
    service.counters.add(f"acme/tokens/{service.clock.now().date().isoformat()}", 5)
    api.remember(GREEN)
    api.remember(OFTEN)
    assert len(desk.consolidate(threshold=0.6).result["merges"]) == 1
    assert service.model.asked == []


def test_a_model_that_says_what_another_memory_says_makes_no_second_one(
    service: FakeService, api: Caller, desk: Desk
) -> None:
    by_model(api)
    service.model.otherwise = stated(BOTH)
    api.remember(GREEN)
    api.remember(OFTEN)
    other = api.remember(BOTH)
    desk.consolidate(threshold=0.65)
    assert sorted(api.listed()).count(BOTH) == 1, other
