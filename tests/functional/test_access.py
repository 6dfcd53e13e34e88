"""`POST /v1/keys` and the authorizer: nobody gives what they do not hold."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from tests.support.clock import BEGIN
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, principal
from unsay_core.application.access import first_admin, store_key
from unsay_core.domain.scope import Action, PrincipalKind, Scope
from unsay_core.domain.timeline import rfc3339

EVERYTHING = [action.value for action in Action]
FOR_AGENTS = [action for action in EVERYTHING if action != "review"]


def make(
    api: Caller, kind: str = "agent", scope: str = "acme/*", actions: Any = ("read",), **more: Any
) -> Answer:
    grants = [{"scope": scope, "actions": list(actions)}]
    return api.send("POST", "/v1/keys", {"name": "a key", "kind": kind, "grants": grants, **more})


def test_a_key_is_made_shown_once_and_works(api: Caller, service: FakeService) -> None:
    made = make(api, actions=["read", "write"])
    assert made.status == 201
    assert made["secret"].startswith("unsay_")
    assert made["grants"] == [{"scope": "acme/*", "actions": ["read", "write"]}]
    key = service.authenticator.bearer(made["secret"])
    assert key is not None
    found = key.principal
    assert (found.id, found.kind) == (made["id"], PrincipalKind.AGENT)
    assert found.may(Action.WRITE, Scope.parse("acme/alice"))
    assert not found.may(Action.FORGET, Scope.parse("acme/alice"))
    assert not found.may(Action.READ, Scope.parse("acme-corp/alice"))


def test_of_a_secret_only_a_keyed_digest_is_kept(api: Caller, service: FakeService) -> None:
    made = make(api)
    kept = service.keys.find(made["id"])
    assert kept is not None
    assert made["secret"] not in repr(kept)
    assert made["secret"].split("_", 2)[2] not in repr(kept)


@pytest.mark.parametrize(
    "bend",
    [
        lambda s: s[:-1],
        lambda s: s + "x",
        lambda s: s[:-1] + ("A" if s[-1] != "A" else "B"),
        lambda s: s.upper(),
        lambda s: s.removeprefix("unsay_"),
        lambda s: "unsay_" + s,
        lambda s: s.rpartition("_")[0],
        lambda s: s.rpartition("_")[0] + "_",
        lambda _: "",
        lambda _: "unsay_",
        lambda _: "unsay__x",
        lambda _: "unsay_é_x",
        lambda s: " " + s,
        lambda s: s + "\n",
    ],
)
def test_a_bent_secret_is_nobodys(api: Caller, service: FakeService, bend: Any) -> None:
    secret = make(api)["secret"]
    assert service.authenticator.bearer(bend(secret)) is None
    assert service.authenticator.bearer(secret) is not None


def test_the_secret_of_one_key_does_not_open_another(api: Caller, service: FakeService) -> None:
    one, other = make(api), make(api)
    mixed = other["secret"].rpartition("_")[0] + "_" + one["secret"].removeprefix(f"unsay_{one['id'][4:]}_")
    assert service.authenticator.bearer(mixed) is None


def test_a_key_ends_at_its_instant(api: Caller, service: FakeService) -> None:
    ends = BEGIN + timedelta(hours=1)
    secret = make(api, expires_at=rfc3339(ends))["secret"]
    service.clock.stand_at(ends - timedelta(microseconds=1))
    assert service.authenticator.bearer(secret) is not None
    service.clock.stand_at(ends)
    assert service.authenticator.bearer(secret) is None


def test_only_an_admin_makes_keys(api: Caller) -> None:
    caller = api.as_(principal("*", *(set(Action) - {Action.ADMIN})))
    assert (make(caller).status, make(caller).code) == (403, "forbidden")
    assert make(api).status == 201


def test_only_a_human_makes_a_humans_key(api: Caller) -> None:
    agent = api.as_(principal("*", *(set(Action) - {Action.REVIEW}), kind=PrincipalKind.AGENT))
    assert make(agent, "human").status == 403
    assert make(agent, "agent").status == 201
    assert make(api, "human", actions=EVERYTHING).status == 201


def test_an_agent_never_holds_review(api: Caller) -> None:
    answer = make(api, "agent", actions=["review"])
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert make(api, "human", actions=["review"]).status == 201


@pytest.mark.parametrize(
    ("scope", "actions", "status"),
    [
        ("acme/alice", ["read"], 201),
        ("acme/*", ["read", "write", "admin"], 201),
        ("acme/users/*", ["read"], 201),
        ("acme", ["read"], 403),
        ("*", ["read"], 403),
        ("acme-corp/*", ["read"], 403),
        ("other/*", ["read"], 403),
        ("acme/alice", ["forget"], 403),
        ("acme/alice", ["read", "audit"], 403),
    ],
)
def test_a_key_holds_no_more_than_its_maker(api: Caller, scope: str, actions: list[str], status: int) -> None:
    maker = api.as_(principal("acme/*", Action.ADMIN, Action.READ, Action.WRITE))
    assert make(maker, scope=scope, actions=actions).status == status


def test_one_grant_too_many_refuses_the_key(api: Caller, service: FakeService) -> None:
    maker = api.as_(principal("acme/*", Action.ADMIN, Action.READ))
    grants = [{"scope": "acme/a", "actions": ["read"]}, {"scope": "other/b", "actions": ["read"]}]
    assert maker.send("POST", "/v1/keys", {"name": "n", "kind": "agent", "grants": grants}).status == 403
    assert service.keys._keys == {}


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": "n", "kind": "robot", "grants": [{"scope": "a", "actions": ["read"]}]},
        {"name": "", "kind": "agent", "grants": [{"scope": "a", "actions": ["read"]}]},
        {"name": "n", "kind": "agent", "grants": []},
        {"name": "n", "kind": "agent", "grants": [{"scope": "a", "actions": []}]},
        {"name": "n", "kind": "agent", "grants": [{"scope": "a", "actions": ["fly"]}]},
        {"name": "n", "kind": "agent", "grants": [{"scope": "a", "actions": [["read"]]}]},
        {"name": "n", "kind": "agent", "grants": [{"scope": "a"}]},
        {"name": "n", "kind": "agent", "grants": [{"scope": "a", "actions": ["read"], "more": 1}]},
        {"name": "n", "kind": "agent", "grants": [{"scope": "a*", "actions": ["fly"]}]},
        {"name": "n", "kind": "agent", "grants": "all"},
        {"name": "n", "kind": "agent", "grants": [{"scope": "a", "actions": ["read"]}], "id": "key_mine"},
    ],
)
def test_a_key_that_is_not_valid_is_not_made(api: Caller, body: dict[str, Any]) -> None:
    answer = api.send("POST", "/v1/keys", body)
    assert (answer.status, answer.code) == (400, "invalid_request")


@pytest.mark.parametrize("scope", ["", "a/../*", "/*", "*/a", "a/*/*", "a/b*/*/c", 1, None, ["a"]])
def test_a_grant_names_a_scope_or_a_pattern(api: Caller, scope: Any) -> None:
    answer = make(api, scope=scope)
    assert (answer.status, answer.code) == (400, "invalid_scope")


def test_a_key_that_has_expired_already_is_not_made(api: Caller) -> None:
    assert make(api, expires_at=rfc3339(BEGIN)).status == 400
    assert make(api, expires_at="tomorrow").code == "invalid_time"


def test_what_is_not_valid_is_refused_before_the_grants_are_looked_at(api: Caller) -> None:
    nobody = api.as_(principal("acme/*", Action.READ))
    assert make(nobody, "agent", actions=["review"]).status == 400
    assert make(nobody, expires_at=rfc3339(BEGIN)).status == 400
    assert make(nobody).status == 403


def test_the_first_admin_may_do_everything_everywhere(service: FakeService) -> None:
    made = store_key(first_admin(), "bootstrap", service.keys, service.keyring, service.world)
    key = service.authenticator.bearer(made.secret)
    assert key is not None
    found = key.principal
    assert found.kind is PrincipalKind.HUMAN
    assert all(found.may(action, Scope.parse("any/where")) for action in Action)
    assert json.dumps(found.to_json())


def test_a_retried_request_for_a_key_gets_the_same_key_and_no_second(
    api: Caller, service: FakeService
) -> None:
    grants = [{"scope": "acme/*", "actions": ["read"]}]
    body = {"name": "agent", "kind": "agent", "grants": grants}
    first = api.send("POST", "/v1/keys", body, Idempotency_Key="once")
    again = api.send("POST", "/v1/keys", body, Idempotency_Key="once")
    assert (first.status, again.status) == (201, 201)
    assert again.body == first.body
    assert again.headers["Idempotency-Replayed"] == "true"
    assert service.authenticator.bearer(first["secret"]) is not None
    other = api.send("POST", "/v1/keys", {**body, "name": "other"}, Idempotency_Key="once")
    assert (other.status, other.code) == (422, "idempotency_mismatch")
    fresh = api.send("POST", "/v1/keys", body, Idempotency_Key="twice")
    assert fresh["id"] != first["id"]
    assert fresh["secret"] != first["secret"]


def test_a_credential_is_no_name_for_a_key(api: Caller) -> None:
    grants = [{"scope": "acme/*", "actions": ["read"]}]
    asked = {"name": "AKIA" + "QYLPMN5HHHFPZAM2", "kind": "agent", "grants": grants}
    assert api.send("POST", "/v1/keys", asked).code == "secret_refused"
    assert api.send("POST", "/v1/keys", asked | {"name": "the shop's key"}).status == 201
