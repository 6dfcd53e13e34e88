"""`POST /v1/memories`: a fact is stored once, whole, and found at once."""

from __future__ import annotations

import time
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Caller
from unsay_core.contracts import exact_json


def test_a_fact_is_remembered_whole(api: Caller) -> None:
    source = api.remember("Alice's letter of May.")["id"]
    answer = api.remember(
        "Alice lives in Lisbon.",
        kind="episodic",
        tags=["profile", "b", "profile"],
        importance=exact_json.loads("0.75", max_depth=1),
        data={"city": "Lisbon"},
        metadata={"team": "red", "n": 1, "on": True, "l": ["a"]},
        valid_from="2020-01-02T03:04:05.5+02:00",
        valid_to="2030-01-01T00:00:00Z",
        expires_at="2031-01-01T00:00:00Z",
        source={"run_id": "run:1", "message_seqs": [0, 7], "quote": "I live in Lisbon"},
        derived_from=[source],
    )
    assert answer.status == 201
    memory = answer.body
    assert memory | {"recorded_at": None, "updated_at": None, "index": None} == {
        "id": memory["id"],
        "scope": "acme/alice",
        "kind": "episodic",
        "content": "Alice lives in Lisbon.",
        "key": None,
        "path": [],
        "tags": ["profile", "b"],
        "importance": exact_json.loads("0.75", max_depth=1),
        "data": {"city": "Lisbon"},
        "metadata": {"team": "red", "n": 1, "on": True, "l": ["a"]},
        "status": "active",
        "trust": "asserted",
        "valid_from": "2020-01-02T01:04:05.500000Z",
        "valid_to": "2030-01-01T00:00:00.000000Z",
        "recorded_at": None,
        "invalidated_at": None,
        "updated_at": None,
        "expires_at": "2031-01-01T00:00:00.000000Z",
        "version": 1,
        "supersedes": [],
        "superseded_by": None,
        "derived_from": [source],
        "corroborations": [],
        "source": {
            "channel": "api",
            "actor": "key_admin",
            "run_id": "run:1",
            "message_seqs": [0, 7],
            "quote": "I live in Lisbon",
            "model": None,
            "import": None,
        },
        "review": None,
        "index": None,
        "schema": 1,
    }
    assert memory["index"]["state"] == "pending"
    assert memory["recorded_at"].endswith("Z") and len(memory["recorded_at"]) == 27
    assert answer.headers["ETag"] == '"1"'
    assert answer.headers["Location"] == f"/v1/memories/{memory['id']}?scope=acme%2Falice"
    assert api.get(memory["id"]).body == memory
    assert api.recall()["items"][0]["memory"] == memory


def test_an_unknown_start_stays_unknown(api: Caller) -> None:
    assert api.remember().body["valid_from"] is None


def test_numbers_are_kept_to_the_digit_and_in_kind(api: Caller) -> None:
    numbers = "[1,1.0,1.00,0.1,12345678901234567890123456789012345678,-1,true,1E+2]"
    raw = f'{{"scope":"a","content":"n","data":{numbers},"metadata":{{"f":1.0,"i":1}}}}'
    answer = api.send("POST", "/v1/memories", raw=raw)
    assert f'"data":{numbers}' in answer.text
    assert '"metadata":{"f":1.0,"i":1}' in answer.text
    assert f'"data":{numbers}' in api.get(answer["id"], "a").text


@pytest.mark.parametrize(
    "raw",
    [
        '{"scope":"a","content":"x","content":"y"}',
        '{"scope":"a","scope":"b","content":"x"}',
        '{"scope":"a","content":"x","data":{"k":1,"k":2}}',
        '{"scope":"a","content":"x","\\u0063ontent":"y"}',
    ],
)
def test_a_key_given_twice_is_refused(api: Caller, raw: str) -> None:
    answer = api.send("POST", "/v1/memories", raw=raw)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert api.listed("a") == []


