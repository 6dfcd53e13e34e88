"""`POST /v1/delegations`: less than the caller has, for less time, and gone with it."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.support.clock import BEGIN
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller
from unsay_core.application.bindings import Binding, Template
from unsay_core.domain.scope import Action, PrincipalKind, Scope
from unsay_core.domain.timeline import rfc3339

EVERYTHING = [action.value for action in Action]


def key_with(api: Caller, *grants: tuple[str, list[str]], kind: str = "human", **more: Any) -> Answer:
    stated = [{"scope": scope, "actions": actions} for scope, actions in grants]
    return api.send("POST", "/v1/keys", {"name": "k", "kind": kind, "grants": stated, **more})


def acting(api: Caller, credential: str) -> Caller:
    """Whoever holds this credential, at the API."""
    found = api.service.authenticator.bearer(credential)
    assert found is not None
    return api.identified({"lambda": found.to_context()})


def delegate(caller: Caller, actions: Any = ("read",), ttl: Any = 600, **more: Any) -> Answer:
    body = {"actions": list(actions), "ttl_seconds": ttl}
    headers = {name: more.pop(name) for name in ("Idempotency_Key",) if name in more}
    return caller.send("POST", "/v1/delegations", body | more, **headers)


@pytest.fixture
def parent(api: Caller) -> Caller:
    """A caller with a key that may do everything below `acme`."""
    return acting(api, key_with(api, ("acme/*", EVERYTHING))["secret"])


def test_a_delegation_does_less_in_fewer_scopes(api: Caller, parent: Caller) -> None:
    made = delegate(parent, ["read", "write"], scope="acme/users/alice")
    assert made.status == 201
    assert made["grants"] == [{"scope": "acme/users/alice", "actions": ["read", "write"]}]
    helper = acting(api, made["secret"])
    assert helper.remember("x", scope="acme/users/alice").status == 201
    assert helper.remember("x", scope="acme/users/bob").status == 403
    assert parent.remember("x", scope="acme/users/bob").status == 201
    memory = parent.remember("y", scope="acme/users/alice")["id"]
    assert helper.forget(memory, scope="acme/users/alice").status == 403


def test_without_a_scope_it_reaches_what_the_caller_reaches_with_these_actions(api: Caller) -> None:
    key = key_with(api, ("acme/*", ["read", "write"]), ("other/x", ["read"]), ("third/x", ["forget"]))
    made = delegate(acting(api, key["secret"]), ["read"])
    assert made["grants"] == [
        {"scope": "acme/*", "actions": ["read"]},
        {"scope": "other/x", "actions": ["read"]},
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"actions": ["read"], "scope": "acme/a"}, 201),
        ({"actions": ["read"], "scope": "acme/*"}, 201),
        ({"actions": ["read"], "scope": "acme"}, 403),
        ({"actions": ["read"], "scope": "*"}, 403),
        ({"actions": ["read"], "scope": "acme-corp/*"}, 403),
        ({"actions": ["forget"], "scope": "acme/a"}, 403),
        ({"actions": ["read", "forget"]}, 403),
        ({"actions": ["read", "write"], "scope": "other/a"}, 403),
    ],
)
def test_nobody_delegates_what_they_do_not_hold(api: Caller, body: dict[str, Any], status: int) -> None:
    caller = acting(api, key_with(api, ("acme/*", ["read", "write"]), ("other/*", ["read"]))["secret"])
    assert caller.send("POST", "/v1/delegations", {"ttl_seconds": 60, **body}).status == status


@pytest.mark.parametrize("action", ["admin", "review", "fly", "*"])
def test_administration_and_review_are_never_delegated(parent: Caller, action: str) -> None:
    answer = delegate(parent, ["read", action])
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert delegate(parent, ["read"]).status == 201


@pytest.mark.parametrize("ttl", [0, -1, 3601, 1.5, "60", None, True])
def test_it_lasts_an_hour_at_the_most(parent: Caller, ttl: Any) -> None:
    assert delegate(parent, ttl=ttl).status == 400
    assert delegate(parent, ttl=3600).status == 201


def test_it_is_an_agents_whoever_made_it(api: Caller, parent: Caller) -> None:
    found = api.service.authenticator.bearer(delegate(parent)["secret"])
    assert found is not None
    assert found.principal.kind is PrincipalKind.AGENT


def test_it_ends_when_it_was_said_to(api: Caller, parent: Caller, service: FakeService) -> None:
    made = delegate(parent, ttl=600)
    ends = datetime.fromisoformat(made["expires_at"])
    assert ends - datetime.fromisoformat(made["created_at"]) == timedelta(seconds=600)
    service.clock.stand_at(ends - timedelta(microseconds=1))
    assert service.authenticator.bearer(made["secret"]) is not None
    service.clock.stand_at(ends)
    assert service.authenticator.bearer(made["secret"]) is None


def test_it_does_not_outlive_what_it_was_made_from(api: Caller) -> None:
    ends = BEGIN.replace(microsecond=0) + timedelta(minutes=5)
    key = key_with(api, ("acme/*", ["read"]), expires_at=rfc3339(ends))
    first = delegate(acting(api, key["secret"]), ttl=3600)
    assert datetime.fromisoformat(first["expires_at"]) == ends
    again = delegate(acting(api, first["secret"]), ttl=3600)
    assert datetime.fromisoformat(again["expires_at"]) == ends


def test_from_a_delegation_comes_no_wider_and_no_longer_one(api: Caller, parent: Caller) -> None:
    first = delegate(parent, ["read", "write"], ttl=600, scope="acme/a/*")
    middle = acting(api, first["secret"])
    assert delegate(middle, ["read", "forget"]).status == 403
    assert delegate(middle, ["read"], scope="acme/b").status == 403
    second = delegate(middle, ["read"], ttl=3600)
    assert second["grants"] == [{"scope": "acme/a/*", "actions": ["read"]}]
    assert datetime.fromisoformat(second["expires_at"]) <= datetime.fromisoformat(first["expires_at"])


def test_revoking_the_key_ends_all_that_came_of_it_and_no_other(api: Caller, service: FakeService) -> None:
    key, other = key_with(api, ("acme/*", ["read"])), key_with(api, ("acme/*", ["read"]))
    first = delegate(acting(api, key["secret"]))
    second = delegate(acting(api, first["secret"]))
    stays = delegate(acting(api, other["secret"]))
    api.send("DELETE", f"/v1/keys/{key['id']}")
    assert service.authenticator.bearer(first["secret"]) is None
    assert service.authenticator.bearer(second["secret"]) is None
    assert service.authenticator.bearer(stays["secret"]) is not None


def test_what_a_token_delegated_ends_with_its_binding_and_with_the_token(
    api: Caller, service: FakeService
) -> None:
    issuer = "https://login.example.com"
    actions = frozenset({Action.READ})
    everyone = Binding(PrincipalKind.AGENT, (Template("acme/{sub}", actions),), issuer=issuer)
    service.bindings.add(everyone)
    exp = int(BEGIN.timestamp()) + 300
    token = json.dumps({"iss": issuer, "sub": "alice", "exp": exp})
    made = delegate(acting(api, token), ttl=3600)
    assert datetime.fromisoformat(made["expires_at"]).timestamp() == exp
    assert service.authenticator.bearer(made["secret"]) is not None
    service.bindings.remove(everyone.id)
    service.bindings.add(Binding(PrincipalKind.AGENT, (Template("acme/{sub}/x", actions),), issuer=issuer))
    service.clock.pass_(seconds=60)
    assert service.authenticator.bearer(made["secret"]) is None


def test_the_actor_is_the_delegation_after_whom_it_acts_for(api: Caller, parent: Caller) -> None:
    key_id = api.send("GET", "/v1/keys")["items"][0]["id"]
    first = delegate(parent, ["read", "write"])
    second = delegate(acting(api, first["secret"]), ["read", "write"])
    memory = acting(api, second["secret"]).remember("x", scope="acme/a")
    assert memory["source"]["actor"] == second["principal"] == f"{key_id}+{second['id']}"
    assert first["principal"] == f"{key_id}+{first['id']}"


def test_a_retried_request_gets_the_same_one(api: Caller, parent: Caller, service: FakeService) -> None:
    made = delegate(parent, ["read"], Idempotency_Key="once")
    service.clock.pass_(seconds=5)
    again = delegate(parent, ["read"], Idempotency_Key="once")
    assert (again.body, again.headers["Idempotency-Replayed"]) == (made.body, "true")
    assert delegate(parent, ["read", "write"], Idempotency_Key="once").code == "idempotency_mismatch"
    assert delegate(parent, ["read"], ttl=601, Idempotency_Key="once").code == "idempotency_mismatch"
    other = acting(api, key_with(api, ("acme/*", ["read"]))["secret"])
    assert delegate(other, ["read"], Idempotency_Key="once")["id"] != made["id"]


def test_delegations_are_in_no_list_and_are_not_revoked_by_name(api: Caller, parent: Caller) -> None:
    made = delegate(parent)
    assert made["id"] not in api.send("GET", "/v1/keys").text
    assert api.send("DELETE", f"/v1/keys/{made['id']}").status == 404


def test_of_its_secret_only_a_keyed_digest_is_kept(parent: Caller, service: FakeService) -> None:
    made = delegate(parent)
    kept = service.keys.find(made["id"])
    assert made["secret"].startswith("unsay_dlg_")
    assert made["secret"].removeprefix(f"unsay_{made['id']}_") not in repr(kept)


def test_the_pattern_of_a_delegation_is_a_scope_or_what_lies_below_one(parent: Caller) -> None:
    for wrong in ("", "acme/*/x", "acme//x", 1, ["acme"]):
        answer = delegate(parent, scope=wrong)
        assert (answer.status, answer.code) == (400, "invalid_scope")
    assert delegate(parent, scope=str(Scope.parse(["acme", "a/b"]))).status == 201
