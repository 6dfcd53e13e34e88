"""`PATCH /v1/memories/{id}`: the same memory, said better; every version that was is kept."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Answer, Caller, persistently, principal
from unsay_core.domain.audit import Event
from unsay_core.domain.scope import Action, PrincipalKind

LISBON, PORTO, FARO = "Alice lives in Lisbon.", "Alice lives in Porto.", "Alice lives in Faro."
NO_ID = "mem_01jabcdefghjkmnpqrstvwxyz0"
WHOLE: dict[str, Any] = {
    "kind": "episodic",
    "key": "home",
    "tags": ["a", "b"],
    "importance": 0.75,
    "data": {"n": 1},
    "metadata": {"team": "red"},
    "valid_from": "2020-01-01T00:00:00.000000Z",
    "valid_to": "2030-01-01T00:00:00.000000Z",
    "expires_at": "2029-01-01T00:00:00.000000Z",
}
AS_MADE = {"version", "updated_at", "index"}


def test_what_is_not_named_stays(api: Caller) -> None:
    before = api.remember(LISBON, **WHOLE).body
    answer = api.edit(before["id"], content=PORTO)
    assert (answer.status, answer.headers["ETag"], answer["version"]) == (200, '"2"', 2)
    assert answer["updated_at"] > before["updated_at"]
    changed = {name for name in before if before[name] != answer[name]}
    assert changed == {"content", *AS_MADE}
    assert api.get(before["id"]).body == answer.body


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("content", PORTO),
        ("kind", "procedural"),
        ("key", "house"),
        ("tags", ["c"]),
        ("importance", 0.25),
        ("data", [1]),
        ("metadata", {"team": "blue"}),
        ("valid_to", "2031-01-01T00:00:00.000000Z"),
        ("expires_at", "2031-01-01T00:00:00.000000Z"),
    ],
)
def test_each_field_is_edited_alone(api: Caller, name: str, value: Any) -> None:
    before = api.remember(LISBON, **WHOLE).body
    after = api.edit(before["id"], **{name: value}).body
    assert after[name] == value
    assert {field for field in before if before[field] != after[field]} == {name, *AS_MADE}


@pytest.mark.parametrize(
    ("name", "cleared"),
    [
        ("key", None),
        ("tags", []),
        ("importance", 0.5),
        ("data", None),
        ("metadata", {}),
        ("valid_to", None),
        ("expires_at", None),
    ],
)
def test_null_clears(api: Caller, name: str, cleared: Any) -> None:
    before = api.remember(LISBON, **WHOLE).body
    after = api.edit(before["id"], **{name: None}).body
    assert float(after[name]) == cleared if name == "importance" else after[name] == cleared
    assert {field for field in before if before[field] != after[field]} == {name, *AS_MADE}


@pytest.mark.parametrize("fields", [{"content": LISBON}, {"tags": ["a", "b"], "key": "home"}, WHOLE])
def test_naming_nothing_new_makes_no_version_and_no_event(
    api: Caller, service: FakeService, fields: dict[str, Any]
) -> None:
    before = api.remember(LISBON, **WHOLE).body
    dump = service.dump()
    stated = {name: value for name, value in fields.items() if name != "valid_from"}
    answer = api.edit(before["id"], **stated)
    assert (answer.status, answer.body) == (200, before)
    assert service.dump() == dump


@pytest.mark.parametrize("name", ["data", "metadata"])
@pytest.mark.parametrize(("old", "new"), [("1", "true"), ("1", "1.0"), ("false", "0"), ("1.0", "1.00")])
def test_a_number_of_another_kind_is_something_new(api: Caller, name: str, old: str, new: str) -> None:
    head = '{"scope":"acme/alice","content":"x",'
    raw = f'{head}"{name}":{{"n":{old}}}}}'
    before = api.send("POST", "/v1/memories", raw=raw)
    where = {"query": "scope=acme%2Falice", "if_match": '"1"'}
    path = f"/v1/memories/{before['id']}"
    after = api.send("PATCH", path, raw=f'{{"{name}":{{"n":{new}}}}}', **where)
    assert after["version"] == 2
    assert f'"{name}":{{"n":{new}}}' in api.get(before["id"]).text.replace(" ", "")


def test_every_version_is_kept_and_told_in_order(api: Caller) -> None:
    memory = api.remember("Version 1.")
    for number in range(2, 6):
        memory = api.edit(memory["id"], version=number - 1, content=f"Version {number}.")
    versions = api.history(memory["id"])["versions"]
    assert [version["content"] for version in versions] == [f"Version {n}." for n in range(1, 6)]
    assert [version["version"] for version in versions] == [1, 2, 3, 4, 5]
    assert api.listed() == ["Version 5."]


def test_the_edited_is_recalled_by_its_new_words_and_not_by_its_old(api: Caller) -> None:
    memory = api.remember("Alice keeps bees.")
    api.remember("Bob keeps goats.")
    api.edit(memory["id"], content="Alice keeps chickens.")
    assert api.recalled("Who keeps chickens?") == ["Alice keeps chickens.", "Bob keeps goats."]
    assert "Alice keeps bees." not in api.recalled("Who keeps bees?", limit=50)


@pytest.mark.parametrize("given", ["0", "-1", "1.5", "*", "W/1", "", "01", "one"])
def test_an_if_match_that_is_no_version_is_refused(api: Caller, given: str) -> None:
    memory = api.remember(LISBON)
    answer = api.edit(memory["id"], version=given, content=PORTO)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert api.listed() == [LISBON]


def test_an_edit_says_which_version_it_saw(api: Caller) -> None:
    memory = api.remember(LISBON)
    assert api.edit(memory["id"], version=None, content=PORTO).code == "precondition_required"
    stale = api.edit(memory["id"], version=2, content=PORTO)
    assert (stale.status, stale.code, stale["current_version"]) == (412, "version_conflict", 1)
    assert api.edit(memory["id"], version=1, content=PORTO).status == 200
    late = api.edit(memory["id"], version=1, content=FARO)
    assert (late.status, late["current_version"]) == (412, 2)
    assert api.listed() == [PORTO]


def test_what_changes_nothing_needs_the_version_too(api: Caller) -> None:
    memory = api.remember(LISBON)
    assert api.edit(memory["id"], version=None, content=LISBON).status == 428
    assert api.edit(memory["id"], version=2, content=LISBON).status == 412


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"content": None},
        {"content": " "},
        {"kind": None},
        {"kind": "item"},
        {"key": "No Key"},
        {"importance": 2},
        {"metadata": {"_x": 1}},
        {"valid_to": "yesterday"},
        {"valid_from": "2020-01-01T00:00:00Z"},
        {"trust": "verified"},
        {"status": "active"},
        {"scope": "acme/bob"},
        {"ttl_seconds": 5},
        {"source": {}},
    ],
)
def test_an_edit_that_is_not_valid_is_refused(api: Caller, fields: dict[str, Any]) -> None:
    memory = api.remember(LISBON)
    assert api.edit(memory["id"], **fields).status == 400
    assert api.get(memory["id"])["version"] == 1


def test_refusals_come_in_the_order_of_the_contract(api: Caller) -> None:
    gone = api.remember(FARO)
    api.retract(gone["id"])
    memory, theirs = api.remember(LISBON), api.remember("Bob's.", "acme/bob")
    stranger = api.as_(principal("acme/alice"))
    assert stranger.edit(theirs["id"], scope="acme/bob", version=None).status == 400
    assert stranger.edit(theirs["id"], scope="acme/bob", version=None, content="x").status == 403
    for id_ in (NO_ID, "mem_1", theirs["id"]):
        assert stranger.edit(id_, version=None, content=FARO).status == 404, id_
    assert api.edit(gone["id"], version=None, content=FARO).status == 428
    assert api.edit(gone["id"], version=9, content=FARO).status == 412
    assert api.edit(gone["id"], version=2, content=FARO).code == "wrong_status"
    assert api.edit(memory["id"], version=9, content=FARO).status == 412
    assert api.edit(memory["id"], content=FARO).code == "tombstoned"
    assert stranger.edit(memory["id"], content=PORTO).status == 200


def test_an_edit_needs_the_right_to_write(api: Caller) -> None:
    memory = api.remember(LISBON)
    others = principal("acme/alice", *(set(Action) - {Action.WRITE}))
    assert api.as_(others).edit(memory["id"], content=PORTO).status == 403
    writer = principal("acme/alice", Action.WRITE, kind=PrincipalKind.AGENT)
    assert api.as_(writer).edit(memory["id"], content=PORTO).status == 200


def test_an_edit_cannot_bring_back_what_was_taken_back(api: Caller, service: FakeService) -> None:
    gone, memory = api.remember(FARO), api.remember(LISBON)
    api.forget(gone["id"])
    answer = api.edit(memory["id"], content="alice lives in  FARO")
    assert (answer.status, answer.code, answer["reason"]) == (409, "tombstoned", "user_request")
    assert "faro" not in answer.text.casefold()
    assert api.get(memory["id"])["version"] == 1
    assert api.events()[-1] == Event.REFUSED
    assert sum(grave["hits"] for grave in api.tombstones()["items"]) == 1
    assert api.edit(memory["id"], content=PORTO).status == 200


@pytest.mark.parametrize("field", ["content", "tags", "metadata", "data", "key"])
def test_a_credential_in_an_edit_is_refused_and_audited(api: Caller, field: str) -> None:
    secret = "AKIA" + "IOSFODNN7EXAMPLE"
    given: Any = {"content": secret, "tags": [secret], "metadata": {"a": secret}, "data": [secret]}
    given["key"] = "ghp_" + "0123456789abcdefghij0123456789abcdef"
    memory = api.remember(LISBON)
    answer = api.edit(memory["id"], **{field: given[field]})
    assert (answer.status, answer.code) == (422, "secret_refused")
    assert api.events() == [Event.REMEMBERED, Event.REFUSED]
    assert api.get(memory["id"])["version"] == 1


def test_a_key_that_is_named_takes_its_slot_and_one_that_is_cleared_leaves_it(api: Caller) -> None:
    old, new = api.remember(LISBON, key="home"), api.remember(PORTO)
    edited = api.edit(new["id"], key="home")
    assert edited["supersedes"] == [old["id"]]
    assert api.get(old["id"])["superseded_by"] == new["id"]
    assert api.listed(key="home") == [PORTO]
    api.edit(new["id"], version=2, key=None)
    assert api.remember(FARO, key="home")["supersedes"] == []
    assert sorted(api.listed()) == [FARO, PORTO]


def test_a_key_that_changes_frees_the_slot_it_left(api: Caller) -> None:
    memory = api.remember(LISBON, key="home")
    api.edit(memory["id"], key="house")
    assert api.remember(PORTO, key="home")["supersedes"] == []
    assert api.remember(FARO, key="house")["supersedes"] == [memory["id"]]


def test_an_earlier_end_makes_room_and_a_later_one_takes_it(api: Caller) -> None:
    first = api.remember(LISBON, key="home", valid_from="2020-01-01T00:00:00Z")
    api.edit(first["id"], valid_to="2022-01-01T00:00:00Z")
    second = api.remember(PORTO, key="home", valid_from="2022-01-01T00:00:00Z")
    assert second["supersedes"] == []
    assert sorted(api.listed(key="home")) == [LISBON, PORTO]
    longer = api.edit(first["id"], version=2, valid_to="2023-01-01T00:00:00Z")
    assert longer["supersedes"] == [second["id"]]
    rest, kept = api.list(key="home")["items"]
    assert (rest["content"], rest["valid_from"]) == (PORTO, "2023-01-01T00:00:00.000000Z")
    assert kept["content"] == LISBON


@pytest.mark.parametrize("end", ["2020-01-01T00:00:00Z", "2019-01-01T00:00:00Z"])
def test_an_edit_that_would_hold_at_no_time_is_refused(api: Caller, end: str) -> None:
    memory = api.remember(LISBON, valid_from="2020-01-01T00:00:00Z")
    answer = api.edit(memory["id"], valid_to=end)
    assert (answer.status, answer["errors"][0]["path"]) == (400, "valid_to")
    assert api.edit(memory["id"], valid_to="2020-01-01T00:00:00.000001Z").status == 200


def test_the_end_of_validity_is_edited_for_the_past_too(api: Caller) -> None:
    memory = api.remember(LISBON, valid_from="2020-01-01T00:00:00Z")
    api.edit(memory["id"], valid_to="2024-01-01T00:00:00Z")
    assert api.recalled() == []
    assert api.recalled(valid_at="2023-12-31T23:59:59.999999Z") == [LISBON]
    assert api.recalled(valid_at="2024-01-01T00:00:00Z") == []


def test_the_same_words_are_a_duplicate_of_what_was_edited_to_them(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.edit(memory["id"], content=PORTO)
    again = api.remember(PORTO)
    assert (again.status, again["id"], again["deduplicated"]) == (200, memory["id"], True)
    anew = api.remember(LISBON)
    assert anew.status == 201


def test_what_is_edited_into_the_words_of_another_takes_its_place(api: Caller) -> None:
    twin, memory = api.remember(LISBON), api.remember(PORTO)
    edited = api.edit(memory["id"], content=LISBON)
    assert edited["supersedes"] == [twin["id"]]
    assert api.listed() == [LISBON]
    assert api.remember(LISBON)["id"] == memory["id"]
    api.edit(memory["id"], version=2, content=FARO)
    assert api.remember(LISBON).status == 201


def test_forgetting_buries_what_it_said_before_it_was_edited(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.edit(memory["id"], content=PORTO)
    api.edit(memory["id"], version=2, content=FARO)
    api.forget(memory["id"])
    for content in (LISBON, PORTO, FARO):
        assert api.remember(content).code == "tombstoned", content
    assert api.remember("Alice lives in Braga.").status == 201


def test_what_was_edited_hundreds_of_times_is_forgotten_whole(api: Caller, service: FakeService) -> None:
    memory, neighbour = api.remember("canary 0"), api.remember("The neighbour stays.")
    for number in range(1, 251):
        assert api.edit(memory["id"], version=number, content=f"canary {number}").status == 200
    erasure = api.forget(memory["id"])
    assert (erasure.status, erasure["erased"]) == (202, 1)
    assert "canary" not in service.dump()
    assert api.get(neighbour["id"]).status == 200
    for number in (0, 1, 100, 249, 250):
        assert api.remember(f"canary {number}").code == "tombstoned", number
    assert api.history(memory["id"])["events"][-1]["event"] == Event.FORGOTTEN
    assert api.verify()["ok"] is True


def test_of_twenty_concurrent_edits_one_wins(api: Caller, all_read_first: Callable[[str, int], None]) -> None:
    memory = api.remember(LISBON)
    all_read_first("acme/alice", 20)

    def edit(number: int) -> Answer:
        return persistently(lambda: api.edit(memory["id"], content=f"House {number}."))

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(edit, range(20)))
    assert sorted(answer.status for answer in answers) == [200] + [412] * 19
    (winner,) = [answer for answer in answers if answer.status == 200]
    assert api.listed() == [winner["content"]]
    assert len(api.history(memory["id"])["versions"]) == 2


def test_an_edit_that_names_some_fields_does_not_undo_another(api: Caller) -> None:
    memory = api.remember(LISBON, tags=["a"])
    api.edit(memory["id"], tags=["b"])
    after = api.edit(memory["id"], version=2, importance=1)
    assert (after["tags"], after["content"]) == (["b"], LISBON)


@pytest.mark.parametrize("fields", [{"content": PORTO}, {"data": 1}, {"key": "home"}, {"kind": "episodic"}])
def test_new_words_are_not_what_a_person_verified(api: Caller, fields: dict[str, Any]) -> None:
    memory = api.remember(LISBON)
    assert api.decide(memory["id"])["trust"] == "verified"
    agent = api.as_(principal("acme/*", Action.WRITE, kind=PrincipalKind.AGENT, key="key_agent"))
    assert agent.edit(memory["id"], version=2, **fields)["trust"] == "asserted"
    assert api.recalled(min_trust="verified") == []
    assert api.decide(memory["id"], version=3)["trust"] == "verified"


@pytest.mark.parametrize("fields", [{"tags": ["a"]}, {"importance": 1}, {"metadata": {"a": 1}}])
def test_a_label_leaves_verified_what_was(api: Caller, fields: dict[str, Any]) -> None:
    memory = api.remember(LISBON)
    api.decide(memory["id"])
    assert api.edit(memory["id"], version=2, **fields)["trust"] == "verified"


def test_an_edit_does_not_settle_a_dispute(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.dispute(memory["id"])
    assert api.edit(memory["id"], version=2, content=PORTO)["trust"] == "disputed"
    assert [waiting["content"] for waiting in api.reviews(state="disputed")["items"]] == [PORTO]
    assert api.recalled() == []


def test_what_is_disputed_does_not_push_out_another(api: Caller) -> None:
    firm, doubtful = api.remember(LISBON, key="home"), api.remember(PORTO)
    api.dispute(doubtful["id"])
    assert api.edit(doubtful["id"], version=2, key="home").code == "wrong_status"
    assert api.recalled() == [LISBON]
    assert api.get(firm["id"])["status"] == "active"
    assert api.edit(doubtful["id"], version=2, key="house").status == 200


def test_what_is_gone_is_not_edited(api: Caller, service: FakeService) -> None:
    superseded, retracted = api.remember(LISBON), api.remember("It rains.")
    mortal = api.remember("For a minute.", ttl_seconds=60)
    forgotten = api.remember("To be forgotten.")
    api.correct(superseded["id"], PORTO)
    api.retract(retracted["id"])
    api.forget(forgotten["id"])
    service.clock.pass_(seconds=61)
    for memory, version in ((superseded, 2), (retracted, 2), (mortal, 1)):
        assert api.edit(memory["id"], version=version, content=FARO).code == "wrong_status"
    assert api.edit(forgotten["id"], content=FARO).status == 404
    assert api.listed() == [PORTO]


def test_an_edit_is_one_event_of_its_actor(api: Caller) -> None:
    memory = api.remember(LISBON)
    api.edit(memory["id"], content=PORTO)
    event = api.audit()["items"][-1]
    assert (event["event"], event["actor"], event["version"]) == (Event.EDITED, ADMIN.id, 2)
    assert event["memory_id"] == memory["id"]
    assert api.verify()["ok"] is True
