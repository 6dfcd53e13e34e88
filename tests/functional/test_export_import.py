"""Memories leave a scope as lines of JSON and come into one: whole, once, and never what was taken back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from moto import mock_aws

from tests.functional.aws import _make_tables
from tests.support.candidates import candidate
from tests.support.clients import OneAtATime
from tests.support.erasing import Eraser
from tests.support.fakes import FakeService
from tests.support.http import Caller, principal
from tests.support.transfers import bring, export, lines_of, opened, run
from tests.support.workers import index_all
from unsay_core.adapters.dynamodb.items import Place
from unsay_core.adapters.dynamodb.ledger import DynamoLedger
from unsay_core.adapters.sqlite import LedgerFile, SqliteLedger
from unsay_core.application import export_memories, import_memories
from unsay_core.application.export_memories import export_step
from unsay_core.application.import_memories import import_step
from unsay_core.application.transfer_jobs import (
    Export,
    Import,
    begin_export,
    begin_import,
    is_withdrawn,
    links,
    start_import,
)
from unsay_core.application.transfers import IMPORTS, upload_name
from unsay_core.domain.errors import ForbiddenError, InvalidRequestError, NotFoundError
from unsay_core.domain.scope import Action, PrincipalKind
from unsay_core.jobs.job import JobState

LISBON, PORTO = "Alice lives in Lisbon.", "Alice lives in Porto."
CARRIER = principal("acme/*", Action.TRANSFER, kind=PrincipalKind.AGENT, key="key_carrier")
BOB = "acme/bob"


@pytest.fixture(params=["memory", "sqlite", "dynamodb"])
def everywhere(request: pytest.FixtureRequest, tmp_path: Any) -> Iterator[FakeService]:
    """The service on each kind of ledger."""
    service = FakeService()
    if request.param == "memory":
        yield service
    elif request.param == "sqlite":
        file = LedgerFile(tmp_path / "ledger.sqlite")
        service.ledgers = _Made(lambda scope_id: SqliteLedger(file, scope_id))  # type: ignore[assignment]
        yield service
        file.close()
    else:
        with mock_aws():
            session = boto3.session.Session("test", "test", region_name="us-east-1")
            _make_tables(session)
            client = OneAtATime(session.client("dynamodb"))
            made = _Made(lambda scope_id: DynamoLedger(client, Place(scope_id, "ledger", "record")))
            service.ledgers = made  # type: ignore[assignment]
            yield service


class _Made(dict[str, Any]):
    def __init__(self, make: Any) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, scope_id: str) -> Any:
        self[scope_id] = self._make(scope_id)
        return self[scope_id]


def contents(lines: list[dict[str, Any]]) -> list[str]:
    return [line["memory"]["content"] for line in lines]


def without(memory: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in memory.items() if name not in names}


def test_what_leaves_a_scope_comes_into_another_with_ids_times_history_and_trust(
    everywhere: FakeService,
) -> None:
    api = Caller(everywhere)
    first = api.remember(LISBON, key="home", tags=["a"], data={"n": [1, 2]}, metadata={"m": 1})
    api.edit(first["id"], tags=["b"])
    second = api.correct(first["id"], PORTO, version=2, key="home")
    doubted = api.remember("Alice owns a boat.")
    api.dispute(doubted["id"])
    api.decide(doubted["id"], version=2)
    gone = api.remember("Alice never said this.")
    api.retract(gone["id"])
    everywhere.clock.pass_(days=3)
    lines = export(everywhere, "active", "history", "candidate")
    assert [line["memory"]["id"] for line in lines] == [first["id"], second["id"], doubted["id"], gone["id"]]
    job = bring(everywhere, lines)
    assert (job.state, job.result) == ("complete", {"imported": 4, "refused": {}})
    ours = ("scope", "source", "index", "review", "superseded_because")
    for before in (first, second, doubted, gone):
        here, there = api.get(before["id"]), api.get(before["id"], BOB)
        assert without(there.body, *ours) == without(here.body, *ours)
        assert there["source"]["import"] | {"job_id": ""} == {
            "job_id": "",
            "channel": "api",
            "actor": "key_admin",
            "recorded_at": here["recorded_at"],
        }
    assert [v["tags"] for v in api.history(first["id"], BOB)["versions"]] == [["a"], ["b"], ["b"]]
    assert api.get(doubted["id"], BOB)["trust"] == "verified"
    assert api.listed(BOB) == ["Alice owns a boat.", PORTO]
    assert api.recalled("Where does Alice live?", BOB)[0] == PORTO
    assert api.verify(BOB)["ok"]
    again = bring(everywhere, lines)
    assert again.result == {"skipped": 4, "refused": {}}


def test_an_export_holds_what_was_asked_for_and_nothing_else(service: FakeService, api: Caller) -> None:
    old = api.remember(LISBON)
    api.correct(old["id"], PORTO)
    disputed = api.remember("Alice owns a boat.")
    api.dispute(disputed["id"])
    waiting = candidate(service, "Alice may like tea.")
    retracted = api.remember("Alice has a twin.")
    api.retract(retracted["id"])
    assert contents(export(service)) == [PORTO]
    assert contents(export(service, "disputed")) == ["Alice owns a boat."]
    assert contents(export(service, "candidate")) == [waiting.fact.content]
    assert contents(export(service, "history")) == [LISBON, "Alice has a twin."]
    assert contents(export(service, "retracted", "active")) == [PORTO, "Alice has a twin."]
    assert "nonce" not in json.dumps(export(service, "history", "active"))
    assert export(service, scope="acme/nobody") == []


def test_an_agent_brings_statements_made_now_and_no_past(service: FakeService, api: Caller) -> None:
    first = api.remember(LISBON)
    api.edit(first["id"], tags=["b"])
    boat = api.remember("Alice owns a boat.")
    api.dispute(boat["id"])
    api.decide(boat["id"], version=2)
    old = api.remember("Alice is ten.")
    api.correct(old["id"], "Alice is eleven.")
    service.clock.pass_(days=1)
    lines = export(service, "active", "history")
    job = bring(service, lines, who=CARRIER)
    assert job.result == {"imported": 3, "refused": {"history_needs_review": 1}}
    there = api.get(first["id"], BOB)
    assert (there["trust"], there["version"], there["source"]["actor"]) == ("asserted", 1, "key_carrier")
    assert there["recorded_at"] > lines[0]["memory"]["updated_at"]
    assert api.get(boat["id"], BOB)["trust"] == "asserted", "and not verified"
    assert len(api.history(first["id"], BOB)["versions"]) == 1


def test_a_line_that_claims_more_than_its_importer_may_is_worth_what_he_is(service: FakeService) -> None:
    api = Caller(service)
    api.remember(LISBON)
    (line,) = export(service)
    line["memory"] |= {"trust": "verified", "recorded_at": "2001-01-01T00:00:00Z"}
    line["memory"]["source"] |= {"actor": "key_boss", "channel": "review"}
    bring(service, [line], who=CARRIER)
    there = api.get(line["memory"]["id"], BOB)
    assert (there["trust"], there["source"]["actor"], there["source"]["channel"]) == (
        "asserted",
        "key_carrier",
        "import",
    )
    assert there["recorded_at"] >= "2026"
    bring(service, [line], scope="acme/carol")
    assert api.get(line["memory"]["id"], "acme/carol")["recorded_at"].startswith("2001"), "the control"


def test_an_import_brings_back_nothing_that_was_taken_back(everywhere: FakeService) -> None:
    api = Caller(everywhere)
    gone, said, kept = (
        api.remember("Alice has a cat."),
        api.remember("Alice has a dog."),
        api.remember(LISBON),
    )
    derived = api.remember("Alice likes pets.", derived_from=[gone["id"]])
    lines = export(everywhere)
    api.forget(gone["id"])
    api.retract(said["id"])
    before = api.listed()
    job = bring(everywhere, lines, scope="acme/alice")
    assert job.result == {"skipped": 1, "refused": {"forgotten_id": 2}} | {"skipped": 1 + 1}
    assert api.listed() == before == [LISBON]
    renamed = [{"memory": line["memory"] | {"id": line["memory"]["id"][:-4] + "zzzz"}} for line in lines]
    for line in renamed:
        line["memory"]["derived_from"] = []
    disguised = [
        {"memory": line["memory"] | {"content": line["memory"]["content"].upper() + "!"}} for line in renamed
    ]
    for number, line in enumerate(disguised):
        line["memory"]["id"] = line["memory"]["id"][:-5] + f"{number}yyyy"
    job = bring(everywhere, disguised, scope="acme/alice")
    assert job.result["refused"] == {"tombstoned": 3}
    assert [problem.code for problem in job.problems] == ["tombstoned"] * 3
    assert api.listed() == [LISBON.upper() + "!", LISBON], "the control: what nobody took back comes"
    assert api.events().count("write.refused") == 5
    assert api.get(kept["id"]).status == 200
    assert api.get(derived["id"]).status == 404


def test_what_was_derived_from_something_absent_does_not_come(service: FakeService, api: Caller) -> None:
    source = api.remember(LISBON)
    api.remember("Alice is Portuguese.", derived_from=[source["id"]])
    lines = export(service)
    assert bring(service, lines[1:]).result == {"refused": {"source_missing": 1}}
    assert bring(service, lines).result == {"imported": 2, "refused": {}}
    receipt = api.forget(source["id"], scope=BOB)
    assert receipt["erased"] == 2, "and goes with its source there too"


def test_a_forget_takes_imported_versions_and_predecessors_along(service: FakeService, api: Caller) -> None:
    first = api.remember("Alice lives in Faro.", key="home")
    api.edit(first["id"], content="Alice lives in Braga.")
    last = api.correct(first["id"], PORTO, version=2, key="home")
    bring(service, export(service, "active", "history"))
    api.forget(last["id"], scope=BOB)
    for word in ("Faro", "Braga", "Porto"):
        assert api.remember(f"Alice lives in {word}.", BOB).code == "tombstoned"
    kept = [service.ledgers[service.keyring.scope_id(BOB)]]
    assert "Faro" not in repr([ledger._entries for ledger in kept])
    assert "Faro" in service.dump(), "the control: where it was not forgotten it still is"


def test_a_version_that_says_what_was_taken_back_stays_behind(service: FakeService, api: Caller) -> None:
    first = api.remember("Alice lives in Faro.")
    api.edit(first["id"], content=LISBON)
    lines = export(service, "active", "history")
    gone = api.remember("Alice lives in Faro.", BOB)
    api.forget(gone["id"], scope=BOB)
    assert bring(service, lines).result["imported"] == 1
    assert [v["content"] for v in api.history(first["id"], BOB)["versions"]] == [LISBON]
    assert "Faro" in json.dumps(lines), "the control"


def test_resurrection_needs_the_right_to_review_and_lifts_on_the_record(
    service: FakeService, api: Caller
) -> None:
    gone = api.remember(LISBON)
    lines = export(service)
    api.forget(gone["id"])
    with pytest.raises(ForbiddenError):
        bring(service, lines, scope="acme/alice", who=CARRIER, resurrect=True)
    job = bring(service, lines, scope="acme/alice", resurrect=True)
    assert job.result == {"imported": 1, "refused": {}}
    (memory,) = api.list()["items"]
    assert (memory["content"], memory["id"] == gone["id"]) == (LISBON, False)
    assert "tombstone.lifted" in api.events()
    assert api.get(gone["id"]).status == 404


def test_secrets_and_what_is_no_memory_are_refused_line_by_line(service: FakeService, api: Caller) -> None:
    api.remember(LISBON)
    (good,) = export(service)
    memory = good["memory"]
    bad: list[Any] = [
        {"memory": memory | {"content": "the key is AKIAIOSFODNN7EXAMPLE", "id": memory["id"][:-1] + "2"}},
        {"memory": memory | {"metadata": {"_x": 1}, "id": memory["id"][:-1] + "3"}},
        {"memory": memory | {"id": "mem_1"}},
        {"memory": memory | {"content": "x" * 20_000}},
        {"memory": memory | {"importance": 7}},
        {"memory": without(memory, "trust")},
        {"memory": memory | {"recorded_at": "yesterday"}},
        [],
        "text",
    ]
    job = bring(service, [*bad, good])
    assert job.result == {
        "imported": 1,
        "refused": {
            "secret_refused": 1,
            "reserved_key": 1,
            "invalid_request": 5,
            "too_large": 1,
            "invalid_time": 1,
        },
    }
    assert [problem.at for problem in job.problems] == list(range(1, 10))
    assert api.events(BOB).count("write.refused") == 1


def test_an_import_takes_secrets_where_the_policy_of_its_root_does(service: FakeService, api: Caller) -> None:
    api.remember(LISBON)
    (good,) = export(service)
    bad = {"memory": good["memory"] | {"content": "the key is AKIAIOSFODNN7EXAMPLE"}}
    assert bring(service, [bad]).result["refused"] == {"secret_refused": 1}, "the control"
    api.send("PUT", "/v1/policy", {"secrets": "allow"}, query="scope=acme")
    assert bring(service, [bad]).result == {"imported": 1, "refused": {}}
    assert "the key is AKIAIOSFODNN7EXAMPLE" in api.listed(BOB)


def test_blank_lines_and_broken_json_do_not_stop_an_import(service: FakeService, api: Caller) -> None:
    api.remember(LISBON)
    (good,) = export(service)
    there = opened(service, BOB)
    raw = b'\n  \n{"memory": \n\xff\xfe\n' + json.dumps(good).encode()
    job = run(begin_import(Import((raw,)), there, service.world), there, service)
    assert job.result == {"imported": 1, "refused": {"invalid_request": 2}}
    assert [problem.at for problem in job.problems] == [3, 4]


@pytest.mark.parametrize(
    ("on_conflict", "state", "result", "here"),
    [
        ("skip", "complete", {"imported": 1, "skipped": 2, "refused": {}}, ["Alice lives in Rome."]),
        ("newer", "complete", {"imported": 1, "renewed": 1, "skipped": 1, "refused": {}}, [LISBON]),
        ("fail", "failed", {}, ["Alice lives in Rome."]),
    ],
)
def test_a_taken_place_is_left_renewed_or_the_end(
    service: FakeService, api: Caller, on_conflict: str, state: str, result: Any, here: list[str]
) -> None:
    home, work = api.remember("Alice lives in Evora."), api.remember("Alice works in Faro.", key="work")
    bring(service, export(service))
    api.edit(home["id"], scope=BOB, content="Alice lives in Rome.")
    service.clock.pass_(days=1)
    api.edit(home["id"], content=LISBON)
    service.clock.pass_(days=1)
    api.edit(work["id"], scope=BOB, tags=["newer here"])
    lines = [*export(service), *export(service)]
    lines[2:] = [{"memory": lines[0]["memory"] | {"id": home["id"][:-1] + "z", "content": "Alice swims."}}]
    job = bring(service, lines, on_conflict=on_conflict)
    assert (job.state, job.result) == (state, result)
    assert [c for c in api.listed(BOB) if "lives" in c] == here


def test_a_slot_that_others_hold_is_theirs_unless_the_newer_wins(service: FakeService, api: Caller) -> None:
    api.remember(LISBON, key="home")
    older = export(service)
    service.clock.pass_(days=1)
    api.remember(PORTO, BOB, key="home")
    assert bring(service, older).result == {"skipped": 1, "refused": {}}
    assert bring(service, older, on_conflict="newer").result == {"skipped": 1, "refused": {}}
    failed = bring(service, older, on_conflict="fail")
    assert (failed.state, failed.problems[0].code) == ("failed", "conflict")
    assert api.listed(BOB) == [PORTO]
    service.clock.pass_(days=1)
    api.edit(older[0]["memory"]["id"], tags=["new"])
    assert bring(service, export(service), on_conflict="newer").result == {"imported": 1, "refused": {}}
    assert api.listed(BOB) == [LISBON]


def test_candidates_and_doubts_come_as_what_they_are(service: FakeService, api: Caller) -> None:
    waiting = candidate(service, "Alice may like tea.", "policy_review")
    doubted = api.remember("Alice owns a boat.")
    api.dispute(doubted["id"])
    bring(service, export(service, "candidate", "disputed"))
    assert [m["id"] for m in api.reviews(BOB, state="candidate")["items"]] == [waiting.id]
    assert [m["id"] for m in api.reviews(BOB, state="disputed")["items"]] == [doubted["id"]]
    assert api.recalled("tea boat", BOB) == []
    assert api.decide(doubted["id"], scope=BOB, version=2).status == 200
    assert api.recalled("boat", BOB) == ["Alice owns a boat."]


def test_an_export_begins_anew_when_something_is_erased_meanwhile(
    service: FakeService, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_memories, "PART_BYTES", 1)
    monkeypatch.setattr(export_memories, "READ_AT_ONCE", 1)
    ids = [api.remember(f"fact {n}")["id"] for n in range(4)]
    there = opened(service)
    job = begin_export(Export(), there, service.world)
    for _ in range(2):
        job = export_step(job, there, service.world)
    assert job.done == 2
    api.forget(ids[0])
    job = run(job, there, service)
    assert contents(lines_of(job, there)) == ["fact 1", "fact 2", "fact 3"]
    assert "fact 0" not in repr(there.transfers.files)
    assert job.done == job.result["memories"] == 3
    manifest = json.loads(there.transfers.read(job.result["manifest"], 0, 1 << 20))
    assert [part["memories"] for part in manifest["parts"]] == [1, 1, 1]


def test_a_finished_export_is_given_to_nobody_after_an_erasure(service: FakeService, api: Caller) -> None:
    gone = api.remember(LISBON)
    api.remember(PORTO)
    there = opened(service)
    job = run(begin_export(Export(), there, service.world), there, service)
    assert [part["url"][:11] for part in links(job, there)["parts"]] == ["memory:get:"]
    api.forget(gone["id"])
    assert (links(job, there), is_withdrawn(job, there)) == ({}, True)
    assert [name for name in there.transfers.files if job.id in name], "for now the files are there"
    later = run(begin_export(Export(), there, service.world), there, service)
    waiting = begin_import(Import(), there, service.world)
    there.transfers.put(upload_name(waiting.id, 1), b"")
    index_all(service)
    assert {name.split("/")[1] for name in there.transfers.files} == {later.id, waiting.id}
    assert (len(links(later, there)["parts"]), is_withdrawn(later, there)) == (1, False), "the control"


def test_an_erasure_ends_an_import_that_began_before_it(
    service: FakeService, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_memories, "LINES_AT_ONCE", 2)
    for n in range(6):
        api.remember(f"fact {n}")
    lines = export(service)
    there = opened(service, BOB)
    command = Import(tuple(json.dumps(line).encode() + b"\n" for line in lines))
    job = import_step(begin_import(command, there, service.world), there, service.world)
    assert job.result["imported"] == 2
    api.forget(lines[0]["memory"]["id"], scope=BOB)
    job = run(job, there, service)
    assert (job.state, job.problems[0].code, job.problems[0].at) == ("failed", "erased_meanwhile", 3)
    assert list(there.transfers.listed(IMPORTS)) == [], "and what was brought is not kept"
    assert api.listed(BOB) == ["fact 1"]
    assert bring(service, lines).result["imported"] == 4, "the rest comes when it is asked for again"


def test_parts_that_are_brought_are_read_once_all_are_there(service: FakeService, api: Caller) -> None:
    for n in range(5):
        api.remember(f"fact {n}")
    bodies = [json.dumps(line).encode() + b"\n" for line in export(service)]
    there = opened(service, BOB)
    job = begin_import(Import(parts=2), there, service.world)
    assert job.state is JobState.WAITING
    assert [link["url"] for link in links(job, there)["uploads"]] == [
        f"memory:put:{upload_name(job.id, number)}" for number in (1, 2)
    ]
    there.transfers.put(upload_name(job.id, 1), b"".join(bodies[:2]))
    with pytest.raises(InvalidRequestError):
        start_import(job.id, there, service.world)
    there.transfers.put(upload_name(job.id, 2), b"".join(bodies[2:]))
    started = start_import(job.id, there, service.world)
    assert start_import(job.id, there, service.world) == started
    done = run(started, there, service)
    assert (done.result["imported"], done.done) == (5, done.total)
    assert list(there.transfers.listed(IMPORTS)) == []
    with pytest.raises(NotFoundError):
        start_import("job_none", there, service.world)


def test_a_long_line_is_read_whole_and_one_beyond_the_bound_is_refused(
    service: FakeService, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_memories, "CHUNK_BYTES", 512)
    monkeypatch.setattr(import_memories, "LONGEST_LINE", 8_192)
    api.remember("x" * 5_000)
    api.remember("y" * 9_000)
    api.remember("short")
    job = bring(service, export(service))
    assert job.result["imported"] == 2
    assert set(job.result["refused"]) == {"too_large", "invalid_request"}
    assert {c[0] for c in api.listed(BOB)} == {"x", "s"}


def test_a_job_stopped_between_any_two_calls_ends_with_the_same_lines_and_counts(
    service: FakeService, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_memories, "PART_BYTES", 1)
    monkeypatch.setattr(export_memories, "READ_AT_ONCE", 2)
    monkeypatch.setattr(import_memories, "LINES_AT_ONCE", 3)
    for n in range(7):
        api.remember(f"fact {n}", key=f"k{n}")
    expected = export(service)
    for stop in range(1, 40):
        there, target = opened(service), opened(service, f"acme/copy-{stop}")
        job = _stopped_once(begin_export(Export(), there, service.world), there, service, stop)
        assert lines_of(job, there) == expected
        assert (job.done, job.result["memories"]) == (7, 7)
        body = tuple(json.dumps(line).encode() + b"\n" for line in expected)
        job = _stopped_once(begin_import(Import(body), target, service.world), target, service, stop)
        assert job.result == {"imported": 7, "refused": {}}
        assert len(api.list(f"acme/copy-{stop}")["items"]) == 7


class _Killed(Exception):
    pass


def _stopped_once(job: Any, scope: Any, service: FakeService, stop: int) -> Any:
    """Run a job whose worker dies after so many calls of any store, and another goes on."""
    calls = 0

    def killing(call: Any) -> Any:
        def counted(*given: Any, **named: Any) -> Any:
            nonlocal calls
            done = call(*given, **named)
            calls += 1
            if calls == stop:
                raise _Killed
            return done

        return counted

    names = [(scope.ledger, n) for n in ("read", "page", "commit")]
    names += [(scope.transfers, n) for n in ("put", "read", "delete")]
    with pytest.MonkeyPatch.context() as patch:
        for store, name in names:
            patch.setattr(store, name, killing(getattr(store, name)))
        try:
            return run(job, scope, service)
        except _Killed:
            pass
    from unsay_core.application.transfer_jobs import find_job

    return run(find_job(job.id, scope), scope, service)


def test_what_is_older_than_the_erasure_of_all_of_its_scope_stays_away(
    service: FakeService, api: Caller
) -> None:
    api.remember(LISBON)
    old = export(service)
    service.clock.pass_(days=1)
    eraser = Eraser(service, api)
    eraser.finish(eraser.forget(all=True, confirm="acme/alice"))
    for number, line in enumerate(old):
        line["memory"] |= {"id": f"mem_{number:026d}", "content": "Alice lives in another house."}
    assert bring(service, old, scope="acme/alice").result == {"refused": {"scope_erased": 1}}
    assert api.listed() == []
    service.clock.pass_(days=1)
    api.remember(PORTO, BOB)
    since = export(service, scope=BOB)
    assert bring(service, since, scope="acme/alice").result == {"imported": 1, "refused": {}}, "the control"