@pytest.mark.parametrize(
    "raw",
    [
        "",
        "{",
        "[]",
        "null",
        '"text"',
        "{'scope':1}",
        '{"scope":"a","content":"x"} {}',
        '{"scope":"a","content":NaN}',
        '{"scope":"a","content":"x","data":Infinity}',
        '{"scope":"a","content":"x","data":1e999}',
        '{"scope":"a","content":"x","data":123456789012345678901234567890123456789}',
        '{"scope":"a","content":"\\ud800"}',
        '{"scope":"a","content":"x","data":' + "[" * 33 + "]" * 33 + "}",
        '{"scope":"a","content":"x","data":' + "[" * 100_000,
        '{"scope":"a","content":"x","importance":1.5}',
        '{"scope":"a","content":"x","importance":"0.5"}',
        '{"scope":"a","content":"x","importance":true}',
        '{"scope":"a","content":"x","unknown":1}',
        '{"scope":"a","content":1}',
        '{"scope":"a","content":null}',
        '{"scope":"a","content":""}',
        '{"scope":"a","content":" \\t\\n\\u2003"}',
        '{"scope":"a"}',
        '{"content":"x"}',
        '{"scope":"a","content":"x","kind":"item"}',
        '{"scope":"a","content":"x","kind":"nonsense"}',
        '{"scope":"a","content":"x","key":"Upper"}',
        '{"scope":"a","content":"x","key":""}',
        '{"scope":"a","content":"x","key":"' + "k" * 65 + '"}',
        '{"scope":"a","content":"x","key":"new\\nline"}',
        '{"scope":"a","content":"x","key":"line\\n"}',
        '{"scope":"a","content":"x","tags":["' + "t" * 65 + '"]}',
        '{"scope":"a","content":"x","tags":[""]}',
        '{"scope":"a","content":"x","tags":[1]}',
        '{"scope":"a","content":"x","tags":"a"}',
        '{"scope":"a","content":"x","tags":[' + ",".join(f'"{n}"' for n in range(33)) + "]}",
        '{"scope":"a","content":"x","metadata":{"a":null}}',
        '{"scope":"a","content":"x","metadata":{"a":{"b":1}}}',
        '{"scope":"a","content":"x","metadata":{"a":[1]}}',
        '{"scope":"a","content":"x","metadata":{"a b":1}}',
        '{"scope":"a","content":"x","metadata":{"":1}}',
        '{"scope":"a","content":"x","metadata":[]}',
        '{"scope":"a","content":"x","metadata":{' + ",".join(f'"k{n}":1' for n in range(33)) + "}}",
        '{"scope":"a","content":"x","ttl_seconds":0}',
        '{"scope":"a","content":"x","ttl_seconds":1.5}',
        '{"scope":"a","content":"x","ttl_seconds":5,"expires_at":"2030-01-01T00:00:00Z"}',
        '{"scope":"a","content":"x","valid_from":"2030-01-01T00:00:00Z","valid_to":"2030-01-01T00:00:00Z"}',
        '{"scope":"a","content":"x","valid_from":"2030-01-02T00:00:00Z","valid_to":"2030-01-01T00:00:00Z"}',
        '{"scope":"a","content":"x","derived_from":["nonsense"]}',
        '{"scope":"a","content":"x","source":{"actor":"somebody"}}',
        '{"scope":"a","content":"x","source":{"message_seqs":[-1]}}',
        '{"scope":"a","content":"x","source":{"run_id":"with space"}}',
        '{"scope":"a","content":"x","trust":"verified"}',
        '{"scope":"a","content":"x","status":"active"}',
    ],
)
def test_what_is_not_valid_is_refused_and_nothing_is_stored(
    api: Caller, service: FakeService, raw: str
) -> None:
    answer = api.send("POST", "/v1/memories", raw=raw)
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert service.ledgers == {}
    assert api.remember("control", "a").status == 201


NO_TIMES = [
    *("2026-05-01T09:30:00", "2026-05-01", "yesterday", "2026-13-01T00:00:00Z", "2026-05-01T25:00:00Z", ""),
    *(
        "2026-05-01 09:30:00Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "٢026-05-01T09:30:00Z",
    ),
]


@pytest.mark.parametrize("time", NO_TIMES)
def test_a_time_without_an_offset_or_that_is_none_is_refused(api: Caller, time: str) -> None:
    for name in ("valid_from", "valid_to", "expires_at"):
        answer = api.remember(**{name: time})
        assert (answer.status, answer.code) == (400, "invalid_time")


