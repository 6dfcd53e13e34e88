"""What is refused, in which order, and that a refusal tells nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import ADMIN, Answer, Caller, principal
from unsay_core.domain.scope import Action, PrincipalKind

MINE, OTHER = "acme/alice", "acme/bob"
NO_ID, NO_ERASURE = "mem_01jabcdefghjkmnpqrstvwxyz0", "era_01jabcdefghjkmnpqrstvwxyz0"


def calls(api: Caller, scope: str, memory_id: str = NO_ID) -> dict[str, tuple[Action, Answer]]:
    """Every call that names a scope, with the action it needs."""
    return {
        "remember": (Action.WRITE, api.remember("Something new.", scope)),
        "correct": (Action.WRITE, api.correct(memory_id, "Something else.", scope=scope)),
        "forget": (Action.FORGET, api.forget(memory_id, scope=scope)),
        "get": (Action.READ, api.get(memory_id, scope)),
        "list": (Action.READ, api.list(scope)),
        "recall": (Action.READ, api.recall(scope=scope)),
        "recall several": (Action.READ, api.recall(scope=[scope])),
        "erasure": (Action.FORGET, api.receipt(NO_ERASURE, scope)),
        "verify": (Action.AUDIT, api.verify(scope)),
    }


@pytest.mark.parametrize("action", list(Action))
def test_each_call_needs_its_own_action_and_that_one_alone(api: Caller, action: Action) -> None:
    kind = PrincipalKind.HUMAN
    caller = api.as_(principal(MINE, action, kind=kind))
    for name, (needed, answer) in calls(caller, MINE).items():
        assert (answer.status == 403) is (needed is not action), name
    without = api.as_(principal(MINE, *(set(Action) - {action}), kind=kind))
    for name, (needed, answer) in calls(without, MINE).items():
        assert (answer.status == 403) is (needed is action), name


def test_a_scope_outside_the_grants_is_forbidden_on_every_call_and_ones_own_is_not(
    api: Caller, service: FakeService
) -> None:
    theirs = api.remember("Bob's secret.", OTHER)
    before = service.dump()
    caller = api.as_(principal(MINE))
    service.opened.clear()
    for name, (_, answer) in calls(caller, OTHER, theirs["id"]).items():
        assert (answer.status, answer.code) == (403, "forbidden"), name
    assert service.opened == []
    assert service.dump() == before
    for name, (_, answer) in calls(caller, MINE).items():
        assert answer.status != 403, name


def test_forbidden_is_the_same_bytes_whether_the_scope_exists_or_not(api: Caller) -> None:
    there = api.remember("Bob's secret.", OTHER)
    caller = api.as_(principal(MINE))
    exists = calls(caller, OTHER, there["id"])
    exists_not = calls(caller, "acme/nobody", NO_ID)
    for name in exists:
        assert exists[name][1].text == exists_not[name][1].text, name


def test_an_id_of_another_scope_is_not_found(api: Caller) -> None:
    theirs = api.remember("Bob's secret.", OTHER)
    erasure = api.forget(api.remember("Gone.", OTHER)["id"], scope=OTHER)
    for answer in (
        api.get(theirs["id"], MINE),
        api.correct(theirs["id"], "x", scope=MINE),
        api.forget(theirs["id"], scope=MINE),
        api.receipt(erasure["id"], MINE),
    ):
        assert (answer.status, answer.code) == (404, "not_found")
        assert "Bob" not in answer.text
    assert api.get(theirs["id"], OTHER).status == 200
    assert api.receipt(erasure["id"], OTHER).status == 200


@pytest.mark.parametrize(
    "pattern", ["acme/*", "acme-corp", "acme-corp/*", "acm/*", "acme/alice", "acme/users/*"]
)
def test_a_pattern_reaches_below_at_a_segment_and_nowhere_else(api: Caller, pattern: str) -> None:
    reached = {
        "acme/*": {"acme/alice", "acme/alicf", "acme/users/alice"},
        "acme-corp": {"acme-corp"},
        "acme-corp/*": {"acme-corp/x"},
        "acm/*": set(),
        "acme/alice": {"acme/alice"},
        "acme/users/*": {"acme/users/alice"},
    }[pattern]
    caller = api.as_(principal(pattern))
    scopes = [
        "acme",
        "acme/alice",
        "acme/users/alice",
        "acme-corp",
        "acme-corp/x",
        "Acme/alice",
        "acme/alicf",
    ]
    assert {scope for scope in scopes if caller.recall(scope=scope).status == 200} == reached


def test_a_request_is_looked_at_before_the_grants_and_the_grants_before_the_store(api: Caller) -> None:
    caller = api.as_(principal(MINE))
    theirs = api.remember("Bob's.", OTHER)
    assert caller.remember("", OTHER).status == 400
    assert caller.recall(scope=OTHER, limit=0).status == 400
    assert caller.correct(theirs["id"], "", scope=OTHER).status == 400
    assert caller.correct(theirs["id"], "x", scope=OTHER, version="x").status == 400
    assert caller.correct(theirs["id"], "x", scope=OTHER, headers={"idempotency_key": " "}).status == 400
    assert caller.forget(theirs["id"], "because", OTHER).status == 400
    assert caller.correct(NO_ID, "x", scope=OTHER, version=None).status == 403


def test_what_is_not_there_comes_before_the_version_and_the_version_before_the_status(api: Caller) -> None:
    old = api.remember("Old.")
    new = api.correct(old["id"], "New.", "wrong")
    assert api.correct(NO_ID, "x", version=None).status == 404
    assert api.correct(old["id"], "x", version=None).status == 428
    assert api.correct(old["id"], "x", version=1).status == 412
    assert api.correct(old["id"], "x", version=2).code == "wrong_status"
    assert api.correct(new["id"], "Old.", version=None).status == 428
    assert api.correct(new["id"], "Old.", version=7).status == 412
    assert api.correct(new["id"], "Old.", version=1).code == "tombstoned"


def test_without_a_principal_nothing_is_done(api: Caller, service: FakeService) -> None:
    for name, (_, answer) in calls(api.as_(None), MINE).items():
        assert (answer.status, answer.code) == (401, "unauthenticated"), name
    assert service.opened == []
    assert api.as_(None).send("GET", "/v1/health").status == 200
    assert api.as_(None).send("GET", "/v1/openapi.json").status == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/v1"),
        ("GET", "/v2/health"),
        ("GET", "/v1/memories/"),
        ("GET", "/v1/memories/a/b"),
        ("PUT", "/v1/memories"),
        ("GET", "/v1/recall"),
        ("POST", "/v1/nothing"),
        ("GET", "/v1/memories/" + "x" * 4_000),
        ("GET", "/v1/memories/%2e%2e"),
        ("GET", "/v1/memories/mem_01jabcdefghjkmnpqrstvwxyz0%00"),
    ],
)
def test_what_no_call_is_called_is_refused_as_a_problem(api: Caller, method: str, path: str) -> None:
    answer = api.send(method, path, query="scope=acme%2Falice" if "memories/" in path else "")
    assert answer.status in (404, 405)
    assert answer.code in ("not_found", "method_not_allowed")


def test_a_problem_has_every_member_and_names_the_field_not_the_text(api: Caller) -> None:
    answer = api.remember("canary", importance=7, unknown_field="canary", metadata={"a": None})
    problem = answer.body
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert {"type", "title", "status", "detail", "code", "request_id", "errors"} <= problem.keys()
    assert {error["path"] for error in problem["errors"]} == {"importance", "unknown_field", "metadata"}
    assert "canary" not in answer.text
    assert problem["request_id"] == "XJ3xSgHaliAEMXg="


def test_an_answer_is_kept_by_nobody_on_the_way(api: Caller) -> None:
    assert api.remember().headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("header", ["x-scope", "x-principal", "x-forwarded-user", "x-amzn-oidc-identity"])
def test_no_header_widens_what_a_caller_may(api: Caller, header: str) -> None:
    api.remember("Bob's.", OTHER)
    caller = api.as_(principal(MINE, Action.READ))
    headers = {header.replace("-", "_"): json.dumps(ADMIN.to_json())}
    answer = caller.send("POST", "/v1/recall", {"scope": OTHER, "query": "x"}, **headers)
    assert answer.status == 403


def test_look_alike_and_differently_cased_scopes_are_others(api: Caller) -> None:
    api.remember("Alice's.", "acme/alice")
    for other in ("acme/Alice", "acme/аlice", "acme/alice2", "acme", "acme/alice/x"):
        assert api.recalled("Alice's", other) == [], other
    assert api.recalled("Alice's", "acme/alice") == ["Alice's."]


def test_composed_and_decomposed_names_are_one_scope(api: Caller) -> None:
    api.remember("Zoé's.", "acme/zoe\u0301")
    assert api.recalled("Zoé's", "acme/zo\u00e9") == ["Zoé's."]


HOSTILE: list[Any] = [
    *(
        "text/plain",
        "\x00",
        "{" * 5_000,
        "\ufeff{}",
        '{"scope":"a","content":"\\u0000"}',
        "[1]",
        "1e400",
        "-",
    ),
    *(
        '{"\\ud800":1}',
        '{"":1}',
        '{"scope":{"a":1},"content":"x"}',
        '{"scope":"a","content":"x","tags":[[]]}',
    ),
    '{"scope":"a","content":"x","importance":1e-400}',
    '{"scope":"a","content":"x","ttl_seconds":99999999999999999999}',
    '{"scope":"a","content":"x","expires_at":"0000-01-01T00:00:00Z"}',
    '{"scope":"a","content":"x","valid_from":"0001-01-01T00:00:00Z","valid_to":"9999-12-31T23:59:59.999999999Z"}',
    '{"scope":"a","query":"\\u0000\\u202e","valid_at":"0001-01-01T00:00:00Z"}',
    '{"scope":"a","query":"%s","deadline_ms":50}' % ("ﷺ" * 2_000),
    '{"scope":"a","content":"%s"}' % ("\u0301" * 5_000),
]


@pytest.mark.parametrize("raw", HOSTILE)
def test_no_input_gives_a_fault_of_ours(api: Caller, raw: str) -> None:
    for path in ("/v1/memories", "/v1/recall", "/v1/keys", f"/v1/memories/{NO_ID}/correct"):
        answer = api.send("POST", path, raw=raw, query="scope=a" if "correct" in path else "")
        assert answer.status < 500, path


@pytest.mark.parametrize("body", ["/9j/", "gICA", "e30="])
def test_a_binary_body_is_refused_and_not_a_fault(api: Caller, body: str) -> None:
    assert api.send("POST", "/v1/memories", raw=body, base64=True).status == 400


def test_a_body_in_base64_is_read_as_what_it_is(api: Caller) -> None:
    import base64

    raw = base64.b64encode(b'{"scope":"acme/alice","content":"x"}').decode()
    assert api.send("POST", "/v1/memories", raw=raw, base64=True).status == 201


@pytest.mark.parametrize(
    ("fields", "code", "paths"),
    [
        ({"scope": "acme//alice"}, "invalid_scope", ["scope"]),
        ({"valid_from": "yesterday"}, "invalid_time", ["valid_from"]),
        ({"metadata": {"tenant": "x"}}, "reserved_key", ["metadata"]),
        ({"content": "x" * 16_385}, "too_large", ["content"]),
        ({"expires_at": "2026-05-01", "unknown": 1}, "invalid_time", ["expires_at", "unknown"]),
        ({"importance": 2, "scope": "..", "tags": 1}, "invalid_scope", ["scope", "importance", "tags"]),
        ({"importance": 2}, "invalid_request", ["importance"]),
    ],
)
def test_every_field_that_is_wrong_is_named_whatever_the_code(
    api: Caller, fields: dict[str, Any], code: str, paths: list[str]
) -> None:
    answer = api.send("POST", "/v1/memories", {"scope": "acme/alice", "content": "Text.", **fields})
    assert answer.code == code
    assert sorted(error["path"] for error in answer["errors"]) == sorted(paths)
    assert all(error["message"] for error in answer["errors"])


@pytest.mark.parametrize(
    ("query", "code", "path"),
    [
        ("scope=acme//alice", "invalid_scope", "scope"),
        ("scope=acme&limit=0", "invalid_limit", "limit"),
        ("scope=acme&valid_at=2026", "invalid_time", "valid_at"),
        ("scope=acme&kind=item&path=a//b", "invalid_request", "path"),
    ],
)
def test_every_parameter_that_is_wrong_is_named(api: Caller, query: str, code: str, path: str) -> None:
    answer = api.send("GET", "/v1/memories", query=query)
    assert (answer.code, [error["path"] for error in answer["errors"]]) == (code, [path])
