"""`POST /v1/memories/{id}/retract`: it was never true, and nothing replaces it."""

from __future__ import annotations

import pytest

from tests.support.candidates import candidate
from tests.support.fakes import FakeService
from tests.support.http import Caller, principal
from unsay_core.application import edit
from unsay_core.application.ledger import Area
from unsay_core.domain.audit import Event
from unsay_core.domain.scope import Action

SISTER, BROTHER = "Alice has a sister.", "Alice has a brother."
NO_ID = "mem_01jabcdefghjkmnpqrstvwxyz0"
ASKED = "Does Alice have a sister?"


def test_what_is_retracted_is_out_of_every_read_and_its_neighbour_is_not(api: Caller) -> None:
    memory = api.remember(SISTER, source={"run_id": "r"})
    api.remember(BROTHER, source={"run_id": "r"})
    answer = api.retract(memory["id"], note="I misspoke.")
    assert (answer.status, answer["status"], answer.headers["ETag"]) == (200, "retracted", '"2"')
    assert answer["invalidated_at"] == answer["updated_at"]
    assert api.recalled(ASKED) == [BROTHER]
    assert api.recalled("") == [BROTHER]
    assert api.listed() == api.listed(run_id="r") == [BROTHER]
    assert api.listed(valid_at="2026-05-01T10:00:00Z") == [BROTHER]
    assert api.recalled(ASKED, valid_at="2026-05-01T10:00:00Z", limit=50) == [BROTHER]
    assert [m["content"] for m in api.reviews(state="active")["items"]] == [BROTHER]
    assert api.listed(status="retracted") == [SISTER]


def test_its_text_is_kept_for_history_until_it_is_erased(api: Caller, service: FakeService) -> None:
    memory = api.remember(SISTER)
    api.retract(memory["id"], note="I misspoke.")
    history = api.history(memory["id"])
    assert [version["status"] for version in history["versions"]] == ["active", "retracted"]
    assert {version["content"] for version in history["versions"]} == {SISTER}
    assert (history["events"][-1]["event"], history["events"][-1]["reason"]) == (Event.RETRACTED, "incorrect")
    assert "misspoke" not in api.audit().text
    assert api.forget(memory["id"]).status == 202
    assert "sister" not in service.dump()
    assert "misspoke" not in service.dump()


def test_its_value_stays_dead(api: Caller) -> None:
    memory, other = api.remember(SISTER), api.remember(BROTHER)
    api.retract(memory["id"], reason="user_request")
    for again in (
        api.remember(SISTER),
        api.remember("ALICE  has a sister", key="sister", kind="episodic"),
        api.edit(other["id"], content=SISTER),
        api.correct(other["id"], SISTER),
    ):
        assert (again.status, again.code, again["reason"]) == (409, "tombstoned", "user_request")
        assert "sister" not in again.text
    assert api.batch([{"content": SISTER}])["results"][0]["status"] == 409
    assert [grave["hits"] for grave in api.tombstones()["items"]] == [5]
    assert api.remember("Alice has two sisters.").status == 201


def test_every_wording_of_it_stays_dead(api: Caller) -> None:
    memory = api.remember(SISTER)
    api.edit(memory["id"], content="Alice has one sister.")
    api.retract(memory["id"], version=2)
    for wording in (SISTER, "Alice has one sister."):
        assert api.remember(wording).code == "tombstoned"
    assert api.remember(BROTHER).status == 201


@pytest.mark.parametrize("act", ["retract", "reject", "correct"])
def test_what_was_worded_hundreds_of_times_is_dead_in_every_wording(api: Caller, act: str) -> None:
    memory = api.remember("wording 0")
    for number in range(1, 130):
        api.edit(memory["id"], version=number, content=f"wording {number}")
    if act == "retract":
        answer = api.retract(memory["id"], version=130)
    elif act == "reject":
        answer = api.decide(memory["id"], "reject", reason="incorrect", version=130)
    else:
        answer = api.correct(memory["id"], "wording 7", "wrong", version=130)
    assert answer.status in (200, 201)
    assert api.events()[-1] != Event.BURIED
    said = [api.remember(f"wording {number}").status for number in range(130)]
    assert said == [200 if act == "correct" and number == 7 else 409 for number in range(130)]
    assert api.remember("wording 130").status == 201
    assert api.verify()["ok"]


def test_a_stale_act_buries_nothing(api: Caller) -> None:
    memory = api.remember("wording 0")
    for number in range(1, 50):
        api.edit(memory["id"], version=number, content=f"wording {number}")
    assert api.retract(memory["id"], version=3).status == 412
    assert api.tombstones()["items"] == []


def test_a_memory_is_not_worded_anew_without_end(api: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edit, "MOST_WORDINGS", 3)
    memory = api.remember("wording 0")
    for number in range(1, 4):
        assert api.edit(memory["id"], version=number, content=f"wording {number}").status == 200
    refused = api.edit(memory["id"], version=4, content="wording 4")
    assert (refused.status, refused["errors"][0]["path"]) == (400, "content")
    assert api.edit(memory["id"], version=4, tags=["t"]).status == 200
    assert api.correct(memory["id"], "wording 4", version=5).status == 201


