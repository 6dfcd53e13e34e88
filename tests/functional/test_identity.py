"""Who calls, beside API keys: IAM roles, and whom the authorizer could not decide on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.functional.test_handlers import CONTEXT
from tests.functional.test_tokens import authorizer_of
from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, event
from unsay_core.application.access import first_admin, store_key
from unsay_core.application.bindings import Binding, Template
from unsay_core.domain.errors import UnavailableError
from unsay_core.domain.scope import Action, PrincipalKind

ACCOUNT = "arn:aws:iam::123456789012"
SESSION = "arn:aws:sts::123456789012:assumed-role/agents-shop/i-0abc"
UNDECIDED = {"lambda": {"undecided": "true"}}


def signed(api: Caller, arn: str | None = SESSION) -> Caller:
    """Somebody for whom IAM vouches, at the same API."""
    return api.identified({"iam": {"userArn": arn, "accountId": "123456789012", "accessKey": "ASIA"}})


def bind(service: FakeService, role: str = "agents-*", scope: str = "acme/agents/{role}") -> Binding:
    actions = frozenset({Action.READ, Action.WRITE})
    binding = Binding(PrincipalKind.AGENT, (Template(scope, actions),), role=f"{ACCOUNT}:role/{role}")
    service.bindings.add(binding)
    return binding


def recall(caller: Caller, scope: str = "acme/agents/agents-shop", path: str = "/iam/v1/recall") -> Answer:
    return caller.send("POST", path, {"scope": scope, "query": "x"})


def test_a_role_is_granted_what_its_binding_says(api: Caller, service: FakeService) -> None:
    bind(service)
    caller = signed(api)
    assert recall(caller).status == 200
    assert recall(caller, "acme/agents/other").status == 403
    other = signed(api, SESSION.replace("agents-shop", "agents-other"))
    assert recall(other, "acme/agents/agents-other").status == 200
    assert recall(other).status == 403


def test_all_sessions_of_a_role_are_one_actor(api: Caller, service: FakeService) -> None:
    bind(service)
    body = {"scope": "acme/agents/agents-shop", "content": "x"}
    first = signed(api).send("POST", "/iam/v1/memories", body)
    again = signed(api, SESSION.replace("i-0abc", "alice@example.com")).send(
        "POST", "/iam/v1/memories", body | {"content": "y"}
    )
    actors = {answer["source"]["actor"] for answer in (first, again)}
    assert len(actors) == 1
    (actor,) = actors
    assert actor.startswith("iam_")
    assert "shop" not in actor


@pytest.mark.parametrize(
    "arn",
    [
        None,
        "",
        f"{ACCOUNT}:root",
        f"{ACCOUNT}:user/agents-shop",
        f"{ACCOUNT}:role/agents-shop",
        "arn:aws:sts::123456789012:federated-user/agents-shop",
        "arn:aws:sts::210987654321:assumed-role/agents-shop/i-0abc",
        "arn:aws:sts::123456789012:assumed-role/evil-agents-shop/i-0abc",
        "arn:aws:sts::123456789012:assumed-role/agents-shop/i-0abc\n",
    ],
)
def test_whom_no_binding_names_is_forbidden_though_iam_vouches(
    api: Caller, service: FakeService, arn: str | None
) -> None:
    bind(service)
    answer = recall(signed(api, arn))
    assert (answer.status, answer.code) == (403, "forbidden")
    assert service.opened == []
    assert recall(signed(api)).status == 200


def test_the_gateway_alone_says_who_signed_and_the_path_says_nothing(
    api: Caller, service: FakeService
) -> None:
    bind(service)
    assert recall(api.as_(None)).status == 401
    assert recall(api.identified({"lambda": {}})).status == 401
    assert recall(api, path="/iam/v1/recall").status == 200
    assert recall(signed(api), path="/v1/recall").status == 200
    assert recall(signed(api), path="/iam/iam/v1/recall").status == 404


def test_bindings_are_believed_for_a_minute_and_read_no_oftener(api: Caller, service: FakeService) -> None:
    binding = bind(service)
    caller = signed(api)
    for _ in range(20):
        assert recall(caller).status == 200
    assert service.bindings.reads == 1
    service.bindings.remove(binding.id)
    assert recall(caller).status == 200
    service.clock.pass_(seconds=60)
    assert recall(caller).status == 403


def test_without_the_table_a_role_is_told_to_come_again(api: Caller, service: FakeService) -> None:
    bind(service)
    service.bindings.down = UnavailableError()
    answer = recall(signed(api))
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "unavailable", "1")
    service.bindings.down = None
    assert recall(signed(api)).status == 200


def authorize(module: Any, credential: str) -> dict[str, Any]:
    request = event("authorizer_request")
    request["headers"]["authorization"] = f"Bearer {credential}"
    answer: dict[str, Any] = module.handler(request, CONTEXT)
    return answer


def test_without_the_table_nobody_is_denied_and_nobody_let_in(
    api: Caller, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = authorizer_of(service, monkeypatch)
    made = store_key(first_admin(), "bootstrap", service.keys, service.keyring, service.world)
    service.keys.down = UnavailableError()
    told = authorize(module, made.secret)
    assert told == {"isAuthorized": True, "context": {"undecided": "true"}}
    caller = api.identified({"lambda": told["context"]})
    answer = caller.send(
        "POST", "/v1/recall", {"scope": "a", "query": "x"}, authorization=bearer(made.secret)
    )
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (503, "unavailable", "1")
    assert service.opened == []


def test_a_fault_of_the_authorizer_lets_nobody_in(
    service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = authorizer_of(service, monkeypatch)
    service.keys.down = RuntimeError("a fault of ours")
    key_id = "0" * 26
    assert authorize(module, f"unsay_{key_id}_x")["context"] == {"undecided": "true"}
    service.keys.down = None
    assert authorize(module, f"unsay_{key_id}_x") == {"isAuthorized": False}


def bearer(secret: str) -> str:
    return f"Bearer {secret}"


def test_whom_the_authorizer_could_not_decide_on_the_api_asks_for_again(
    api: Caller, service: FakeService
) -> None:
    """The gateway keeps the authorizer's word for a minute; the table may be back after a second."""
    made = store_key(first_admin(), "bootstrap", service.keys, service.keyring, service.world)
    caller = api.identified(UNDECIDED)
    body = {"scope": "acme/a", "content": "x"}
    answer = caller.send("POST", "/v1/memories", body, authorization=bearer(made.secret))
    assert (answer.status, answer["source"]["actor"]) == (201, made.key.id)


@pytest.mark.parametrize(
    "authorization", ["Bearer unsay_x", "Bearer a.b.c", "Bearer ", "Basic x", "", "Bearer {}x"]
)
def test_whom_neither_knows_is_nobody(api: Caller, service: FakeService, authorization: str) -> None:
    made = store_key(first_admin(), "bootstrap", service.keys, service.keyring, service.world)
    given = authorization.replace("{}", made.secret)
    caller = api.identified(UNDECIDED)
    answer = caller.send("POST", "/v1/recall", {"scope": "a", "query": "x"}, authorization=given)
    assert (answer.status, answer.code) == (401, "unauthenticated")
    assert service.opened == []


def test_undecided_outweighs_whatever_else_is_said(api: Caller, service: FakeService) -> None:
    made = store_key(first_admin(), "bootstrap", service.keys, service.keyring, service.world)
    told = {"principal": json.dumps(made.key.principal.to_json()), "undecided": "true"}
    assert recall(api.identified({"lambda": told}), path="/v1/recall").status == 401
