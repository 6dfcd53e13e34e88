"""`DELETE /v1/memories/{id}`: gone from every door at once, and it does not come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.application.ledger import Area
from unsay_core.application.ports import ConflictError
from unsay_core.domain.tombstone import Tombstone
from unsay_core.jobs.erasure import Erasure

if TYPE_CHECKING:
    from unsay_core.application.ledger import Change

LISBON, PORTO = "Alice lives in Lisbon.", "Alice has a dog called Bruno."


def test_a_forgotten_memory_is_gone_from_every_door_and_its_neighbour_is_not(
    api: Caller, service: FakeService
) -> None:
    gone, stays = api.remember(LISBON), api.remember(PORTO)
    answer = api.forget(gone["id"])
    assert answer.status == 202
    assert answer.headers["Location"] == f"/v1/erasures/{answer['id']}?scope=acme%2Falice"
    assert (api.get(gone["id"]).status, api.get(gone["id"]).code) == (404, "not_found")
    assert api.get(stays["id"]).status == 200
    assert api.recalled("Alice") == [PORTO]
    for status in ("active", "superseded", "expired", "candidate", "retracted", "rejected"):
        assert api.listed(status=status) == ([PORTO] if status == "active" else [])
    assert "Lisbon" not in service.dump()


def test_the_receipt_says_what_was_done_and_what_is_still_owed(api: Caller) -> None:
    gone = api.remember(LISBON)
    asked = api.forget(gone["id"], "consent_withdrawn")
    receipt = api.receipt(asked["id"]).body
    assert receipt == asked.body
    assert receipt["state"] == "pending"
    assert receipt["selector"] == {"ids": [gone["id"]]}
    assert receipt["reason"] == "consent_withdrawn"
    assert (receipt["matched"], receipt["erased"], receipt["tombstones"]) == (1, 1, 2)
    assert receipt["completed_at"] is None
    assert receipt["audit_seq"] == 2
    assert receipt["digest"] == api.verify()["head"]["hash"]
    stores = {store["store"]: store["state"] for store in receipt["stores"]}
    elsewhere = dict.fromkeys(("document", "index", "transfers", "intake"), "pending")
    assert stores == {"ledger": "absent", **elsewhere, "backup": "retained"}


def test_a_second_forget_is_told_of_the_first(api: Caller) -> None:
    gone = api.remember(LISBON)
    first = api.forget(gone["id"])
    second = api.forget(gone["id"])
    assert (second.status, second.code) == (410, "already_forgotten")
    assert second["erasure_id"] == first["id"]
    assert api.verify()["length"] == 2


def test_what_was_never_there_is_not_found(api: Caller) -> None:
    answer = api.forget("mem_01jabcdefghjkmnpqrstvwxyz0")
    assert (answer.status, answer.code) == (404, "not_found")
    assert api.receipt("era_01jabcdefghjkmnpqrstvwxyz0").status == 404
    assert api.receipt(api.remember()["id"]).status == 404


@pytest.mark.parametrize(
    "again",
    [
        "Alice lives in Lisbon.",
        "alice LIVES in lisbon",
        "  Alice\tlives\nin  Lisbon .",
        "Ａｌｉｃｅ lives in Lisbon。",
        "Al\u200bice li\u00adves in Lis\u2060bon.",
        '"Alice lives in Lisbon".',
        "Alice lives in Lisbon?!",
    ],
)
def test_a_forgotten_value_does_not_come_back_in_any_disguise(api: Caller, again: str) -> None:
    api.forget(
        api.remember('"Alice lives in Lisbon."' if again.startswith('"') else LISBON)["id"], "outdated"
    )
    answer = api.remember(again)
    assert (answer.status, answer.code, answer["reason"]) == (409, "tombstoned", "outdated")
    assert answer["tombstoned_at"].endswith("Z")
    assert "isbon" not in answer.text
    assert api.listed() == []
    assert api.remember("Alice lived in Lisbon.").status == 201


@pytest.mark.parametrize(
    "again",
    [
        "1. Alice lives in Lisbon.",
        "✅ Alice lives in Lisbon! 🎉",
        "Alice lives in Lisbon -",
        "Alice\u3164lives\u3164in\u3164Lisbon.",
        "Alice\u200blives\u2060in\u00adLisbon.",
    ],
)
def test_a_forgotten_value_does_not_come_back_in_a_dress(api: Caller, again: str) -> None:
    api.forget(api.remember(LISBON)["id"])
    answer = api.remember(again)
    assert (answer.status, answer.code) == (409, "tombstoned")
    assert api.batch([{"content": again}])["results"][0]["problem"]["code"] == "tombstoned"
    message = {"seq": 1, "role": "user", "content": f"{again} I like tea."}
    api.send("POST", "/v1/conversations/run-1/messages", {"scope": "acme/alice", "messages": [message]})
    assert api.listed() == []
    assert api.remember("1. Alice lives in Porto. 🎉").status == 201


@pytest.mark.parametrize("fields", [{"kind": "episodic"}, {"key": "home"}, {"data": 1}, {"importance": 1}])
def test_a_value_is_its_words_whatever_is_said_beside_them(api: Caller, fields: dict[str, object]) -> None:
    api.forget(api.remember(LISBON)["id"])
    assert api.remember(LISBON, **fields).code == "tombstoned"
    assert api.remember(PORTO, **fields).status == 201


def test_a_ten_character_value_and_other_scripts_are_told_apart(api: Caller) -> None:
    api.forget(api.remember("PIN: 47110")["id"])
    assert api.remember("pin: 47110").code == "tombstoned"
    assert api.remember("PIN: 47111").status == 201
    api.forget(api.remember("東京に住む")["id"])
    assert api.remember("東京に住む。").code == "tombstoned"
    assert api.remember("京東に住む").status == 201


def test_a_tombstone_holds_in_its_scope_alone(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    assert api.remember(LISBON, "acme/bob").status == 201
    assert api.remember(LISBON).code == "tombstoned"


def test_burying_the_id_alone_lets_the_value_be_written_anew(api: Caller) -> None:
    gone = api.remember(LISBON)
    receipt = api.forget(gone["id"], tombstone="id")
    assert receipt["tombstones"] == 1
    anew = api.remember(LISBON)
    assert anew.status == 201
    assert anew["id"] != gone["id"]
    assert api.forget(gone["id"]).code == "already_forgotten"


def test_a_correction_cannot_bring_a_forgotten_value_back(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    other = api.remember(PORTO)
    assert api.correct(other["id"], LISBON).code == "tombstoned"
    assert api.get(other["id"])["status"] == "active"


@pytest.mark.parametrize(
    "query", ["", "reason=", "reason=because", "reason=test&reason=test", "reason=test&x=1"]
)
def test_a_forget_has_one_reason_that_we_know(api: Caller, query: str) -> None:
    memory = api.remember(LISBON)
    answer = api.send("DELETE", f"/v1/memories/{memory['id']}", query=f"scope=acme%2Falice&{query}")
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert api.get(memory["id"]).status == 200


def test_a_forget_takes_its_predecessors_along(api: Caller) -> None:
    first = api.remember(LISBON)
    second = api.correct(first["id"], "Alice lives in Porto.")
    receipt = api.forget(second["id"])
    assert receipt["cascade"] == [{"id": first["id"], "why": "predecessor", "outcome": "erased"}]
    assert (receipt["matched"], receipt["erased"], receipt["tombstones"]) == (1, 2, 4)
    for memory in (first, second):
        assert api.get(memory["id"]).status == 404
        assert api.remember(memory["content"]).code == "tombstoned"
        assert api.forget(memory["id"])["erasure_id"] == receipt["id"]


def test_forgetting_what_was_replaced_leaves_what_replaced_it(api: Caller) -> None:
    first = api.remember(LISBON)
    second = api.correct(first["id"], PORTO)
    assert api.forget(first["id"])["erased"] == 1
    assert api.recalled("dog") == [PORTO]
    assert api.get(second["id"]).status == 200


def chain(api: Caller, length: int) -> list[str]:
    """The ids of a memory corrected many times, newest last."""
    ids = [api.remember("Alice is in room 0.")["id"]]
    for number in range(1, length + 1):
        ids.append(api.correct(ids[-1], f"Alice is in room {number}.")["id"])
    return ids


def test_a_chain_of_forty_corrections_goes_whole(api: Caller, service: FakeService) -> None:
    ids = chain(api, 40)
    control = api.remember(PORTO)
    length = api.verify()["length"]
    receipt = api.forget(ids[-1])
    assert (receipt.status, receipt["matched"], receipt["erased"]) == (202, 1, 41)
    assert {gone["id"] for gone in receipt["cascade"]} == set(ids[:-1])
    assert receipt["tombstones"] == 82
    assert api.verify()["length"] > length + 1  # more than one transaction
    assert {api.get(memory_id).status for memory_id in ids} == {404}
    assert api.get(control["id"]).status == 200
    assert "in room" not in service.dump()
    assert api.remember("Alice is in room 17.").code == "tombstoned"
    assert api.verify()["ok"] is True


def test_a_race_lost_half_way_goes_on_with_the_same_receipt(api: Caller, service: FakeService) -> None:
    ids = chain(api, 40)
    (ledger,) = service.ledgers.values()
    commit, erasing = ledger.commit, 0

    def racing(change: Change) -> None:
        nonlocal erasing
        erasing += any(isinstance(part.entry, Erasure) for part in change if hasattr(part, "entry"))
        if erasing == 2:
            erasing += 1
            raise ConflictError("another writer was first")
        commit(change)

    ledger.commit = racing  # type: ignore[method-assign]
    receipt = api.forget(ids[-1])
    assert receipt["erased"] == 41
    assert len(ledger.page(Area.ERASURE, limit=9)) == 1
    graves = [entry for entry in ledger.page(Area.TOMBSTONE, limit=100) if isinstance(entry, Tombstone)]
    assert {grave.erasure_id for grave in graves} == {receipt["id"]}
    assert api.receipt(receipt["id"]).body == receipt.body


def test_a_forgotten_slot_is_free_and_leaves_no_key_behind(api: Caller, service: FakeService) -> None:
    memory = api.remember(LISBON, key="home_of_canary")
    api.forget(memory["id"])
    assert "home_of_canary" not in service.dump()
    assert api.remember(PORTO, key="home_of_canary")["supersedes"] == []


def test_an_expired_memory_can_be_forgotten_and_its_value_stays_away(
    api: Caller, service: FakeService
) -> None:
    memory = api.remember(LISBON, ttl_seconds=60)
    service.clock.pass_(hours=1)
    assert api.forget(memory["id"]).status == 202
    assert api.remember(LISBON).code == "tombstoned"


def test_if_the_audit_entry_cannot_be_written_nothing_is_forgotten(api: Caller, service: FakeService) -> None:
    memory = api.remember(LISBON)
    (ledger,) = service.ledgers.values()
    commit = ledger.commit

    def refusing(change: Change) -> None:
        if any(part.ref.area is Area.AUDIT for part in change):
            raise ConflictError("the audit log is taken")
        commit(change)

    ledger.commit = refusing  # type: ignore[method-assign]
    answer = api.forget(memory["id"])
    assert (answer.status, answer.code) == (503, "busy")
    assert int(answer.headers["Retry-After"]) >= 1
    ledger.commit = commit  # type: ignore[method-assign]
    assert api.recalled() == [LISBON]


def test_nothing_of_a_forgotten_memory_is_left_in_any_field(api: Caller, service: FakeService) -> None:
    canary = "canary"
    memory = api.remember(
        f"{canary} lives in Lisbon.",
        key=canary,
        tags=[canary],
        data={canary: [canary]},
        metadata={"k": canary},
        source={"quote": canary, "run_id": canary},
    )
    corrected = api.correct(memory["id"], f"{canary} lives in Porto.", note=canary, quote=canary)
    assert canary in service.dump()
    api.forget(corrected["id"])
    assert canary not in service.dump()


def test_another_memory_of_the_same_value_stays_and_is_not_stated_anew(api: Caller) -> None:
    gone = api.remember("Alice likes tea.")["id"]
    other = api.remember("Alice likes tea.", key="drink")["id"]
    assert api.forget(gone)["erased"] == 1
    assert api.get(other)["status"] == "active"
    assert api.recalled("tea") == ["Alice likes tea."]
    assert api.remember("Alice likes tea.", key="drink").code == "tombstoned"
    assert api.edit(other, tags=["t"]).code == "tombstoned"
    assert api.decide(other).code == "tombstoned"
    assert api.forget(other)["erased"] == 1
    assert api.recalled("tea") == []