@pytest.mark.parametrize(
    "name",
    [
        "_x",
        "scope",
        "SCOPE",
        "Scope_Id",
        "x-amz-bedrock-kb-source-uri",
        "X-AMZ-anything",
        "live",
        "Text",
        "USER_ID",
    ],
)
def test_a_metadata_key_of_ours_is_reserved_however_it_is_written(api: Caller, name: str) -> None:
    answer = api.remember(metadata={name: "x"})
    assert (answer.status, answer.code) == (400, "reserved_key")
    assert api.remember(metadata={f"my.{name}": "x"}).status == 201


def test_limits_hold_to_the_byte(api: Caller) -> None:
    assert api.remember("x" * 16_384).status == 201
    assert api.remember("é" * 8_192).status == 201
    for content in ("x" * 16_385, "é" * 8_192 + "x", "x" * 200_000):
        answer = api.remember(content)
        assert (answer.status, answer.code) == (413, "too_large")


def test_content_is_measured_after_it_is_composed(api: Caller) -> None:
    decomposed = "e\u0301" * 8_192  # 3 bytes each, composed 2
    assert api.remember(decomposed)["content"] == "é" * 8_192


def test_data_and_metadata_have_their_own_limits(api: Caller) -> None:
    assert api.remember("a", data="d" * (32 * 1024 - 2)).status == 201
    assert api.remember("b", data="d" * (32 * 1024 - 1)).code == "too_large"
    assert api.remember("c", metadata={"k": "m" * (4 * 1024 - 8)}).status == 201
    assert api.remember("d", metadata={"k": "m" * (4 * 1024 - 7)}).code == "too_large"
    assert api.remember("e", metadata={f"k{n}": n for n in range(32)}).status == 201
    assert api.remember("f", tags=["t" * 64, *(str(n) for n in range(31))]).status == 201


def test_a_body_over_its_limit_is_too_large(api: Caller) -> None:
    frame = '{"scope":"a","content":"x","data":""}'
    room = 256 * 1024 - len(frame)
    for length, code in ((room, "too_large"), (room + 1, "too_large")):
        raw = frame.replace('"data":""', f'"data":"{"d" * length}"')
        assert api.send("POST", "/v1/memories", raw=raw).code == code
    padded = frame + " " * room
    assert api.send("POST", "/v1/memories", raw=padded).status == 201
    over = api.send("POST", "/v1/memories", raw=padded + " ")
    assert (over.status, over.code) == (413, "too_large")


def test_the_same_statement_again_answers_with_the_first(api: Caller) -> None:
    first = api.remember("Alice  lives in\nLisbon.", tags=["a"])
    again = api.remember("Alice lives in Lisbon. ", tags=["b"])
    assert (first.status, again.status) == (201, 200)
    assert again["id"] == first["id"]
    assert again["deduplicated"] is True
    assert "Location" not in again.headers
    assert len(api.listed()) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"content": "Alice lives in lisbon."},
        {"kind": "episodic"},
        {"key": "home"},
        {"data": 1},
        {"data": "1"},
        {"valid_from": "2020-01-01T00:00:00Z"},
        {"scope": "acme/bob"},
    ],
)
def test_what_differs_in_any_part_of_a_statement_is_another(api: Caller, other: dict[str, Any]) -> None:
    first = api.remember("Alice lives in Lisbon.")
    second = api.remember(**{"content": "Alice lives in Lisbon.", **other})
    assert second.status == 201
    assert second["id"] != first["id"]


def test_one_and_one_point_nought_and_true_are_three_statements(api: Caller) -> None:
    answers = [
        api.send("POST", "/v1/memories", raw=f'{{"scope":"a","content":"x","data":{data}}}')
        for data in ("1", "1.0", "true", '"1"', "1")
    ]
    assert [answer.status for answer in answers] == [201, 201, 201, 201, 200]


