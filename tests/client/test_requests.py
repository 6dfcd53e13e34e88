"""What is put on the wire, and what is read from it."""

from datetime import UTC, date, datetime
from decimal import Decimal

import httpx
import pytest

import unsay
from tests.client.conftest import EMPTY_RECALL, MEMORY
from tests.client.examples import EXAMPLES, path_of
from unsay import MemoryOut
from unsay_core.contracts import exact_json
from unsay_core.contracts.operations import OPERATIONS, model_of

KEY = {
    "id": "key_1",
    "name": "k",
    "kind": "agent",
    "grants": [],
    "created_at": "2026-05-01T09:30:00Z",
    "created_by": "key_0",
    "expires_at": None,
    "last_used": None,
    "revoked_at": None,
    "secret": "unsay_new",
}
ERASURE = {
    "id": "era_1",
    "state": "pending",
    "selector": {"ids": ["mem_1"]},
    "reason": "test",
    "requested_at": "2026-05-01T09:30:00Z",
    "completed_at": None,
    "matched": 1,
    "erased": 1,
    "tombstones": 2,
    "cascade": [],
    "stores": [],
    "audit_seq": 2,
    "digest": "d",
    "actor": "key_1",
}
FOUND = MemoryOut.model_validate(MEMORY)


def ok(body=MEMORY):
    return httpx.Response(200, content=exact_json.dumps(body).encode())


def sent(service):
    return exact_json.loads(service.requests[-1].content, max_depth=10)


def url(service):
    return str(service.requests[-1].url)


def test_a_request_carries_the_key_and_says_what_it_is(service):
    service.will(ok()).remember("x", scope="a")
    headers = service.requests[-1].headers
    assert headers["Authorization"] == "Bearer unsay_secret"
    assert headers["Content-Type"] == "application/json"


def test_numbers_go_out_and_come_back_with_their_digits_and_kind(service):
    data = {"int": 1, "float": Decimal("1.0"), "money": Decimal("0.10"), "yes": True, "big": 10**37}
    memory = service.will(ok({**MEMORY, "data": data, "metadata": {"rate": Decimal("2.50")}}))
    stored = memory.remember("x", scope="a", data=data, metadata={"n": 1, "f": 1.5})
    assert '"money":0.10' in service.requests[-1].content.decode()
    assert sent(service)["metadata"] == {"n": 1, "f": Decimal("1.5")}
    assert {name: (type(value), str(value)) for name, value in stored.data.items()} == {
        name: (type(value), str(value)) for name, value in data.items()
    }
    assert str(stored.metadata["rate"]) == "2.50"


def test_a_time_is_sent_with_its_offset(service):
    service.will(ok()).remember("x", scope="a", valid_from=datetime(2026, 5, 1, tzinfo=UTC))
    assert sent(service)["valid_from"] == "2026-05-01T00:00:00+00:00"


def test_the_origin_is_sent_as_the_source(service):
    service.will(ok()).remember("x", scope="a", run_id="chat-1", message_seqs=[4], quote="so it is")
    assert sent(service)["source"] == {"run_id": "chat-1", "message_seqs": [4], "quote": "so it is"}


def test_a_scope_may_be_a_list_of_segments(service):
    segments = ["acme", "a/b", "50%"]
    service.will(ok()).remember("x", scope=segments)
    assert sent(service)["scope"] == segments
    service.will(ok()).get("mem_1", scope=segments)
    assert url(service) == "https://memory.example/v1/memories/mem_1?scope=acme%2Fa%252Fb%2F50%2525"


def test_a_plus_in_a_query_stays_a_plus_and_an_id_stays_in_its_place(service):
    service.will(ok()).get("../keys?x=1#", scope="a+b c")
    assert url(service) == "https://memory.example/v1/memories/..%2Fkeys%3Fx%3D1%23?scope=a%2Bb%20c"


def test_a_memory_stands_for_its_id_scope_and_version(service):
    service.will(ok()).correct(FOUND, "Alice lives in Porto.", because="changed")
    assert service.requests[-1].url.path == f"/v1/memories/{FOUND.id}/correct"
    assert service.requests[-1].url.params["scope"] == "acme/alice"
    assert service.requests[-1].headers["If-Match"] == '"3"'
    service.will(ok(ERASURE)).forget(FOUND, reason="user_request")
    assert service.requests[-1].method == "DELETE"
    assert dict(service.requests[-1].url.params) == {
        "scope": "acme/alice",
        "reason": "user_request",
        "tombstone": "value",
    }


