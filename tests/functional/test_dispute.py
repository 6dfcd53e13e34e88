"""`POST /v1/memories/{id}/dispute`: somebody doubts it; out of recall until a person has decided."""

from __future__ import annotations

import pytest

from tests.support.candidates import candidate, infer
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller, principal
from unsay_core.application.ledger import Area
from unsay_core.domain.audit import Event
from unsay_core.domain.scope import Action, PrincipalKind

LISBON, PORTO, BOB = "Alice lives in Lisbon.", "Alice lives in Porto.", "Bob lives in Braga."
NO_ID = "mem_01jabcdefghjkmnpqrstvwxyz0"


def test_what_is_disputed_is_withheld_unless_it_is_asked_for(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.remember(BOB)
    answer = api.dispute(memory["id"], note="Says who?")
    assert (answer.status, answer["status"], answer["trust"]) == (200, "active", "disputed")
    assert (answer["review"]["reasons"], answer["review"]["decision"]) == (["incorrect"], None)
    assert api.recalled("Who lives where?") == [BOB]
    assert sorted(api.recalled("Who lives where?", include=["disputed"])) == [LISBON, BOB]
    assert api.listed() == [BOB]
    assert api.listed(trust="disputed") == [LISBON]
    assert api.get(memory["id"])["trust"] == "disputed"
    assert [waiting["id"] for waiting in api.reviews(state="disputed")["items"]] == [memory["id"]]
    assert api.reviews()["items"] == []
    assert [m["content"] for m in api.reviews(state="active")["items"]] == [BOB]


def test_it_was_believed_until_then(api: Caller) -> None:
    memory = api.remember(LISBON)
    believed = memory["recorded_at"]
    api.dispute(memory["id"])
    assert api.recalled(known_at=believed) == [LISBON]
    assert api.listed(known_at=believed) == [LISBON]
    now = api.get(memory["id"])["updated_at"]
    assert api.recalled(known_at=now) == []
    assert api.recalled(known_at=now, include=["disputed"]) == [LISBON]


def test_an_approval_ends_it_and_so_does_a_rejection(api: Caller) -> None:
    right, wrong = api.remember(LISBON), api.remember(BOB)
    for memory in (right, wrong):
        api.dispute(memory["id"])
    approved = api.decide(right["id"], "approve", version=2)
    assert (approved["trust"], approved["status"]) == ("verified", "active")
    rejected = api.decide(wrong["id"], "reject", version=2, reason="incorrect")
    assert rejected["status"] == "rejected"
    assert api.reviews(state="disputed")["items"] == []
    assert api.recalled("Who lives where?", include=["disputed"]) == [LISBON]
    assert api.remember(BOB).code == "tombstoned"


def test_what_is_disputed_again_waits_once(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.dispute(memory["id"])
    assert api.dispute(memory["id"], "outdated", version=2).status == 200
    (waiting,) = api.reviews(state="disputed")["items"]
    assert waiting["version"] == 3


def test_what_was_verified_is_disputed_and_verified_anew(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.decide(memory["id"])
    assert api.dispute(memory["id"], version=2)["trust"] == "disputed"
    assert api.decide(memory["id"], version=3)["trust"] == "verified"


def test_what_expires_in_doubt_is_listed_as_expired(api: Caller, service: FakeService) -> None:
    memory = api.remember("Alice lives in Lisbon.", ttl_seconds=60)
    api.dispute(memory["id"])
    service.clock.pass_(seconds=61)
    assert api.listed(status="expired") == ["Alice lives in Lisbon."]
    assert api.listed() == []


@pytest.mark.parametrize("how", ["correct", "slot", "forget", "retract"])
def test_what_took_it_away_takes_it_out_of_the_queue(api: Caller, service: FakeService, how: str) -> None:
    memory, stays = api.remember(LISBON, key="home"), api.remember(BOB)
    for each in (memory, stays):
        api.dispute(each["id"])
    {
        "correct": lambda: api.correct(memory["id"], PORTO, version=2),
        "slot": lambda: api.remember(PORTO, key="home"),
        "forget": lambda: api.forget(memory["id"]),
        "retract": lambda: api.retract(memory["id"], version=2),
    }[how]()
    assert [waiting["id"] for waiting in api.reviews(state="disputed")["items"]] == [stays["id"]]
    assert len(service.ledgers[service.keyring.scope_id("acme/alice")].page(Area.REVIEW, limit=9)) == 1
    assert api.listed() == ([PORTO] if how in ("correct", "slot") else [])


def test_the_same_said_again_does_not_end_it(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.dispute(memory["id"])
    again = api.remember(LISBON, source={"run_id": "other"})
    assert (again.status, again["id"], again["trust"]) == (200, memory["id"], "disputed")
    assert len(again["corroborations"]) == 1
    assert api.recalled() == []
    assert len(api.reviews(state="disputed")["items"]) == 1


def test_what_a_model_infers_does_not_replace_what_is_disputed(api: Caller, service: FakeService) -> None:
    memory = api.remember(LISBON, key="home")
    api.dispute(memory["id"])
    assert infer(service, PORTO, key="home").memory.status == "candidate"
    assert api.get(memory["id"])["status"] == "active"


def test_refusals_come_in_the_order_of_the_contract(api: Caller, service: FakeService) -> None:
    memory = api.remember(LISBON)
    stranger = api.as_(principal("acme/bob"))
    assert stranger.dispute(memory["id"], "because", version=None).status == 400
    assert stranger.dispute(memory["id"], version=None).status == 403
    reader = api.as_(principal("acme/alice", *(set(Action) - {Action.WRITE})))
    assert reader.dispute(memory["id"]).status == 403
    assert api.dispute(NO_ID, version=None).status == 404
    assert api.dispute(memory["id"], version=None).status == 428
    assert api.dispute(memory["id"], version=2).status == 412
    gone = api.remember(BOB)
    api.retract(gone["id"])
    assert api.dispute(gone["id"], version=2).code == "wrong_status"
    assert api.dispute(candidate(service, PORTO).id).code == "wrong_status"


def test_an_agent_may_doubt_and_its_name_is_on_it(api: Caller) -> None:
    memory = api.remember(LISBON)
    agent = api.as_(principal("acme/*", Action.WRITE, kind=PrincipalKind.AGENT, key="key_agent"))
    assert agent.dispute(memory["id"], note="Hm.").status == 200
    first, second = api.audit()["items"]
    assert (first["actor"], second["actor"], second["event"]) == (ADMIN.id, "key_agent", Event.DISPUTED)
    assert second["note_digest"]
    assert "Hm." not in api.audit().text


def test_a_second_doubt_is_a_reason_more_and_waits_as_long_as_the_first(api: Caller) -> None:
    memory = api.remember(LISBON)
    first = api.dispute(memory["id"], "outdated", note="Says who?")
    again = api.dispute(memory["id"], "incorrect", version=2)
    assert again["review"]["reasons"] == ["outdated", "incorrect"]
    assert again["review"]["since"] == first["review"]["since"]
    assert api.dispute(memory["id"], "outdated", version=3)["review"]["reasons"] == ["outdated", "incorrect"]
    api.decide(memory["id"], version=4)
    assert api.dispute(memory["id"], "security", version=5)["review"]["reasons"] == ["security"]