def test_a_statement_that_is_no_longer_active_may_be_made_again(api: Caller) -> None:
    first = api.remember("Alice lives in Lisbon.")
    api.correct(first["id"], "Alice lives in Porto.")
    again = api.remember("Alice lives in Lisbon.")
    assert again.status == 201
    assert again["id"] != first["id"]


def test_a_statement_whose_first_maker_expired_is_made_again_and_then_deduplicated(
    api: Caller, service: FakeService
) -> None:
    first = api.remember(ttl_seconds=60)
    service.clock.pass_(seconds=61)
    second = api.remember()
    assert (second.status, second["id"] == first["id"]) == (201, False)
    assert api.forget(first["id"], tombstone="id").status == 202
    assert api.remember()["id"] == second["id"]


@pytest.mark.parametrize(
    "where",
    [
        {"content": "the key is AKIAIOSFODNN7EXAMPLE"},
        {"tags": ["ghp_0123456789abcdefghij0123456789abcdef"]},
        {"data": {"deep": [{"password": "hunter2hunter2hunter2x1"}]}},
        {"metadata": {"api_key": "0123456789abcdef0123456789"}},
        {"source": {"quote": "-----BEGIN RSA PRIVATE KEY-----"}},
        {"source": {"run_id": "ghp_0123456789abcdefghij0123456789abcdef"}},
        {"key": "sk-ant-0123456789abcdef0123456789"},
    ],
)
def test_a_credential_in_any_field_is_refused_and_audited_without_the_text(
    api: Caller, service: FakeService, where: dict[str, Any]
) -> None:
    answer = api.remember(**{"content": "Alice's account.", **where})
    assert (answer.status, answer.code) == (422, "secret_refused")
    assert api.listed() == []
    assert api.verify()["length"] == 1
    assert "0123456789" not in answer.text + service.dump()


@pytest.mark.parametrize(
    "text", ["My PIN is 4711.", "The state-of-the-art-tokenizer is fast.", "my password is long"]
)
def test_what_only_sounds_like_a_credential_is_remembered(api: Caller, text: str) -> None:
    assert api.remember(text).status == 201


def test_a_scope_may_be_a_list_of_segments(api: Caller) -> None:
    answer = api.remember(scope=["acme", "a/b", "50%"])
    assert answer["scope"] == "acme/a%2Fb/50%25"
    assert api.get(answer["id"], "acme/a%2Fb/50%25").status == 200


NO_SCOPES = [
    *("", "/", "a/", "/a", "a//b", ".", "a/..", "*", "a/*", " a", "a ", "%zz", "a%2f"),
    *("a\u200bb", "a\x00", "a\u202eb"),
    *("/".join("a" * 9), "x" * 129, "é" * 128 + "/" + "é" * 128 + "/a"),
    *(None, 1, True, {}, [], [""], ["a", None], ["a", "*"], [["a"]]),
]


@pytest.mark.parametrize("scope", NO_SCOPES)
def test_what_is_no_scope_is_refused_everywhere(api: Caller, service: FakeService, scope: Any) -> None:
    answers = [api.remember(scope=scope), api.recall(scope=scope if not isinstance(scope, list) else [scope])]
    if isinstance(scope, str):
        answers += [
            api.get("mem_1", scope),
            api.list(scope),
            api.verify(scope),
            api.forget("mem_1", scope=scope),
        ]
        answers += [api.receipt("era_1", scope), api.correct("mem_1", "x", scope=scope)]
    assert {answer.status for answer in answers} == {400}
    assert {answer.code for answer in answers} <= {"invalid_scope", "invalid_request"}
    assert service.opened == []


@pytest.mark.parametrize("field", ["content", "tags"])
def test_a_run_of_combining_marks_takes_no_time(api: Caller, field: str) -> None:
    marks = "a" + "\u0301\u0316" * 60_000
    started = time.process_time()
    answer = api.remember(**{"content": "x", field: marks if field == "content" else [marks]})
    assert answer.status in (400, 413)
    assert time.process_time() - started < 15


def test_data_may_be_as_deep_as_its_limit(api: Caller) -> None:
    raw = '{"scope":"a","content":"x","data":' + "[" * 32 + "]" * 32 + "}"
    assert api.send("POST", "/v1/memories", raw=raw).status == 201
