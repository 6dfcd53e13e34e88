"""`/v1/tombstones`: what must not come back is listed without a word of it, and lifted by a reviewer."""

from __future__ import annotations

import pytest

from tests.support.candidates import infer
from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Caller, principal
from unsay_core.domain.audit import Event
from unsay_core.domain.scope import Action

LISBON, PORTO, BOB = "Alice lives in Lisbon.", "Alice lives in Porto.", "Bob lives in Braga."


def value_grave(api: Caller) -> str:
    """The id of the only tombstone of a value."""
    (grave,) = [grave for grave in api.tombstones()["items"] if grave["kind"] == "value"]
    return str(grave["id"])


def test_the_list_tells_when_why_and_who_and_never_what(api: Caller, service: FakeService) -> None:
    api.remember(BOB)
    memory = api.remember(LISBON)
    erasure = api.forget(memory["id"], "consent_withdrawn")
    answer = api.tombstones()
    graves = {grave["kind"]: grave for grave in answer["items"]}
    assert set(graves) == {"id", "value"}
    assert graves["id"]["id"] == memory["id"]
    for grave in graves.values():
        assert (grave["reason"], grave["actor"], grave["hits"]) == ("consent_withdrawn", ADMIN.id, 0)
        assert (grave["lifted"], grave["erasure_id"]) == (False, erasure["id"])
        assert grave["at"] == erasure["requested_at"]
    assert "lisbon" not in answer.text.casefold()
    assert api.remember(BOB)["deduplicated"] is True


def test_each_attempt_is_counted(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    for number, spelling in enumerate((LISBON, LISBON.upper(), "Alice  lives in Lisbon"), start=1):
        assert api.remember(spelling).code == "tombstoned"
        (grave,) = [grave for grave in api.tombstones()["items"] if grave["kind"] == "value"]
        assert grave["hits"] == number
    assert api.events().count(Event.REFUSED) == 3


def test_a_value_that_is_lifted_may_be_written_and_the_lift_is_an_event(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    api.forget(api.remember(BOB)["id"], tombstone="id")
    api.remember(LISBON)
    grave = value_grave(api)
    answer = api.lift(grave, "user_request", note="She moved back.")
    assert (answer.status, answer["lifted"], answer["hits"]) == (200, True, 1)
    event = api.audit()["items"][-1]
    assert (event["event"], event["tombstone"], event["actor"]) == (Event.LIFTED, grave, ADMIN.id)
    assert (event["reason"], event["memory_id"]) == ("user_request", None)
    assert event["note_digest"]
    assert "moved" not in api.audit().text
    again = api.remember(LISBON)
    assert again.status == 201
    assert api.recalled() == [LISBON]
    assert api.verify()["ok"] is True


def test_a_lifted_value_can_be_taken_back_again(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    grave = value_grave(api)
    api.lift(grave)
    api.retract(api.remember(LISBON)["id"])
    assert value_grave(api) == grave
    assert api.remember(LISBON).code == "tombstoned"
    assert api.lift(grave).status == 200
    assert api.remember(LISBON).status == 201


def test_a_lift_brings_back_no_id_and_no_text(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.forget(memory["id"])
    api.lift(value_grave(api))
    assert api.get(memory["id"]).status == 404
    assert api.listed() == []
    assert api.forget(memory["id"]).code == "already_forgotten"
    assert api.remember(LISBON)["id"] != memory["id"]


def test_what_is_lifted_already_or_is_not_there_is_not_lifted(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.forget(memory["id"])
    grave = value_grave(api)
    api.remember(BOB, "acme/bob")
    assert api.lift(grave, scope="acme/bob").status == 404
    assert api.lift("a" * 52).status == 404
    assert api.lift(memory["id"]).status == 404
    assert api.lift(grave, "because").status == 400
    assert api.remember(LISBON).code == "tombstoned"
    assert api.lift(grave).status == 200
    assert api.lift(grave).code == "wrong_status"


def test_a_lift_needs_a_reviewer_and_the_list_the_right_to_forget(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    grave = value_grave(api)
    without = api.as_(principal("acme/alice", *(set(Action) - {Action.REVIEW})))
    assert without.lift(grave).status == 403
    assert without.tombstones().status == 200
    reviewer = api.as_(principal("acme/alice", Action.REVIEW))
    assert reviewer.tombstones().status == 403
    assert reviewer.lift(grave).status == 200


def test_a_credential_in_the_note_of_a_lift_is_refused(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    assert api.lift(value_grave(api), note="AKIA" + "IOSFODNN7EXAMPLE").code == "secret_refused"
    assert api.remember(LISBON).code == "tombstoned"


def test_the_list_comes_in_pages_and_holds_each_once(api: Caller) -> None:
    for number in range(5):
        api.forget(api.remember(f"Fact {number}.")["id"])
    first = api.tombstones(limit=4)
    rest = api.tombstones(limit=100, cursor=first["next_cursor"])
    ids = [grave["id"] for grave in [*first["items"], *rest["items"]]]
    assert len(ids) == len(set(ids)) == 10
    assert rest["next_cursor"] is None
    assert api.tombstones("acme/bob")["items"] == []


def test_another_scope_may_say_it(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    assert api.remember(LISBON, "acme/bob").status == 201
    assert api.remember(LISBON).code == "tombstoned"


@pytest.mark.parametrize("key", [None, "home"])
def test_what_was_rejected_stays_so_however_it_is_laundered(
    api: Caller, service: FakeService, key: str | None
) -> None:
    """Reject it, supersede it with another, state it again and corroborate it."""
    neighbour = api.remember(BOB)
    first = api.remember(LISBON, key=key)
    assert api.decide(first["id"], "reject", reason="incorrect").status == 200
    second = api.remember(PORTO, key=key)
    attempts = [
        api.remember(LISBON, key=key),
        api.remember(LISBON, key="other", source={"run_id": "run2", "quote": "I live in Lisbon"}),
        api.correct(second["id"], LISBON, "changed"),
        api.correct(second["id"], LISBON, "wrong"),
        api.edit(second["id"], content=LISBON),
        api.edit(neighbour["id"], content="ALICE LIVES IN LISBON"),
        api.decide(first["id"], "approve", version=2),
    ]
    assert [answer.code for answer in attempts] == [*["tombstoned"] * 6, "wrong_status"]
    assert api.batch([{"content": LISBON}])["results"][0]["status"] == 409
    with pytest.raises(Exception, match="taken back"):
        infer(service, LISBON)
    service.clock.pass_(days=4_000)
    assert api.remember(LISBON, key=key).code == "tombstoned"
    assert api.get(first["id"])["status"] == "rejected"
    assert sorted(api.listed()) == [PORTO, BOB]
    assert sorted(api.recalled("Who lives where?")) == [PORTO, BOB]
    assert api.remember(BOB)["id"] == neighbour["id"]
    assert api.verify()["ok"] is True


def test_a_lift_that_is_sent_again_is_told_the_first_outcome(api: Caller) -> None:
    api.forget(api.remember(LISBON)["id"])
    grave, named = value_grave(api), {"headers": {"idempotency_key": "k"}}
    first, again = api.lift(grave, **named), api.lift(grave, **named)
    assert (again.status, again.body) == (200, first.body)
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert api.lift(grave, reason="other", **named).code == "idempotency_mismatch"
    assert api.lift(grave).code == "wrong_status"
    assert api.events().count(Event.LIFTED) == 1
