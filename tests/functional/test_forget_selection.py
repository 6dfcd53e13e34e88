"""`POST /v1/forget`: from the answer on no door shows what was selected; a job takes it from every store."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.erasing import Eraser
from tests.support.extraction import Talk
from tests.support.workers import index_all
from unsay_core.application.erase import PAGE
from unsay_core.application.ledger import HEAD, Area, Delete, ref_of
from unsay_core.jobs.erasure import Phase

if TYPE_CHECKING:
    from tests.support.fakes import FakeService
    from tests.support.http import Caller

LISBON, PORTO, DOG = "Alice lives in Lisbon.", "Alice works in Porto.", "Alice has a dog called Bruno."


def remembered(api: Caller, content: str, **fields: Any) -> str:
    return str(api.remember(content, **fields)["id"])


def seen(api: Caller, memory_id: str, content: str) -> list[str]:
    """The doors that show a memory."""
    doors = {
        "get": api.get(memory_id).status == 200,
        "history": content in api.history(memory_id).text,
        "list": content in api.list(limit=100).text,
        "superseded": content in api.list(status="superseded").text,
        "candidate": content in api.list(status="candidate").text,
        "recall": content in api.recall(content, limit=50).text,
        "prompt": content in api.recall(content, format="prompt").text,
        "past": content in api.recall(content, known_at="2099-01-01T00:00:00Z").text,
        "reviews": content in api.reviews().text + api.reviews(state="active").text,
        "statistics": api.statistics()["kinds"].get("semantic", 0) > 1,
    }
    return [door for door, is_open in doors.items() if is_open]


SELECTORS = {
    "ids": lambda gone: {"ids": [gone]},
    "kind and tags": lambda _: {"filter": {"kind": "semantic", "tags": ["home"]}},
    "key": lambda _: {"filter": {"key": "home"}},
    "metadata": lambda _: {"filter": {"metadata": {"team": "red"}}},
    "run": lambda _: {"run_id": "chat-1"},
    "run among fields": lambda _: {"filter": {"run_id": "chat-1"}},
    "before": lambda _: {"filter": {"before": "2099-01-01T00:00:00Z", "tags": ["home"]}},
}


@pytest.mark.parametrize("way", SELECTORS)
def test_what_is_selected_is_gone_from_every_door_at_once_and_from_every_store_in_the_end(
    api: Caller, service: FakeService, eraser: Eraser, way: str
) -> None:
    gone = remembered(
        api,
        LISBON,
        key="home",
        tags=["home"],
        metadata={"team": "red"},
        source={"run_id": "chat-1", "quote": "I live in Lisbon."},
    )
    stays = remembered(api, DOG)
    index_all(service)
    assert len(seen(api, gone, LISBON)) >= 6
    answer = eraser.forget(**SELECTORS[way](gone))
    assert (answer.status, answer["state"]) == (202, "pending")
    assert answer.headers["Location"].startswith(f"/v1/erasures/{answer['id']}")
    assert seen(api, gone, LISBON) == []
    assert api.edit(gone, tags=[]).status == 404
    assert api.correct(gone, PORTO).status == 404
    assert api.retract(gone).status == 404
    assert (api.forget(gone).status, api.forget(gone)["erasure_id"]) == (410, answer["id"])
    assert api.remember("Built on it.", derived_from=[gone]).status == 400
    assert api.remember(LISBON, key="home").code == "tombstoned"
    assert api.recalled("dog") == [DOG]
    receipt = eraser.finish(answer)
    assert (receipt["matched"], receipt["erased"], receipt["tombstones"]) == (1, 1, 2)
    assert {s["store"]: s["state"] for s in receipt["stores"]} == {
        "ledger": "absent",
        "document": "absent",
        "index": "absent",
        "transfers": "absent",
        "intake": "absent",
        "backup": "retained",
    }
    assert "isbon" not in service.dump()
    assert "chat-1" not in service.dump()
    assert "red" not in str(receipt["selector"])
    assert api.remember(LISBON).code == "tombstoned"
    assert api.get(stays).status == 200
    assert not fences(eraser)
    assert api.verify()["ok"] is True


def fences(eraser: Eraser) -> list[str]:
    head = eraser.ledger.read([HEAD]).get(HEAD)
    return [fence.erasure_id for fence in head.fences] if head else []


def test_a_dry_run_tells_what_would_be_selected_and_changes_nothing(api: Caller, eraser: Eraser) -> None:
    ids = {remembered(api, f"Alice has {n} cats.", tags=["cats"]) for n in range(130)}
    remembered(api, DOG)
    first = eraser.forget(filter={"tags": ["cats"]}, dry_run=True)
    assert (first.status, first["matched"]) == (200, 100)
    second = eraser.forget(filter={"tags": ["cats"]}, dry_run=True, cursor=first["next"])
    assert {*first["ids"], *second["ids"]} == ids
    assert (
        eraser.forget(filter={"tags": ["dogs"]}, dry_run=True, cursor=first["next"]).code == "invalid_cursor"
    )
    assert eraser.forget(ids=sorted(ids)[:3], dry_run=True)["ids"] == sorted(ids)[:3]
    assert api.statistics()["kinds"]["semantic"] == 131
    assert "erasure.requested" not in api.events()


@pytest.mark.parametrize(
    "selector",
    [
        {},
        {"ids": []},
        {"ids": ["mem_1"]},
        {"filter": {}},
        {"filter": {"tags": []}},
        {"filter": {"colour": "red"}},
        {"all": True},
        {"all": True, "confirm": "acme/bob"},
        {"all": False, "confirm": "acme/alice"},
        {"run_id": "r", "filter": {"key": "home"}},
        {"run_id": "r", "confirm": "acme/alice"},
    ],
)
def test_a_selector_says_one_thing_and_everything_is_confirmed(
    api: Caller, eraser: Eraser, selector: dict[str, Any]
) -> None:
    api.remember(LISBON)
    assert eraser.forget(**selector).status == 400
    assert api.listed() == [LISBON]


def test_the_same_request_again_is_the_same_erasure(api: Caller, eraser: Eraser) -> None:
    gone = remembered(api, LISBON)
    headers = {"idempotency_key": "once"}
    first = eraser.forget(ids=[gone], headers=headers)
    again = eraser.forget(ids=[gone], headers=headers)
    assert again["id"] == first["id"]
    assert eraser.forget(ids=[gone], reason="test", headers=headers).code == "idempotency_mismatch"
    assert api.events().count("erasure.requested") == 1


def test_what_is_derived_goes_along_to_any_depth_and_what_has_other_support_waits_for_a_person(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    source = remembered(api, LISBON, tags=["gone"])
    other = remembered(api, DOG)
    summary = remembered(api, "Alice is Portuguese, it seems.", derived_from=[source])
    deeper = remembered(api, "Alice may like fado.", derived_from=[summary])
    both = remembered(api, "Alice walks Bruno in Lisbon.", derived_from=[source, other])
    later = api.correct(remembered(api, "Alice is 30."), "Alice is 31.")
    old = later["supersedes"][0]
    answer = eraser.forget(filter={"tags": ["gone"]})
    for each in (source, summary, deeper, both):
        assert api.get(each).status == 404
    assert api.get(old).status == 200
    receipt = eraser.finish(answer)
    assert (receipt["matched"], receipt["erased"]) == (1, 3)
    outcomes = {each["id"]: (each["why"], each["outcome"]) for each in receipt["cascade"]}
    assert outcomes == {
        summary: ("derived", "erased"),
        deeper: ("derived", "erased"),
        both: ("derived", "candidate"),
    }
    assert api.get(both)["status"] == "candidate"
    assert api.get(both)["review"]["reasons"] == ["source_forgotten"]
    assert api.listed() == ["Alice is 31.", DOG]
    receipt = eraser.finish(eraser.forget(ids=[later["id"]]))
    assert {each["id"]: each["why"] for each in receipt["cascade"]} == {old: "predecessor"}


def test_a_fact_of_two_sources_that_both_go_goes_too(api: Caller, eraser: Eraser) -> None:
    one = remembered(api, LISBON, tags=["x"])
    for n in range(PAGE):  # the other source goes with the next group
        remembered(api, f"Alice has {n} cats.", tags=["x"])
    both = remembered(api, "Alice commutes.", derived_from=[one, remembered(api, PORTO, tags=["x"])])
    receipt = eraser.finish(eraser.forget(filter={"tags": ["x"]}))
    assert (receipt["matched"], receipt["erased"]) == (PAGE + 2, PAGE + 3)
    assert [each["outcome"] for each in receipt["cascade"]] == ["erased"]
    assert api.get(both).status == 404


def test_writes_beside_an_erasure_are_safe_and_what_restates_a_value_does_not_stay(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    for n in range(30):
        remembered(api, f"Alice has {n} cats.", tags=["cats"])
    answer = eraser.forget(filter={"tags": ["cats"]})
    assert api.remember("Alice has 3 cats.").code == "tombstoned"
    restated = remembered(api, "alice has 29 CATS!", kind="episodic")  # its tombstone is not dug yet
    beside = remembered(api, DOG, tags=["cats"])  # said after the fence
    eraser.run(answer, steps=2)
    assert api.edit(beside, importance=0.9).status == 200
    another = remembered(api, LISBON)
    receipt = eraser.finish(answer)
    assert (receipt["matched"], receipt["erased"]) == (31, 31)
    assert api.get(restated).status == 404
    assert sorted(api.listed()) == sorted([DOG, LISBON])
    assert api.get(another).status == 200


def test_erasures_of_one_scope_take_turns(api: Caller, eraser: Eraser) -> None:
    first = remembered(api, LISBON, tags=["x"])
    second = remembered(api, PORTO, tags=["y"])
    one, two = eraser.forget(filter={"tags": ["x"]}), eraser.forget(filter={"tags": ["y"]})
    assert eraser.run(two) == 2.0
    assert (api.get(first).status, api.get(second).status) == (404, 404)
    assert (eraser.entry(one).erased, eraser.entry(two).erased) == (0, 0), "nor does it do the other's work"
    assert eraser.finish(one)["erased"] == 1
    assert eraser.finish(two)["erased"] == 1


def test_too_many_erasures_at_once_are_told_to_come_back(api: Caller, eraser: Eraser) -> None:
    for n in range(8):
        assert eraser.forget(filter={"tags": [f"t{n}"]}).status == 202
    refused = eraser.forget(filter={"tags": ["more"]})
    assert (refused.status, refused.code) == (503, "busy")


def test_it_costs_one_read_and_one_transaction_however_much_is_selected(api: Caller, eraser: Eraser) -> None:
    for n in range(40):
        remembered(api, f"Alice has {n} cats.")
    calls: list[str] = []
    for name in ("read", "page", "commit"):
        real = getattr(eraser.ledger, name)
        setattr(eraser.ledger, name, lambda *a, _n=name, _r=real, **k: (calls.append(_n), _r(*a, **k))[1])
    assert eraser.forget(all=True, confirm="acme/alice").status == 202
    assert calls == ["read", "commit"]


# --- conversations ----------------------------------------------------------------------------------------


def test_a_conversation_goes_whole_with_what_came_of_it_and_what_others_said_too_stays(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    talk, other = Talk(api, "secret-run"), Talk(api, "other-run")
    talk.say(LISBON, DOG)
    talk.say("Noted.", role="assistant")
    other.say("Alice plays chess.")
    own = remembered(api, LISBON, source={"run_id": "secret-run", "message_seqs": [1], "quote": LISBON})
    shared = remembered(api, DOG, source={"run_id": "secret-run", "message_seqs": [2], "quote": DOG})
    api.remember(DOG, source={"run_id": "other-run"})
    answer = eraser.forget(run_id="secret-run")
    assert talk.read().status == 404
    assert "secret-run" not in api.send("GET", "/v1/conversations", query="scope=acme%2Falice").text
    asked = service.clock.monotonic()
    busy = talk.say("One more thing.")
    assert (busy.status, busy.code) == (503, "busy")
    assert service.clock.monotonic() - asked < 1, "at once, and not after many tries"
    assert (api.get(own).status, api.get(shared).status) == (404, 404)
    receipt = eraser.finish(answer)
    assert (receipt["matched"], receipt["erased"], receipt["messages"]) == (2, 1, 3)
    assert "secret-run" not in service.dump()
    assert "Noted." not in service.dump()
    assert api.get(shared)["status"] == "candidate"
    assert api.get(shared)["source"]["run_id"] == "other-run"
    assert Talk(api, "new-run").say(f"{LISBON} Really.", "Noted.").status == 202
    assert "isbon" not in service.dump()
    assert "Noted." not in service.dump()
    assert talk.say("One more thing.").status == 202
    assert "chess" in other.read().text


# --- a whole scope ----------------------------------------------------------------------------------------


def everything(eraser: Eraser) -> dict[str, int]:
    """How many entries there are by area."""
    pages = {area: eraser.ledger.page(area, limit=1_000_000) for area in Area}
    return {area.name: len(page) for area, page in pages.items() if page}


def test_a_scope_goes_whole_but_for_its_chain_and_its_tombstones(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    Talk(api, "run-1").say(LISBON, DOG, flush=True)
    old = api.remember("Alice is 30.", key="age", headers={"idempotency_key": "k"})
    api.correct(old["id"], "Alice is 31.")
    api.remember("a desk drawer", kind="item", key="drawer", path=["desk"])
    api.dispute(remembered(api, PORTO))
    api.retract(remembered(api, "Alice is Italian."))
    api.remember(LISBON, "acme/twin")
    twin = service.ledgers[service.keyring.scope_id("acme/twin")]
    index_all(service)
    before = repr([twin.page(area, limit=99) for area in Area])
    answer = eraser.forget(all=True, confirm="acme/alice", reason="consent_withdrawn")
    for status in ("active", "superseded", "candidate", "retracted", "expired", "rejected"):
        assert api.listed(status=status) == []
    assert api.recalled("Alice", limit=50) == []
    assert api.statistics()["kinds"] == {}
    receipt = eraser.finish(answer)
    assert receipt["state"] == "complete"
    assert everything(eraser).keys() == {"HEAD", "ERASURE", "TOMBSTONE", "AUDIT"}
    dump = repr([eraser.ledger.page(area, limit=1_000) for area in Area])
    for word in ("Lisbon", "Bruno", "drawer", "run-1", "age", "acme", "Italian"):
        assert word not in dump.replace("message", "").replace("usage=Usage", ""), word
    assert api.verify()["ok"] is True
    assert api.listed("acme/twin") == [LISBON]
    assert before == repr([twin.page(area, limit=99) for area in Area])


def test_the_name_of_a_scope_goes_with_the_last_erasure_that_needs_it(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    one = api.forget(remembered(api, LISBON))
    remembered(api, PORTO)
    service.clock.pass_(seconds=1)
    answer = eraser.forget(all=True, confirm="acme/alice")
    eraser.run(answer)
    settled = service.ledgers[eraser.scope_id].page(Area.PENDING, limit=99)
    eraser.ledger.commit(tuple(Delete(ref_of(each)) for each in settled))
    eraser.run(answer)
    assert api.receipt(answer["id"])["waits_for"] == "an earlier erasure"
    eraser.run(one)
    eraser.run(answer)
    assert [api.receipt(each["id"])["state"] for each in (one, answer)] == ["complete", "complete"]
    head = eraser.ledger.read([HEAD]).get(HEAD)
    assert head is not None
    assert head.scope is None


def test_after_a_scope_was_erased_what_was_said_before_comes_back_empty_and_new_life_is_possible(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    talk = Talk(api)
    remembered(api, LISBON)
    before = service.clock.now().isoformat()
    service.clock.pass_(hours=1)
    eraser.finish(eraser.forget(all=True, confirm="acme/alice"))
    service.clock.pass_(hours=1)
    assert talk.say("Alice plays chess.", at=before).status == 202
    assert "chess" not in service.dump()
    assert talk.say("Alice plays the cello.").status == 202
    assert "cello" in service.dump()
    assert api.remember(DOG).status == 201
    assert api.recalled("dog") == [DOG]
    assert api.remember(LISBON).code == "tombstoned"
    assert eraser.service.sweep_scope(eraser.scope_id) is not None  # it has its name again


def test_a_scope_can_be_emptied_without_burying_its_values(api: Caller, eraser: Eraser) -> None:
    gone = remembered(api, LISBON)
    eraser.finish(eraser.forget(all=True, confirm="acme/alice", tombstone="id"))
    assert api.get(gone).status == 404
    assert api.remember(LISBON).status == 201


def test_what_has_expired_is_pruned_and_may_be_said_anew(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    gone = remembered(api, LISBON, ttl_seconds=60)
    stays = remembered(api, DOG, ttl_seconds=10**6)
    service.clock.pass_(hours=1)
    dry = api.send("POST", "/v1/prune", {"scope": "acme/alice", "dry_run": True})
    assert (dry.status, dry["ids"]) == (200, [gone])
    receipt = eraser.finish(api.send("POST", "/v1/prune", {"scope": "acme/alice"}))
    assert (receipt["matched"], receipt["reason"]) == (1, "outdated")
    assert (api.get(gone).status, api.get(stays).status) == (404, 200)
    assert api.remember(LISBON).status == 201


# --- a knowledge base that lies ---------------------------------------------------------------------------


def test_an_index_that_drops_deletes_keeps_the_receipt_pending_and_says_why(
    api: Caller, service: FakeService, eraser: Eraser
) -> None:
    gone = remembered(api, LISBON)
    index_all(service)
    answer = eraser.forget(ids=[gone])
    assert eraser.run(answer) == 2.0
    receipt = api.receipt(answer["id"])
    assert (receipt["state"], receipt["waits_for"]) == ("pending", "index")
    assert not fences(eraser)
    index_all(service)
    kept = service.knowledge_base.documents
    assert kept == {}
    memory = api.remember(PORTO)
    index_all(service)
    held = next(iter(kept.values()))
    service.knowledge_base.hold(eraser.scope_id, replace(held, id=gone))  # it says deleted, and still answers
    service.knowledge_base.drops_deletes = True
    assert eraser.run(answer) == 2.0
    assert api.receipt(answer["id"])["waits_for"] == "index 1"
    assert gone not in api.recall("Where does Alice live?", limit=50).text
    assert eraser.run(answer) == 2.0
    service.knowledge_base.drops_deletes = False
    assert eraser.finish(answer)["state"] == "complete"
    assert not service.knowledge_base.holds(gone)
    assert service.knowledge_base.holds(memory["id"])


def test_the_phases_of_an_erasure_can_be_watched(api: Caller, eraser: Eraser) -> None:
    for n in range(2 * PAGE + 10):
        remembered(api, f"Alice has {n} cats.")
    answer = eraser.forget(all=True, confirm="acme/alice")
    erased = []
    while eraser.entry(answer).phase is Phase.MEMORIES:
        eraser.run(answer, steps=1)
        erased.append(api.receipt(answer["id"])["erased"])
    assert erased == sorted(erased)
    assert sorted(set(erased)) == [PAGE, 2 * PAGE, 2 * PAGE + 10]
