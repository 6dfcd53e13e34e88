"""No input gives a fault of ours: whatever is sent, it is answered, with a problem if not done."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.fakes import FakeService
from tests.support.http import Caller

OURS = settings(
    max_examples=150,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
KNOWN_ID = "mem_00000000000000000000000001"
FIELDS = (
    "scope scopes content kind key tags importance data metadata valid_from valid_to expires_at ttl_seconds "
    "derived_from source because quote note query limit kinds filter min_trust min_score include valid_at "
    "deadline_ms name grants id actions"
).split()
TELLING: list[Any] = [
    *(
        None,
        True,
        0,
        -1,
        1.5,
        "",
        "x",
        [],
        {},
        "acme/alice",
        ["acme", "alice"],
        "changed",
        "wrong",
        "semantic",
    ),
    *("2026-05-01T09:30:00Z", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "human", "agent"),
    *(10**37, -(10**37), 0.1, KNOWN_ID, [KNOWN_ID], [{"scope": "*", "actions": ["read"]}], ["episodic"]),
    *({"run_id": "r", "message_seqs": [1]}, {"a": [1]}, {"a": ["b"]}, "\u202e\x00", "é" * 400),
]
texts = st.text(max_size=20)
values = st.recursive(
    st.sampled_from(TELLING) | st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(FIELDS) | texts, inner, max_size=3)
    ),
    max_leaves=6,
)
bodies = st.dictionaries(st.sampled_from(FIELDS) | texts, values, max_size=8)
near = st.fixed_dictionaries(
    {"scope": st.just("acme/alice"), "content": st.just("Alice.") | texts},
    optional={name: values for name in FIELDS if name not in ("scope", "content")},
)
POSTS = ["/v1/memories", "/v1/recall", "/v1/keys", f"/v1/memories/{KNOWN_ID}/correct"]


def answer_is_sound(answer: Any) -> None:
    assert answer.status < 500, answer.text
    if answer.status >= 400:
        assert answer.body["status"] == answer.status
        assert answer.code
    else:
        json.loads(answer.text)


def an_api() -> Caller:
    api = Caller(FakeService())
    api.remember("Alice lives in Lisbon.")
    return api


@OURS
@given(path=st.sampled_from(POSTS), body=bodies | near | values)
def test_any_json_is_answered(path: str, body: Any) -> None:
    raw = json.dumps(body)
    query = "scope=acme/alice" if "correct" in path else ""
    answer_is_sound(an_api().send("POST", path, raw=raw, query=query, if_match="1"))


@OURS
@given(path=st.sampled_from(POSTS), body=st.binary(max_size=60))
def test_any_bytes_are_answered(path: str, body: bytes) -> None:
    import base64

    raw = base64.b64encode(body).decode()
    answer_is_sound(an_api().send("POST", path, raw=raw, base64=True))


@OURS
@given(
    method=st.sampled_from(["GET", "DELETE", "POST", "PUT", "PATCH"]),
    path=st.sampled_from(
        ["/v1/memories", f"/v1/memories/{KNOWN_ID}", "/v1/audit/verify", "/v1/erasures/x", "/v1/keys"]
    )
    | texts.map(lambda text: f"/v1/memories/{text}"),
    query=st.lists(
        st.tuples(
            st.sampled_from(
                ["scope", "limit", "cursor", "from", "reason", "valid_at", "order", "status", "%", "a"]
            ),
            st.sampled_from(
                ["acme/alice", "1", "0", "", "asc", "active", "test", "%00", "%ff", "+", "=", "&"]
            )
            | texts,
        ),
        max_size=5,
    ),
)
def test_any_path_and_query_string_are_answered(method: str, path: str, query: list[tuple[str, str]]) -> None:
    raw = "&".join(f"{name}={value}" for name, value in query)
    answer_is_sound(an_api().send(method, path, query=raw))


@OURS
@given(st.sampled_from(["if_match", "idempotency_key", "content_type", "accept"]), texts)
def test_any_header_is_answered(name: str, value: str) -> None:
    api = an_api()
    body = {"content": "Alice lives in Porto.", "because": "changed"}
    path = f"/v1/memories/{KNOWN_ID}/correct"
    answer_is_sound(api.send("POST", path, body, query="scope=acme/alice", **{name: value}))