def test_a_correction_of_what_was_edited_buries_its_wordings_but_not_the_right_one(api: Caller) -> None:
    memory = api.remember(SISTER)
    api.edit(memory["id"], content="Alice has a cousin.")
    api.edit(memory["id"], version=2, content=BROTHER)
    assert api.correct(memory["id"], SISTER, "wrong", version=3).status == 201
    assert api.remember(BROTHER).code == "tombstoned"
    assert api.remember("Alice has a cousin.").code == "tombstoned"
    assert api.remember(SISTER)["deduplicated"] is True


def test_being_buried_again_loses_no_count(api: Caller) -> None:
    memory = api.remember(SISTER)
    api.correct(memory["id"], BROTHER, "wrong")
    api.remember(SISTER)
    api.retract(memory["id"], version=2)
    api.remember(SISTER)
    (grave,) = api.tombstones()["items"]
    assert (grave["hits"], grave["lifted"]) == (2, False)


def test_its_slot_is_free(api: Caller, service: FakeService) -> None:
    memory = api.remember(SISTER, key="siblings")
    api.retract(memory["id"])
    assert service.ledgers[service.keyring.scope_id("acme/alice")].page(Area.SLOT, limit=9) == []
    assert api.remember(BROTHER, key="siblings")["supersedes"] == []


def test_what_was_superseded_can_still_turn_out_never_to_have_been_true(api: Caller) -> None:
    old = api.remember("Alice lives in Lisbon.")
    new = api.correct(old["id"], "Alice lives in Porto.", valid_from="2026-01-01T00:00:00Z")
    assert api.recalled(valid_at="2025-01-01T00:00:00Z") == ["Alice lives in Lisbon."]
    assert api.retract(old["id"], version=2)["status"] == "retracted"
    assert api.recalled(valid_at="2025-01-01T00:00:00Z") == []
    assert api.recalled() == ["Alice lives in Porto."]
    assert api.get(new["id"])["version"] == 1


def test_a_candidate_is_retracted_and_leaves_the_queue(api: Caller, service: FakeService) -> None:
    waiting = candidate(service, SISTER)
    stays = candidate(service, BROTHER)
    assert api.retract(waiting.id)["status"] == "retracted"
    assert [memory["id"] for memory in api.reviews()["items"]] == [stays.id]
    assert api.remember(SISTER).code == "tombstoned"


def test_what_is_disputed_is_retracted_and_leaves_the_queue(api: Caller) -> None:
    memory = api.remember(SISTER)
    api.dispute(memory["id"])
    answer = api.retract(memory["id"], version=2)
    assert (answer["status"], answer["review"]["decision"]) == ("retracted", "retracted")
    assert api.reviews(state="disputed")["items"] == []
    assert api.decide(memory["id"], version=3).code == "wrong_status"


def test_refusals_come_in_the_order_of_the_contract(api: Caller, service: FakeService) -> None:
    memory = api.remember(SISTER)
    stranger = api.as_(principal("acme/bob"))
    assert stranger.retract(memory["id"], "because", version=None).status == 400
    assert stranger.retract(memory["id"], version=None).status == 403
    writer = api.as_(principal("acme/alice", *(set(Action) - {Action.FORGET})))
    assert writer.retract(memory["id"]).status == 403
    assert api.retract(NO_ID, version=None).status == 404
    assert api.retract(memory["id"], version=None).status == 428
    assert api.retract(memory["id"], version=2)["current_version"] == 1
    assert api.retract(memory["id"]).status == 200
    assert api.retract(memory["id"]).status == 412
    assert api.retract(memory["id"], version=2).code == "wrong_status"
    mortal = api.remember(BROTHER, ttl_seconds=1)
    service.clock.pass_(seconds=2)
    assert api.retract(mortal["id"]).code == "wrong_status"


@pytest.mark.parametrize(
    "fields", [{"note": ""}, {"note": "x" * 501}, {"note": 1}, {"content": "x"}, {"tombstone": "id"}]
)
def test_a_retraction_that_is_not_valid_is_refused(api: Caller, fields: dict[str, object]) -> None:
    memory = api.remember(SISTER)
    assert api.retract(memory["id"], **fields).status == 400
    assert api.listed() == [SISTER]


@pytest.mark.parametrize("verb", ["retract", "dispute"])
def test_a_credential_in_a_note_is_refused_and_audited(api: Caller, service: FakeService, verb: str) -> None:
    memory = api.remember(SISTER)
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    answer = getattr(api, verb)(memory["id"], note=f"not {secret}")
    assert (answer.status, answer.code) == (422, "secret_refused")
    assert api.events() == [Event.REMEMBERED, Event.REFUSED]
    assert secret not in service.dump()
    assert api.listed() == [SISTER]


@pytest.mark.parametrize("verb", ["retract", "dispute"])
def test_a_retry_is_told_the_first_outcome(api: Caller, service: FakeService, verb: str) -> None:
    memory = api.remember(SISTER)
    key = {"idempotency_key": "once"}
    first = getattr(api, verb)(memory["id"], headers=key)
    before = service.dump()
    again = getattr(api, verb)(memory["id"], headers=key)
    assert (again.status, again.body) == (200, first.body)
    assert (first.headers.get("Idempotency-Replayed"), again.headers["Idempotency-Replayed"]) == (
        None,
        "true",
    )
    assert service.dump() == before
    other = getattr(api, verb)(memory["id"], "other", headers=key)
    assert other.code == "idempotency_mismatch"
    assert getattr(api, verb)(memory["id"]).status == 412