def test_what_is_said_about_a_memory_goes_before_what_it_says_itself(service):
    service.will(ok()).correct(FOUND, "x", because="wrong", scope="other", version=9)
    assert service.requests[-1].url.params["scope"] == "other"
    assert service.requests[-1].headers["If-Match"] == '"9"'


def ways_of(operation):
    """What an operation is asked by and answers with; a dry run answers with something else."""
    answers = filter(None, (operation.answer, operation.other_answer))
    return [(operation.method, path_of(operation), model_of(answer)) for answer in answers]


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_sent_is_what_the_contract_takes(name):
    ask = EXAMPLES[name]
    wanted = (ask.method, ask.path, ask.answer)
    (operation,) = (found for found in OPERATIONS if wanted in ways_of(found))
    if operation.body:
        model_of(operation.body).model_validate(exact_json.loads(exact_json.dumps(ask.body), max_depth=10))
    if operation.query:
        model_of(operation.query).model_validate(ask.query)
    assert ask.body is None or operation.body
    assert not ask.query or operation.query
    assert set(ask.headers) <= set(operation.headers)
    assert ("If-Match" in operation.headers) == ("If-Match" in ask.headers)


def test_an_id_alone_needs_a_scope_and_nothing_is_sent(service):
    with pytest.raises(TypeError, match="scope"):
        service.memory.get("mem_1")
    assert service.requests == []


@pytest.mark.parametrize(
    ("given", "path", "why"),
    [
        ({"data": {"a": float("nan")}}, "data", "JSON has no NaN and no infinity"),
        ({"data": [{1: 2}]}, "data", "the names in a JSON object are strings"),
        ({"tags": {"a"}}, "tags", "set is not JSON"),
        ({"valid_from": date(2026, 5, 1)}, "valid_from", "date is not JSON"),
    ],
)
def test_what_json_cannot_say_is_an_invalid_request_that_was_not_sent(service, given, path, why):
    with pytest.raises(unsay.InvalidRequestError, match=f"{path}: {why}") as refused:
        service.memory.remember("x", scope="a", **given)
    assert [(error.path, error.message) for error in refused.value.errors] == [(path, why)]
    assert service.requests == []


def test_an_id_without_a_version_is_sent_without_one_for_the_service_to_refuse(service):
    service.will(ok()).correct("mem_1", "x", because="wrong", scope="a")
    assert "If-Match" not in service.requests[-1].headers


def test_a_correction_sends_what_is_named_and_none_clears(service):
    service.will(ok()).correct(FOUND, "x", because="wrong", key=None, tags=["t"], data=None)
    assert sent(service) == {
        "content": "x",
        "because": "wrong",
        "quote": None,
        "note": None,
        "key": None,
        "tags": ["t"],
        "data": None,
    }


def test_a_page_is_asked_for_by_what_is_given(service):
    page = {"items": [MEMORY], "next_cursor": "c2"}
    found = service.will(ok(page)).list(scope="a", limit=1, cursor="c1", tag="t")
    assert dict(service.requests[-1].url.params) == {
        "scope": "a",
        "limit": "1",
        "cursor": "c1",
        "order": "desc",
        "status": "active",
        "tag": "t",
    }
    assert (found.items[0].id, found.next_cursor) == (MEMORY["id"], "c2")


def test_several_scopes_are_recalled_from_together(service):
    found = service.will(ok(EMPTY_RECALL)).recall("who?", scopes=["a", ["b", "c"]])
    assert sent(service)["scopes"] == ["a", ["b", "c"]]
    assert sent(service)["scope"] is None
    assert found.reasons == ["scope_empty"]


def test_grants_are_written_by_scope(service):
    made = service.will(ok(KEY)).make_key("k", kind="agent", grants={"acme/*": ["read", "write"]})
    assert sent(service)["grants"] == [{"scope": "acme/*", "actions": ["read", "write"]}]
    assert made.secret == "unsay_new"
    assert service.requests[-1].headers["Idempotency-Key"]  # a retry gets the secret it missed


def test_a_field_of_a_later_version_is_passed_over(service):
    assert service.will(ok({**MEMORY, "mood": "good"})).get(FOUND) == FOUND
