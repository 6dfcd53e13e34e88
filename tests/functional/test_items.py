"""Items: keyed records, written over in place, and left out wherever beliefs are meant."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.support.fakes import FakeService
from tests.support.http import Answer, Caller, persistently, quoted
from unsay_core.domain.labels import joined

MINE = "acme/alice"
# Each is an address of its own, and none is repaired into another.
ADDRESSES: list[tuple[list[str], str]] = [
    ([], "a"),
    (["a"], "b"),
    (["a", "b"], "k"),
    (["a/b"], "k"),
    (["a%2Fb"], "k"),
    (["a", "b", "k"], "k"),
    (["a."], "k"),
    (["."], "k"),
    ([".."], "k"),
    (["*"], "k"),
    ([" "], "k"),
    (["A"], "k"),
    (["users:alice"], "k"),
    (["users", "alice"], "k"),
    (["+", "&", "=", "?"], "k&x=1"),
    (["日本", "\U0001f600"], "ключ"),
    (["a"], "B"),
    (["a"], "b/c"),
    (["a"], " "),
    (["a"], "%"),
    (["a"], "\x00"),
    (["a"], "x" * 512),
]


def put(api: Caller, key: str = "k", path: list[str] | None = None, data: Any = None, **more: Any) -> Answer:
    more.setdefault("content", "")
    return api.remember(more.pop("content"), kind="item", key=key, path=path or [], data=data, **more)


def at(api: Caller, key: str, path: list[str], **more: Any) -> list[dict[str, Any]]:
    """What a listing finds at an address."""
    items: list[dict[str, Any]] = api.list(kind="item", key=key, path=joined(path), **more)["items"]
    return items


def test_an_item_comes_back_as_it_was_written(api: Caller) -> None:
    data = {"n": 1, "f": "1.0", "deep": [None, {"a": []}], "": ""}
    made = put(api, "settings", ["app", "ui"], data)
    assert made.status == 201
    found = api.get(made["id"])
    assert (found["kind"], found["key"], found["path"]) == ("item", "settings", ["app", "ui"])
    assert (found["content"], found["data"], found["status"]) == ("", data, "active")


def test_the_same_address_is_written_over_in_place(api: Caller) -> None:
    first = put(api, data={"n": 1}, tags=["old"], metadata={"a": 1}, content="One.")
    second = put(api, data={"n": 2})
    assert (second.status, second["id"], second["version"]) == (200, first["id"], 2)
    assert "deduplicated" not in second.body
    assert second.headers["ETag"] == '"2"'
    now = api.get(first["id"])
    assert (now["data"], now["tags"], now["metadata"], now["content"]) == ({"n": 2}, [], {}, "")
    assert now["recorded_at"] == first["recorded_at"] < now["updated_at"]
    assert api.events() == ["memory.remembered", "memory.replaced"]
    versions = api.history(first["id"])["versions"]
    assert [version["data"] for version in versions] == [{"n": 1}, {"n": 2}]


def test_the_same_value_is_written_again_and_not_deduplicated(api: Caller) -> None:
    first, second = put(api, data=1), put(api, data=1)
    assert (second["id"], second["version"]) == (first["id"], 2)
    other = put(api, "other", data=1)
    assert other.status == 201


def test_every_address_is_one_of_its_own(api: Caller) -> None:
    ids = [put(api, key, path, data=[path, key])["id"] for path, key in ADDRESSES]
    assert len(set(ids)) == len(ADDRESSES)
    for (path, key), memory_id in zip(ADDRESSES, ids, strict=True):
        assert [item["id"] for item in at(api, key, path)] == [memory_id]
        assert api.get(memory_id)["data"] == [path, key]


def test_an_address_is_compared_in_composed_form(api: Caller) -> None:
    first = put(api, "cafe\u0301", ["e\u0301"])
    assert put(api, "caf\u00e9", ["\u00e9"])["id"] == first["id"]
    assert [item["id"] for item in at(api, "cafe\u0301", ["e\u0301"])] == [first["id"]]


def test_an_item_and_a_belief_of_one_key_do_not_meet(api: Caller) -> None:
    belief = api.remember("Alice lives in Lisbon.", key="home")
    item = put(api, "home", content="Alice lives in Lisbon.")
    assert item.status == 201
    assert api.get(belief["id"])["status"] == "active"
    assert api.remember("Alice lives in Porto.", key="home")["supersedes"] == [belief["id"]]
    assert api.get(item["id"])["status"] == "active"


def test_items_are_listed_and_recalled_only_where_they_are_asked_for(api: Caller) -> None:
    belief = api.remember("Alice likes green tea.")["content"]
    item = put(api, content="A note on green tea.")["content"]
    assert api.listed() == [belief]
    assert api.listed(kind="item") == [item]
    assert api.recalled("green tea") == [belief]
    assert api.recalled("green tea", kinds=["item"]) == [item]
    assert set(api.recalled("green tea", kinds=["semantic", "item"])) == {belief, item}
    assert api.recalled("") == [belief]


def test_beliefs_are_found_among_many_newer_items(api: Caller) -> None:
    api.remember("Alice likes green tea.")
    for number in range(0, 250, 25):
        items = [
            {"content": f"green tea {n}", "kind": "item", "key": str(n)} for n in range(number, number + 25)
        ]
        assert {r["status"] for r in api.batch(items)["results"]} == {201}
    assert api.recalled("") == ["Alice likes green tea."]
    assert api.recalled("green tea") == ["Alice likes green tea."]
    assert api.listed() == ["Alice likes green tea."]


def test_a_listing_names_key_and_path_or_one_of_them(api: Caller) -> None:
    for path, key in (([], "k"), (["a"], "k"), (["a"], "l"), (["a", "b"], "k")):
        put(api, key, path, content=joined([*path, key]))
    assert api.listed(kind="item", key="k", path="a") == ["a/k"]
    assert api.listed(kind="item", key="k", path="") == ["k"]
    assert api.listed(kind="item", key="k") == ["a/b/k", "a/k", "k"]
    assert api.listed(kind="item", path="a") == ["a/l", "a/k"]
    assert api.listed(kind="item", path="a", tag="none") == []
    assert api.listed(kind="item", key="k", path="a", trust="verified") == []


def test_an_item_is_found_by_its_address_without_a_walk(api: Caller, service: FakeService) -> None:
    found = put(api, "k", ["a"])
    ledger = service.ledgers[service.keyring.scope_id(MINE)]
    ledger.page = None  # type: ignore[assignment, method-assign]
    assert [item["id"] for item in at(api, "k", ["a"])] == [found["id"]]
    assert at(api, "l", ["a"]) == []


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"kind": "item"}, "key"),
        ({"kind": "item", "key": ""}, "key"),
        ({"kind": "item", "key": "x" * 513}, "key"),
        ({"kind": "item", "key": "é" * 257}, "key"),
        ({"kind": "item", "key": 1}, "key"),
        ({"kind": "item", "key": "k", "path": "a/b"}, "path"),
        ({"kind": "item", "key": "k", "path": ["a", ""]}, "path"),
        ({"kind": "item", "key": "k", "path": [1]}, "path"),
        ({"kind": "item", "key": "k", "path": ["x" * 513]}, "path"),
        ({"kind": "item", "key": "k", "path": ["a"] * 33}, "path"),
        ({"kind": "item", "key": "k", "path": ["x" * 500] * 5}, "path"),
        ({"kind": "item", "key": "k", "content": None}, "content"),
        ({"path": ["a"]}, "path"),
        ({"content": ""}, "content"),
        ({"content": " "}, "content"),
        ({"key": "Home"}, "key"),
        ({"key": "a/b"}, "key"),
    ],
)
def test_what_does_not_fit_its_kind_is_refused(api: Caller, fields: dict[str, Any], path: str) -> None:
    answer = api.send("POST", "/v1/memories", {"scope": MINE, "content": "Text.", **fields})
    assert (answer.status, answer.code) == (400, "invalid_request")
    assert [error["path"] for error in answer["errors"]] == [path]
    assert api.statistics()["kinds"] == {}


@pytest.mark.parametrize(
    "query", ["path=a", "path=", "kind=semantic&path=a", "key=a%2Fb", "kind=episodic&key=A"]
)
def test_a_listing_of_beliefs_has_no_paths_nor_keys_of_items(api: Caller, query: str) -> None:
    answer = api.send("GET", "/v1/memories", query=f"scope={quoted(MINE)}&{query}")
    assert (answer.status, answer.code) == (400, "invalid_request")


@pytest.mark.parametrize("path", ["a//b", "/a", "a/", "a%2", "%41", "a%2f"])
def test_a_path_in_a_query_string_is_not_repaired(api: Caller, path: str) -> None:
    assert api.list(kind="item", path=path).status == 400


def test_nothing_becomes_an_item_nor_stops_being_one(api: Caller) -> None:
    belief, item = api.remember("Alice lives in Lisbon.", key="home")["id"], put(api, "home")["id"]
    assert api.edit(belief, kind="item").status == 400
    assert api.edit(item, kind="semantic", content="A fact.").status == 400
    assert api.edit(item, key="away").status == 400
    assert api.edit(item, key=None).status == 400
    assert api.edit(belief, content="").status == 400
    assert api.correct(belief, "Alice lives in Porto.", kind="item").status == 400
    assert api.correct(belief, "Alice lives in Porto.", path=["a"]).status == 400
    assert (api.get(belief)["version"], api.get(item)["version"]) == (1, 1)


def test_an_item_is_edited_where_it_lies(api: Caller) -> None:
    item = put(api, "home", ["a"], {"n": 1}, content="Words.")["id"]
    edited = api.edit(item, data={"n": 2}, content="")
    assert (edited.status, edited["version"], edited["data"], edited["content"]) == (200, 2, {"n": 2}, "")
    assert api.edit(item, version=2, kind="item", key="home", tags=["t"]).status == 200
    assert put(api, "home", ["a"])["version"] == 4


def test_an_item_is_written_over_and_not_corrected(api: Caller) -> None:
    item = put(api)["id"]
    assert api.correct(item, "Another.").code == "wrong_status"
    assert api.get(item)["version"] == 1


def test_a_forgotten_item_leaves_the_tombstone_of_its_id_alone(api: Caller) -> None:
    first = put(api, content="Once.")
    put(api, content="Twice.")
    receipt = api.forget(first["id"])
    assert (receipt["erased"], receipt["tombstones"]) == (1, 1)
    assert [grave["kind"] for grave in api.tombstones()["items"]] == ["id"]
    assert at(api, "k", []) == []
    again = put(api, content="Twice.")
    assert (again.status, again["version"]) == (201, 1)
    assert again["id"] != first["id"]
    assert api.remember("Once.").status == 201
    assert api.forget(first["id"]).code == "already_forgotten"


def test_what_was_taken_back_is_not_kept_in_an_item_either(api: Caller) -> None:
    api.forget(api.remember("Alice lives in Lisbon.")["id"])
    assert put(api, content="alice lives in lisbon").code == "tombstoned"
    item = put(api)["id"]
    assert api.edit(item, content="Alice lives in Lisbon").code == "tombstoned"
    assert put(api, content="Alice lives in Porto.").status == 200


@pytest.mark.parametrize("verb", ["retract", "reject"])
def test_an_item_that_is_taken_back_buries_no_value(api: Caller, verb: str) -> None:
    item = put(api, content="A record.")["id"]
    if verb == "retract":
        assert api.retract(item).status == 200
    else:
        assert api.decide(item, "reject", reason="incorrect").status == 200
    assert api.tombstones()["items"] == []
    assert at(api, "k", []) == []
    again = put(api, content="A record.")
    assert again.status == 201
    assert [found["id"] for found in at(api, "k", [])] == [again["id"]]


def test_a_doubt_ends_when_the_item_is_written_over(api: Caller) -> None:
    item = put(api, data=1)["id"]
    api.dispute(item)
    assert at(api, "k", []) == []
    assert [waiting["id"] for waiting in api.reviews(state="disputed")["items"]] == [item]
    assert put(api, data=2)["trust"] == "asserted"
    assert [found["data"] for found in at(api, "k", [])] == [2]
    assert api.reviews(state="disputed")["items"] == []
    assert api.get(item)["review"]["decision"] == "replaced"


def test_an_item_that_lost_a_source_does_not_come_back_over_a_newer_one(api: Caller) -> None:
    sources = [api.remember(f"Source {name}.")["id"] for name in "ab"]
    item = put(api, content="Of both.", derived_from=sources)["id"]
    assert api.forget(sources[0])["cascade"] == [{"id": item, "why": "derived", "outcome": "candidate"}]
    assert at(api, "k", []) == []
    newer = put(api, content="Newer.")
    assert newer.status == 201
    assert api.decide(item, version=2).code == "wrong_status"
    assert [found["id"] for found in at(api, "k", [])] == [newer["id"]]
    api.forget(newer["id"])
    assert api.decide(item, version=2).status == 200


def test_an_item_goes_with_what_any_version_of_it_came_from(api: Caller) -> None:
    source, other = api.remember("A source.")["id"], api.remember("Another.")["id"]
    item = put(api, content="From it.", derived_from=[source])["id"]
    assert put(api, content="From nothing.")["derived_from"] == [source]
    assert api.forget(source)["erased"] == 2
    assert api.get(item).status == 404
    assert api.get(other).status == 200


def test_a_credential_is_found_in_the_key_and_in_the_path(api: Caller) -> None:
    secret = "AKIA" + "QYLPMN5HHHFPZAM2"
    assert put(api, secret).code == "secret_refused"
    assert put(api, "k", ["a", secret]).code == "secret_refused"
    assert put(api, "k", data={"v": secret}).code == "secret_refused"
    assert put(api, "k", ["a"]).status == 201


def test_a_request_is_replayed_from_the_version_it_made(api: Caller) -> None:
    named = {"headers": {"idempotency_key": "k1"}}
    first, over = put(api, data=1, **named), put(api, data=2, headers={"idempotency_key": "k2"})
    put(api, data=3)
    again = put(api, data=1, **named)
    assert (again.status, again["data"], again["version"]) == (201, 1, 1)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again["id"] == first["id"]
    second = put(api, data=2, headers={"idempotency_key": "k2"})
    assert (second.status, second["data"], second["version"]) == (200, 2, over["version"])
    assert "deduplicated" not in second.body
    assert api.get(first["id"])["version"] == 3


def test_what_expired_is_written_anew(api: Caller, service: FakeService) -> None:
    first = put(api, ttl_seconds=60, data=1)
    service.clock.pass_(seconds=61)
    assert at(api, "k", []) == []
    second = put(api, data=2)
    assert second.status == 201
    assert [found["id"] for found in at(api, "k", [])] == [second["id"]]
    assert api.forget(first["id"]).status == 202
    assert [found["id"] for found in at(api, "k", [])] == [second["id"]]


def test_the_last_of_a_batch_stands(api: Caller) -> None:
    items = [{"kind": "item", "key": "k", "content": "", "data": n} for n in (1, 2, 3)]
    results = api.batch([*items, {"kind": "item", "content": ""}])["results"]
    assert [result["status"] for result in results] == [201, 200, 200, 400]
    assert [found["data"] for found in at(api, "k", [])] == [3]
    assert len({result["memory"]["id"] for result in results[:3]}) == 1


def test_writers_of_one_address_come_one_after_the_other(
    api: Caller, all_read_first: Callable[[str, int], None]
) -> None:
    put(api, "other")
    all_read_first(MINE, 4)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: persistently(lambda: put(api, data=n)), range(4)))
    assert sorted(answer["version"] for answer in answers) == [1, 2, 3, 4]
    assert sorted(answer.status for answer in answers) == [200, 200, 200, 201]
    assert len({answer["id"] for answer in answers}) == 1
    last = max(answers, key=lambda answer: answer["version"])
    assert [found["data"] for found in at(api, "k", [])] == [last["data"]]
    assert api.verify()["ok"]


def test_items_are_known_as_of_a_time(api: Caller, service: FakeService) -> None:
    first = put(api, data=1)
    service.clock.pass_(hours=1)
    put(api, data=2)
    then = first["updated_at"]
    assert [item["data"] for item in at(api, "k", [], known_at=then)] == [1]
    assert [item["data"] for item in at(api, "k", [])] == [2]
    assert at(api, "k", [], known_at="2020-01-01T00:00:00Z") == []


def test_items_are_counted(api: Caller) -> None:
    api.remember("A fact.")
    put(api)
    put(api)
    put(api, "other")
    assert api.statistics()["kinds"] == {"semantic": 1, "item": 2}
