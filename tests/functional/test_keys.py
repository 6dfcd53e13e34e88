"""`GET` and `DELETE /v1/keys`, and the day a key was used last."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from tests.support.clock import BEGIN
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, principal
from tests.support.stack import eventually
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.scope import Action, PrincipalKind
from unsay_core.domain.timeline import rfc3339


def make(api: Caller, scope: str = "acme/*", kind: str = "agent", name: str = "a key", **more: Any) -> Answer:
    grants = [{"scope": scope, "actions": ["read"]}]
    body = {"name": name, "kind": kind, "grants": grants, **more}
    return api.send("POST", "/v1/keys", body, **({}))


def listed(api: Caller, query: str = "limit=100") -> list[str]:
    return [key["id"] for key in api.send("GET", "/v1/keys", query=query)["items"]]


def revoke(api: Caller, key_id: str) -> Answer:
    return api.send("DELETE", f"/v1/keys/{key_id}")


def admin(*scopes: str, kind: PrincipalKind = PrincipalKind.HUMAN, key: str = "key_of_an_admin") -> Any:
    from unsay_core.domain.scope import Grant, Principal, ScopePattern

    actions = frozenset({Action.ADMIN, Action.READ})
    return Principal(key, kind, tuple(Grant(ScopePattern.parse(scope), actions) for scope in scopes))


def test_keys_are_listed_as_they_were_made_and_without_their_secrets(api: Caller) -> None:
    made = make(api, name="shop", expires_at=rfc3339(BEGIN + timedelta(days=1)))
    (found,) = api.send("GET", "/v1/keys")["items"]
    assert found == {name: value for name, value in made.body.items() if name != "secret"}
    assert (found["last_used"], found["revoked_at"], found["created_by"]) == (None, None, "key_admin")
    assert made["secret"].split("_", 2)[2] not in api.send("GET", "/v1/keys").text


def test_an_admin_sees_the_keys_that_lie_within_what_they_administer(api: Caller) -> None:
    own, below = make(api, "acme/*")["id"], make(api, "acme/users/a")["id"]
    elsewhere = [make(api, scope)["id"] for scope in ("acme", "acme-corp/x", "other/*", "*")]
    both = api.send(
        "POST",
        "/v1/keys",
        {
            "name": "both",
            "kind": "agent",
            "grants": [{"scope": "acme/a", "actions": ["read"]}, {"scope": "other/b", "actions": ["read"]}],
        },
    )["id"]
    assert listed(api.as_(admin("acme/*"))) == [own, below]
    assert both in listed(api.as_(admin("acme/*", "other/*")))
    assert listed(api) == [own, below, *elsewhere, both]
    assert listed(api.as_(admin("acme/users/*"))) == [below]


def test_who_administers_nothing_lists_and_revokes_nothing(api: Caller) -> None:
    key_id = make(api)["id"]
    nobody = api.as_(principal("*", *(set(Action) - {Action.ADMIN})))
    for answer in (nobody.send("GET", "/v1/keys"), revoke(nobody, key_id), revoke(nobody, "key_x")):
        assert (answer.status, answer.code) == (403, "forbidden")
    assert revoke(api, key_id).status == 200


def test_pages_hold_every_key_once_though_few_of_them_are_visible(api: Caller) -> None:
    mine = [make(api, "acme/a" if number % 7 == 0 else "other/b")["id"] for number in range(250)][::7]
    caller = api.as_(admin("acme/*"))
    found: list[str] = []
    query = "limit=10"
    while True:
        page = caller.send("GET", "/v1/keys", query=query)
        assert len(page["items"]) <= 10
        found += [key["id"] for key in page["items"]]
        if page["next_cursor"] is None:
            break
        query = f"limit=10&cursor={page['next_cursor']}"
    assert found == mine


def test_a_cursor_is_whose_it_was_made_for(api: Caller) -> None:
    for _ in range(3):
        make(api)
    sealed = api.send("GET", "/v1/keys", query="limit=1")["next_cursor"]
    assert len(listed(api, f"limit=9&cursor={sealed}")) == 2
    other = api.as_(admin("*"))
    for caller, cursor in ((other, sealed), (api, sealed[:-1]), (api, ""), (api, "x")):
        answer = caller.send("GET", "/v1/keys", query=f"cursor={cursor}")
        assert (answer.status, answer.code) == (400, "invalid_cursor")


@pytest.mark.parametrize("query", ["limit=0", "limit=101", "limit=x", "limit=-1"])
def test_a_page_size_is_never_clamped(api: Caller, query: str) -> None:
    assert api.send("GET", "/v1/keys", query=query).code == "invalid_limit"


def test_a_revoked_key_is_nobodys_and_says_who_revoked_it(api: Caller, service: FakeService) -> None:
    made, other = make(api), make(api)
    assert service.authenticator.bearer(made["secret"]) is not None
    answer = revoke(api, made["id"])
    assert answer.status == 200
    assert answer["revoked_at"] is not None
    assert "secret" not in answer.body
    assert service.authenticator.bearer(made["secret"]) is None
    assert service.authenticator.bearer(other["secret"]) is not None
    assert revoke(api, made["id"]).body == answer.body
    kept = service.keys.find(made["id"])
    assert kept is not None
    assert kept.revoked_by == "key_admin"


@pytest.mark.parametrize("key_id", ["key_0000000000000000000000000z", "key_x", "mem_x", "KEYS", "%2A"])
def test_a_key_that_is_not_there_and_one_that_is_not_yours_look_the_same(api: Caller, key_id: str) -> None:
    theirs = make(api, "other/*")["id"]
    caller = api.as_(admin("acme/*"))
    absent, foreign = revoke(caller, key_id), revoke(caller, theirs)
    assert (absent.status, foreign.status) == (404, 404)
    if key_id.startswith("key_0"):
        assert absent.text == foreign.text
    assert revoke(caller, make(api, "acme/a")["id"]).status == 200


def test_only_a_human_revokes_a_humans_key(api: Caller, service: FakeService) -> None:
    made = make(api, kind="human")
    agent = api.as_(admin("*", kind=PrincipalKind.AGENT))
    assert revoke(agent, made["id"]).status == 403
    assert service.authenticator.bearer(made["secret"]) is not None
    assert revoke(agent, make(api)["id"]).status == 200
    assert revoke(api, made["id"]).status == 200


def test_the_same_request_after_a_revocation_brings_nothing_back(api: Caller, service: FakeService) -> None:
    grants = [{"scope": "acme/*", "actions": ["read"]}]
    body = {"name": "agent", "kind": "agent", "grants": grants}
    made = api.send("POST", "/v1/keys", body, Idempotency_Key="once")
    revoke(api, made["id"])
    again = api.send("POST", "/v1/keys", body, Idempotency_Key="once")
    assert (again.status, again.code) == (410, "forgotten")
    assert service.authenticator.bearer(made["secret"]) is None


def used(service: FakeService, key_id: str) -> str:
    key = service.keys.find(key_id)
    assert key is not None
    return key.last_used


def as_key(api: Caller, secret: str) -> Caller:
    found = api.service.authenticator.bearer(secret)
    assert found is not None
    return api.identified({"lambda": found.to_context()})


def test_the_day_of_the_last_use_is_noted_once_a_day(api: Caller, service: FakeService) -> None:
    made, idle = make(api), make(api)
    notes: list[str] = []
    write = service.keys.note_use
    service.keys.note_use = lambda key_id, day: (notes.append(day), write(key_id, day))[1]  # type: ignore[method-assign]
    caller = as_key(api, made["secret"])
    for _ in range(5):
        caller.recall(scope="acme/a")
    eventually(lambda: used(service, made["id"]) == BEGIN.date().isoformat())
    assert len(notes) == 1
    service.clock.pass_(days=1)
    for _ in range(5):
        as_key(api, made["secret"]).recall(scope="acme/a")
    eventually(lambda: len(notes) == 2)
    assert api.send("GET", "/v1/keys")["items"][0]["last_used"] == "2026-05-02"
    assert used(service, idle["id"]) == ""


def test_a_use_that_could_not_be_noted_fails_nothing_and_is_noted_by_the_next(
    api: Caller, service: FakeService
) -> None:
    made = make(api)
    caller = as_key(api, made["secret"])
    service.keys.down = UnavailableError()
    assert caller.recall(scope="acme/a").status == 200
    eventually(lambda: not service.uses._noted)
    service.keys.down = None
    caller.recall(scope="acme/a")
    eventually(lambda: used(service, made["id"]) == BEGIN.date().isoformat())
